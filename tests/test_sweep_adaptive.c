/* The adaptive sweep: its schedule, and that it is right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "made_network.h"
#include "measure.h"
#include "rng.h"
#include "shape.h"
#include "sweep_adaptive.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static uint32_t *shuffled(size_t hosts, uint64_t seed)
{
    struct nt_rng rng;
    uint32_t *order = calloc(hosts + 1, sizeof *order);
    for (uint32_t h = 0; h < hosts; h++)
        order[h] = h;
    nt_rng_init(&rng, ~seed);
    nt_rng_shuffle(&rng, order, hosts);
    return order;
}

/* How a sweep went. */
struct trip {
    size_t rounds, pairs;
    uint64_t trace; /* a hash of all orders */
};

struct drive {
    const struct nt_network *network;
    struct nt_noise noise;
    struct nt_planner *planner;
    const bool *absent;
    size_t lose_after; /* rounds; 0: never */
    uint32_t lose_from, lose_count;
    bool *dead;
    struct nt_result *result; /* all so far */
    size_t results, room;
    struct nt_adaptive_record record; /* of them */
};

static void record(struct drive *d, const char *phase, const struct nt_result *result, size_t n)
{
    if (d->results + n > d->room) {
        d->room = 2 * (d->results + n);
        d->result = realloc(d->result, d->room * sizeof *d->result);
        assert_non_null(d->result);
    }
    memcpy(d->result + d->results, result, n * sizeof *result);
    d->results += n;
    d->record.result = d->result;
    if (strcmp(phase, NT_SWEEP_ADAPTIVE_CALIBRATION) == 0)
        d->record.calibration += n;
    else if (strcmp(phase, NT_SWEEP_ADAPTIVE_PHASE) == 0)
        d->record.planning += n;
    else
        d->record.verification += n;
}

static void check_round(const struct drive *d, const struct nt_order *o, bool *busy)
{
    assert_int_equal(o->kind, NT_ORDER_LATENCY);
    assert_true(o->batches >= 1 && o->count >= 1 && o->pairs > 0);
    memset(busy, 0, d->network->hosts * sizeof *busy);
    for (size_t k = 0; k < o->pairs; k++)
        for (int end = 0; end < 2; end++) {
            uint32_t h = o->pair[k][end];
            assert_true(h < d->network->hosts);
            assert_false(busy[h]); /* one partner a round, never itself */
            assert_false(d->dead[h]);
            busy[h] = true;
        }
}

static struct trip driven(struct drive *d)
{
    struct trip t = {0};
    struct nt_order o;
    struct nt_err err = {0};
    size_t n = d->network->hosts;
    bool *busy = calloc(n + 1, sizeof *busy);
    struct nt_result *result = calloc(n + 1, sizeof *result);
    int more;
    d->dead = calloc(n + 1, sizeof *d->dead);
    for (size_t h = 0; h < n; h++)
        d->dead[h] = d->absent != NULL && d->absent[h];
    while ((more = d->planner->ops->next(d->planner, &o, &err)) > 0) {
        size_t told = 0;
        check_round(d, &o, busy);
        for (size_t k = 0; k < o.pairs; k++) {
            uint32_t a = o.pair[k][0], b = o.pair[k][1];
            struct nt_reading r =
                nt_measure_batches(d->network, &d->noise, a, b, (uint32_t)t.rounds, o.batches);
            t.trace = t.trace * 1000003 + ((uint64_t)a << 20 ^ b);
            if (!isnan(r.value_us))
                result[told++] = (struct nt_result){.a = a,
                                                    .b = b,
                                                    .ok = true,
                                                    .value_us = r.value_us,
                                                    .se_us = r.se_us,
                                                    .count = o.batches * o.count};
        }
        t.rounds++;
        t.pairs += o.pairs;
        for (size_t k = 0; 2 * k < told; k++) { /* in any order */
            struct nt_result swap = result[k];
            result[k] = result[told - 1 - k];
            result[told - 1 - k] = swap;
        }
        assert_int_equal(d->planner->ops->tell(d->planner, result, told, &err), 0);
        record(d, o.phase, result, told);
        for (uint32_t h = 0; t.rounds == d->lose_after && h < d->lose_count; h++) {
            d->planner->ops->lose(d->planner, d->lose_from + h);
            d->dead[d->lose_from + h] = true;
        }
        assert_true(t.rounds < 100 + 4 * n); /* it ends */
    }
    if (more < 0)
        fail_msg("%s", err.text);
    free(busy);
    free(result);
    free(d->dead);
    return t;
}

static struct nt_model *found_by(const struct drive *d)
{
    struct nt_model *m;
    struct nt_err err;
    if (nt_sweep_adaptive_model(d->planner, &m, &err) < 0)
        fail_msg("%s", err.text);
    return m;
}

/* To the last bit. */
static void assert_same(const struct nt_model *a, const struct nt_model *b)
{
    assert_true(a->hosts == b->hosts && a->switches == b->switches && a->links == b->links);
    assert_true(a->confidence == b->confidence && a->r2 == b->r2 && a->rms_us == b->rms_us);
    assert_true(a->family == b->family && a->tiers == b->tiers);
    assert_true(a->resolution_us == b->resolution_us);
    for (size_t k = 0; k < a->links; k++) {
        assert_true(a->link[k].a == b->link[k].a && a->link[k].b == b->link[k].b);
        assert_true(a->link[k].latency_us == b->link[k].latency_us);
        assert_true(a->link[k].probability == b->link[k].probability);
    }
}

static void begin(struct drive *d, const uint32_t *order, uint64_t seed)
{
    struct nt_err err;
    if (nt_sweep_adaptive_create(d->network->hosts, order, d->absent, 10, seed, &d->planner, &err) <
        0)
        fail_msg("%s", err.text);
}

/* ---- right, over seeds, hints and noise ---------------------------------------------------------
 */

static void test_exact(void **state)
{
    static const struct {
        const char *topology;
        double sd, outliers;
        unsigned seeds;
        size_t good, any; /* rounds at most */
    } table[] = {
        {"tree:2x4", 0.02, 0.01, 40, 20, 20},   {"star:30", 0.02, 0.01, 40, 16, 16},
        {"tree:4x8", 0.02, 0.01, 40, 20, 24},   {"tree:4x8", 0.05, 0.10, 40, 36, 40},
        {"tree:4x4x8", 0.02, 0.01, 25, 26, 36}, {"tree:4x4x8", 0.05, 0.10, 25, 50, 60},
        {"tree:8x32", 0.02, 0.01, 20, 18, 32},  {"tree:4x8x32", 0.02, 0.01, 4, 20, 44},
    };
    (void)state;
    for (size_t k = 0; k < COUNT(table); k++) {
        struct nt_network *n = made_machine(table[k].topology);
        struct nt_model *truth;
        unsigned open = 0;
        assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
        for (uint64_t seed = 1; seed <= 2 * table[k].seeds; seed++) {
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
            if (t.rounds - facts.tests > (any ? table[k].any : table[k].good) || facts.tests > 16)
                fail_msg("%s seed %u: %zu rounds, %zu to verify", table[k].topology, (unsigned)seed,
                         t.rounds, facts.tests);
            open += m->confidence == 0; /* it may always say that it does not know */
            assert_true(m->confidence == 0 || (m->confidence > 0.9 && m->confidence <= 1));
            assert_true(m->resolution_us > 0 && m->resolution_us < 0.3);
            if (order == NULL) { /* its record tells the same */
                struct nt_adaptive_check check;
                struct nt_model *again;
                assert_int_equal(
                    nt_sweep_adaptive_recall(n->hosts, NULL, &d.record, &again, &check, NULL), 0);
                assert_same(m, again);
                nt_model_destroy(again);
            }
            nt_model_destroy(m);
            free(d.result);
            nt_planner_destroy(d.planner);
            free(order);
        }
        if (open > 0)
            print_message("%s: %u open\n", table[k].topology, open);
        assert_true(open <= (table[k].outliers < 0.05 ? 0 : table[k].seeds / 5));
        nt_model_destroy(truth);
        nt_network_destroy(n);
    }
}

/* Link latencies of the model follow from the classes. */
static void test_latencies(void **state)
{
    (void)state;
    struct nt_network *n = made_machine("tree:4x8");
    struct drive d = {.network = n, .noise = {.sd = 0.02, .seed = 3}};
    begin(&d, NULL, 3);
    driven(&d);
    struct nt_model *m = found_by(&d);
    for (size_t k = 0; k < m->links; k++)
        assert_true(fabs(m->link[k].latency_us / (m->link[k].a < 32 ? 0.56 : 0.11) - 1) < 0.1);
    assert_true(m->r2 > 0.95 && m->rms_us < 0.03);
    nt_model_destroy(m);
    free(d.result);
    nt_planner_destroy(d.planner);
    nt_network_destroy(n);
}

/* ---- hosts that are not there -------------------------------------------------------------------
 */

static void test_lost(void **state)
{
    (void)state;
    struct nt_network *n = made_machine("tree:4x8");
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
        assert_int_equal(on_leaf[0], after > 0 ? 6 : 7);
        assert_int_equal(on_leaf[1], 0); /* the top comes behind its first leaf */
        assert_int_equal(on_leaf[2], after > 0 ? 6 : 8);
        assert_int_equal(on_leaf[3], 8);
        assert_int_equal(on_leaf[4], 7);
        nt_model_destroy(m);
        nt_planner_destroy(d.planner);
        free(d.result);
    }
    nt_network_destroy(n);
    free(order);
}

/* Pairs that cannot be measured, whatever one tries, do not keep it from ending. */
static void test_missing_pairs(void **state)
{
    (void)state;
    struct nt_network *n = made_machine("tree:4x8");
    struct nt_model *truth;
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
    assert_true(exact >= 19);
    nt_model_destroy(truth);
    nt_network_destroy(n);
}

/* A record that was cut short says only what is certain, and says that it does not know all. */
static void test_cut_record(void **state)
{
    (void)state;
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
            struct nt_adaptive_check check;
            struct nt_adaptive_record r = d.record;
            r.calibration = cut < r.calibration ? cut : r.calibration;
            r.planning = cut - r.calibration < r.planning ? cut - r.calibration : r.planning;
            r.verification = cut - r.calibration - r.planning;
            if (nt_sweep_adaptive_recall(n->hosts, NULL, &r, &m, &check, NULL) < 0)
                continue;
            assert_int_equal(nt_shape_compare(m, truth, &off, NULL), 0);
            assert_int_equal(off.invented, 0);
            if (!off.equal)
                assert_true(m->confidence == 0 && check.verdict == NT_ADAPTIVE_OPEN);
            known += check.verdict == NT_ADAPTIVE_SOUND;
            nt_model_destroy(m);
        }
        assert_true(known <= 8);
        nt_planner_destroy(d.planner);
        free(d.result);
        free(order);
    }
    struct nt_adaptive_record nothing = {0};
    struct nt_adaptive_check check;
    assert_int_equal(nt_sweep_adaptive_recall(4, NULL, &nothing, &m, &check, NULL), -1);
    nt_model_destroy(truth);
    nt_network_destroy(n);
}

/* Before the end a map says only what is certain. */
static void test_early(void **state)
{
    (void)state;
    struct nt_network *n = made_machine("tree:4x4x8");
    struct nt_noise noise = {.sd = 0.02, .seed = 5};
    struct nt_planner *p;
    struct nt_order o;
    struct nt_model *m;
    struct nt_result result[64];
    uint32_t *order = shuffled(n->hosts, 5);
    uint32_t round = 0;
    size_t early = 0;
    assert_int_equal(nt_sweep_adaptive_create(n->hosts, order, NULL, 10, 5, &p, NULL), 0);
    assert_int_equal(nt_sweep_adaptive_model(p, &m, NULL), -1);
    while (p->ops->next(p, &o, NULL) > 0) {
        if (nt_sweep_adaptive_model(p, &m, NULL) == 0) {
            assert_true(m->confidence == 0);
            struct nt_model *truth;
            struct nt_shape_difference d;
            assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
            assert_int_equal(nt_shape_compare(m, truth, &d, NULL), 0);
            assert_int_equal(d.invented, 0);
            early++;
            nt_model_destroy(truth);
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
    assert_true(early > 4);
    nt_planner_destroy(p);
    nt_network_destroy(n);
    free(order);
}

static void test_small(void **state)
{
    static const char *const one[] = {"star:1", "star:2", "star:3", "star:5"};
    (void)state;
    for (size_t k = 0; k < COUNT(one); k++) {
        struct nt_network *n = made_machine(one[k]);
        struct drive d = {.network = n, .noise = {.sd = 0.02, .seed = 2}};
        begin(&d, NULL, 2);
        driven(&d);
        struct nt_model *m = found_by(&d);
        assert_int_equal(m->hosts, n->hosts);
        nt_model_destroy(m);
        free(d.result);
        nt_planner_destroy(d.planner);
        nt_network_destroy(n);
    }
}

static void test_refused(void **state)
{
    (void)state;
    struct nt_planner *p;
    struct nt_err err;
    const uint32_t twice[] = {0, 1, 1, 2}, far[] = {0, 1, 2, 4};
    assert_int_equal(nt_sweep_adaptive_create(NT_HOSTS_MAX + 1, NULL, NULL, 1, 1, &p, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_int_equal(nt_sweep_adaptive_create(4, twice, NULL, 1, 1, &p, &err), -1);
    assert_int_equal(nt_sweep_adaptive_create(4, far, NULL, 1, 1, &p, &err), -1);
}

/* The same seed and results, the same rounds; hosts by other numbers, the same network. */
static void test_deterministic(void **state)
{
    (void)state;
    struct nt_network *n = made_machine("tree:4x4x8");
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
    nt_network_destroy(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),         cmocka_unit_test(test_refused),
        cmocka_unit_test(test_deterministic), cmocka_unit_test(test_latencies),
        cmocka_unit_test(test_lost),          cmocka_unit_test(test_missing_pairs),
        cmocka_unit_test(test_early),         cmocka_unit_test(test_cut_record),
        cmocka_unit_test(test_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
