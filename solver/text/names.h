/* SPDX-License-Identifier: Apache-2.0 */
/* Names to indices, for texts that name hosts: an index of the names of 0, 1, 2, ... */
#ifndef NT_NAMES_H
#define NT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"

enum { NT_NAMES_NONE = UINT32_MAX };

struct nt_names {
    const char **name; /* count of them, in the order in which they came */
    uint32_t *slot;    /* slots of them: index + 1, or 0 */
    size_t count, slots;
    struct nt_arena memory; /* of the copies */
};

/* {0} is empty. */
void nt_names_fini(struct nt_names *names);

/* Borrows the name, which must live as long. 0: *index is new; 1: the name was there, at *index;
 * -1: no memory. */
int nt_names_add(struct nt_names *names, const char *name, uint32_t *index, struct nt_err *err);

/* The same for a copy, which lives as long as the index; without zero bytes. */
int nt_names_add_copy(struct nt_names *names, const char *name, size_t bytes, uint32_t *index,
                      struct nt_err *err);

/* NT_NAMES_NONE when it is not there. */
uint32_t nt_names_find(const struct nt_names *names, const char *name, size_t bytes);

#endif
