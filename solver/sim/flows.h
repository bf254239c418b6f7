/* SPDX-License-Identifier: Apache-2.0 */
/* Rates of flows that share a network: max-min fair, by progressive filling (Bertsekas, Gallager,
 * Data Networks, 1992, section 6.5.2). The rates of all flows rise together; when a link is full,
 * its flows keep their rate and the others continue. TCP and credit-based fabrics approximate
 * this. */
#ifndef NT_FLOWS_H
#define NT_FLOWS_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "network.h"

struct nt_flow {
    uint32_t from, to; /* hosts */
    double rate_MBps;  /* output; INFINITY: not limited (also from == to); 0: no path */
};

/* Sets the rates of n simultaneous flows, each over all rails of its hosts. O(hops of all flows *
 * log). */
int nt_flows_share(const struct nt_network *network, struct nt_flow *flow, size_t n,
                   struct nt_err *err);

/* Sets the rates over this rail only. */
int nt_flows_share_rail(const struct nt_network *rail, struct nt_flow *flow, size_t n,
                        struct nt_err *err);

/* Creates a matrix of the rate of each ordered pair without other flows: the narrowest arc of its
 * route, summed over all rails; NaN if no arc has a rate. */
int nt_flows_alone(const struct nt_network *network, struct nt_matrix **out, struct nt_err *err);

#endif
