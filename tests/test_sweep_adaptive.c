/* SPDX-License-Identifier: Apache-2.0 */
/* The adaptive sweep: its schedule, and that it is right. */
#include "asserts.h"
#include "driven_sweep.h"
#include "made_network.h"
#include "map.h"
#include "map_json.h"
#include "shape.h"
#include "sweep_adaptive.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- right, over seeds, hints and noise ---- */

TEST(test_exact)
{
    static const struct {
        const char *topology;
        double sd, outliers;
        unsigned seeds;
        size_t good, any; /* rounds at most */
    } table[] = {
        {"tree:2x4", 0.02, 0.01, 40, 20, 20},   {"star:30", 0.02, 0.01, 40, 16, 16},
        {"tree:2x4", 0.05, 0.01, 100, 20, 20},  {"tree:4x8", 0.02, 0.01, 40, 20, 24},
        {"tree:4x8", 0.05, 0.10, 40, 36, 40},   {"tree:4x4x8", 0.02, 0.01, 25, 26, 36},
        {"tree:4x4x8", 0.05, 0.10, 25, 50, 60}, {"tree:8x32", 0.02, 0.01, 20, 18, 32},
        {"tree:4x8x32", 0.02, 0.01, 4, 20, 44},
    };
    for (size_t k = 0; k < COUNT(table); k++) {
        SCOPED(network) *n = made_machine(table[k].topology);
        SCOPED(model) *truth;
        unsigned open = 0;
        size_t seeds = draws(table[k].seeds / 2, 2 * table[k].seeds);
        assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            bool any = seed % 2 == 0;
            uint32_t *order = any ? shuffled(n->hosts, seed) : NULL;
            struct drive d = {.network = n,
                              .noise = {table[k].sd, 0, 0, table[k].outliers, 0, seed}};
            begin(&d, order, seed);
            struct trip t = driven(&d);
            struct nt_model *m = found_by(&d);
            if (m->confidence > 0 && !nt_shape_equal(m, truth))
                fail_msg("%s seed %u: another shape", table[k].topology, (unsigned)seed);
            struct nt_sweep_adaptive_facts facts;
            nt_sweep_adaptive_facts(d.planner, &facts);
            size_t tests = truth->switches > 1 ? 16 : 45; /* of one switch every pair is tested */
            if (t.rounds - facts.tests > (any ? table[k].any : table[k].good) ||
                facts.tests > tests)
                fail_msg("%s seed %u: %zu rounds, %zu to verify", table[k].topology, (unsigned)seed,
                         t.rounds, facts.tests);
            open += m->confidence == 0; /* it may always say that it does not know */
            assert_holds(m->confidence == 0 || (m->confidence > 0.9 && m->confidence <= 1),
                         "confidence %g", m->confidence);
            assert_above(m->resolution_us, 0);
            assert_below(m->resolution_us, 0.3);
            if (order == NULL) { /* its record gives the same */
                struct nt_sparse_check check;
                SCOPED(model) *again;
                assert_int_equal(recalled_by(n->hosts, &d.record, &again, &check), 0);
                assert_same(m, again);
            }
            nt_model_destroy(m);
            free(d.result);
            nt_planner_destroy(d.planner);
            free(order);
        }
        if (open > 0)
            print_message("%s: %u open\n", table[k].topology, open);
        assert_at_most(open, (table[k].outliers < 0.05 ? 0 : seeds / 10));
    }
}

/* A pair that cannot be measured is not ordered again and again. The other pairs of its hosts are
 * enough, also where verification would read every pair of a leaf or of a single switch, and for
 * the place of a host on a longer link. */
TEST(test_blocked_pair)
{
    static const struct {
        const char *topology;
        uint32_t blocked[2];
        double slow_us; /* of host 0's link, in addition */
        size_t rounds;  /* at most; without such a rule up to 86 */
    } table[] = {
        {"tree:6x4", {0, 1}, 0, 26},   {"tree:8x3", {0, 1}, 0, 33}, {"tree:2x4x4", {0, 1}, 0, 29},
        {"star:24", {0, 1}, 0, 38},    {"star:24", {20, 0}, 0, 38}, {"tree:6x4", {0, 20}, 0, 22},
        {"tree:3x8", {0, 1}, 0.4, 23},
    };
    for (size_t k = 0; k < COUNT(table); k++) {
        SCOPED(network) *n = made_machine(table[k].topology);
        SCOPED(model) *truth = true_model(n);
        for (size_t i = 0; i < n->arcs; i++)
            if (n->arc[i].from == 0 || n->arc[i].to == 0)
                n->arc[i].latency_us += table[k].slow_us;
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct drive d = {
                .network = n, .noise = {0.02, 0, 0, 0.01, 0, seed}, .blocked = table[k].blocked};
            begin(&d, NULL, seed);
            struct trip t = driven(&d);
            SCOPED(model) *m = found_by(&d), *again;
            struct nt_sparse_check check;
            assert_above(m->confidence, 0.9);
            assert_true(nt_shape_equal(m, truth));
            assert_at_most(t.rounds, table[k].rounds);
            assert_int_equal(recalled_by(n->hosts, &d.record, &again, &check), 0);
            assert_same(m, again);
            free(d.result);
            nt_planner_destroy(d.planner);
        }
    }
}

/* ---- what is stated ---- */

static void assert_valid(const struct nt_model *m)
{
    struct nt_model *own;
    SCOPED(map) *map;
    struct nt_findings findings = {0};
    char(*name)[24] = calloc(m->hosts + 1, sizeof *name);
    const char **names = calloc(m->hosts + 1, sizeof *names);
    for (size_t h = 0; h < m->hosts; h++) {
        snprintf(name[h], sizeof name[h], "n%zu", h);
        names[h] = name[h];
    }
    assert_int_equal(nt_model_copy(m, &own, NULL), 0);
    assert_int_equal(nt_map_create(own, names, &map, NULL), 0);
    map->sweep.pairs_total = m->hosts * (m->hosts - 1) / 2;
    assert_int_equal(nt_map_check(map, &findings, NULL), 0);
    if (findings.count > 0)
        fail_msg("%zu findings, the first %s", findings.count, findings.line[0]);
    nt_findings_fini(&findings);
    free(names);
    free(name);
}

/* Pairs whose modelled latency is another one. */
static size_t apart(const struct nt_model *x, const struct nt_model *y)
{
    struct nt_matrix *a, *b;
    size_t count = 0;
    assert_int_equal(nt_model_latencies(x, &a, NULL), 0);
    assert_int_equal(nt_model_latencies(y, &b, NULL), 0);
    for (size_t i = 0; i < x->hosts; i++)
        for (size_t j = 0; j < i; j++)
            count += fabsf(nt_matrix_get(a, i, j) - nt_matrix_get(b, i, j)) > 1e-5f;
    nt_matrix_destroy(a);
    nt_matrix_destroy(b);
    return count;
}

/* A leaf or a pod that is more likely one with another than not: its hosts, or its leaves, are
 * attached to the switch above, as far from all others as before. */
TEST(test_unsure_is_not_stated)
{
    static const struct {
        const char *topology;
        size_t level;             /* the doubt is about host 0's cluster there */
        double error_probability; /* chance that it is one with another */
        size_t gone;              /* switches */
        size_t changed;           /* pairs */
    } table[] = {
        {"tree:4x4x8", 0, 0.45, 0, 0},   {"tree:4x4x8", 0, 0.55, 1, 28},
        {"tree:4x4x8", 1, 0.55, 1, 384}, {"tree:4x8", 0, 1, 1, 28},
        {"tree:2x8", 0, 0.45, 0, 0},
    };
    for (size_t k = 0; k < COUNT(table); k++) {
        SCOPED(network) *n = made_machine(table[k].topology);
        struct drive d = {.network = n, .noise = {0.02, 0, 0, 0.01, 0, 1}};
        begin(&d, NULL, 1);
        driven(&d);
        struct nt_model *before = found_by(&d);
        const struct nt_clustering *m = &nt_sweep_adaptive_state(d.planner)->clustering;
        assert_above(before->confidence, 0.9);
        assert_valid(before);
        uint32_t root = nt_clusters_find(&m->clusters, table[k].level, 0);
        m->error_probability[table[k].level][root] = (float)table[k].error_probability;
        struct nt_model *after = found_by(&d);
        assert_valid(after);
        assert_int_equal(before->switches - after->switches, table[k].gone);
        assert_int_equal(apart(before, after), table[k].changed);
        nt_model_destroy(before);
        nt_model_destroy(after);
        free(d.result);
        nt_planner_destroy(d.planner);
    }
}

static size_t driven_to_the_truth(const char *topology, double sd, double outliers, bool any,
                                  uint64_t seed)
{
    struct nt_network *n = made_machine(topology);
    struct nt_model *truth;
    uint32_t *order = any ? shuffled(n->hosts, seed) : NULL;
    struct drive d = {
        .network = n, .noise = {sd, 0, 0, outliers, 0, seed}, .counted = n->hosts > 4096};
    assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
    begin(&d, order, seed);
    struct trip t = driven(&d);
    struct nt_model *m = found_by(&d);
    if (m->confidence == 0 || !nt_shape_equal(m, truth))
        fail_msg("%s seed %u: confidence %g", topology, (unsigned)seed, m->confidence);
    struct nt_sweep_adaptive_facts facts;
    nt_sweep_adaptive_facts(d.planner, &facts);
    nt_model_destroy(m);
    nt_model_destroy(truth);
    free(d.result);
    nt_planner_destroy(d.planner);
    nt_network_destroy(n);
    free(order);
    return t.rounds - facts.tests;
}

/* What merged under way is merged by the record too, however many hosts. */
TEST(test_many_hosts)
{
    for (uint64_t seed = 1; seed <= draws(2, 4); seed++)
        driven_to_the_truth("tree:8x32x32", 0.02, 0.01, false, seed);
}

/* The record of seed 18 leaves pairs of clusters open that were certain under way: asked for. */
TEST(test_reopened)
{
    for (uint64_t seed = 16; seed <= 20; seed++)
        driven_to_the_truth("tree:4x8x32", 0.05, 0.10, false, seed);
}

/* On the average over seeds: no round for a few pairs where the next tier could begin, and no host
 * that has not found its switch waits for those that have. */
TEST(test_few_rounds)
{
    static const struct {
        bool any;
        unsigned seeds;
        double most;
    } table[] = {{false, 10, 14.5}, {true, 10, 34.5}};
    for (size_t k = 0; k < COUNT(table); k++) {
        size_t sum = 0;
        for (uint64_t seed = 1; seed <= table[k].seeds; seed++)
            sum += driven_to_the_truth("tree:4x8x32", 0.02, 0.01, table[k].any, seed);
        if ((double)sum > table[k].most * table[k].seeds)
            fail_msg("%.1f rounds, at most %.1f", (double)sum / table[k].seeds, table[k].most);
    }
}

/* Link latencies of the model follow from the classes. */
TEST(test_latencies)
{
    SCOPED(network) *n = made_machine("tree:4x8");
    struct drive d = {.network = n, .noise = {.sd = 0.02, .seed = 3}};
    begin(&d, NULL, 3);
    driven(&d);
    struct nt_model *m = found_by(&d);
    for (size_t k = 0; k < m->links; k++)
        assert_close(m->link[k].latency_us / (m->link[k].a < 32 ? 0.56 : 0.11), 1, 0.1);
    assert_above(m->r2, 0.95);
    assert_below(m->rms_us, 0.03);
    nt_model_destroy(m);
    free(d.result);
    nt_planner_destroy(d.planner);
}

/* ---- hosts that are not there ---- */

TEST(test_lost)
{
    SCOPED(network) *n = made_machine("tree:4x8");
    uint32_t *order = shuffled(n->hosts, 7); /* much is left to do after the calibration */
    for (size_t after = 0; after <= 15; after++) {
        bool absent[32] = {[5] = true, [31] = true};
        struct drive d = {.network = n,
                          .noise = {.sd = 0.02, .seed = 7},
                          .absent = absent,
                          .lose_after = after,
                          .lose_from = 7,
                          .lose_count = 3};
        begin(&d, after % 2 == 0 ? NULL : order, 7);
        driven(&d);
        struct nt_model *m = found_by(&d);
        for (uint32_t h = 0; h < 32; h++)
            assert_int_equal(m->missing[h], h == 5 || h == 31 || (after > 0 && h >= 7 && h < 10));
        /* four switches with those that are left, and a top */
        size_t on_leaf[5] = {0};
        assert_int_equal(m->switches, 5);
        for (size_t k = 0; k < m->links; k++)
            if (m->link[k].a < 32)
                on_leaf[m->link[k].b - 32]++;
        assert_int_equal(on_leaf[0], 0); /* the root is the first */
        assert_int_equal(on_leaf[1], after > 0 ? 6 : 7);
        assert_int_equal(on_leaf[2], after > 0 ? 6 : 8);
        assert_int_equal(on_leaf[3], 8);
        assert_int_equal(on_leaf[4], 7);
        nt_model_destroy(m);
        nt_planner_destroy(d.planner);
        free(d.result);
    }
    free(order);
}

/* Pairs that cannot be measured, whatever one tries, do not keep it from ending. */
TEST(test_missing_pairs)
{
    SCOPED(network) *n = made_machine("tree:4x8");
    SCOPED(model) *truth;
    unsigned exact = 0;
    assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct drive d = {.network = n, .noise = {.sd = 0.02, .missing = 0.3, .seed = seed}};
        begin(&d, NULL, seed);
        driven(&d);
        struct nt_model *m = found_by(&d);
        exact += nt_shape_equal(m, truth);
        nt_model_destroy(m);
        free(d.result);
        nt_planner_destroy(d.planner);
    }
    assert_at_least(exact, 19);
}

/* A record that was cut short says only what is certain, and says that it does not know all. */
TEST(test_cut_record)
{
    struct nt_network *n = made_machine("tree:4x4x8");
    struct nt_model *truth, *m;
    assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct drive d = {.network = n, .noise = {.sd = 0.02, .outliers = 0.01, .seed = seed}};
        uint32_t *order = shuffled(n->hosts, seed);
        size_t known = 0;
        begin(&d, order, seed);
        driven(&d);
        for (size_t cut = 64; cut < d.results; cut += 64) {
            struct nt_shape_difference off;
            struct nt_sparse_check check;
            struct sweep_record r = d.record;
            r.calibration = cut < r.calibration ? cut : r.calibration;
            r.planning = cut - r.calibration < r.planning ? cut - r.calibration : r.planning;
            r.verification = cut - r.calibration - r.planning;
            if (recalled_by(n->hosts, &r, &m, &check) < 0)
                continue;
            assert_int_equal(nt_shape_compare(m, truth, &off, NULL), 0);
            assert_int_equal(off.invented, 0);
            if (!off.equal)
                assert_true(m->confidence == 0 && check.verdict == NT_SPARSE_OPEN);
            known += check.verdict == NT_SPARSE_SOUND;
            nt_model_destroy(m);
        }
        assert_at_most(known, 8);
        nt_planner_destroy(d.planner);
        free(d.result);
        free(order);
    }
    struct sweep_record nothing = {0};
    struct nt_sparse_check check;
    assert_int_equal(recalled_by(4, &nothing, &m, &check), -1);
    nt_model_destroy(truth);
    nt_network_destroy(n);
}

/* Before the end a map says only what is certain. */
TEST(test_early)
{
    SCOPED(network) *n = made_machine("tree:4x4x8");
    struct nt_measure_noise noise = {.sd = 0.02, .seed = 5};
    SCOPED(planner) *p;
    struct nt_order o;
    struct nt_model *m;
    struct nt_result result[64];
    uint32_t *order = shuffled(n->hosts, 5);
    uint32_t round = 0;
    size_t early = 0;
    const struct nt_sweep_setup setup = {n->hosts, NULL, 0, 0, 10, 5};
    assert_int_equal(nt_sweep_adaptive_create(&setup, order, &p, NULL), 0);
    assert_int_equal(nt_sparse_model(nt_sweep_adaptive_state(p), &m, NULL), -1);
    while (p->ops->next(p, &o, NULL) > 0) {
        if (nt_sparse_model(nt_sweep_adaptive_state(p), &m, NULL) == 0) {
            assert_true(m->confidence == 0);
            SCOPED(model) *truth;
            struct nt_shape_difference d;
            assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
            assert_int_equal(nt_shape_compare(m, truth, &d, NULL), 0);
            assert_int_equal(d.invented, 0);
            early++;
            nt_model_destroy(m);
        }
        for (size_t k = 0; k < o.pairs; k++) {
            struct nt_reading r =
                nt_measure_batches(n, &noise, o.pair[k][0], o.pair[k][1], round, o.batches);
            result[k] = (struct nt_result){.a = o.pair[k][0],
                                           .b = o.pair[k][1],
                                           .ok = true,
                                           .value_us = r.value_us,
                                           .se_us = r.se_us};
        }
        round++;
        assert_int_equal(p->ops->tell(p, result, o.pairs, NULL), 0);
    }
    assert_above(early, 4);
    free(order);
}

TEST(test_small)
{
    static const char *const one[] = {"star:1", "star:2", "star:3", "star:5"};
    for (size_t k = 0; k < COUNT(one); k++) {
        SCOPED(network) *n = made_machine(one[k]);
        struct drive d = {.network = n, .noise = {.sd = 0.02, .seed = 2}};
        begin(&d, NULL, 2);
        driven(&d);
        struct nt_model *m = found_by(&d);
        assert_int_equal(m->hosts, n->hosts);
        nt_model_destroy(m);
        free(d.result);
        nt_planner_destroy(d.planner);
    }
}

TEST(test_refused)
{
    struct nt_planner *p;
    const uint32_t twice[] = {0, 1, 1, 2}, far[] = {0, 1, 2, 4};
    struct nt_sweep_setup setup = {NT_HOSTS_MAX + 1, NULL, 0, 0, 1, 1};
    assert_int_equal(nt_sweep_adaptive_create(&setup, NULL, &p, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    setup.hosts = 4;
    assert_int_equal(nt_sweep_adaptive_create(&setup, twice, &p, &err), -1);
    assert_int_equal(nt_sweep_adaptive_create(&setup, far, &p, &err), -1);
}

/* The same seed and results, the same rounds; hosts by other numbers, the same network. */
TEST(test_deterministic)
{
    SCOPED(network) *n = made_machine("tree:4x4x8");
    uint64_t trace[3];
    for (int k = 0; k < 3; k++) {
        struct drive d = {.network = n, .noise = {.sd = 0.02, .outliers = 0.01, .seed = 9}};
        begin(&d, NULL, k < 2 ? 1 : 2);
        trace[k] = driven(&d).trace;
        free(d.result);
        nt_planner_destroy(d.planner);
    }
    assert_true(trace[0] == trace[1]);
    assert_true(trace[0] != trace[2]);
}

RUN_TESTS
