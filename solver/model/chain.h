/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of partitions: hosts in leaves, leaves in pods and so on, and the tree of switches that
 * it describes.
 *
 * In tier k, host i is in the group label[i].tier[k]; each tier is coarser than the one below. In
 * canonical form labels count from 0 in the order of hosts, no tier is all singletons or one group,
 * and no two tiers are equal. No tiers: one switch. A group of one is a host, or a group, alone
 * behind a switch of that tier. If a label has the bit NT_CHAIN_FLAT, the group has no switch in
 * that tier, and its members are attached to the switch above.
 *
 * The tree has a node for each host, for each distinct group of two hosts or more, and for the
 * root. A node that is a group of several tiers, or a host that is alone in some, has one link
 * whose length is the sum of their lengths.
 * Tests: test_score.c, test_search.c. */
#ifndef NT_CHAIN_H
#define NT_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"

/* Tiers of switches below the root; fabrics have at most four tiers of switches. */
enum { NT_TIERS_MAX = 3, NT_CHAIN_CLASSES = NT_TIERS_MAX + 1 };

#define NT_CHAIN_FLAT 0x80000000u
/* Prior probability of one switch (no tiers). */
#define NT_CHAIN_ONE_SWITCH 0.15

static inline uint32_t nt_chain_number(uint32_t label)
{
    return label & ~NT_CHAIN_FLAT;
}

struct nt_labels {
    uint32_t tier[NT_TIERS_MAX + 1]; /* the last one is always 0: padding to 16 bytes */
};

struct nt_chain {
    uint32_t hosts, tiers;
    uint32_t groups[NT_TIERS_MAX]; /* per tier; valid in canonical form only */
    struct nt_labels *label;       /* per host; from the arena of nt_chain_init */
};

int nt_chain_init(struct nt_chain *chain, uint32_t hosts, struct nt_arena *memory,
                  struct nt_err *err);
void nt_chain_copy(struct nt_chain *to, const struct nt_chain *from);

/* Brings the chain into canonical form. Labels must be below 2 * hosts. map: working memory, 2 *
 * hosts elements. */
void nt_chain_canonicalise(struct nt_chain *chain, uint32_t *map);

uint64_t nt_chain_hash(const struct nt_chain *chain); /* never 0 */

/* The class of a pair: the number of tiers at which its hosts are in different groups. Takes a
 * canonical chain, whose unused tiers are all 0. */
static inline uint32_t nt_chain_class(const struct nt_chain *chain, uint32_t i, uint32_t j)
{
    const uint32_t *a = chain->label[i].tier, *b = chain->label[j].tier;
    uint32_t c = 0;
    for (int k = 0; k < NT_TIERS_MAX; k++)
        c += a[k] != b[k];
    return c;
}

/* The prior of chains for a number of hosts, as precomputed tables. */
struct nt_chain_prior {
    uint32_t hosts;
    double *log_gamma; /* ln of the gamma function of 1, 2, ... */
    double *rising;    /* per concentration and number of units, see chain.c */
    double *log_bell;  /* hosts + 1 values; NaN until needed */
};

int nt_chain_prior_init(struct nt_chain_prior *prior, uint32_t hosts, struct nt_arena *memory,
                        struct nt_err *err);

/* ln p(chain). It is the product of three priors: of the number of tiers, of the partition in each
 * tier, and of the flat groups, with an unknown rate. The prior of a partition mixes a uniform one,
 * Chinese restaurant processes and, for hosts, groups of similar sizes. room: working memory, 2 *
 * hosts elements. */
double nt_chain_prior(struct nt_chain_prior *prior, const struct nt_chain *chain, uint32_t *room);

struct nt_chain_tree {
    /* nodes: hosts, then groups, then the root; parents come after their children */
    uint32_t hosts, nodes, classes;
    uint32_t *parent; /* per node; the root is its own parent */
    uint32_t *size;   /* per node: hosts below */
    uint32_t *class;  /* per node: class of the pairs that meet at it; hosts: 0 */
    uint32_t *alone;  /* per node: number of tiers that its link spans */
    uint32_t *mask;   /* per node: bit k: it is a group of tier k */
    uint32_t *flat;   /* per node: bit k: it has no link in tier k */
};

/* A tree for up to this number of hosts. */
int nt_chain_tree_init(struct nt_chain_tree *tree, uint32_t hosts, struct nt_arena *memory,
                       struct nt_err *err);

/* Makes the tree of a canonical chain. room: working memory, 3 * hosts elements. */
void nt_chain_tree_make(struct nt_chain_tree *tree, const struct nt_chain *chain, uint32_t *room);

#endif
