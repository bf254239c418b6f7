/* SPDX-License-Identifier: Apache-2.0 */
/* Plans rounds of flows that show the bandwidth of each link of a known network. Pure.
 *
 * The order follows A. Bufe's thesis (Hamburg 2014), sections 2.3.1 to 2.3.4: links between
 * hosts, between hosts and switches, between switches, then the throughput of switches. Here all
 * leaves and all parents are measured at once: links that do not meet are loaded in the same round.
 * Phases:
 * - warm-up: two short rounds that are not used for solving: all leaves at once, then one of the
 *   pairs alone. They show how long a window must be, and whether all can run at once (2.3.2). If
 *   not, every later round is split into parts of the rate that all had together, each with whole
 *   groups.
 * - host-links: neighbours on a switch, in both pairings and both directions. Rounds in which all
 *   hosts were slower than in another round are repeated, and so are hosts 4 sd below the median of
 *   their leaf, with the best partner. Links between hosts: in rounds of disjoint links, both
 *   directions.
 * - tiers: fan: about a third of the groups below a parent send with all their hosts to the others,
 *   each group once, both directions, so that a sender's uplink carries twice the rate of a
 *   receiver's and is the only bottleneck. If a group has more than 0.45 of the hosts, half of its
 *   flows leave the parent. Then pairs of groups, both pairings, both directions, for networks in
 *   which routes determine the rate of a pairing. At the end, when a disturbance of the first
 *   rounds is over, groups that reached less than the others send again alone, and rounds of groups
 *   are repeated if one round alone shows the bandwidth of a link: neither another link of its tier
 *   in another round nor two of its own rounds agree within 5 %. In a network of
 *   switches with cycles (2.3.3, case 2): near: the hosts at the two ends of each link send to each
 *   other, in the same round for links that do not meet. Wide, for links that near flows did not
 *   fill: also the hosts of the ends' neighbours whose only shortest path uses the link.
 * - ladder: 1, 2, 4, ... flows of a pairing: the rate of a link or switch alone and shared.
 *
 * A host has one partner per round, and flows go from the first to the second host of a pair. */
#ifndef NT_BANDWIDTH_H
#define NT_BANDWIDTH_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "model.h"
#include "sweep.h"

enum {
    NT_BANDWIDTH_HOST_LINKS = 1,
    NT_BANDWIDTH_TIERS = 2,
    NT_BANDWIDTH_LADDER = 4,
    NT_BANDWIDTH_ALL = 7,
};

/* Whether one of these phases has this name. */
bool nt_bandwidth_is_phase(const char *name);

/* Messages of a flow that are in flight at the same time: the count of its order. */
enum { NT_FLOW_IN_FLIGHT = 16 };

/* The message size with which those in flight are a small part of this window. rate_MBps: of the
 * flow; NaN: unknown. */
double nt_flow_message_bytes(double rate_MBps, double window_s);

/* Results of the warm-up and of the rounds after it. */
struct nt_bandwidth_state {
    double rate_MBps;  /* of one flow; 0: unknown */
    double limit_MBps; /* of all flows at once; INFINITY: no limit below the hosts' links */
};

struct nt_bandwidth_options {
    unsigned phases; /* of the enum above; 0: all */
    /* number of tiers of links between switches to load, from the leaves; 0: all */
    unsigned highest;
    double window_s;   /* the longest window; 0: 0.3 s. Most links have shorter ones */
    double shortest_s; /* the shortest window; 0: 10 ms */
    /* Share of the hosts below a link that can send over it at the same time, 0..1; 0: all. Below
     * 1 most bandwidths are lower bounds. */
    double max_load;
    bool once; /* do not repeat rounds of groups to check them */
    /* NULL, or the caller's, shared by several planners in sequence on the same hosts: only the
     * first one has a warm-up */
    struct nt_bandwidth_state *seen;
};

/* model: not kept; hosts that are missing in it or in missing[hosts] (may be NULL) take no part.
 * The caller frees *out. */
int nt_bandwidth_create(const struct nt_model *model, const bool *missing,
                        const struct nt_bandwidth_options *options, struct nt_planner **out,
                        struct nt_err *err);

/* Upper limit of the remaining rounds, of all phases or of the named phase ("tiers"); unnecessary
 * repetitions are left out later. If the warm-up found that the network cannot carry all flows at
 * once, it assumes as many parts per round as were needed so far. planner: from
 * nt_bandwidth_create. */
size_t nt_bandwidth_rounds_left(const struct nt_planner *planner);
size_t nt_bandwidth_phase_left(const struct nt_planner *planner, const char *phase);

/* Of the remaining rounds, the repetitions; of the repetitions, those that only check others. */
size_t nt_bandwidth_repeats_left(const struct nt_planner *planner);
size_t nt_bandwidth_checks_left(const struct nt_planner *planner);

/* Current estimate of the window of a round, in seconds. */
double nt_bandwidth_window_s(const struct nt_planner *planner);

#endif
