/* SPDX-License-Identifier: Apache-2.0 */
#include "names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

void nt_names_fini(struct nt_names *names)
{
    free(names->name);
    free(names->slot);
    nt_arena_fini(&names->memory);
    *names = (struct nt_names){0};
}

/* FNV-1a, finished by a multiply-and-fold so that n1, n2, ... differ in the low bits. A text with
 * deliberate collisions only slows down its own reading. */
static size_t hash_name(const char *name, size_t bytes)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t k = 0; k < bytes; k++)
        h = (h ^ (unsigned char)name[k]) * 0x100000001b3u;
    return (size_t)((h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u >> 20);
}

/* Returns the slot of the name, or the free slot for it. */
static size_t find_slot(const struct nt_names *names, const char *name, size_t bytes)
{
    size_t s = hash_name(name, bytes) & (names->slots - 1);
    for (; names->slot[s] != 0; s = (s + 1) & (names->slots - 1)) {
        const char *there = names->name[names->slot[s] - 1];
        /* name may contain a zero byte, where a comparison of strings would stop */
        if (strlen(there) == bytes && memcmp(there, name, bytes) == 0)
            break;
    }
    return s;
}

static bool grow_table(struct nt_names *names)
{
    size_t slots = names->slots == 0 ? 64 : names->slots * 2;
    uint32_t *slot = calloc(slots, sizeof *slot);
    const char **name = realloc(names->name, slots / 2 * sizeof *name);
    if (name != NULL)
        names->name = name;
    if (slot == NULL || name == NULL) {
        free(slot);
        return false;
    }
    free(names->slot);
    names->slot = slot;
    names->slots = slots;
    for (size_t k = 0; k < names->count; k++)
        slot[find_slot(names, name[k], strlen(name[k]))] = (uint32_t)k + 1;
    return true;
}

int nt_names_add(struct nt_names *names, const char *name, uint32_t *index, struct nt_err *err)
{
    if ((names->count + 1) * 2 > names->slots && !grow_table(names))
        return nt_err_memory(err);
    size_t s = find_slot(names, name, strlen(name));
    if (names->slot[s] != 0) {
        *index = names->slot[s] - 1;
        return 1;
    }
    names->name[names->count] = name;
    *index = (uint32_t)names->count++;
    names->slot[s] = (uint32_t)names->count;
    return 0;
}

int nt_names_add_copy(struct nt_names *names, const char *name, size_t bytes, uint32_t *index,
                      struct nt_err *err)
{
    *index = nt_names_find(names, name, bytes);
    if (*index != NT_NAMES_NONE)
        return 1;
    const char *copy = nt_arena_text(&names->memory, name, bytes);
    if (nt_arena_check(&names->memory, err) != 0)
        return -1;
    return nt_names_add(names, copy, index, err);
}

uint32_t nt_names_find(const struct nt_names *names, const char *name, size_t bytes)
{
    if (names->slots == 0)
        return NT_NAMES_NONE;
    uint32_t found = names->slot[find_slot(names, name, bytes)];
    return found == 0 ? NT_NAMES_NONE : found - 1;
}
