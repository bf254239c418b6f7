/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the shapes of two models and ignores latencies and bandwidths.
 *
 * A network without cycles is the set of divisions of the hosts by its links (Buneman 1971);
 * divisions that separate one host are ignored. So the comparison ignores names of switches and
 * switches with two links. A line of hosts equals a line of switches with one host each, because no
 * measurement can distinguish them. A full mesh equals a star. With cycles, both must have the same
 * links between hosts, and the same switches up to their names.
 * Tests: test_network.c, test_slow_hosts.c. */
#ifndef NT_SHAPE_H
#define NT_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "model.h"

struct nt_shape_difference {
    bool equal;
    bool trees;      /* both have no cycles: missing and invented are set */
    size_t missing;  /* divisions of truth that found lacks */
    size_t invented; /* divisions of found that truth lacks */
};

/* NT_ERR_INPUT: different numbers of hosts. O(links log links). */
int nt_shape_compare(const struct nt_model *found, const struct nt_model *truth,
                     struct nt_shape_difference *out, struct nt_err *err);

/* As above; false also if the comparison fails (memory, hosts). */
bool nt_shape_equal(const struct nt_model *a, const struct nt_model *b);

#endif
