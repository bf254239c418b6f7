/* SPDX-License-Identifier: Apache-2.0 */
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
 * (fault_odds.h), with the prior of one link in as many as could share it.
 * Tests: test_flow_links.c. */
#ifndef NT_INFER_SHARED_PATHS_H
#define NT_INFER_SHARED_PATHS_H

#include <stddef.h>

#include "err.h"
#include "fault.h"
#include "flow_links.h"
#include "model.h"

/* Adds findings of kind NT_FAULT_PATH_SHARED to the count there are: part has the lower ends of the
 * two links, found is what they had together, expected what they have alone. model: with the
 * bandwidths that nt_infer_flows has from these rounds. fault: room for NT_FAULTS_MAX. Nothing in
 * networks that are no tree. */
int nt_shared_paths_find(const struct nt_model *model, const struct nt_flow_round *round,
                         size_t rounds, struct nt_fault *fault, size_t *count, struct nt_err *err);

#endif
