/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts of one source found in another by name: the same name, or n1 for n1.cluster.example where
 * only one side has domains and only one host is called so. An address is no name with a domain.
 * Tests: test_host_match.c. */
#ifndef NT_HOST_MATCH_H
#define NT_HOST_MATCH_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "names.h"

struct nt_host_index {
    struct nt_names full, bare; /* the names; those of full's with a domain, without it */
    uint32_t *of_bare;          /* which of full, or NT_NAMES_NONE: several */
};

/* Borrows the names, which must be different. */
int nt_host_index_init(struct nt_host_index *index, const char *const *name, size_t count,
                       struct nt_err *err);
void nt_host_index_fini(struct nt_host_index *index);

/* The host's place in the array, or NT_NAMES_NONE: it is not there, or could be several. */
uint32_t nt_host_index_find(const struct nt_host_index *index, const char *name, size_t bytes);

/* at[k]: the place of my host k among theirs, or NT_NAMES_NONE. No two get the same one: it is that
 * of the same name, else of neither. */
int nt_host_match(const char *const *mine, size_t count, const char *const *theirs,
                  size_t their_count, uint32_t *at, struct nt_err *err);

#endif
