/* SPDX-License-Identifier: Apache-2.0 */
/* The tier model: readings between hosts to the tree of switches behind them, and how certain it
 * is.
 *
 * Readings are a list (pairs.h); pairs that were not measured are left out of the likelihood. The
 * model is in score.h, the search in search.h. What is stated are splits: a group of hosts behind
 * one switch, or, which is the same, its complement. Support of a group is the posterior odds
 * against all scored chains that break it; confidence the product over the places where chains
 * could differ, which are nearly independent.
 *
 * The same readings give the same result, whatever hosts are called, in which order they come and
 * in which unit they are. */
#ifndef NT_TIERS_H
#define NT_TIERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "pairs.h"

enum { NT_TIERS_NONE = 0xffffffff };

struct nt_tiers_group {
    uint32_t parent;            /* group above; NT_TIERS_NONE: the root */
    double length_us, error_us; /* of the link to the parent, one way, with standard error */
    double support;             /* 0..1: that exactly these hosts are behind one switch */
};

struct nt_tiers_pair {
    uint32_t a, b; /* hosts of the caller */
    double tells;  /* ln of the odds that a reading is expected to add, by the rivals' weights */
};

struct nt_tiers {
    struct nt_arena memory; /* first, for nt_object_create */
    uint32_t hosts;         /* of the caller */
    size_t groups;
    struct nt_tiers_group *group; /* children before parents */

    /* Per host of the caller. A host without readings has the root and NaN. */
    uint32_t *group_of;            /* the lowest group; NT_TIERS_NONE: the root */
    double *end_us, *end_error_us; /* of its link */

    double
        confidence;  /* 0..1: that the groups are those that the readings can show, and no others */
    double evidence; /* ln p(readings, any chain), for graph_score.h */
    double hierarchy;  /* 0..1: that residuals have no structure that a hierarchy cannot explain */
    double scale_us;   /* median latency */
    double noise_us;   /* sd of a reading of the median latency */
    bool noise_known;  /* from readings of the same pairs, or their standard errors */
    double quantum_us; /* step of the timer, over sqrt(readings per pair); 0: none */
    double power;      /* sd of a reading is proportional to latency ^ power */

    /* For each host the pair that tells the network from its rivals, if any does. The pairs that
     * tell most come first. */
    size_t deciding;
    struct nt_tiers_pair *decides;
};

/* *out is for nt_tiers_destroy. Fewer than 4 hosts: no groups. Memory: 18 bytes per measured
 * pair, 8 per pair of hosts for linkages, and 4 per host and tier of each chain in the table. */
int nt_tiers_solve(struct nt_pairs *pairs, struct nt_tiers **out, struct nt_err *err);
void nt_tiers_destroy(struct nt_tiers *tiers);

#endif
