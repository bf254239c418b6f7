/* SPDX-License-Identifier: Apache-2.0 */
/* Bandwidths of links from flows that ran at the same time.
 *
 * A link carries in a round what its flows had together; what it can carry is the mean of the
 * rounds within 3 sd of a flow, at most 5 %, of its best one (hosts' links: 15 %). A flow's
 * candidate bottlenecks are the links on its way that are as full as they ever were and on which no
 * other flow is much faster. A link is a value where at least 30 % of its flows in a round had it
 * as their only candidate, else a lower bound. The standard error is that of the mean, from the
 * spread of those rounds and, for two more, what flows vary by in the whole sweep. Directions are
 * independent. See solver/plan/bandwidth.h for rounds that make links the only candidates.
 *
 * On cycles only flows with one shortest path count (core/only_paths.h). A round with a flow of
 * another path bounds the links between switches, or between hosts, from below and makes none a
 * value.
 * Tests: test_flow_links.c, test_switch_throughput.c. */
#ifndef NT_FLOW_LINKS_H
#define NT_FLOW_LINKS_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "fault.h"
#include "model.h"

struct nt_flow_seen {
    uint32_t from, to; /* hosts */
    double rate_MBps;  /* that it had */
};

/* Flows that ran at the same time. */
struct nt_flow_round {
    size_t flows;
    const struct nt_flow_seen *flow;
};

/* A copy of model with the bandwidths of the links that the flows went through, in place of any
 * that it had; NaN for the others.
 *   at_least   neither direction was ever a bottleneck; forth_at_least, back_at_least: the one
 *              was not
 *   effective  flows got less than any link on their way explains: the plateau is one of routing
 *   loaded     the same flows had clearly less over the link in one round than in another in which
 *              it was the bottleneck; it is a value only if the two best rounds agree
 *   suspect    (set, never cleared) narrower than its class by more than 8 % and 4 sd of the
 *              class, in a direction that is a value and in which the two best rounds agree within
 *              10 %, or 30 % where the best is less than 0.8 of what is usual. The class of a
 *              host's link is those at the same switch, of a link between switches those below the
 *              same parent; with fewer than three there, all of the tier
 *   oversubscription  of a switch below another: the sum of what its links below could bring up,
 *              over the link above, the larger of both directions; 1 when the link above was never
 *              the bottleneck though all below was sent
 *   bisection  nt_bisection_find
 *
 * Flows of hosts whose way is not known are left out. */
int nt_infer_flows(const struct nt_model *model, const struct nt_flow_round *round, size_t rounds,
                   struct nt_model **out, struct nt_err *err);

/* ---- bisection.c ---- */

/* The least capacity from one half of the hosts to the other, over all halvings that differ by at
 * most a host; switches are on either side (A. Bufe, Hamburg 2014, section 1.4). Of links whose
 * bandwidths are all known, lower bounds as they are; else NaN.
 *
 * Exact for trees of at most 8192 hosts, and for graphs of at most 20 switches and hosts that are
 * not behind one: all halvings are tried. In general the problem is NP-hard (M. R. Garey, D. S.
 * Johnson, L. Stockmeyer, Some simplified NP-complete graph problems, Theoretical Computer Science
 * 1, 1976, theorem 1.3): in graphs of at most 2048 it is the best cut that was found, so that the
 * network has at most that, and bisection_at_most is set. */
int nt_bisection_find(struct nt_model *model, struct nt_err *err);

/* ---- shared_paths.c ---- */

/* Two links that the model has apart and whose flows hold each other back: behind them is something
 * that both share, such as a cable above two switches that latencies do not tell from two cables.
 *
 * Candidates are two links below one switch, of two switches or of two hosts, that were the only
 * ones there whose flows, in a round, got less than any link on their ways explains. They share a
 * path where each reached what it has while the other was idle, together they never had more than
 * about the same sum, well below what they have alone, in at least two rounds, and the switch
 * above carried more in another round, or another of its links was full meanwhile: else it is the
 * switch that is full. Rounds in which nearly all flows of both go over a third link do not count.
 * What fits the same rounds as well is an alternative. The confidence is that of a fault
 * (faults.h), with the prior of one link in as many as could share it.
 *
 * Adds findings of kind NT_FAULT_PATH_SHARED to the count there are: part has the lower ends of the
 * two links, found is what they had together, expected what they have alone. model: with the
 * bandwidths that nt_infer_flows has from these rounds. fault: room for NT_FAULTS_MAX. Nothing in
 * networks that are no tree. */
int nt_shared_paths_find(const struct nt_model *model, const struct nt_flow_round *round,
                         size_t rounds, struct nt_fault *fault, size_t *count, struct nt_err *err);

/* The most that a switch carried: A. Bufe's maximum throughput (Hamburg 2014, section 2.3.4), from
 * all rounds of flows.
 *
 * Sums of the flows through it at the same time. It is what the switch can carry only where it was
 * full: more flows had, within 5 %, no more together than fewer had (a quarter more), and some of
 * both less than any link on their ways explains. Else it is a lower bound: links were full first,
 * and flows of a round load one direction of each host's link, so that a switch of hosts alone is
 * never driven to more than half.
 *
 * Sets throughput of the model's switches; model: with the bandwidths that nt_infer_flows has from
 * these rounds. One flow says nothing of a switch. Nothing in networks that are no tree. */
int nt_switch_throughput_find(struct nt_model *model, const struct nt_flow_round *round,
                              size_t rounds, struct nt_err *err);

#endif
