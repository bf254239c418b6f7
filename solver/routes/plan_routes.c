/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_routes.h"

#include <math.h>
#include <stdlib.h>

#include "choice.h"
#include "condition.h"
#include "exchange.h"
#include "minimal.h"
#include "redundant.h"

static size_t pairs_wanted(const struct nt_routes *routes, size_t rank, double redundancy)
{
    double want = ceil(redundancy * (double)rank - 1e-9);
    return want < (double)routes->pairs ? (size_t)want : routes->pairs;
}

static int choose_pairs(struct nt_choice *c, double redundancy, uint64_t seed, size_t *rank,
                        struct nt_err *err)
{
    if (nt_minimal_choose(c, seed, err) != 0)
        return -1;
    *rank = c->used;
    if (nt_exchange(c, err) != 0)
        return -1;
    return nt_redundant_add(c, pairs_wanted(c->routes, *rank, redundancy), seed, err);
}

int nt_plan_routes(const struct nt_routes *routes, double redundancy, uint64_t seed,
                   struct nt_plan **out, struct nt_err *err)
{
    if (routes->pairs == 0)
        return nt_err_set(err, NT_ERR_INPUT, "no routes, so there is nothing to plan");
    if (!(redundancy >= 1 && redundancy <= 1e6))
        return nt_err_set(err, NT_ERR_USAGE, "redundancy %g: expected a number from 1 to 1000000",
                          redundancy);
    struct nt_choice *c;
    struct nt_plan *plan = NULL;
    size_t rank = 0, at_once = routes->hosts / 2;
    if (nt_choice_create(routes, &c, err) != 0)
        return -1;
    if (choose_pairs(c, redundancy, seed, &rank, err) != 0 ||
        nt_plan_create(c->used, &plan, err) != 0)
        goto fail;
    plan->rank = rank;
    if (nt_choice_write(c, plan, err) != 0 ||
        nt_condition_measure(routes, c->pair, c->used, plan, err) != 0)
        goto fail;
    plan->lower_bound = (c->used + at_once - 1) / at_once;
    nt_choice_destroy(c);
    *out = plan;
    return 0;
fail:
    nt_choice_destroy(c);
    nt_plan_destroy(plan);
    return -1;
}
