/* SPDX-License-Identifier: Apache-2.0 */
/* Inside sim/: what building and routing must agree on.
 * Tests: test_network.c. */
#ifndef NT_PATHS_H
#define NT_PATHS_H

#include "network.h"

/* As nt_network_from_model, with the routes of a topology. spec may be NULL for trees, tables. */
int nt_network_with_routes(const struct nt_model *model, enum nt_routing routing,
                           const struct nt_spec *spec, struct nt_network **out, struct nt_err *err);

/* Number of the k-th switch of a level: level 1 the leaves, level Q the roots. Below the roots k
 * is pod * (P/2)^(Q-2) + word. */
size_t nt_fattree_switch(const struct nt_spec *spec, size_t level, size_t k);

/* The router (of dragonfly+: the spine) of group that has the link to group other; a switch's
 * number. In a group of a dragonfly+ leaves come before spines. */
size_t nt_dragonfly_gate(const struct nt_spec *spec, size_t group, size_t other);

/* Fills network->table. */
int nt_routes_tabulate(struct nt_network *network, struct nt_err *err);

#endif
