/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds that determine each link's latency best, on a tree that is known already.
 *
 * A link's latency is a difference of pairs' latencies, so it takes pairs that share everything but
 * the link. Among the hosts of a leaf: cyclic shifts. Above: between neighbouring branches of a
 * switch, several pairs of hosts each, spread evenly over what is below them. About six rows a
 * link; standard errors come to 0.1 to 0.3 of one pair's sd, where a minimal set (Liu et al., NPC
 * 2018, section 3.2) amplifies it several times. 8-byte messages do not load a link, so one partner
 * a host is enough and rounds need not be disjoint in links. */
#ifndef NT_LINK_LATENCY_PLAN_H
#define NT_LINK_LATENCY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "model.h"
#include "sweep.h"

/* Orders of latency in phase "link-latency", each of batches of count pings. The model is only read
 * here. missing (model->hosts of them, may be NULL) leaves hosts out. *rounds: how many there will
 * be. NT_ERR_INPUT when the links are no tree. */
int nt_link_latency_plan_create(const struct nt_model *model, const struct nt_sweep_setup *setup,
                                struct nt_planner **out, size_t *rounds, struct nt_err *err);

#endif
