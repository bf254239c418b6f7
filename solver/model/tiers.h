/* SPDX-License-Identifier: Apache-2.0 */
/* The tier model: from readings between hosts to the tree of switches, with the probability of its
 * parts.
 *
 * Readings are a list (pairs.h); pairs that were not measured do not contribute to the likelihood.
 * score.h has the model, search.h the search. The result consists of splits: a group of hosts
 * behind one switch or, equivalently, its complement. The support of a group is its posterior
 * probability against all scored chains that break it. The confidence is the product over the
 * places where chains could differ, which are nearly independent.
 *
 * Equal readings give equal results, independent of names, order and unit. */
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
    double length_us, error_us; /* of the link to the parent, one way, and its standard error */
    double support; /* 0..1: probability that exactly these hosts are behind one switch */
};

struct nt_tiers_pair {
    uint32_t a, b; /* hosts of the caller */
    double gain;   /* ln of the odds that a reading is expected to add, averaged over the rivals */
};

struct nt_tiers {
    struct nt_arena memory; /* first, for nt_object_create */
    uint32_t hosts;         /* of the caller */
    size_t groups;
    struct nt_tiers_group *group; /* children before parents */

    /* Per host of the caller. A host without readings has the root and NaN. */
    uint32_t *group_of;            /* the lowest group; NT_TIERS_NONE: the root */
    double *end_us, *end_error_us; /* length of its link and its standard error */

    /* 0..1: probability that the groups are exactly those that the readings can show */
    double confidence;
    double evidence; /* ln p(readings, any chain), for graph_score.h */
    /* 0..1: probability that the residuals have no structure that a hierarchy cannot explain */
    double hierarchy;
    double scale_us;   /* median latency */
    double noise_us;   /* sd of a reading of the median latency */
    bool noise_known;  /* from repeated readings of pairs, or their standard errors */
    double quantum_us; /* step of the timer, over sqrt(readings per pair); 0: none */
    double power;      /* sd of a reading is proportional to latency ^ power */

    /* Per host, if there is one, the pair that best distinguishes the network from its rivals; best
     * first. */
    size_t deciding;
    struct nt_tiers_pair *deciding_pair;
};

/* Fewer than 4 hosts: no groups. Memory: 18 bytes per measured pair, 8 per pair of hosts for
 * linkages, and 4 per host and tier of each chain in the table. The caller frees *out with
 * nt_tiers_destroy. */
int nt_tiers_solve(struct nt_pairs *pairs, struct nt_tiers **out, struct nt_err *err);
void nt_tiers_destroy(struct nt_tiers *tiers);

#endif
