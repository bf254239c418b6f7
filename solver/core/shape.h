/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two models are the same network, by shape alone; figures are not looked at.
 *
 * Without cycles a network is the set of ways in which its links divide the hosts (Buneman 1971);
 * divisions that leave one host alone say nothing. This makes names of switches, switches with two
 * links, and a line of hosts against a line of switches with a host each the same, as they are to
 * any measurement. So is a full mesh to a star. With cycles: the same links between hosts, and
 * switches the same up to their names.
 * Tests: test_network.c, test_slow_hosts.c. */
#ifndef NT_SHAPE_H
#define NT_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "model.h"

struct nt_shape_difference {
    bool equal;
    bool trees;      /* both without cycles: the counts below hold */
    size_t missing;  /* divisions of the truth that found lacks */
    size_t invented; /* divisions of found that the truth lacks */
};

/* O(links log links). NT_ERR_INPUT when the models have different numbers of hosts. */
int nt_shape_compare(const struct nt_model *found, const struct nt_model *truth,
                     struct nt_shape_difference *out, struct nt_err *err);

/* As above; false also when they could not be compared (memory, hosts). */
bool nt_shape_equal(const struct nt_model *a, const struct nt_model *b);

#endif
