/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the best chain of partitions, and the table of all chains that it scored.
 *
 * It starts from average linkages, cut at large steps of height. Moves place a host or a group
 * elsewhere, join, split, lower, and insert or remove a tier. The score (score.h) judges each move,
 * and a move is undone unless the score rises. A screen with the lengths of the current chain only
 * orders the moves and skips hopeless ones. Nothing is random, and the order of hosts follows from
 * their readings (pairs.h).
 *
 * Support and confidence are computed from the table. A chain that was not scored in full has the
 * score of the current best plus their difference at the same variances and outliers. */
#ifndef NT_SEARCH_H
#define NT_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chain.h"
#include "err.h"
#include "noise_prior.h"
#include "pairs.h"
#include "score.h"

struct nt_visit {
    uint64_t hash; /* 0: a free element of the table */
    double score;  /* ln p(readings, chain) */
    bool exact;    /* scored in full */
    /* Number of the best chain that it was compared with; 0: it was scored with its own
     * variances, which no later outliers change; UINT32_MAX: it is to be scored in full */
    uint32_t compared_with;
    uint32_t tiers;
    float step[NT_TIERS_MAX]; /* t_k / s */
    size_t labels;            /* offset in nt_search.labels of tiers * hosts labels */
};

struct nt_search {
    struct nt_arena memory; /* first, for nt_object_create */
    const struct nt_pairs *pairs;
    struct nt_score *score;  /* set to the best chain after the search */
    struct nt_score_fit fit; /* of score */
    struct nt_chain_prior prior;

    struct nt_chain best;
    /* scored in full; scored with the place and outliers of the best */
    double best_score, best_quick;
    struct nt_score_place place;
    struct nt_score_value value;
    double power;
    struct nt_outliers outliers; /* of best */
    bool *second;                /* per host: in the second population */
    bool populations;
    bool *far;                     /* per host: its link is far longer than those of the others */
    struct nt_far_prior far_prior; /* of them */
    /* ln of the prior of the far hosts and of the second population; not part of the scores */
    double host_prior;

    struct nt_visit *visit; /* table with room elements, a power of two */
    size_t room, visits;
    uint32_t *labels;
    size_t labels_used, labels_room;
    bool wide;      /* the table also has chains that are several moves from the best */
    uint32_t bests; /* number of best chains so far, from 1 */

    struct search_work *work;
};

/* Changes the weights of the readings to the noise that is found (nt_pairs_reweigh). The caller
 * frees *out. */
int nt_search_create(struct nt_pairs *pairs, struct nt_search **out, struct nt_err *err);
void nt_search_destroy(struct nt_search *search);

/* Makes a visited chain the best, with its own place and outliers, for reporting. */
void nt_search_adopt(struct nt_search *search, const struct nt_visit *visit);

#endif
