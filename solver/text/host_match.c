/* SPDX-License-Identifier: Apache-2.0 */
#include "host_match.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* Returns the length of the name before its domain; 0: it has none. */
static size_t bare_bytes(const char *name, size_t bytes)
{
    const char *dot = memchr(name, '.', bytes);
    size_t bare = dot == NULL ? 0 : (size_t)(dot - name), digits = 0;
    while (digits < bare && name[digits] >= '0' && name[digits] <= '9')
        digits++;
    return digits == bare ? 0 : bare;
}

static int add_bare(struct nt_host_index *index, uint32_t host, struct nt_err *err)
{
    const char *name = index->full.name[host];
    size_t bytes = bare_bytes(name, strlen(name));
    uint32_t at;
    if (bytes == 0)
        return 0;
    int rc = nt_names_add_copy(&index->bare, name, bytes, &at, err);
    if (rc >= 0)
        index->of_bare[at] = rc == 0 ? host : NT_NAMES_NONE;
    return rc < 0 ? -1 : 0;
}

int nt_host_index_init(struct nt_host_index *index, const char *const *name, size_t count,
                       struct nt_err *err)
{
    uint32_t host;
    int rc = 0;
    *index = (struct nt_host_index){.of_bare = calloc(count + 1, sizeof *index->of_bare)};
    if (index->of_bare == NULL)
        return nt_err_memory(err);
    for (size_t h = 0; rc >= 0 && h < count; h++)
        rc = nt_names_add(&index->full, name[h], &host, err);
    for (uint32_t h = 0; rc >= 0 && h < index->full.count; h++)
        rc = add_bare(index, h, err);
    if (rc < 0)
        nt_host_index_fini(index);
    return rc < 0 ? -1 : 0;
}

void nt_host_index_fini(struct nt_host_index *index)
{
    nt_names_fini(&index->full);
    nt_names_fini(&index->bare);
    free(index->of_bare);
    *index = (struct nt_host_index){0};
}

uint32_t nt_host_index_find(const struct nt_host_index *index, const char *name, size_t bytes)
{
    uint32_t at = nt_names_find(&index->full, name, bytes);
    size_t bare = bare_bytes(name, bytes);
    if (at != NT_NAMES_NONE)
        return at;
    if (bare > 0)
        return nt_names_find(&index->full, name, bare);
    at = nt_names_find(&index->bare, name, bytes);
    return at != NT_NAMES_NONE ? index->of_bare[at] : NT_NAMES_NONE;
}

int nt_host_match(const char *const *mine, size_t count, const char *const *theirs,
                  size_t their_count, uint32_t *at, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_host_index index;
    uint32_t *meant = nt_arena_array(&memory, their_count, sizeof *meant); /* by how many */
    if (nt_arena_check(&memory, err) != 0 ||
        nt_host_index_init(&index, theirs, their_count, err) != 0)
        return -1;
    for (size_t k = 0; k < count; k++) {
        at[k] = nt_host_index_find(&index, mine[k], strlen(mine[k]));
        if (at[k] != NT_NAMES_NONE)
            meant[at[k]]++;
    }
    for (size_t k = 0; k < count; k++)
        if (at[k] != NT_NAMES_NONE && meant[at[k]] > 1 && strcmp(mine[k], theirs[at[k]]) != 0)
            at[k] = NT_NAMES_NONE;
    nt_host_index_fini(&index);
    return 0;
}
