/* SPDX-License-Identifier: Apache-2.0 */
/* A campaign that starts from a prior: its rounds, its record, and the map of that. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asserts.h"
#include "campaign.h"
#include "made_belief.h"
#include "made_network.h"
#include "map_json.h"
#include "measure.h"
#include "prior.h"
#include "record.h"
#include "shape.h"
#include "solve.h"
#include "sweep_sim.h"

static struct nt_model *truth_of(const struct nt_network *n)
{
    struct nt_model *m;
    struct nt_err err = {0};
    if (nt_network_truth(n, &m, &err) < 0)
        fail_msg("%s", err.text);
    return m;
}

static struct nt_samples *record_of(size_t hosts)
{
    struct nt_samples *s;
    char name[32];
    assert_int_equal(nt_samples_create(&s, NULL), 0);
    for (size_t h = 0; h < hosts; h++) {
        snprintf(name, sizeof name, "n%zu", h + 1);
        assert_int_equal(nt_samples_add_host(s, name, NULL), 0);
    }
    return s;
}

/* A whole sweep at level quick, as the coordinator runs it; *rounds of latency. */
static struct nt_samples *swept(const struct nt_network *n, const struct nt_belief *belief,
                                uint64_t seed, size_t *rounds)
{
    struct nt_campaign_options options = {.level = NT_LEVEL_QUICK,
                                          .budget_s = 60,
                                          .max_load = 1,
                                          .seed = 1,
                                          .mode = NT_SWEEP_AUTO,
                                          .belief = belief};
    struct nt_measure_noise noise = {.sd = 0.02, .seed = seed};
    struct nt_samples *s = record_of(n->hosts);
    struct nt_campaign *c;
    struct nt_order o;
    struct nt_err err = {0};
    struct nt_result *result = calloc(n->hosts + 1, sizeof *result);
    char phase[32] = "";
    int more;
    *rounds = 0;
    if (belief != NULL)
        assert_int_equal(nt_samples_set_belief(s, belief, &err), 0);
    assert_int_equal(nt_campaign_create(n->hosts, NULL, &options, &c, &err), 0);
    while ((more = nt_campaign_next(c, (double)*rounds * 0.01, &o, &err)) > 0) {
        size_t told;
        if (strcmp(phase, o.phase) != 0) {
            if (phase[0] != '\0')
                assert_int_equal(nt_samples_end_phase(s, 0.1, &err), 0);
            assert_int_equal(nt_samples_begin_phase(s, o.phase, &err), 0);
            snprintf(phase, sizeof phase, "%s", o.phase);
        }
        assert_int_equal(nt_samples_begin_round(s, &err), 0);
        assert_int_equal(nt_order_answer(n, &noise, &o, (uint32_t)*rounds, result, &told, &err), 0);
        for (size_t k = 0; k < told; k++)
            assert_int_equal(nt_samples_add(s, nt_record_of(&o, &result[k]), NULL, &err), 0);
        assert_int_equal(nt_campaign_tell(c, result, told, 0.01, &err), 0);
        ++*rounds;
    }
    if (more < 0)
        fail_msg("%s", err.text);
    assert_int_equal(nt_samples_end_phase(s, 0.1, &err), 0);
    nt_samples_finish(s, NT_STATUS_OK, 1);
    nt_campaign_destroy(c);
    free(result);
    return s;
}

static struct nt_map *solved(const struct nt_samples *s)
{
    struct nt_map *map = NULL;
    struct nt_err err = {0};
    if (nt_solve_samples(s, &map, &err) != 0)
        fail_msg("%s", err.text);
    return map;
}

/* Written and read again, the record gives the same map. */
static void check_text(const struct nt_samples *s, const struct nt_map *map)
{
    char *text, *json, *again;
    size_t bytes, n, m;
    struct nt_samples_reader *r = NULL;
    struct nt_samples *copy = NULL;
    struct nt_map *read = NULL;
    struct nt_err err = {0};
    assert_int_equal(nt_samples_write(s, &text, &bytes, &err), 0);
    assert_int_equal(nt_samples_reader_create("s", &r, &err), 0);
    if (nt_samples_reader_feed(r, text, bytes, &err) != 0 ||
        nt_samples_reader_finish(r, &copy, &err) != 0)
        fail_msg("%s", err.text);
    nt_samples_reader_destroy(r);
    struct nt_map *other = solved(copy);
    assert_int_equal(nt_map_write(map, false, &json, &n, &err), 0);
    assert_int_equal(nt_map_write(other, false, &again, &m, &err), 0);
    assert_string_equal(json, again);
    if (nt_map_read("m", json, n, &read, &err) != 0)
        fail_msg("%s", err.text);
    assert_memory_equal(&read->sweep.prior.pairs_taken, &map->sweep.prior.pairs_taken,
                        3 * sizeof read->sweep.prior.pairs_taken);
    assert_int_equal(read->sweep.prior.used, map->sweep.prior.used);
    assert_string_equal(read->sweep.prior.reason, map->sweep.prior.reason);
    free(text);
    free(json);
    free(again);
    nt_map_destroy(other);
    nt_map_destroy(read);
    nt_samples_destroy(copy);
}

static void test_used(void **state)
{
    static const char *const table[] = {"tree:4x4", "tree:2x8", "tree:2x3x4", "tree:8x8"};
    (void)state;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_network *n = made_machine(table[k]);
        struct nt_model *truth = truth_of(n);
        struct nt_map *wide;
        struct nt_samples *all = record_of(n->hosts);
        struct nt_model *copy;
        assert_int_equal(nt_model_copy(truth, &copy, NULL), 0);
        assert_int_equal(nt_map_create(copy, (const char *const *)all->host_name, &wide, NULL), 0);
        struct nt_prior *prior;
        struct nt_belief *belief;
        assert_int_equal(nt_prior_of_map(wide, NULL, &prior, NULL), 0);
        for (uint64_t seed = 1; seed <= 10; seed++) {
            size_t rounds, without;
            assert_int_equal(nt_prior_believe(prior, (const char *const *)all->host_name, n->hosts,
                                              &belief, NULL, NULL),
                             0);
            struct nt_samples *s = swept(n, belief, seed, &rounds);
            struct nt_samples *t = swept(n, NULL, seed, &without);
            struct nt_map *map = solved(s);
            assert_true(map->sweep.prior.used && map->sweep.prior.pairs_contradicted == 0);
            assert_true(nt_shape_equal(map->model, truth));
            assert_true(rounds <= 5 && 3 * rounds < without);
            assert_true(map->sweep.prior.pairs_taken + map->sweep.prior.pairs_verified ==
                        n->hosts * (n->hosts - 1) / 2);
            check_text(s, map);
            nt_map_destroy(map);
            nt_samples_destroy(s);
            nt_samples_destroy(t);
            nt_belief_destroy(belief);
        }
        nt_prior_destroy(prior);
        nt_map_destroy(wide);
        nt_samples_destroy(all);
        nt_model_destroy(truth);
        nt_network_destroy(n);
    }
}

/* What is believed is of another network: as without it, and the map says so. */
static void test_refuted(void **state)
{
    struct nt_network *n = made_machine("tree:4x4");
    struct nt_model *truth = truth_of(n);
    uint32_t stands[16];
    (void)state;
    for (uint32_t h = 0; h < 16; h++)
        stands[h] = (h + 2) % 16;
    struct nt_belief *belief = belief_of(truth, stands);
    for (uint64_t seed = 1; seed <= 10; seed++) {
        size_t rounds;
        struct nt_samples *s = swept(n, belief, seed, &rounds);
        struct nt_map *map = solved(s);
        assert_false(map->sweep.prior.used);
        assert_true(map->sweep.prior.given && map->sweep.prior.reason[0] != '\0');
        assert_true(nt_shape_equal(map->model, truth));
        check_text(s, map);
        nt_map_destroy(map);
        nt_samples_destroy(s);
    }
    nt_belief_destroy(belief);
    nt_model_destroy(truth);
    nt_network_destroy(n);
}

/* A host that was lost after all was verified does not undo that. */
static void test_lost_later(void **state)
{
    struct nt_network *n = made_machine("tree:4x4");
    struct nt_model *truth = truth_of(n);
    struct nt_belief *belief = belief_of(truth, NULL);
    size_t rounds;
    (void)state;
    struct nt_samples *s = swept(n, belief, 3, &rounds);
    assert_int_equal(nt_samples_set_missing(s, 5, "gone", NULL), 0);
    struct nt_map *map = solved(s);
    assert_true(map->sweep.prior.used && map->model->missing[5]);
    assert_int_equal(map->model->switches, truth->switches);
    nt_map_destroy(map);
    nt_samples_destroy(s);
    nt_belief_destroy(belief);
    nt_model_destroy(truth);
    nt_network_destroy(n);
}

/* Nothing is measured: the map is what earlier jobs said, as sure and as old as that, and what is
 * made of it says no more. */
static void test_taken(void **state)
{
    static const char *const table[] = {"star:6", "tree:2x3", "tree:4x4", "tree:2x3x4", "tree:1x8"};
    (void)state;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_network *n = made_machine(table[k]);
        struct nt_model *truth = truth_of(n), *copy;
        struct nt_samples *s = record_of(n->hosts);
        struct nt_matrix *is, *was;
        struct nt_map *wide;
        struct nt_prior *prior, *again;
        struct nt_belief *belief;
        struct nt_prior_facts facts;
        assert_int_equal(nt_model_copy(truth, &copy, NULL), 0);
        assert_int_equal(nt_map_create(copy, (const char *const *)s->host_name, &wide, NULL), 0);
        assert_int_equal(nt_prior_of_map(wide, NULL, &prior, NULL), 0);
        for (size_t h = 0; h < n->hosts; h++)
            prior->of_host[h].day = 20000;
        for (size_t w = 0; w < prior->switch_name.count; w++) {
            prior->of_switch[w].day = 20003;
            prior->of_switch[w].support = 0.75F;
        }
        assert_int_equal(nt_prior_believe(prior, (const char *const *)s->host_name, n->hosts,
                                          &belief, &facts, NULL),
                         0);
        assert_int_equal(facts.known, n->hosts);
        assert_int_equal(facts.oldest_day, 20000);
        assert_int_equal(nt_samples_set_belief(s, belief, NULL), 0);
        assert_int_equal(nt_samples_take_belief(s, belief->us, (double)facts.least_support,
                                                facts.oldest_day, NULL),
                         0);
        nt_samples_finish(s, NT_STATUS_OK, 0.01);
        struct nt_map *map = solved(s);
        assert_true(nt_shape_equal(map->model, truth));
        assert_true(map->model->confidence == 0.75 && map->sweep.pairs_measured == 0);
        assert_true(map->sweep.prior.all_taken && map->sweep.prior.support == 0.75);
        assert_string_equal(map->sweep.prior.oldest, "2024-10-04");
        assert_true(map->sweep.prior.pairs_taken == n->hosts * (n->hosts - 1) / 2);
        assert_int_equal(nt_model_latencies(truth, &was, NULL), 0);
        assert_int_equal(nt_model_latencies(map->model, &is, NULL), 0);
        for (size_t a = 0; a < n->hosts; a++)
            for (size_t b = 0; b < a; b++)
                assert_close(nt_matrix_get(is, a, b) / nt_matrix_get(was, a, b), 1, 1e-5);
        assert_true(map->placement == NULL || map->placement->gain == 1); /* not acted on */
        check_text(s, map);
        assert_int_equal(nt_prior_of_map(map, NULL, &again, NULL), 0);
        assert_int_equal(again->of_host[0].day, 20000); /* no newer for having been used */
        nt_prior_destroy(again);
        nt_matrix_destroy(is);
        nt_matrix_destroy(was);
        nt_map_destroy(map);
        nt_belief_destroy(belief);
        nt_prior_destroy(prior);
        nt_map_destroy(wide);
        nt_samples_destroy(s);
        nt_model_destroy(truth);
        nt_network_destroy(n);
    }
}

/* Of a host that takes part nothing is known: no network. */
static void test_taken_in_part(void **state)
{
    struct nt_samples *s = record_of(4);
    const double us[] = {1, 2};
    const uint32_t one[] = {0};
    (void)state;
    assert_int_equal(nt_samples_begin_belief(s, 2, NULL), 0);
    for (size_t h = 0; h < 3; h++)
        assert_int_equal(nt_samples_believe(s, h, one, NULL), 0);
    assert_int_equal(nt_samples_take_belief(s, us, 1, 20000, NULL), 0);
    nt_samples_finish(s, NT_STATUS_OK, 0.01);
    struct nt_map *map = solved(s);
    assert_true(!map->sweep.prior.all_taken && map->model->links == 0);
    nt_map_destroy(map);
    assert_int_equal(nt_samples_set_missing(s, 3, "gone", NULL), 0);
    map = solved(s);
    assert_true(map->sweep.prior.all_taken && map->model->missing[3]);
    assert_int_equal(map->model->links, 3);
    nt_map_destroy(map);
    nt_samples_destroy(s);
}

static void test_record_refuses(void **state)
{
    static const struct {
        const char *text, *says;
    } table[] = {
        {"nettopo-samples/1\nhost a\nhost b\nprior 9\n", "levels"},
        {"nettopo-samples/1\nhost a\nhost b\nprior 2\nprior 2\n", "once"},
        {"nettopo-samples/1\nhost a\nhost b\nprior 2\nhost c\n", "before prior"},
        {"nettopo-samples/1\nhost a\nhost b\nbelieved 0 0\n", "end of the line"},
        {"nettopo-samples/1\nhost a\nhost b\nprior 2\nbelieved 0 2\n", "below 2"},
        {"nettopo-samples/1\nhost a\nhost b\nprior 2\nbelieved 2 0\n", "below 2"},
        {"nettopo-samples/1\nhost a\nhost b\nprior 2\nbelieved 0 0\nbelieved 0 0\n", "once"},
        {"nettopo-samples/1\nhost a\nhost b\nprior 2\nbelieved 0 0 1\n", "end of the line"},
        {"nettopo-samples/1\nhost a\nhost b\ntaken 2026-01-01 1 1\n", "end of the line"},
        {"nettopo-samples/1\nhost a\nhost b\nprior 1\ntaken yesterday 1 1\n", "YYYY-MM-DD"},
        {"nettopo-samples/1\nhost a\nhost b\nprior 1\ntaken 2026-01-01 2 1\n", "support"},
        {"nettopo-samples/1\nhost a\nhost b\nprior 2\ntaken 2026-01-01 1 1 1\n", "rise"},
        {"nettopo-samples/1\nhost a\nhost b\nprior 1\ntaken 2026-01-01 1 0\n", "above 0"},
        {"nettopo-samples/1\nhost a\nhost b\nprior 1\ntaken 2026-01-01 1 1\ntaken 2026-01-01 1 1\n",
         "once"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_samples_reader *r;
        struct nt_err err = {0};
        assert_int_equal(nt_samples_reader_create("s", &r, NULL), 0);
        assert_int_equal(nt_samples_reader_feed(r, table[k].text, strlen(table[k].text), &err), -1);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("%zu: %s", k, err.text);
        nt_samples_reader_destroy(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_used),          cmocka_unit_test(test_refuted),
        cmocka_unit_test(test_lost_later),    cmocka_unit_test(test_taken),
        cmocka_unit_test(test_taken_in_part), cmocka_unit_test(test_record_refuses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
