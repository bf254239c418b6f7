/* SPDX-License-Identifier: Apache-2.0 */
/* The most that a switch carried: A. Bufe's maximum throughput (Hamburg 2014, section 2.3.4), from
 * all rounds of flows.
 *
 * Sums of the flows through it at the same time. It is what the switch can carry only where it was
 * full: more flows had, within 5 %, no more together than fewer had (a quarter more), and some of
 * both less than any link on their ways explains. Else it is a lower bound: links were full first,
 * and flows of a round load one direction of each host's link, so that a switch of hosts alone is
 * never driven to more than half.
 * Tests: test_switch_throughput.c. */
#ifndef NT_INFER_SWITCH_THROUGHPUT_H
#define NT_INFER_SWITCH_THROUGHPUT_H

#include <stddef.h>

#include "err.h"
#include "flow_links.h"
#include "model.h"

/* Sets throughput of the model's switches; model: with the bandwidths that nt_infer_flows has from
 * these rounds. One flow says nothing of a switch. Nothing in networks that are no tree. */
int nt_switch_throughput_find(struct nt_model *model, const struct nt_flow_round *round,
                              size_t rounds, struct nt_err *err);

#endif
