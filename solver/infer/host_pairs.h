/* SPDX-License-Identifier: Apache-2.0 */
/* Which hosts stand two behind a switch of their own, all of a tree together. Private to infer/.
 *
 * A group of two is one reading, which says little by itself among the many pairs that there are.
 * But it says more together with the others: groups of two are as deep as each other, as common as
 * they are found to be, and a host is in one of them at the most. The probabilities are the
 * marginals of all such matchings, by belief propagation (Bayati, Shah and Sharma 2008; for the sum
 * instead of the best one Zdeborova and Mezard 2006), the depth and how common they are by
 * expectation and maximisation.
 * Tests: test_small_groups.c. */
#ifndef NT_INFER_HOST_PAIRS_H
#define NT_INFER_HOST_PAIRS_H

#include "work.h"

struct nt_host_pair {
    uint32_t at;        /* the switch that theirs hangs on: a vertex of the model */
    uint32_t a, b;      /* hosts of w, a > b */
    double us;          /* of the link between both switches, from their reading */
    double probability; /* that the two, and no third, stand behind a switch there */
};

struct nt_host_pairs {
    double expected; /* how many there are */
    size_t count;
    struct nt_host_pair *pair; /* by a, then by b; those with a chance of one in a hundred */
};

/* Of a fitted tree, whether it has them or not. early: the share of readings that are far too low,
 * or less than 0: not known. Free by nt_host_pairs_fini, also after an error. */
int nt_host_pairs(const struct nt_work *w, const struct nt_model *model, double early,
                  struct nt_host_pairs *out, struct nt_err *err);
void nt_host_pairs_fini(struct nt_host_pairs *pairs);

/* In any order; 0: they have none. */
double nt_host_pairs_probability(const struct nt_host_pairs *pairs, uint32_t a, uint32_t b);

/* settle_pairs.c: takes the groups of two out of a tree that are less likely than not; where there
 * is none of those, puts the likely ones in. *changed: either. The tree is to be fitted again. */
int nt_host_pairs_settle(const struct nt_work *w, const struct nt_host_pairs *pairs,
                         struct nt_model **model, bool *changed, struct nt_err *err);

#endif
