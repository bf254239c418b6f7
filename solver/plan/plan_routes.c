#include "plan_routes.h"

#include <math.h>
#include <stdlib.h>

#include "choice.h"
#include "condition.h"
#include "exchange.h"
#include "minimal.h"
#include "redundant.h"

struct placed {
    uint32_t round, pair;
};

static int earlier(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->round != y->round)
        return x->round < y->round ? -1 : 1;
    return (x->pair > y->pair) - (x->pair < y->pair);
}

/* By round, then by the order of the routes; rounds that lost all their pairs close up. */
static int write_plan(const struct nt_choice *c, struct nt_plan *plan, struct nt_err *err)
{
    struct placed *placed = malloc((c->used + 1) * sizeof *placed);
    if (placed == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu pairs", c->used);
    for (size_t i = 0; i < c->used; i++)
        placed[i] = (struct placed){.round = c->round[i], .pair = c->pair[i]};
    qsort(placed, c->used, sizeof *placed, earlier);
    plan->rounds = 0;
    for (size_t i = 0; i < c->used; i++) {
        plan->rounds += i == 0 || placed[i].round != placed[i - 1].round;
        plan->round[i] = (uint32_t)plan->rounds - 1;
        plan->pair[i][0] = c->routes->host[placed[i].pair][0];
        plan->pair[i][1] = c->routes->host[placed[i].pair][1];
    }
    free(placed);
    return 0;
}

static size_t pairs_wanted(const struct nt_routes *routes, size_t rank, double redundancy)
{
    double want = ceil(redundancy * (double)rank - 1e-9);
    return want < (double)routes->pairs ? (size_t)want : routes->pairs;
}

static int choose(struct nt_choice *c, double redundancy, uint64_t seed, size_t *rank,
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
    if (choose(c, redundancy, seed, &rank, err) != 0 || nt_plan_create(c->used, &plan, err) != 0)
        goto fail;
    plan->rank = rank;
    if (write_plan(c, plan, err) != 0 ||
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
