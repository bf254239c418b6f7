/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the network between some hosts is the one that was believed before (core/belief.h), from
 * few readings: one part of inference, as sparse.h is for a network of which nothing is known.
 *
 * The belief says which hosts are together at each level. Readings decide: the latencies of a level
 * are the middle of those of its pairs, and have to be narrow and apart from those of the next. A
 * pair whose readings are of another level contradicts; then the host with most of those is loose,
 * as are hosts of which nothing is believed. A loose host is placed anew from the top: against one
 * host of each cluster of a level, then inside the cluster that it turns out to be in.
 *
 * What is together has to be joined by pairs that were read as such, in every cluster of hosts: any
 * part of it that has gone elsewhere then shows in at least one pair. What is apart has to be read
 * apart: every two clusters below one. So a belief that is wrong, stale or hostile is refuted, or
 * mended; it costs rounds. Where all hosts are at one level every pair has to be read, as without a
 * belief (NT_VERIFY_ALL_SEATS): hosts that share a switch two by two would show in few.
 *
 * A pure function of belief and readings; time and memory about linear in them and in the pairs of
 * clusters.
 * Tests: test_solve.c, test_sweep_prior.c. */
#ifndef NT_BELIEVED_H
#define NT_BELIEVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "belief.h"
#include "err.h"
#include "memory.h"
#include "model.h"
#include "readings.h"
#include "sparse.h"

/* The phase of its rounds, by which a record shows them. */
#define NT_BELIEVED_PHASE "prior"

enum { NT_BELIEVED_PAIRS_A_LEVEL = 4 }; /* or as many as there are: to know a level's latency */

struct nt_believed {
    struct nt_arena memory; /* of all arrays */
    size_t hosts, levels;
    enum nt_sparse_verdict verdict;
    const char *why;     /* refuted: why, a constant; NULL */
    uint32_t *cluster;   /* as in a belief; numbers may reach 2 * hosts. Loose hosts that are placed
                            have theirs */
    bool *away;          /* hosts of them: missing, or loose and not placed */
    size_t loose;        /* hosts that were believed to be elsewhere, or nowhere */
    size_t contradicted; /* of them: believed, and contradicted */
    size_t verified, against;            /* pairs that were read as believed, and not so */
    double ln[NT_BELIEF_LEVELS_MAX];     /* latency of a level; NaN: not known yet */
    double sd;                           /* relative, of a reading about it */
    bool wide;                           /* a level is wider than noise makes it */
    size_t pairs[NT_BELIEF_LEVELS_MAX];  /* that were read, of each level, */
    size_t wanted[NT_BELIEF_LEVELS_MAX]; /* and how many have to be, at least */

    /* What is open. */
    size_t rechecks; /* pairs to be read again */
    struct nt_seat_pair *recheck;
    size_t wishes; /* pairs to be read, that place a loose host (a) */
    struct nt_seat_pair *wish;
    uint32_t *joined; /* hosts: of a cluster of the lowest level, those that are joined by now have
                         the same number */
    size_t apart;     /* pairs of clusters that were read apart, as keys; sorted */
    uint64_t *apart_key;
    size_t unjoined, unread; /* how many joints and pairs of clusters are still to be read */
    uint32_t most_pings;     /* of a reading; those with less than half do not count */
};

/* missing[hosts] (may be NULL): host i takes no part. readings: of hosts as in the belief; are
 * sorted. noise: relative sd that readings show by themselves; 0: not known. */
int nt_believed_judge(const struct nt_belief *belief, const bool *missing,
                      struct nt_readings *readings, double noise, struct nt_believed *out,
                      struct nt_err *err);
void nt_believed_fini(struct nt_believed *believed);

/* Whether the clusters of these two hosts below their common level were read apart. */
bool nt_believed_is_apart(const struct nt_believed *believed, uint32_t x, uint32_t y);

/* The cluster of a host at a level; of itself below the lowest, and 0 at the highest. */
static inline uint32_t nt_believed_cluster(const struct nt_believed *b, size_t level, uint32_t host)
{
    return level + 1 >= b->levels ? 0 : b->cluster[level * b->hosts + host];
}

/* The lowest level at which both are in one cluster. */
static inline size_t nt_believed_meet(const struct nt_believed *b, uint32_t x, uint32_t y)
{
    size_t l = 0;
    while (l + 1 < b->levels && nt_believed_cluster(b, l, x) != nt_believed_cluster(b, l, y))
        l++;
    return l;
}

/* Once the verdict is sound: the state of inference that all of sparse.h's functions take, with the
 * hosts in the same order. NT_ERR_INPUT before. */
int nt_believed_sparse(const struct nt_believed *believed, const bool *missing,
                       const struct nt_readings *readings, struct nt_sparse *out,
                       struct nt_err *err);

/* The network as it is believed, where nothing was measured: clusters as switches, the latencies of
 * the levels as its links, and of all of it the support that the belief has. belief: taken, of at
 * least one level. order[k]: its host that is host k of the model. missing[hosts of the belief]:
 * takes no part. 1: *out is the network, canonical; 0: of a host that takes part nothing is
 * believed, or fewer than two do. */
int nt_believed_taken(const struct nt_belief *belief, const bool *missing, const uint32_t *order,
                      struct nt_model **out, struct nt_err *err);

#endif
