/* SPDX-License-Identifier: Apache-2.0 */
/* An arena: arrays that are freed together.
 *
 * A stage has one arena for its temporary arrays and frees them in one call. Errors are sticky:
 * allocate all arrays, then check once, before they are used:
 *
 *     NT_SCOPED struct nt_arena memory = {0};
 *     double *sum = nt_arena_array(&memory, n, sizeof *sum);
 *     uint32_t *order = nt_arena_array(&memory, n, sizeof *order);
 *     if (nt_arena_check(&memory, err) != 0)
 *         return -1;
 *
 * An object with many arrays may hold an arena as well, and nt_arena_fini is its fini. Memory whose
 * ownership passes to a caller does not come from an arena.
 *
 * Each array is a separate allocation, so that sanitizers detect overruns and large arrays return
 * to the system. Arrays for one iteration of a loop are released in each iteration (nt_arena_mark),
 * or come from a separate arena. */
#ifndef NT_MEMORY_H
#define NT_MEMORY_H

#include <stddef.h>

#include "err.h"

struct nt_arena_block;

/* {0} is an empty arena. */
struct nt_arena {
    struct nt_arena_block *newest;
    size_t used;   /* bytes of all arrays */
    size_t limit;  /* upper bound of used; 0: none */
    size_t failed; /* bytes of the allocation that failed; 0: none; never reset */
};

/* Frees the arena at the end of its scope, however the scope is left (GCC's cleanup attribute). */
#define NT_SCOPED __attribute__((cleanup(nt_arena_fini)))

/* Allocates count zeroed elements of size bytes each; not NULL for count 0. NULL after a failed
 * allocation of this arena, or if count * size overflows, which counts as one. */
void *nt_arena_array(struct nt_arena *arena, size_t count, size_t size);

/* Copies that many bytes of text and appends a NUL. */
char *nt_arena_text(struct nt_arena *arena, const char *text, size_t bytes);

/* Grows array (NULL, or from this arena) from *room elements to at least need. New elements are not
 * set, and the address may change. On failure returns NULL and leaves the array unchanged. */
void *nt_arena_grow(struct nt_arena *arena, void *array, size_t *room, size_t need, size_t size);

/* Returns -1 with an error if an allocation of this arena has failed. */
int nt_arena_check(const struct nt_arena *arena, struct nt_err *err);

/* nt_arena_release frees the arrays allocated since the mark; NULL: all arrays. A failure
 * remains. */
struct nt_arena_block *nt_arena_mark(const struct nt_arena *arena);
void nt_arena_release(struct nt_arena *arena, const struct nt_arena_block *mark);

/* Frees all arrays. The arena is empty again and keeps its limit. */
void nt_arena_fini(struct nt_arena *arena);

/* Creates a zeroed struct whose first member is its arena. All its arrays come from this arena and
 * are freed with the struct. NULL with an error without memory. nt_object_destroy accepts NULL. */
void *nt_object_create(size_t bytes, struct nt_err *err);
void nt_object_destroy(void *object);

/* How qsort orders two values; then: how it orders those for which they are equal. */
#define NT_ORDER(a, b, then) ((a) < (b) ? -1 : (a) > (b) ? 1 : (then))

#endif
