/* SPDX-License-Identifier: Apache-2.0 */
/* Rates of flows that share a network: max-min fair, by progressive filling (Bertsekas, Gallager,
 * Data Networks, 1992, section 6.5.2): all flows rise together; when a link is full, those
 * through it stay; the others go on. What TCP and credit-based fabrics come near to. */
#ifndef NT_FLOWS_H
#define NT_FLOWS_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "network.h"

struct nt_flow {
    uint32_t from, to; /* hosts */
    double rate_MBps; /* out; INFINITY when nothing limits it (also from == to); 0 without a path */
};

/* Sets the rates of n flows that run at the same time, each over all rails of its hosts. O(hops of
 * all flows * log). */
int nt_flows_share(const struct nt_network *network, struct nt_flow *flow, size_t n,
                   struct nt_err *err);

/* The same over this rail alone. */
int nt_flows_share_rail(const struct nt_network *rail, struct nt_flow *flow, size_t n,
                        struct nt_err *err);

/* Each ordered pair alone: the narrowest arc of its route, of all rails together; NaN where no arc
 * has a rate. */
int nt_flows_alone(const struct nt_network *network, struct nt_matrix **out, struct nt_err *err);

#endif
