/* SPDX-License-Identifier: Apache-2.0 */
/* Bandwidth of the links of a known network: who sends to whom, round by round.
 *
 * The order of things is that of A. Bufe's thesis (Hamburg 2014), sections 2.3.1 to 2.3.4 (links
 * between hosts, between host and switch, between switches, then the most that a switch carries),
 * but all leaves and all parents at once: links that do not meet are loaded in the same round.
 * Phases:
 *
 *   warm-up     two short rounds, not for solving: all leaves at once, then one of the pairs alone.
 *               They tell how long a window has to be, and whether all can run at once (2.3.2): if
 *               not, every later round is split into parts of what they had together, each with
 *               whole groups
 *   host-links  neighbours on a switch, in both pairings and both directions; rounds in which
 *               all hosts were slower than in another one again; hosts below their leaf's median by
 *               4 sd again with the best partner. Links between hosts: in rounds of disjoint links,
 *               both directions
 *   tiers       fan: about a third of the groups below a parent send with all their hosts to the
 *               others, each group once, both directions, so that a sender's uplink carries twice
 *               what a receiver's does and is the only bottleneck. Where a group has more than
 *               0.45 of the hosts, half of its flows leave the parent. Groups below what the
 *               others reached send again alone. Then pairs of groups, both pairings, both
 *               directions, for networks whose routes decide what a pairing gets. At last,
 *               the rounds of groups once more, and again those with a link of which no two
 *               rounds agree within 5 %: one round alone may have been disturbed.
 *               In a network of switches with cycles (2.3.3, case 2): near, the hosts at the two
 *               ends of each link send to each other, links that do not meet in the same round.
 *               Wide, for links that near flows did not fill: also the hosts of the ends'
 *               neighbours whose only shortest path goes over the link
 *   ladder      1, 2, 4, ... flows of a pairing: what a link or switch gives alone and shared
 *
 * A host has one partner in a round, and flows go from the first to the second of a pair. Pure. */
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

/* Whether a phase of that name is one of the above. */
bool nt_bandwidth_is_phase(const char *name);

/* What a warm-up has shown, and the rounds after it. */
struct nt_bandwidth_seen {
    double rate_MBps;  /* of a flow; 0: nothing yet */
    double limit_MBps; /* of all flows at once; INFINITY: all that hosts send */
};

struct nt_bandwidth_options {
    unsigned phases;   /* of the above; 0: all */
    unsigned highest;  /* tiers of links between switches to load, from the leaves; 0: all */
    double window_s;   /* the longest window; 0: 0.3 s. Most links get shorter ones */
    double shortest_s; /* the shortest window; 0: 10 ms */
    double max_load;   /* share of the hosts below a link that may send over it at the same
                          time, 0..1; 0: all. Below 1 most links are lower bounds only */
    bool once;         /* do not check rounds of groups with others */
    struct nt_bandwidth_seen *seen; /* NULL, or of the caller's, for several planners one after
                                       another on the same hosts: only the first has a warm-up */
};

/* model: as inferred, not kept; its missing hosts take no part, nor those that missing (hosts of
 * them, may be NULL) names. */
int nt_bandwidth_create(const struct nt_model *model, const bool *missing,
                        const struct nt_bandwidth_options *options, struct nt_planner **out,
                        struct nt_err *err);

/* The most rounds that are still to come, of all phases or of the one named ("tiers"): repetitions
 * that turn out needless are left out. After a warm-up that found that the network cannot carry all
 * flows at once it assumes as many parts a round as were needed so far. planner must come from
 * nt_bandwidth_create. */
size_t nt_bandwidth_rounds_left(const struct nt_planner *planner);
size_t nt_bandwidth_phase_left(const struct nt_planner *planner, const char *phase);

/* Of these, the repetitions; of those, the rounds that only check others. */
size_t nt_bandwidth_repeats_left(const struct nt_planner *planner);
size_t nt_bandwidth_checks_left(const struct nt_planner *planner);

/* How long a round measures by what is known so far, in seconds. */
double nt_bandwidth_window_s(const struct nt_planner *planner);

#endif
