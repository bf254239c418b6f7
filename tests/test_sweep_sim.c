/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated sweeps and samples: what is asked is answered, and solving gives the network back. */
#include "asserts.h"
#include "infer.h"
#include "made_network.h"
#include "shape.h"
#include "solve.h"
#include "sweep_sim.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct nt_samples *sampled(const struct nt_network *n, struct nt_measure_noise noise,
                                  double window_s)
{
    const struct nt_noisy_network noisy = {n, &noise};
    struct nt_samples *s;
    char(*name)[16] = calloc(n->hosts, sizeof *name);
    const char **names = calloc(n->hosts, sizeof *names);
    for (size_t h = 0; h < n->hosts; h++) {
        snprintf(name[h], sizeof name[h], "n%u", (unsigned)h + 1);
        names[h] = name[h];
    }
    if (nt_samples_simulate(&noisy, names, window_s, &s, &err) < 0)
        fail_msg("%s", err.text);
    free(names);
    free(name);
    return s;
}

/* Every pair once, from both ends, no host twice in a round; as the matrix of measurements says. */
TEST(test_samples)
{
    SCOPED(network) *n = made_network("tree:2x4");
    struct nt_measure_noise noise = {.sd = 0.05, .missing = 0.2, .outliers = 0.1, .seed = 4};
    SCOPED(samples) *s = sampled(n, noise, 0);
    SCOPED(matrix) *m, *seen;
    assert_int_equal(nt_measure_latencies(n, &noise, &m, NULL), 0);
    assert_int_equal(nt_samples_latency(s, 0, &seen, NULL, NULL), 0);
    assert_int_equal(s->rounds, 7);
    size_t missing = 0;
    for (size_t i = 0; i < n->hosts; i++)
        for (size_t j = 0; j < n->hosts; j++) {
            double x = nt_matrix_get(m, i, j), y = nt_matrix_get(seen, i, j);
            assert_true(isnan(x) ? isnan(y) : fabs(x / y - 1) < 1e-6);
            missing += i != j && isnan(x);
        }
    assert_int_equal(s->samples, 56 - missing);
    for (size_t k = 2; k < s->samples; k++)
        if (s->sample[k].round == s->sample[k - 2].round)
            assert_true(s->sample[k].a != s->sample[k - 2].a &&
                        s->sample[k].b != s->sample[k - 2].b);
}

/* solve(simulate(network)) is the network, and the text of the samples gives the same map. */
TEST(test_round_trip)
{
    static const char *const specs[] = {"star:8",      "tree:2x3x4", "tree:4x8",    "tree:3x3x3x3",
                                        "fattree:8,3", "chain:5x3",  "fattree:4,3", "star:2"};
    for (size_t k = 0; k < COUNT(specs); k++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            SCOPED(network) *n = made_network(specs[k]);
            struct nt_samples *s =
                sampled(n, (struct nt_measure_noise){.sd = 0.02, .seed = seed}, 0);
            SCOPED(model) *truth;
            SCOPED(map) *map;
            assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
            if (nt_solve_samples(s, NULL, NULL, &map, &err) < 0)
                fail_msg("%s: %s", specs[k], err.text);
            if (!nt_shape_equal(map->model, truth))
                fail_msg("%s, seed %u: another shape", specs[k], (unsigned)seed);
            nt_samples_destroy(s);
        }
}

/* A map is a topology too: what is solved from a simulation of it is the same map again. */
TEST(test_map_again)
{
    SCOPED(network) *n = made_network("tree:3x2x3"), *again;
    struct nt_measure_noise noise = {.sd = 0.02, .host_spread = 0.05, .seed = 9};
    struct nt_samples *s;
    struct nt_map *map;
    SCOPED(model) *truth;
    assert_int_equal(nt_measure_apply_structure(&noise, n, NULL), 0);
    s = sampled(n, noise, 0);
    assert_int_equal(nt_solve_samples(s, NULL, NULL, &map, NULL), 0);
    nt_samples_destroy(s);
    assert_int_equal(nt_network_from_model(map->model, &again, NULL), 0);
    assert_int_equal(nt_network_truth(again, &truth, NULL), 0);
    assert_true(nt_shape_equal(truth, map->model));
    nt_map_destroy(map);
    s = sampled(again, (struct nt_measure_noise){.sd = 0.01, .seed = 10}, 0);
    assert_int_equal(nt_solve_samples(s, NULL, NULL, &map, NULL), 0);
    assert_true(nt_shape_equal(truth, map->model));
    nt_map_destroy(map);
    nt_samples_destroy(s);
}

/* Flows of a round share: on a tree with one uplink for two leaves' traffic no flow gets more than
 * the uplink, and the sum over it is at most its rate. */
TEST(test_flows_in_samples)
{
    struct nt_network *n = made_network("tree:3x4");
    struct nt_samples *s = sampled(n, (struct nt_measure_noise){.seed = 1}, 0.01);
    double up = 0;
    size_t flows = 0;
    uint32_t round = UINT32_MAX;
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (x->kind != NT_SAMPLE_BANDWIDTH)
            continue;
        double rate = x->bytes / x->value_us;
        assert_above(rate, 0);
        assert_at_most(rate, 12500 + 1e-3);
        up = x->round == round ? up : 0;
        round = x->round;
        if (x->a / 4 == 0 && x->b / 4 != 0)
            up += rate;
        assert_at_most(up, 25000 + 1e-2);
        flows++;
    }
    assert_int_equal(flows, 132); /* each ordered pair once */
    assert_int_equal(s->phases, 2);
    nt_samples_destroy(s);
    nt_network_destroy(n);
}

static double ticks;
static double tick(void)
{
    return ticks += 1;
}

TEST(test_sweep_all)
{
    const struct nt_sweep_kind *all = &nt_sweep_kind_all;
    SCOPED(network) *n = made_network("tree:2x2x4");
    struct nt_measure_noise noise = {.sd = 0.02, .seed = 3};
    const struct nt_noisy_network noisy = {n, &noise};
    struct nt_sweep_run run;
    assert_int_equal(
        nt_sweep_simulate(all, &noisy, &(struct nt_sweep_how){.now_s = tick}, &run, NULL), 0);
    assert_true(run.exact);
    assert_int_equal(run.rounds, 3 * 15);
    assert_int_equal(run.bound_rounds, run.rounds);
    assert_int_equal(run.pairs, 3 * 120);
    assert_true(run.planning_s == 2 * 45 + 1 + 1); /* each call once: next and tell, end, solve */
    nt_model_destroy(run.model);
    noise.sd = 1; /* noise that nothing can be seen through */
    assert_int_equal(nt_sweep_simulate(all, &noisy, NULL, &run, NULL), 0);
    assert_false(run.exact);
    assert_true(run.planning_s == 0);
    nt_model_destroy(run.model);
}

/* A planner that asks for what it should not, or for other things than latencies. */
struct asker {
    struct nt_planner base;
    struct nt_order order;
    size_t told;
    struct nt_result first;
};

static int ask(struct nt_planner *p, struct nt_order *order, struct nt_err *err)
{
    struct asker *a = (struct asker *)p;
    (void)err;
    *order = a->order;
    return a->order.pairs > 0;
}

static int hear(struct nt_planner *p, const struct nt_result *results, size_t n, struct nt_err *err)
{
    struct asker *a = (struct asker *)p;
    (void)err;
    a->told = n;
    if (n > 0)
        a->first = results[0];
    a->order.pairs = 0;
    return 0;
}

static void forget(struct nt_planner *p)
{
    (void)p;
}

static const struct nt_planner_ops ASKING = {ask, hear, NULL, forget, NULL};
static struct asker asker;

static int create_asker(const struct nt_sweep_input *ask, struct nt_planner **out,
                        struct nt_err *err)
{
    (void)ask;
    (void)err;
    *out = &asker.base;
    return 0;
}

static int solve_asker(struct nt_planner *p, struct nt_model **out, struct nt_err *err)
{
    (void)p;
    return nt_model_create(8, 0, 0, out, err);
}

static uint64_t no_bound(const struct nt_model *truth)
{
    (void)truth;
    return 0;
}

TEST(test_orders)
{
    const struct nt_sweep_kind kind = {"asker", create_asker, solve_asker, no_bound};
    SCOPED(network) *n = made_network("tree:2x4");
    struct nt_measure_noise noise = {0};
    const struct nt_noisy_network noisy = {n, &noise};
    struct nt_sweep_run run;
    uint32_t pairs[][2] = {{0, 4}, {1, 5}, {2, 6}};
    const struct nt_order orders[] = {
        {.kind = NT_ORDER_LATENCY, .pairs = 3, .pair = pairs, .batches = 2, .count = 5},
        {.kind = NT_ORDER_BANDWIDTH, .pairs = 3, .pair = pairs, .window_s = 0.01},
        {.kind = NT_ORDER_PRTT, .pairs = 3, .pair = pairs, .count = 4},
    };
    const size_t told[] = {3, 3, 0};
    for (size_t k = 0; k < COUNT(orders); k++) {
        asker = (struct asker){.base.ops = &ASKING, .order = orders[k]};
        assert_int_equal(nt_sweep_simulate(&kind, &noisy, NULL, &run, NULL), 0);
        assert_int_equal(asker.told, told[k]);
        if (k == 0) {
            assert_true(asker.first.ok);
            assert_close(asker.first.value_us, 1.5, 1e-9);
            assert_true(asker.first.count == 10 && asker.first.se_us == 0);
        }
        if (k == 1) /* three flows over an uplink of 25,000 MB/s */
            assert_close(asker.first.bytes / asker.first.value_us, 25000.0 / 3, 1e-6);
        nt_model_destroy(run.model);
    }
    pairs[1][1] = 8;
    asker = (struct asker){.base.ops = &ASKING, .order = orders[0]};
    assert_int_equal(nt_sweep_simulate(&kind, &noisy, NULL, &run, &err), -1);
}

TEST(test_bounds)
{
    SCOPED(network) *n = made_network("tree:16x16x16x16");
    const struct nt_sweep_kind *all = &nt_sweep_kind_all;
    struct nt_measure_noise noise = {0};
    const struct nt_noisy_network noisy = {n, &noise};
    struct nt_sweep_run run;
    struct nt_samples *s;
    assert_int_equal(nt_sweep_simulate(all, &noisy, NULL, &run, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_int_equal(nt_samples_simulate(&noisy, NULL, 0, &s, &err), -1);
}

RUN_TESTS
