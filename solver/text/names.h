/* SPDX-License-Identifier: Apache-2.0 */
/* Maps names to the indices 0, 1, 2, ... */
#ifndef NT_NAMES_H
#define NT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"

enum { NT_NAMES_NONE = UINT32_MAX };

struct nt_names {
    const char **name; /* count names, in the order of adding */
    uint32_t *slot;    /* hash table of slots entries: index + 1, or 0 */
    size_t count, slots;
    struct nt_arena memory; /* copies of names */
};

/* {0} is an empty index. */
void nt_names_fini(struct nt_names *names);

/* Adds a borrowed name, which must outlive the index. 0: *index is new; 1: the name exists with
 * *index; -1: no memory. */
int nt_names_add(struct nt_names *names, const char *name, uint32_t *index, struct nt_err *err);

/* Adds a copy of a name without zero bytes. Returns as nt_names_add. */
int nt_names_add_copy(struct nt_names *names, const char *name, size_t bytes, uint32_t *index,
                      struct nt_err *err);

/* Returns the index of a name, or NT_NAMES_NONE. */
uint32_t nt_names_find(const struct nt_names *names, const char *name, size_t bytes);

#endif
