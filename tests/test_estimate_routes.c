/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "estimate_routes.h"
#include "plan_routes.h"
#include "rng.h"
#include "routes_of.h"
#include "stats.h"

struct trial {
    struct nt_routes *routes;
    struct nt_measured measured;
    double *truth; /* by link */
    struct nt_rng rng;
};

static double path_truth(const struct trial *t, size_t pair)
{
    double sum = 0;
    for (size_t k = 0; k < nt_route_length(t->routes, pair); k++)
        sum += t->truth[nt_route_links(t->routes, pair)[k]];
    return sum / nt_route_directions(t->routes, pair);
}

/* Links of 0.2 us to hosts and 0.5 us between switches, each 10 % off. */
static void draw(struct trial *t, uint64_t seed)
{
    nt_rng_init(&t->rng, seed);
    for (size_t l = 0; l < t->routes->links; l++)
        t->truth[l] = (l < t->routes->hosts ? 0.2 : 0.5) * (1 + 0.1 * nt_rng_normal(&t->rng));
}

/* The pairs by a plan. */
static void begin(struct trial *t, struct nt_routes *routes, double redundancy, uint64_t seed)
{
    SCOPED(plan) *plan;
    struct nt_pair_index *index;
    *t = (struct trial){.routes = routes};
    t->truth = malloc(routes->links * sizeof *t->truth);
    assert_non_null(t->truth);
    draw(t, seed);
    assert_int_equal(nt_plan_routes(routes, redundancy, 1, &plan, NULL), 0);
    assert_int_equal(nt_pair_index_create(routes, &index, NULL), 0);
    t->measured.count = plan->pairs;
    t->measured.pair = malloc(plan->pairs * sizeof *t->measured.pair);
    t->measured.latency_us = malloc(plan->pairs * sizeof *t->measured.latency_us);
    for (size_t i = 0; i < plan->pairs; i++)
        t->measured.pair[i] = nt_pair_index_find(index, plan->pair[i][0], plan->pair[i][1]);
    nt_pair_index_destroy(index);
}

static void measure(struct trial *t, double sd)
{
    for (size_t i = 0; i < t->measured.count; i++)
        t->measured.latency_us[i] =
            path_truth(t, t->measured.pair[i]) + sd * nt_rng_normal(&t->rng);
}

static void end(struct trial *t)
{
    nt_routes_destroy(t->routes);
    free(t->measured.pair);
    free(t->measured.latency_us);
    free(t->truth);
}

static struct nt_estimate *solve(const struct trial *t)
{
    struct nt_estimate *e;
    must(nt_estimate_routes(t->routes, &t->measured, &e, &err));
    return e;
}

TEST(exact_measurements_give_exact_links_and_all_pairs)
{
    for (int both = 0; both < 2; both++) {
        for (int redundancy = 1; redundancy <= 2; redundancy++) {
            struct trial t;
            begin(&t, fattree_routes(6, 3, both), redundancy, 3);
            measure(&t, 0);
            struct nt_estimate *e = solve(&t);
            assert_int_equal(e->links, t.routes->links);
            assert_int_equal(e->aggregates, 0);
            assert_int_equal(e->pairs, t.routes->pairs);
            for (size_t k = 0; k < e->links; k++) {
                assert_close(e->link[k].latency.us, t.truth[e->link[k].link], 1e-9);
                assert_false(e->link[k].suspect);
            }
            for (size_t p = 0; p < e->pairs; p++)
                assert_close(e->pair_latency[p].us, path_truth(&t, p), 1e-9);
            assert_true(redundancy == 2 || isnan(e->link[0].latency.se_us));
            nt_estimate_destroy(e);
            end(&t);
        }
    }
}

/* Liu et al., NPC 2018, section 3.2 d: seven of fifteen round trips, of which the others follow;
 * l3 and l4 are known as a sum only. */
TEST(the_papers_example_gives_the_papers_figures)
{
    static const uint32_t host_link[6] = {0, 1, 4, 5, 6, 7};
    static const struct {
        uint32_t a, b;
        double rtt;
        int chosen; /* in S'1 */
    } table[] = {{0, 1, 16, 1}, {0, 2, 37, 1}, {0, 3, 36, 1}, {0, 4, 18, 1}, {0, 5, 17, 1},
                 {1, 2, 39, 0}, {1, 3, 38, 0}, {1, 4, 20, 1}, {1, 5, 19, 0}, {2, 3, 25, 1},
                 {2, 4, 41, 0}, {2, 5, 40, 0}, {3, 4, 40, 0}, {3, 5, 39, 0}, {4, 5, 21, 0}};
    static const double expected[8] = {3.5, 4.5, NAN, NAN, 6.5, 6, 5.5, 5};
    struct nt_routes_builder *b;
    SCOPED(routes) *r = NULL;
    uint32_t pair[7];
    double latency[7];
    struct nt_measured measured = {.pair = pair, .latency_us = latency};
    assert_int_equal(nt_routes_builder_create(&b, NULL), 0);
    for (uint32_t p = 0; p < 15; p++) {
        uint32_t i = table[p].a, j = table[p].b, link[4] = {host_link[i]};
        size_t n = 1;
        if ((i == 2 || i == 3) != (j == 2 || j == 3)) {
            link[n++] = j == 2 || j == 3 ? 2 : 3;
            link[n++] = j == 2 || j == 3 ? 3 : 2;
        }
        link[n++] = host_link[j];
        assert_int_equal(nt_routes_builder_add(b, i, j, link, n, NULL), 0);
        if (table[p].chosen) {
            pair[measured.count] = p;
            latency[measured.count++] = table[p].rtt / 2;
        }
    }
    assert_int_equal(nt_routes_builder_finish(b, 6, 8, &r, NULL), 0);
    nt_routes_builder_destroy(b);
    struct nt_estimate *e;
    assert_int_equal(nt_estimate_routes(r, &measured, &e, NULL), 0);
    assert_int_equal(e->fit.rank, 7);
    assert_int_equal(e->links, 6);
    for (size_t k = 0; k < e->links; k++)
        assert_close(e->link[k].latency.us, expected[e->link[k].link], 1e-9);
    assert_int_equal(e->aggregates, 1);
    assert_int_equal(e->run_start[1], 2);
    assert_int_equal(e->run_link[0], 2);
    assert_int_equal(e->run_link[1], 3);
    assert_close(e->run_latency[0].us, 8.5, 1e-9);
    assert_int_equal(e->pairs, 15);
    for (size_t p = 0; p < 15; p++)
        assert_close(e->pair_latency[p].us, table[p].rtt / 2, 1e-9);
    nt_estimate_destroy(e);
}

/* A nominal 95 % must be one, with and without wrong measurements. */
TEST(standard_errors_cover)
{
    for (int wrong = 0; wrong < 2; wrong++) {
        size_t inside = 0, all = 0;
        struct trial t;
        begin(&t, fattree_routes(6, 3, 0), 2, 1);
        for (uint64_t seed = 1; seed <= 40; seed++) {
            draw(&t, seed);
            measure(&t, 0.02);
            for (size_t i = 0; wrong && i < t.measured.count; i += 60)
                t.measured.latency_us[i] += 0.5 + nt_rng_uniform(&t.rng);
            struct nt_estimate *e = solve(&t);
            for (size_t k = 0; k < e->links; k++) {
                const struct nt_figure *f = &e->link[k].latency;
                inside += fabs(f->us - t.truth[e->link[k].link]) <
                          f->se_us * nt_student_quantile(0.975, (double)e->fit.freedom);
                all++;
            }
            for (size_t p = 0; p < e->pairs; p++) {
                inside +=
                    fabs(e->pair_latency[p].us - path_truth(&t, p)) <
                    e->pair_latency[p].se_us * nt_student_quantile(0.975, (double)e->fit.freedom);
                all++;
            }
            nt_estimate_destroy(e);
        }
        end(&t);
        double share = (double)inside / (double)all;
        if (!(share > 0.94 && share < 0.96))
            fail_msg("covers %.4f with%s wrong measurements", share, wrong ? "" : "out");
    }
}

/* One link slower by five standard deviations of its tier's estimates is found (19 in 20, by the
 * bench's 300), and sound networks name about one suspect in a hundred sweeps. */
TEST(a_slow_link_is_suspect_and_sound_ones_are_not)
{
    size_t found = 0, alarms = 0, trials = draws(40, 80);
    struct trial t;
    begin(&t, fattree_routes(6, 3, 0), 2, 1);
    for (uint64_t seed = 1; seed <= trials; seed++) {
        draw(&t, seed);
        for (size_t l = 0; l < t.routes->links; l++)
            t.truth[l] = l < t.routes->hosts ? 0.2 : 0.5;
        measure(&t, 0.02);
        struct nt_estimate *sound = solve(&t);
        double se = 0;
        for (size_t k = 0; k < sound->links; k++) {
            alarms += sound->link[k].suspect;
            se = fmax(se, sound->link[k].latency.se_us);
        }
        nt_estimate_destroy(sound);
        uint32_t slow = (uint32_t)nt_rng_below(&t.rng, t.routes->links);
        t.truth[slow] += 6 * se;
        measure(&t, 0.02);
        struct nt_estimate *e = solve(&t);
        assert_int_equal(e->link[slow].link, slow);
        found += e->link[slow].suspect;
        nt_estimate_destroy(e);
    }
    end(&t);
    if (80 * found < 73 * trials || 40 * alarms > trials)
        fail_msg("%zu of %zu found, %zu false alarms", found, trials, alarms);
}

TEST(without_spare_measurements_nobody_is_suspect)
{
    struct trial t;
    begin(&t, fattree_routes(6, 3, 0), 1, 1);
    t.truth[7] *= 50;
    measure(&t, 0.02);
    struct nt_estimate *e = solve(&t);
    assert_int_equal(e->fit.freedom, 0);
    assert_int_equal(e->fit.tested, 0);
    for (size_t k = 0; k < e->links; k++) {
        assert_false(e->link[k].suspect);
        assert_true(isnan(e->link[k].latency.se_us));
    }
    nt_estimate_destroy(e);
    end(&t);
}

/* What a measurement less lets anyone know is a part of what was known, with the same values. */
TEST(fewer_measurements_say_less_but_nothing_else)
{
    struct trial t;
    begin(&t, fattree_routes(4, 3, 0), 1, 5);
    measure(&t, 0);
    struct nt_estimate *whole = solve(&t);
    size_t count = t.measured.count, most = 0;
    for (size_t left_out = 0; left_out < count; left_out += 3) {
        uint32_t pair = t.measured.pair[left_out];
        double us = t.measured.latency_us[left_out];
        t.measured.count = count - 1;
        t.measured.pair[left_out] = t.measured.pair[count - 1];
        t.measured.latency_us[left_out] = t.measured.latency_us[count - 1];
        struct nt_estimate *e = solve(&t);
        assert_int_equal(e->fit.rank, whole->fit.rank - 1);
        assert_below(e->pairs, whole->pairs);
        for (size_t k = 0; k < e->links; k++)
            assert_close(e->link[k].latency.us, t.truth[e->link[k].link], 1e-9);
        for (size_t a = 0; a < e->aggregates; a++) {
            double sum = 0;
            for (size_t k = e->run_start[a]; k < e->run_start[a + 1]; k++)
                sum += t.truth[e->run_link[k]];
            assert_close(e->run_latency[a].us, sum, 1e-9);
        }
        most = e->aggregates > most ? e->aggregates : most;
        nt_estimate_destroy(e);
        t.measured.count = count;
        t.measured.pair[left_out] = pair;
        t.measured.latency_us[left_out] = us;
    }
    assert_above(most, 0);
    nt_estimate_destroy(whole);
    end(&t);
}

/* a - x - b - y - c, and back from c to a over z. */
TEST(each_way_is_known_if_its_links_are)
{
    static const uint32_t way[4][4] = {{0, 1, 0}, {1, 2, 1}, {0, 2, 0, 1}, {2, 0, 2}};
    static const size_t links[4] = {1, 1, 2, 1};
    const double truth[3] = {1, 2, 9};
    struct nt_routes_builder *b;
    SCOPED(routes) *routes;
    struct nt_estimate *e;
    double us[3] = {truth[0], truth[1], (truth[0] + truth[1] + truth[2]) / 2};
    uint32_t pair[3] = {0, 1, 2};
    const struct nt_measured measured = {3, pair, us};
    assert_int_equal(nt_routes_builder_create(&b, NULL), 0);
    for (size_t k = 0; k < 4; k++)
        assert_int_equal(nt_routes_builder_add(b, way[k][0], way[k][1], way[k] + 2, links[k], NULL),
                         0);
    assert_int_equal(nt_routes_builder_finish(b, 3, 3, &routes, NULL), 0);
    assert_int_equal(nt_estimate_routes(routes, &measured, &e, NULL), 0);
    assert_int_equal(e->pairs, 3);
    assert_true(isnan(e->way[0][0].us) && isnan(e->way[1][1].us)); /* one route: both ways */
    assert_close(e->pair_latency[2].us, 6, 1e-9);
    assert_close(e->way[2][0].us, 3, 1e-9);
    assert_close(e->way[2][1].us, 9, 1e-9);
    nt_estimate_destroy(e);
    nt_routes_builder_destroy(b);
}

/* The paper's own network: rank 15 of round trips over 16 links, no way of a pair whose paths
 * differ follows. */
TEST(round_trips_of_the_papers_fat_tree_say_no_way)
{
    struct trial t;
    begin(&t, fattree_routes(4, 2, 1), 1, 1);
    measure(&t, 0);
    struct nt_estimate *e = solve(&t);
    assert_int_equal(t.routes->links, 16);
    assert_int_equal(e->fit.rank, 15);
    assert_int_equal(e->pairs, 28);
    for (size_t k = 0; k < e->pairs; k++)
        assert_true(isnan(e->way[k][0].us) && isnan(e->way[k][1].us));
    nt_estimate_destroy(e);
    end(&t);
}

RUN_TESTS
