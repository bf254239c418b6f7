/* SPDX-License-Identifier: Apache-2.0 */
/* The record of an adaptive sweep: the map that is made from it, and from its text again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "made_network.h"
#include "map_json.h"
#include "recorded_sweep.h"
#include "shape.h"
#include "solve.h"

/* As the job's first host drives and records it; most_rounds: the sweep is cut there. */
static struct recorded record(const struct nt_network *n, uint64_t seed, size_t most_rounds)
{
    return record_sweep(n,
                        &(struct recording){.level = NT_LEVEL_QUICK,
                                            .noise = {.sd = 0.02, .outliers = 0.005, .seed = seed},
                                            .most_rounds = most_rounds});
}

static struct nt_map *solved(const struct nt_samples *s)
{
    struct nt_map *map;
    struct nt_err err;
    if (nt_solve_samples(s, &map, &err) != 0)
        fail_msg("%s", err.text);
    return map;
}

/* The record's text, read and solved again, gives the same map byte for byte. */
static void assert_same_again(const struct nt_samples *s, const struct nt_map *map)
{
    struct nt_samples_reader *reader;
    struct nt_samples *again;
    char *text, *first, *second;
    size_t bytes, first_bytes, second_bytes;
    assert_int_equal(nt_samples_write(s, &text, &bytes, NULL), 0);
    assert_int_equal(nt_samples_reader_create("record", &reader, NULL), 0);
    assert_int_equal(nt_samples_reader_feed(reader, text, bytes, NULL), 0);
    assert_int_equal(nt_samples_reader_finish(reader, &again, NULL), 0);
    nt_samples_reader_destroy(reader);
    struct nt_map *other = solved(again);
    assert_int_equal(nt_map_write(map, false, &first, &first_bytes, NULL), 0);
    assert_int_equal(nt_map_write(other, false, &second, &second_bytes, NULL), 0);
    assert_int_equal(first_bytes, second_bytes);
    assert_memory_equal(first, second, first_bytes);
    nt_map_destroy(other);
    nt_samples_destroy(again);
    free(text);
    free(first);
    free(second);
}

static bool is_exact(const struct nt_map *map, const struct nt_network *n)
{
    struct nt_model *truth;
    assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
    bool equal = nt_shape_equal(map->model, truth);
    nt_model_destroy(truth);
    return equal;
}

static void a_tree_is_told_by_some_pairs(void **state)
{
    (void)state;
    struct nt_network *n = made_network("tree:4x8");
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct recorded r = record(n, seed, 1000);
        struct nt_map *map = solved(r.samples);
        assert_true(r.verified && is_exact(map, n));
        assert_above(map->model->confidence, 0.9);
        assert_true(map->status == NT_STATUS_OK);
        assert_true(map->sweep.pairs_measured < map->sweep.pairs_total && map->sweep.rounds < 31);
        for (size_t k = 0; k < map->model->links; k++) { /* 0.5 us to a host, 0.25 us above */
            const struct nt_link *l = &map->model->link[k];
            assert_above(l->latency_se_us, 0);
            assert_below(l->latency_se_us, 0.02);
            assert_close(l->latency_us, (l->a < 32 ? 0.5 : 0.25), 0.05);
        }
        assert_same_again(r.samples, map);
        nt_map_destroy(map);
        nt_samples_destroy(r.samples);
    }
    nt_network_destroy(n);
}

static void a_chain_is_told_by_all(void **state)
{
    (void)state;
    struct nt_network *n = made_network("chain:4x8");
    unsigned exact = 0;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct recorded r = record(n, seed, 1000);
        struct nt_map *map = solved(r.samples);
        assert_false(r.verified);
        assert_true(map->sweep.pairs_measured == map->sweep.pairs_total);
        exact += is_exact(map, n);
        assert_same_again(r.samples, map);
        nt_map_destroy(map);
        nt_samples_destroy(r.samples);
    }
    assert_true(exact >= 4);
    nt_network_destroy(n);
}

/* Cut in any round, a record determines the network or nothing, never half of it. */
static void a_cut_record_tells_nothing_false(void **state)
{
    (void)state;
    static const char *const topologies[] = {"tree:4x8", "chain:4x8"};
    for (size_t t = 0; t < 2; t++) {
        struct nt_network *n = made_network(topologies[t]);
        size_t told = 0;
        for (size_t rounds = 1; rounds < 40; rounds++) {
            struct recorded r = record(n, 3, rounds);
            struct nt_map *map = solved(r.samples);
            if (map->model->links > 0) {
                assert_true(t == 0 && is_exact(map, n));
                told++;
            } else {
                assert_true(map->warnings > 0);
            }
            assert_same_again(r.samples, map);
            nt_map_destroy(map);
            nt_samples_destroy(r.samples);
        }
        assert_true(t == 0 ? told > 10 : told == 0);
        nt_network_destroy(n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_is_told_by_some_pairs),
        cmocka_unit_test(a_chain_is_told_by_all),
        cmocka_unit_test(a_cut_record_tells_nothing_false),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
