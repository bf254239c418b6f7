/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the rounds that determine the latency of each link best, on a known tree.
 *
 * A link's latency is a difference of pairs' latencies, so it needs pairs that differ only by the
 * link. Among the hosts of a leaf switch, these are cyclic shifts; above, several pairs of hosts of
 * neighbouring branches of a switch, spread evenly over the hosts below. There are about six
 * equations per link. Standard errors are then 0.1 to 0.3 of a pair's sd, while a minimal set (Liu
 * et al., NPC 2018, section 3.2) amplifies it several times. 8-byte messages do not load a link, so
 * one partner per host is enough, and rounds need not be link-disjoint. */
#ifndef NT_LINK_LATENCY_PLAN_H
#define NT_LINK_LATENCY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "model.h"
#include "sweep.h"

/* Makes a planner of latency rounds in phase "link-latency", each with batches of count pings.
 * model: not kept. setup->missing (may be NULL) excludes hosts. *rounds: number of rounds.
 * NT_ERR_INPUT: the links are not a tree. The caller frees *out. */
int nt_link_latency_plan_create(const struct nt_model *model, const struct nt_sweep_setup *setup,
                                struct nt_planner **out, size_t *rounds, struct nt_err *err);

#endif
