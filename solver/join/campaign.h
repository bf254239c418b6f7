/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep as a sequence of phases under a budget: latency, then whatever the level asks for and the
 * time allows, each by a planner of its own (plan/sweep.h).
 *
 * A phase starts only when it fits: what a round costs is learned from the rounds so far. What is
 * left out is said in one warning each. Between phases the record is consistent: the map of all
 * that was measured so far can be made at any time. Pure, no clock: elapsed time and round times
 * are arguments. */
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
    bool latency_only; /* policy on shared hosts: nothing that loads a link */
    double budget_s;   /* for everything, solving and publishing too */
    double asked_s;    /* the job's budget, of which that is left; messages name it; 0: none */
    double max_load;   /* share of a link that the sweep may use on average; 1: all of it */
    uint64_t seed;     /* of everything random */
    enum nt_sweep_mode mode;        /* of latency; auto: by the number of hosts */
    const struct nt_belief *belief; /* of these hosts, to start from; NULL: none. Borrowed as long
                                       as the campaign lives; not for all pairs or sequential */
    size_t rails;            /* network devices a host that are measured apart; below 2: none */
    const char *const *rail; /* rails names, borrowed as long as the campaign lives */
    const struct nt_workload *stress; /* stresses of them, in place of level full's, at any level
                                         (plan/stress.h); borrowed as long as the campaign lives */
    size_t stresses;                  /* 0: level full's */
    const struct nt_plan *plan; /* of these hosts: its pairs in its rounds are all that is measured;
                                   NULL: none. Borrowed as long as the campaign lives */
};

struct nt_campaign;

enum { NT_CAMPAIGN_HOSTS_MAX = 65536 };

/* missing (hosts of them, may be NULL) leaves hosts out from the start. Copies what it needs: as
 * long as the sweep of latencies adapts, memory for the pairs that are measured; for all pairs a
 * matrix, of at most NT_SWEEP_ALL_HOSTS_MAX hosts (plan/sweep_latency.h). NT_ERR_INPUT over
 * NT_CAMPAIGN_HOSTS_MAX hosts. */
int nt_campaign_create(size_t hosts, const bool *missing, const struct nt_campaign_options *options,
                       struct nt_campaign **out, struct nt_err *err);
void nt_campaign_destroy(struct nt_campaign *campaign);

/* elapsed_s: since the budget began. 1: *order is the next round, its pairs valid until the next
 * call; 0: that was all, or nothing more fits; -1: error. */
int nt_campaign_next(struct nt_campaign *campaign, double elapsed_s, struct nt_order *order,
                     struct nt_err *err);

/* Another round that may be measured with the one last ordered, before anything is told of that:
 * its pairs do not depend on it, and all else of it is the same. 1: *order, as above; 0: there is
 * none, or the rounds together would take too long to notice a host that is lost. together: how
 * many have been ordered so already. Each is told apart, in their order. */
int nt_campaign_also(struct nt_campaign *campaign, size_t together, struct nt_order *order,
                     struct nt_err *err);

/* The results of the round last ordered, any order, missing ones allowed. round_seconds: what the
 * whole round took; 0 when a host failed in it, so that the next may take another time. */
int nt_campaign_tell(struct nt_campaign *campaign, const struct nt_result *results, size_t n,
                     double round_seconds, struct nt_err *err);

/* This host is lost. */
void nt_campaign_lose(struct nt_campaign *campaign, uint32_t host);

/* How long to rest before the round last ordered, so that max_load holds: a round that loaded links
 * for t seconds is followed by t / max_load - t of quiet. Full speed for a part of the time, as a
 * flow that is held back measures nothing but that. */
double nt_campaign_rest_s(const struct nt_campaign *campaign);

/* The time that may be measured in, of a budget: the rest is for solving and publishing. */
double nt_campaign_measuring_s(double budget_s);

/* What was left out or cut short, one line each; borrowed. */
size_t nt_campaign_warnings(const struct nt_campaign *campaign);
const char *nt_campaign_warning(const struct nt_campaign *campaign, size_t k);

/* The first of the warnings that the budget caused; NULL: it was long enough. */
const char *nt_campaign_cut(const struct nt_campaign *campaign);

/* The network was found and verified from some pairs, or all pairs of the plan that was given have
 * a reading: the others are not missing. */
bool nt_campaign_is_verified(const struct nt_campaign *campaign);

/* The warning that the network is undetermined whatever the budget, borrowed. NULL: it is
 * determined, or would be with more time. */
const char *nt_campaign_undetermined(const struct nt_campaign *campaign);

/* Moves the network that the last consistent latencies showed, over all hosts, to the caller
 * (nt_inferred_fini), with the latencies of all pairs that it is of: none when it is of some pairs,
 * or of repeats as well. model NULL: not known. Only after the last round. */
void nt_campaign_take_inferred(struct nt_campaign *campaign, struct nt_inferred *out);

struct nt_campaign_progress {
    const char *phase; /* that runs; "" before and after */
    size_t round;      /* of this phase, from 1 */
    size_t rounds;     /* that it expects; 0: unknown */
    double left_s;     /* of the measuring time, as of the last call with elapsed_s */
};
void nt_campaign_progress(const struct nt_campaign *campaign,
                          struct nt_campaign_progress *progress);

#endif
