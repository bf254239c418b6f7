/* SPDX-License-Identifier: Apache-2.0 */
/* Finds hosts of one source in another by name: the same name, or n1 for n1.cluster.example if only
 * one side has domains and only one host matches. An address does not count as a name with a
 * domain.
 * Tests: test_host_match.c. */
#ifndef NT_HOST_MATCH_H
#define NT_HOST_MATCH_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "names.h"

struct nt_host_index {
    struct nt_names full, bare; /* all names; the names with a domain, without it */
    uint32_t *of_bare;          /* by bare name: index in full, or NT_NAMES_NONE: several */
};

/* Creates an index. Borrows the names, which must be different. */
int nt_host_index_init(struct nt_host_index *index, const char *const *name, size_t count,
                       struct nt_err *err);
void nt_host_index_fini(struct nt_host_index *index);

/* Returns the host's index in the array, or NT_NAMES_NONE: it is not there, or more than one
 * matches. */
uint32_t nt_host_index_find(const struct nt_host_index *index, const char *name, size_t bytes);

/* Sets at[k] to the index of host k of mine in theirs, or NT_NAMES_NONE. No two hosts get the same
 * index: the host with the same name gets it, otherwise neither. */
int nt_host_match(const char *const *mine, size_t count, const char *const *theirs,
                  size_t their_count, uint32_t *at, struct nt_err *err);

#endif
