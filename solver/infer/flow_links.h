/* SPDX-License-Identifier: Apache-2.0 */
/* Bandwidths of links from flows that ran at the same time.
 *
 * A link carries the sum of its flows in a round. Its capacity is the mean of the rounds within 3
 * sd of a flow, at most 5 %, of its best round (hosts' links: 15 %). The candidate bottlenecks of a
 * flow are the links on its path that are as full as they ever were and on which no other flow is
 * much faster. A bandwidth is a value if in some round the link was the only candidate for at least
 * 30 % of its flows, else a lower bound. The standard error of the mean comes from the spread of
 * those rounds and from the usual variation of flows in the whole sweep, with the weight of two
 * more rounds. Directions are independent. plan/bandwidth.h plans rounds that make links the only
 * candidates.
 *
 * On cycles only flows with one shortest path are used (core/unique_paths.h). A round with a flow
 * on an unknown path gives only lower bounds for the links between switches, or between hosts.
 * Tests: test_flow_links.c, test_switch_throughput.c. */
#ifndef NT_FLOW_LINKS_H
#define NT_FLOW_LINKS_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "fault.h"
#include "model.h"
#include "rooted_tree.h"

struct nt_measured_flow {
    uint32_t from, to; /* hosts */
    double rate_MBps;  /* rate of the flow */
};

/* Flows that ran at the same time. */
struct nt_flow_round {
    size_t flows;
    const struct nt_measured_flow *flow;
};

/* Copies model with the bandwidths of the links that the flows used; these replace existing ones,
 * and other links have NaN. Sets:
 * - at_least: neither direction was ever a bottleneck; forth_at_least, back_at_least: this
 *   direction was not;
 * - effective: flows were slower than any link on their path explains, so that the bandwidth
 *   depends on routing;
 * - loaded: the same flows were clearly slower over the link in one round than in another in which
 *   it was the bottleneck, and the two best rounds agree;
 * - suspect (set, never cleared): narrower than its class by more than 8 % and 4 sd of the class,
 *   in a direction that is a value and in which the two best rounds agree within 10 %, or 30 % if
 *   the best is below 0.8 of the usual bandwidth. A host's link must also be narrower than others
 *   that sent in the same rounds (in the nearest ones if it sent alone), since all flows of a round
 *   can be disturbed. Its class is the hosts' links at the same switch, that of a link between
 *   switches the links below the same parent; with fewer than three links, all links of the tier;
 * - oversubscription of a switch below another: the sum of the bandwidths of the links below over
 *   that of its uplink, the larger of both directions; 1 if the uplink was never the bottleneck
 *   though all hosts below sent;
 * - bisection: nt_bisection_find.
 *
 * Flows on unknown paths are left out. The caller frees *out. */
int nt_infer_flows(const struct nt_model *model, const struct nt_flow_round *round, size_t rounds,
                   struct nt_model **out, struct nt_err *err);

/* ---- bisection.c ---- */

/* The smallest capacity from one half of the hosts to the other, over all halvings that differ by
 * at most one host; switches can be on either side (A. Bufe, Hamburg 2014, section 1.4). Sets
 * bisection_MBps; lower bounds of links count as they are; NaN if some bandwidth is unknown.
 *
 * Exact for trees of up to 8192 hosts, and, by trying all halvings, for graphs of up to 20 switches
 * and hosts without a switch. rooted: of this model. The general problem is NP-hard (M. R. Garey,
 * D. S. Johnson, L. Stockmeyer, Some simplified NP-complete graph problems, Theoretical Computer
 * Science 1, 1976, theorem 1.3). For graphs of up to 2048 it is the best cut that was found, an
 * upper bound, and bisection_at_most is set. */
int nt_bisection_find(struct nt_model *model, const struct nt_rooted_tree *rooted,
                      struct nt_err *err);

/* ---- shared_paths.c ---- */

/* Finds two links of the model whose flows slow each other down, because both share something that
 * the latencies do not show, such as one cable above two switches.
 *
 * Candidates are two links below one switch, of two switches or of two hosts, that alone below this
 * switch had flows in one round that no link on their paths explains. They share a path if each
 * reached its bandwidth while the other was idle, and if in at least two rounds both together had
 * about the same sum, well below the sum of both alone. In addition, the switch above must have
 * carried more in another round, or another of its links was full meanwhile, because otherwise the
 * switch is full. Rounds in which nearly all flows of both use a third link are ignored.
 * Explanations that fit the same rounds are alternatives. The confidence is that of a fault
 * (faults.h), with a prior of one over the number of links that could share the path.
 *
 * Adds findings of kind NT_FAULT_PATH_SHARED to the *count in fault (room for NT_FAULTS_MAX). The
 * part has the lower ends of both links; found is their bandwidth together, expected their
 * bandwidth alone. model: with the bandwidths of nt_infer_flows from these rounds. Adds nothing if
 * the network is not a tree. */
int nt_shared_paths_find(const struct nt_model *model, const struct nt_flow_round *round,
                         size_t rounds, struct nt_fault *fault, size_t *count, struct nt_err *err);

/* The maximum throughput of switches (A. Bufe, Hamburg 2014, section 2.3.4), from all rounds of
 * flows.
 *
 * It is the largest sum of flows through the switch at one time. It is a value only if the switch
 * was full: a quarter more flows had the same sum within 5 %, and some flows of both rounds were
 * slower than any link on their paths explains. Else it is a lower bound, since links were full
 * first. Flows of a round load one direction of each host's link, so a switch with only hosts never
 * exceeds half of its capacity.
 *
 * Sets throughput of the model's switches. model: with the bandwidths of nt_infer_flows from these
 * rounds. A single flow is not used. Sets nothing if the network is not a tree. */
int nt_switch_throughput_find(struct nt_model *model, const struct nt_flow_round *round,
                              size_t rounds, struct nt_err *err);

#endif
