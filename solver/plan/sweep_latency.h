/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the latencies from which a network is inferred: all pairs for few hosts, else the
 * adaptive sweep, followed by all pairs if its result was refuted.
 *
 * With more than NT_SWEEP_ALL_HOSTS_MAX hosts, all pairs are never measured, and a network that the
 * adaptive sweep cannot find is undetermined.
 *
 * Implements sweep.h. All pairs are measured in three passes, also after an adaptive sweep: the
 * lowest of several readings is right if one of them was not disturbed, and with three readings,
 * one that is too low can be detected (core/min_latency.h). With few hosts (disturbed.h), up to
 * nine passes follow until hardly any pair is expected to have only disturbed readings. */
#ifndef NT_SWEEP_LATENCY_H
#define NT_SWEEP_LATENCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "belief.h"
#include "err.h"
#include "matrix.h"
#include "option.h"
#include "sparse.h"
#include "sweep.h"

/* Three passes over all pairs of this number of hosts have 3 x 4,095 rounds and 25 million
 * readings, one line of the record each. Twice the hosts need twice the rounds and four times the
 * readings. */
enum { NT_SWEEP_ALL_HOSTS_MAX = 4096 };

/* mode: auto is adaptive from NT_SWEEP_ADAPTIVE_FROM present hosts on; all and sequential (one pair
 * at a time) also are, with more than NT_SWEEP_ALL_HOSTS_MAX hosts. setup->batches is for all
 * pairs; the number of passes is found by the sweep. *rounds: expected number of rounds, 0:
 * unknown. The caller frees *out. */
int nt_sweep_latency_create(const struct nt_sweep_setup *setup, enum nt_sweep_mode mode,
                            struct nt_planner **out, size_t *rounds, struct nt_err *err);

/* Starts from a prior (sweep_prior.h); call it before the first round. If the prior is verified,
 * nothing else is measured, otherwise the sweep continues as without it. NT_ERR_INPUT: the prior is
 * for other hosts. These functions take planners of nt_sweep_latency_create only. */
int nt_sweep_latency_set_prior(struct nt_planner *planner, const struct nt_belief *belief,
                               struct nt_err *err);

/* The state of the adaptive sweep, or of the sweep of a prior, if it ended with a verified network,
 * so that nothing else is needed; borrowed. NULL otherwise. */
const struct nt_sparse *nt_sweep_latency_verified(const struct nt_planner *planner);

/* Whether the readings so far determine a network. */
bool nt_sweep_latency_is_determined(const struct nt_planner *planner);

/* The number of passes over all pairs. */
unsigned nt_sweep_latency_passes(const struct nt_planner *planner);

/* Whether all planned pairs are measured and further rounds repeat them because of disturbances.
 * The sweep can end at any of these. */
bool nt_sweep_latency_repeats(const struct nt_planner *planner);

/* The reason why all pairs are measured after an adaptive sweep, or would be with fewer hosts, or
 * why they are not although requested. NULL: none of these. */
const char *nt_sweep_latency_all_pairs_reason(const struct nt_planner *planner);

/* Whether only some pairs were measured so far. */
bool nt_sweep_latency_is_adaptive(const struct nt_planner *planner);

/* Writes the minimum of all latencies per pair and direction, for at most NT_SWEEP_ALL_HOSTS_MAX
 * hosts, and its standard error (error may be NULL). The caller owns both matrices. */
int nt_sweep_latency_matrix(const struct nt_planner *planner, struct nt_matrix **out,
                            struct nt_matrix **error, struct nt_err *err);

#endif
