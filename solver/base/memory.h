/* Arrays that are freed together.
 *
 * A stage has one arena: what its functions need on the way comes from there, and goes with it in
 * one call. Failing is kept inside: take all arrays, then ask once, before they are used:
 *
 *     NT_SCOPED struct nt_arena memory = {0};
 *     double *sum = nt_arena_array(&memory, n, sizeof *sum);
 *     uint32_t *order = nt_arena_array(&memory, n, sizeof *order);
 *     if (nt_arena_check(&memory, err) != 0)
 *         return -1;
 *
 * An object with many arrays may hold an arena as well, and nt_arena_fini is its fini. What is
 * handed to others who free it does not come from here.
 *
 * Each array is an allocation of its own, so that a sanitizer sees where it ends and a large one
 * goes back to the system. What is needed for one turn of a loop is released in each turn
 * (nt_arena_mark), or has an arena of its own. */
#ifndef NT_MEMORY_H
#define NT_MEMORY_H

#include <stddef.h>

#include "err.h"

struct nt_arena_block;

/* {0} is an empty arena. */
struct nt_arena {
    struct nt_arena_block *newest;
    size_t used;   /* bytes in all arrays */
    size_t limit;  /* most of them; 0: what the system gives */
    size_t failed; /* bytes that were asked for in vain; 0: none were. Stays */
};

/* Goes with the block that declares it, however that is left (GCC's cleanup attribute). */
#define NT_SCOPED __attribute__((cleanup(nt_arena_fini)))

/* count zeros of size bytes each; an address for no elements too. NULL once the arena failed: a
 * product beyond size_t is a failure like any other. */
void *nt_arena_array(struct nt_arena *arena, size_t count, size_t size);

/* bytes of text and a '\0'. */
char *nt_arena_text(struct nt_arena *arena, const char *text, size_t bytes);

/* The array (NULL, or from this arena) with room for need elements, *room of which are there; new
 * ones are not set, and the address may change. Where that fails it is left as it was. */
void *nt_arena_grow(struct nt_arena *arena, void *array, size_t *room, size_t need, size_t size);

/* -1 with the one sentence that memory ran out, if it has since the beginning. */
int nt_arena_check(const struct nt_arena *arena, struct nt_err *err);

/* Frees what was taken since the mark; NULL: everything. Failing is not forgotten. */
struct nt_arena_block *nt_arena_mark(const struct nt_arena *arena);
void nt_arena_release(struct nt_arena *arena, const struct nt_arena_block *mark);

/* Frees everything; the arena is as new. */
void nt_arena_fini(struct nt_arena *arena);

/* Zeros for a struct that begins with its arena, which all its arrays come from: they go with it.
 * NULL with an error when there is no memory. Destroying NULL is fine. */
void *nt_object_create(size_t bytes, struct nt_err *err);
void nt_object_destroy(void *object);

#endif
