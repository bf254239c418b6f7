/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies the prior of a sweep (core/belief.h) from few readings. It is one part of inference, as
 * sparse.h is for networks without a prior.
 *
 * The prior groups the hosts per level, and the readings decide. The latency of a level is the
 * median over the readings of its pairs. Latencies within a level must vary little, and levels must
 * be apart from each other. A pair whose readings are those of another level contradicts the prior;
 * then the host with most contradictions becomes loose, like hosts that the prior does not cover. A
 * loose host is placed from the root: it is compared with one host of each cluster of a level, then
 * within the cluster that fits.
 *
 * Hosts of one cluster must be connected by pairs that were read as such, so that a part of it that
 * moved shows in at least one pair. Every two clusters below a common one must be read apart. So a
 * wrong, outdated or hostile prior costs rounds, but it is refuted or corrected. If all hosts are
 * on one level, every pair must be read, as without a prior (NT_VERIFY_ALL_SEATS), since two hosts
 * that share a switch show in few pairs.
 *
 * A pure function of prior and readings; time and memory are about linear in them and in the pairs
 * of clusters.
 * Tests: test_solve.c, test_sweep_prior.c. */
#ifndef NT_PRIOR_CHECK_H
#define NT_PRIOR_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "belief.h"
#include "err.h"
#include "memory.h"
#include "model.h"
#include "readings.h"
#include "sparse.h"

/* The name of its phase in the record. */
#define NT_PRIOR_PHASE "prior"

/* Readings that the latency of a level needs; all of its pairs, if there are fewer. */
enum { NT_PRIOR_CHECK_PAIRS_PER_LEVEL = 4 };

struct nt_prior_check {
    struct nt_arena memory; /* of all arrays */
    size_t hosts, levels;
    enum nt_sparse_verdict verdict;
    const char *why;     /* the reason if refuted, a constant; else NULL */
    uint32_t *cluster;   /* as in nt_belief, also for placed loose hosts; less than twice hosts */
    bool *away;          /* per host: missing, or loose and not placed */
    size_t loose;        /* hosts that the prior does not cover, or places wrongly */
    size_t contradicted; /* of these, hosts that the prior places wrongly */
    size_t verified, against;            /* pairs that were read as expected; pairs that were not */
    double ln[NT_BELIEF_LEVELS_MAX];     /* per level: ln of the latency in us; NaN: unknown */
    double sd;                           /* relative sd of readings of a level */
    bool wide;                           /* some level varies more than noise does */
    size_t pairs[NT_BELIEF_LEVELS_MAX];  /* per level: pairs that were read */
    size_t wanted[NT_BELIEF_LEVELS_MAX]; /* per level: pairs that must be read */

    /* Open measurements: */
    size_t rechecks; /* pairs to read again */
    struct nt_seat_pair *recheck;
    size_t requests; /* pairs to read to place a loose host (a) */
    struct nt_seat_pair *request;
    /* Per host: hosts of one cluster of level 0 have equal numbers if pairs that were read connect
     * them */
    uint32_t *joined;
    size_t apart; /* pairs of clusters that were read apart, as sorted keys */
    uint64_t *apart_key;
    size_t unjoined, unread; /* connections and pairs of clusters that must still be read */
    /* Largest number of pings per reading; readings with fewer than half are ignored */
    uint32_t most_pings;
};

/* missing[hosts] (may be NULL): hosts that take no part. readings: of the hosts of the prior; sorts
 * them. noise: relative sd from the readings' own standard errors; 0: unknown. The caller frees out
 * with nt_prior_check_fini. */
int nt_prior_check_run(const struct nt_belief *belief, const bool *missing,
                       struct nt_readings *readings, double noise, struct nt_prior_check *out,
                       struct nt_err *err);
void nt_prior_check_fini(struct nt_prior_check *check);

/* Whether the clusters of both hosts below their common level were read apart. */
bool nt_prior_check_is_apart(const struct nt_prior_check *check, uint32_t x, uint32_t y);

/* The cluster of a host at a level; 0 at the highest. */
static inline uint32_t nt_prior_check_cluster(const struct nt_prior_check *b, size_t level,
                                              uint32_t host)
{
    return level + 1 >= b->levels ? 0 : b->cluster[level * b->hosts + host];
}

/* The lowest level at which one cluster contains both hosts. */
static inline size_t nt_prior_check_meet(const struct nt_prior_check *b, uint32_t x, uint32_t y)
{
    size_t l = 0;
    while (l + 1 < b->levels && nt_prior_check_cluster(b, l, x) != nt_prior_check_cluster(b, l, y))
        l++;
    return l;
}

/* Makes the state of sparse.h from a sound verdict, with the hosts in the same order. NT_ERR_INPUT:
 * the verdict is not sound. */
int nt_prior_check_sparse(const struct nt_prior_check *check, const bool *missing,
                          const struct nt_readings *readings, struct nt_sparse *out,
                          struct nt_err *err);

/* Makes the network of the prior if nothing was measured. Clusters become switches, the latencies
 * of levels become links, and every part has the support of the prior. Arguments: belief: taken,
 * with at least one level. order[k]: the host of the prior that is host k of the model.
 * missing[hosts of the prior]: takes no part. 1: *out is the network, canonical; 0: the prior does
 * not cover a host that takes part, or covers fewer than two. */
int nt_belief_model(const struct nt_belief *belief, const bool *missing, const uint32_t *order,
                    struct nt_model **out, struct nt_err *err);

#endif
