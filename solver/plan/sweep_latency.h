/* SPDX-License-Identifier: Apache-2.0 */
/* The latencies from which a network is inferred: all pairs where hosts are few, else the adaptive
 * sweep, and all pairs after it when what it found is not the network that was measured.
 *
 * Over NT_SWEEP_ALL_HOSTS_MAX hosts never all pairs: then a network that the adaptive sweep cannot
 * find stays undetermined.
 *
 * A planner as sweep.h says. All pairs are measured in three passes, after an adaptive sweep, too:
 * the lowest of several readings is near the truth where a single one was disturbed, and of three
 * one that is too low shows (core/min_latency.h). Of few hosts (disturbed.h) passes go on, up to
 * nine, until hardly a pair is expected of which every reading was disturbed. */
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

/* Three passes over the pairs of so many hosts are 3 x 4,095 rounds and, each a line of the record,
 * 25 million readings; of twice the hosts twice the rounds and four times the readings. */
enum { NT_SWEEP_ALL_HOSTS_MAX = 4096 };

/* mode auto: adaptive from NT_SWEEP_ADAPTIVE_FROM present hosts on; all, and
 * sequential (a pair at a time): so too over NT_SWEEP_ALL_HOSTS_MAX hosts. Batches of the setup
 * are those of all pairs; passes are found out. *rounds: how many there will be, 0: unknown. */
int nt_sweep_latency_create(const struct nt_sweep_setup *setup, enum nt_sweep_mode mode,
                            struct nt_planner **out, size_t *rounds, struct nt_err *err);

/* Starts from what is believed (sweep_prior.h), before its first round: where that is verified
 * nothing else is measured, else everything is as without it. NT_ERR_INPUT: of other hosts. Only
 * for planners made above, as are the next. */
int nt_sweep_latency_believe(struct nt_planner *planner, const struct nt_belief *belief,
                             struct nt_err *err);

/* The state of the adaptive sweep, or of the one that started from a belief, when it has ended and
 * its network was verified: nothing else is needed. NULL otherwise. Borrowed. */
const struct nt_sparse *nt_sweep_latency_sound(const struct nt_planner *planner);

/* Enough is measured to determine a network, also when it ends now. */
bool nt_sweep_latency_is_determined(const struct nt_planner *planner);

/* How often each pair was read in sweeps of all pairs. */
unsigned nt_sweep_latency_passes(const struct nt_planner *planner);

/* What was planned is measured; the rounds from here on repeat it for what was disturbed, and it
 * may end at any of them. */
bool nt_sweep_latency_repeats(const struct nt_planner *planner);

/* Why all pairs are measured after an adaptive sweep, or would be if hosts were fewer; or why they
 * are not, though asked for. NULL: none of this. */
const char *nt_sweep_latency_why_all(const struct nt_planner *planner);

/* So far some pairs are measured and not all. */
bool nt_sweep_latency_adapts(const struct nt_planner *planner);

/* The minimum of all latencies so far, of each pair and direction, of at most
 * NT_SWEEP_ALL_HOSTS_MAX hosts, and its standard error (error may be NULL); matrices of the
 * caller's. */
int nt_sweep_latency_matrix(const struct nt_planner *planner, struct nt_matrix **out,
                            struct nt_matrix **error, struct nt_err *err);

#endif
