/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the best chain of partitions, and the table of all chains that it scored.
 *
 * Starts are average linkages, cut where heights are far apart. Moves place a host or a group
 * elsewhere, join, split, and insert or remove a tier; each is judged by the score itself
 * (score.h), and undone unless that rises. A screen with the lengths of the present chain
 * only orders and skips places that are hopeless. Nothing is random, and hosts are in an
 * order that follows from their readings (pairs.h).
 *
 * The table is what support and confidence are made of: the score of a chain that was not scored
 * in full is the present best plus the difference with the same variances and outliers. */
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
    uint64_t hash;   /* 0: an empty place of the table */
    double score;    /* ln p(readings, chain) */
    bool exact;      /* scored in full */
    uint32_t looked; /* which best it was compared with; 0: by variances of its own */
    uint32_t tiers;
    float step[NT_TIERS_MAX]; /* t_k / s */
    size_t labels;            /* offset in nt_search.labels: tiers * hosts */
};

struct nt_search {
    struct nt_arena memory; /* first, for nt_object_create */
    const struct nt_pairs *pairs;
    struct nt_score *score;  /* set to the best chain when the search ends */
    struct nt_score_fit fit; /* the score's own */
    struct nt_chain_prior prior;

    struct nt_chain best;
    double best_score, best_quick; /* in full; with the place and outliers of the best */
    struct nt_score_place place;
    struct nt_score_value value;
    double power;
    struct nt_outliers outliers; /* of the best */
    bool *second;                /* hosts of the second population */
    bool populations;
    bool *far;                     /* hosts whose link is far longer than those of the others */
    struct nt_far_prior far_prior; /* of them */
    double host_prior; /* ln p of these hosts and of the second population; not in the scores */

    struct nt_visit *visit; /* table: room of them, a power of two */
    size_t room, visits;
    uint32_t *labels;
    size_t labels_used, labels_room;
    bool wide;      /* chains several moves from the best are in the table, too */
    uint32_t bests; /* so far, from 1 */

    struct search_work *work;
};

/* Weighs the readings by the noise that is found (nt_pairs_reweigh). */
int nt_search_create(struct nt_pairs *pairs, struct nt_search **out, struct nt_err *err);
void nt_search_destroy(struct nt_search *search);

/* Makes a visited chain the best, with its own place and outliers: for what is stated. */
void nt_search_settle(struct nt_search *search, const struct nt_visit *visit);

#endif
