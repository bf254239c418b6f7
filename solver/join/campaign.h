/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a sweep as a sequence of phases within a budget: latency, then the phases of the level as
 * far as time allows. Each phase has a planner (plan/sweep.h). Pure, no clock: elapsed time and
 * durations of rounds are arguments.
 *
 * A phase starts only if it fits into the remaining time; the cost of a round is estimated from
 * earlier rounds. Each phase that is left out gives one warning. Between phases the record is
 * consistent, so that a map can be made of it at any time. */
#ifndef NT_CAMPAIGN_H
#define NT_CAMPAIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "belief.h"
#include "err.h"
#include "infer.h"
#include "model.h"
#include "option.h"
#include "plan.h"
#include "sweep.h"
#include "workload.h"

struct nt_campaign_options {
    enum nt_level level;
    bool latency_only; /* policy of shared hosts: no phase that loads a link */
    double budget_s;   /* for everything, including solving and publishing */
    double asked_s;    /* the budget of the job, of which budget_s remains, for messages; 0: none */
    double max_load;   /* limit of the mean share of a link that the sweep uses; 1: no limit */
    uint64_t seed;     /* of all random choices */
    enum nt_sweep_mode mode; /* of the latency sweep; auto: by the number of hosts */
    /* Prior of these hosts; NULL: none. Borrowed during the campaign's lifetime; not used for all
     * pairs or sequential. */
    const struct nt_belief *belief;
    size_t rails;            /* network devices per host to measure separately; below 2: none */
    const char *const *rail; /* rails names, borrowed during the campaign's lifetime */
    /* stresses kernels that replace those of level full, at any level (plan/stress.h); borrowed
     * during the campaign's lifetime */
    const struct nt_workload *stress;
    size_t stresses; /* 0: those of level full */
    /* Of these hosts: only its pairs are measured, in its rounds; NULL: none. Borrowed during the
     * campaign's lifetime. */
    const struct nt_plan *plan;
    bool plan_flows; /* their bandwidths, not their latencies */
};

struct nt_campaign;

enum { NT_CAMPAIGN_HOSTS_MAX = 65536 };

/* missing[hosts] (may be NULL): excludes hosts from the start. Copies the inputs that it uses.
 * Memory: while the latency sweep is adaptive, linear in the measured pairs; for all pairs a matrix
 * of at most NT_SWEEP_ALL_HOSTS_MAX hosts (plan/sweep_latency.h). NT_ERR_INPUT: more than
 * NT_CAMPAIGN_HOSTS_MAX hosts. The caller frees *out. */
int nt_campaign_create(size_t hosts, const bool *missing, const struct nt_campaign_options *options,
                       struct nt_campaign **out, struct nt_err *err);
void nt_campaign_destroy(struct nt_campaign *campaign);

/* elapsed_s: time since the start of the budget. 1: *order is the next round, its pairs are valid
 * until the next call; 0: the campaign is complete, or nothing more fits; -1: error. */
int nt_campaign_next(struct nt_campaign *campaign, double elapsed_s, struct nt_order *order,
                     struct nt_err *err);

/* Another round that can be measured with the last one before its results arrive: its pairs do not
 * depend on them, and only its pairs differ. together: number of rounds ordered in this way.
 * Results are reported per round, in their order. 1: *order as above; 0: there is none, or the
 * rounds together would delay the detection of a lost host for too long. */
int nt_campaign_next_ahead(struct nt_campaign *campaign, size_t together, struct nt_order *order,
                           struct nt_err *err);

/* Takes the results of the last round, in any order; some may be missing. round_seconds: duration
 * of the whole round; 0 if a host failed, so that it is not used as an estimate. */
int nt_campaign_tell(struct nt_campaign *campaign, const struct nt_result *results, size_t n,
                     double round_seconds, struct nt_err *err);

/* Marks this host as lost. */
void nt_campaign_lose(struct nt_campaign *campaign, uint32_t host);

/* The pause before the round that was ordered last, so that max_load holds: a round that loaded
 * links for t seconds is followed by a pause of t / max_load - t. Flows run at full speed for part
 * of the time, because a throttled flow would measure only the throttle. */
double nt_campaign_pause_s(const struct nt_campaign *campaign);

/* The part of the budget for measuring; the rest is for solving and publishing. */
double nt_campaign_measuring_s(double budget_s);

/* The warnings about phases that were left out or shortened, one line each; borrowed. */
size_t nt_campaign_warnings(const struct nt_campaign *campaign);
const char *nt_campaign_warning(const struct nt_campaign *campaign, size_t k);

/* The first warning that the budget caused; NULL: none. */
const char *nt_campaign_budget_warning(const struct nt_campaign *campaign);

/* Whether the network was found and verified from some pairs, or all pairs of the given plan have a
 * reading, so that other pairs are not missing. */
bool nt_campaign_is_verified(const struct nt_campaign *campaign);

/* The warning that the network is undetermined independent of the budget; borrowed. NULL: it is
 * determined, or would be with more time. */
const char *nt_campaign_undetermined(const struct nt_campaign *campaign);

/* Moves the last consistent network, over all hosts, to the caller (nt_inferred_fini), with the
 * latencies of all pairs from which it was inferred; without latencies if it comes from some pairs
 * or also from repetitions. model NULL: unknown. Valid after the last round. */
void nt_campaign_take_inferred(struct nt_campaign *campaign, struct nt_inferred *out);

struct nt_campaign_progress {
    const char *phase; /* the current phase; "" before and after the campaign */
    size_t round;      /* of this phase, from 1 */
    size_t rounds;     /* expected number; 0: unknown */
    double left_s;     /* remaining time for measuring at the last nt_campaign_next */
};
void nt_campaign_progress(const struct nt_campaign *campaign,
                          struct nt_campaign_progress *progress);

#endif
