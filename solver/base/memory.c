/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct nt_arena_block {
    struct nt_arena_block *older, *newer;
    size_t bytes; /* size of the array, which follows the block */
    alignas(max_align_t) unsigned char array[];
};

/* Computes *bytes, the size of an array. Returns false if it exceeds the limit after free_bytes are
 * freed. */
static bool fits_limit(struct nt_arena *a, size_t count, size_t size, size_t free_bytes,
                       size_t *bytes)
{
    size_t most = SIZE_MAX - sizeof(struct nt_arena_block);
    if (a->failed != 0)
        return false;
    bool counted = size == 0 || count <= most / size;
    *bytes = counted ? count * size : most;
    size_t others = a->used - free_bytes;
    if (counted && (a->limit == 0 || (others <= a->limit && *bytes <= a->limit - others)))
        return true;
    a->failed = sizeof(struct nt_arena_block) + *bytes;
    return false;
}

/* Links the block, whose address may have changed, with its neighbours. */
static void *link_block(struct nt_arena *a, struct nt_arena_block *block, size_t bytes)
{
    a->used += bytes;
    block->bytes = bytes;
    if (block->older != NULL)
        block->older->newer = block;
    if (block->newer != NULL)
        block->newer->older = block;
    else
        a->newest = block;
    return block->array;
}

void *nt_arena_array(struct nt_arena *a, size_t count, size_t size)
{
    size_t bytes;
    if (!fits_limit(a, count, size, 0, &bytes))
        return NULL;
    struct nt_arena_block *block = calloc(1, sizeof *block + bytes);
    if (block == NULL) {
        a->failed = sizeof *block + bytes;
        return NULL;
    }
    block->older = a->newest;
    return link_block(a, block, bytes);
}

char *nt_arena_text(struct nt_arena *a, const char *text, size_t bytes)
{
    char *copy = nt_arena_array(a, bytes + 1, 1);
    if (copy != NULL)
        memcpy(copy, text, bytes);
    return copy;
}

void *nt_arena_grow(struct nt_arena *a, void *array, size_t *room, size_t need, size_t size)
{
    struct nt_arena_block *block =
        array == NULL ? NULL
                      : (void *)((unsigned char *)array - offsetof(struct nt_arena_block, array));
    size_t was = block != NULL ? block->bytes : 0, bytes;
    if (need <= *room && block != NULL)
        return array;
    size_t more = need / 2 + 8, wanted = need <= SIZE_MAX - more ? need + more : need;
    if (!fits_limit(a, wanted, size, was, &bytes))
        return NULL;
    struct nt_arena_block *grown = realloc(block, sizeof *grown + bytes);
    if (grown == NULL) {
        a->failed = sizeof *block + bytes;
        return NULL;
    }
    if (block == NULL) {
        grown->older = a->newest;
        grown->newer = NULL;
    }
    a->used -= was;
    *room = wanted;
    return link_block(a, grown, bytes);
}

int nt_arena_check(const struct nt_arena *a, struct nt_err *err)
{
    if (a->failed == 0)
        return 0;
    return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu bytes", a->failed);
}

struct nt_arena_block *nt_arena_mark(const struct nt_arena *a)
{
    return a->newest;
}

void nt_arena_release(struct nt_arena *a, const struct nt_arena_block *mark)
{
    while (a->newest != mark && a->newest != NULL) {
        struct nt_arena_block *older = a->newest->older;
        a->used -= a->newest->bytes;
        free(a->newest);
        a->newest = older;
    }
    if (a->newest != NULL)
        a->newest->newer = NULL;
}

void nt_arena_fini(struct nt_arena *a)
{
    nt_arena_release(a, NULL);
    *a = (struct nt_arena){.limit = a->limit};
}

void *nt_object_create(size_t bytes, struct nt_err *err)
{
    void *object = calloc(1, bytes);
    if (object == NULL)
        nt_err_memory(err);
    return object;
}

void nt_object_destroy(void *object)
{
    if (object != NULL)
        nt_arena_fini(object);
    free(object);
}
