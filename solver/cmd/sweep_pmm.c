/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep_pmm.h"

#include <math.h>
#include <string.h>

#include "estimate.h"
#include "estimate_routes.h"
#include "memory.h"
#include "plan_model.h"
#include "routes.h"

/* The estimate inverts as many equations as there are links: 3 GB at this many. */
enum { LINKS_MAX = 20000 };

struct pmm {
    struct nt_planner base;
    struct nt_network *truth; /* the part that measurements can distinguish */
    struct nt_plan *plan;
    size_t at, from;     /* number of pairs ordered; first pair of the last round */
    uint32_t (*pair)[2]; /* pairs of that round */
    double *latency_us;  /* by pair of the plan; NaN: not measured */
    bool *lost;          /* by host */
};

static int pmm_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct pmm *s = (struct pmm *)planner;
    size_t n = 0;
    (void)err;
    while (n == 0 && s->at < s->plan->pairs) {
        uint32_t round = s->plan->round[s->from = s->at];
        for (; s->at < s->plan->pairs && s->plan->round[s->at] == round; s->at++) {
            const uint32_t *p = s->plan->pair[s->at];
            if (s->lost[p[0]] || s->lost[p[1]])
                continue;
            s->pair[n][0] = p[0];
            s->pair[n++][1] = p[1];
        }
    }
    *order = (struct nt_order){.kind = NT_ORDER_LATENCY,
                               .phase = "latency",
                               .pairs = n,
                               .pair = s->pair,
                               .message_bytes = NT_PING_BYTES,
                               .batches = NT_SWEEP_SIM_BATCHES,
                               .count = NT_SWEEP_SIM_PINGS};
    return n > 0;
}

/* Takes results. They are expected in the order of the round, so the search for each starts after
 * the previous one; a full search for each would be slow. */
static int pmm_tell(struct nt_planner *planner, const struct nt_result *results, size_t n,
                    struct nt_err *err)
{
    struct pmm *s = (struct pmm *)planner;
    size_t round = s->at - s->from, hint = 0;
    (void)err;
    for (size_t k = 0; k < n; k++) {
        const struct nt_result *r = &results[k];
        for (size_t i = 0; i < round; i++) {
            size_t at = s->from + (hint + i) % round;
            if (s->plan->pair[at][0] != r->a || s->plan->pair[at][1] != r->b)
                continue;
            s->latency_us[at] = r->ok && r->value_us > 0 ? r->value_us : NAN;
            hint = at - s->from + 1;
            break;
        }
    }
    return 0;
}

static void pmm_lose(struct nt_planner *planner, uint32_t host)
{
    struct pmm *s = (struct pmm *)planner;
    if (host < s->truth->hosts)
        s->lost[host] = true;
}

static void pmm_destroy(struct nt_planner *planner)
{
    struct pmm *s = (struct pmm *)planner;
    nt_network_destroy(s->truth);
    nt_plan_destroy(s->plan);
    nt_object_destroy(s);
}

static const struct nt_planner_ops OPS = {pmm_next, pmm_tell, pmm_lose, pmm_destroy, NULL};

static int known_network(const struct nt_network *network, struct nt_network **out,
                         struct nt_err *err)
{
    struct nt_model *truth;
    if (nt_network_truth(network, &truth, err) < 0)
        return -1;
    int rc = nt_network_from_model(truth, out, err);
    nt_model_destroy(truth);
    return rc;
}

static int check_links(const struct nt_model *m, struct nt_err *err)
{
    if (m->links <= LINKS_MAX)
        return 0;
    return nt_err_set(
        err, NT_ERR_INPUT,
        "--sweep pmm estimates up to %d links, but the network has %zu. Use --sweep adaptive.",
        (int)LINKS_MAX, m->links);
}

static int pmm_create(const struct nt_sweep_input *input, struct nt_planner **out,
                      struct nt_err *err)
{
    const struct nt_network *network = input->network;
    struct pmm *s = nt_object_create(sizeof *s, err);
    if (s == NULL)
        return -1;
    s->base.ops = &OPS;
    if (known_network(network, &s->truth, err) < 0 || check_links(s->truth->model, err) < 0 ||
        nt_plan_model(s->truth->model, 1, input->seed, &s->plan, err) < 0) {
        pmm_destroy(&s->base);
        return -1;
    }
    s->pair = nt_arena_array(&s->base.memory, network->hosts + 1, sizeof *s->pair);
    s->latency_us = nt_arena_array(&s->base.memory, s->plan->pairs + 1, sizeof *s->latency_us);
    s->lost = nt_arena_array(&s->base.memory, network->hosts + 1, sizeof *s->lost);
    if (nt_arena_check(&s->base.memory, err) != 0) {
        pmm_destroy(&s->base);
        return -1;
    }
    for (size_t k = 0; k < s->plan->pairs; k++)
        s->latency_us[k] = NAN;
    *out = &s->base;
    return 0;
}

/* ---- the estimate ---- */

static int add_route(const struct pmm *s, size_t pair, struct nt_routes_builder *builder,
                     struct nt_err *err)
{
    uint32_t link[NT_ROUTE_LINKS_MAX], arc;
    const uint32_t *p = s->plan->pair[pair];
    size_t n = 0;
    struct nt_walk walk;
    for (nt_walk_begin(s->truth, p[0], p[1], &walk);
         nt_walk_next(&walk, &arc) && n < NT_ROUTE_LINKS_MAX;)
        link[n++] = arc / 2;
    return nt_routes_builder_add(builder, p[0], p[1], link, n, err);
}

/* Lists the measured pairs with their routes; measured has room for all. */
static int list_measured(const struct pmm *s, struct nt_routes **routes,
                         struct nt_measured *measured, struct nt_err *err)
{
    struct nt_routes_builder *builder;
    int rc = 0;
    if (nt_routes_builder_create(&builder, err) < 0)
        return -1;
    for (size_t k = 0; k < s->plan->pairs && rc == 0; k++) {
        if (isnan(s->latency_us[k]))
            continue;
        rc = add_route(s, k, builder, err);
        measured->pair[measured->count] = (uint32_t)measured->count;
        measured->latency_us[measured->count++] = s->latency_us[k];
    }
    if (rc == 0)
        rc =
            nt_routes_builder_finish(builder, s->truth->hosts, s->truth->model->links, routes, err);
    nt_routes_builder_destroy(builder);
    return rc;
}

static int estimate_latencies(const struct pmm *s, struct nt_model *m, struct nt_err *err)
{
    size_t pairs = s->plan->pairs;
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_measured measured = {.pair = nt_arena_array(&memory, pairs, sizeof *measured.pair),
                                   .latency_us =
                                       nt_arena_array(&memory, pairs, sizeof *measured.latency_us)};
    struct nt_routes *routes = NULL;
    struct nt_estimate *found = NULL;
    int rc = nt_arena_check(&memory, err);
    if (rc == 0)
        rc = list_measured(s, &routes, &measured, err);
    if (rc == 0)
        rc = nt_estimate_routes(routes, &measured, &found, err);
    for (size_t k = 0; k < m->links; k++)
        m->link[k].latency_us = m->link[k].latency_se_us = NAN;
    for (size_t k = 0; rc == 0 && k < found->links; k++)
        m->link[found->link[k].link].latency_us = found->link[k].latency.us;
    nt_estimate_destroy(found);
    nt_routes_destroy(routes);
    return rc;
}

static int pmm_solve(struct nt_planner *planner, struct nt_model **out, struct nt_err *err)
{
    struct pmm *s = (struct pmm *)planner;
    struct nt_model *m;
    if (nt_model_copy(s->truth->model, &m, err) < 0)
        return -1;
    if (m->links > 0 && estimate_latencies(s, m, err) < 0) {
        nt_model_destroy(m);
        return -1;
    }
    *out = m;
    return 0;
}

/* Returns an upper bound: one pair per distinguishable link, two hosts per pair. */
static uint64_t bound_rounds(const struct nt_model *truth)
{
    return truth->hosts < 2 ? 0 : (2 * truth->links + truth->hosts - 1) / truth->hosts;
}

const struct nt_sweep_kind nt_sweep_kind_pmm = {"pmm", pmm_create, pmm_solve, bound_rounds};
