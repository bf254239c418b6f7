/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of partitions: hosts in leaves, leaves in pods and so on, and the tree that it makes.
 *
 * Tier k has the group label[i].tier[k] of host i; each tier is coarser than the one below. In
 * canonical form labels count from 0 in the order of hosts, no tier is all singletons or one group,
 * and no two are equal. No tiers: one switch. A group of one stands for a host or a group that is
 * alone behind a switch of that tier. If a label has the bit NT_CHAIN_FLAT, the group has no switch
 * in that tier, and its units are attached to the switch above.
 *
 * The tree has a node for each host, for each distinct group of two hosts or more, and for the
 * root. A node that is a group of several tiers, or a host that is alone in some, has one link
 * whose length is the sum of theirs.
 * Tests: test_score.c, test_search.c. */
#ifndef NT_CHAIN_H
#define NT_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"

/* Tiers of switches below the root: four tiers of switches are the most that fabrics are built
 * with. */
enum { NT_TIERS_MAX = 3, NT_CHAIN_CLASSES = NT_TIERS_MAX + 1 };

#define NT_CHAIN_FLAT 0x80000000u
/* The prior of no tiers: one switch. */
#define NT_CHAIN_ONE_SWITCH 0.15

static inline uint32_t nt_chain_number(uint32_t label)
{
    return label & ~NT_CHAIN_FLAT;
}

struct nt_labels {
    uint32_t tier[NT_TIERS_MAX + 1]; /* the last is always 0: padding that makes 16 bytes */
};

struct nt_chain {
    uint32_t hosts, tiers;
    uint32_t groups[NT_TIERS_MAX]; /* of each tier, canonical form only */
    struct nt_labels *label;       /* hosts, from the arena of nt_chain_init */
};

int nt_chain_init(struct nt_chain *chain, uint32_t hosts, struct nt_arena *memory,
                  struct nt_err *err);
void nt_chain_copy(struct nt_chain *to, const struct nt_chain *from);

/* Puts the chain into canonical form. map: hosts of room. Labels must be under 2 * hosts; map has
 * room for as many. */
void nt_chain_canonicalise(struct nt_chain *chain, uint32_t *map);

uint64_t nt_chain_hash(const struct nt_chain *chain); /* never 0 */

/* The class of a pair: the number of tiers at which its hosts are in different groups. The chain is
 * canonical: tiers that it does not have are all 0. */
static inline uint32_t nt_chain_class(const struct nt_chain *chain, uint32_t i, uint32_t j)
{
    const uint32_t *a = chain->label[i].tier, *b = chain->label[j].tier;
    uint32_t c = 0;
    for (int k = 0; k < NT_TIERS_MAX; k++)
        c += a[k] != b[k];
    return c;
}

/* The prior of chains of a number of hosts: tables that are made once. */
struct nt_chain_prior {
    uint32_t hosts;
    double *log_gamma; /* of 1.. */
    double *rising;    /* of each concentration, per number of units: see chain.c */
    double *log_bell;  /* hosts + 1; NaN until asked for */
};

int nt_chain_prior_init(struct nt_chain_prior *prior, uint32_t hosts, struct nt_arena *memory,
                        struct nt_err *err);

/* ln p(chain): the number of tiers, times for each tier the partition of the units below,
 * uniform, a mixture of Chinese restaurants or, of hosts, with groups of alike sizes; times for the
 * groups that are flat, of an unknown rate. room: 2 * hosts. */
double nt_chain_prior(struct nt_chain_prior *prior, const struct nt_chain *chain, uint32_t *room);

struct nt_chain_tree {
    uint32_t hosts, nodes, classes; /* hosts, then groups, then the root: parents after children */
    uint32_t *parent;               /* nodes; the root's is itself */
    uint32_t *size;                 /* nodes: hosts below */
    uint32_t *class;                /* nodes: of the pairs that meet there; hosts: 0 */
    uint32_t *alone;                /* nodes: how many tiers the link stands for */
    uint32_t *mask;                 /* nodes: bit k: it is a group of tier k */
    uint32_t *flat;                 /* nodes: bit k: without a link in tier k */
};

/* For up to hosts of them. */
int nt_chain_tree_init(struct nt_chain_tree *tree, uint32_t hosts, struct nt_arena *memory,
                       struct nt_err *err);

/* The tree of a canonical chain. room: 3 * hosts. */
void nt_chain_tree_make(struct nt_chain_tree *tree, const struct nt_chain *chain, uint32_t *room);

#endif
