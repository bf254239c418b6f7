/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "campaign.h"
#include "link_figures.h"
#include "made_belief.h"
#include "made_network.h"
#include "map_json.h"
#include "measure.h"
#include "prior.h"
#include "record.h"
#include "recorded_sweep.h"
#include "rng.h"
#include "shape.h"
#include "solve.h"
#include "sweep_sim.h"

/* ---- solve ---- */

enum { LEAVES = 3, PER_LEAF = 5, HOSTS = LEAVES * PER_LEAF };

/* A sweep over a tree of two tiers with 1 % of noise; order[k] is the host that came k-th, NULL: as
 * they are numbered. */
static struct nt_samples *sweep(const uint32_t *order, int lost)
{
    struct nt_samples *s;
    struct nt_rng rng;
    double noise[HOSTS][HOSTS];
    uint32_t numbered[HOSTS];
    for (uint32_t k = 0; k < HOSTS; k++)
        numbered[k] = k;
    order = order != NULL ? order : numbered;
    nt_rng_init(&rng, 9);
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < HOSTS; j++)
            noise[i][j] = 1 + 0.01 * nt_rng_normal(&rng);
    must(nt_samples_create(&s, &err));
    must(nt_samples_set_word(&s->job.pattern, "neighbour", &err));
    for (size_t k = 0; k < HOSTS; k++) {
        char name[16];
        snprintf(name, sizeof name, "n%u", order[k] + 1);
        must(nt_samples_add_host(s, name, &err));
        if ((int)order[k] == lost)
            must(nt_samples_set_missing(s, k, "no answer", &err));
    }
    must(nt_samples_begin_phase(s, "latency", &err));
    must(nt_samples_begin_round(s, &err));
    for (uint32_t i = 0; i < HOSTS; i++)
        for (uint32_t j = 0; j < HOSTS; j++) {
            uint32_t a = order[i], b = order[j];
            if (i == j || (int)a == lost || (int)b == lost)
                continue;
            double us = (a / PER_LEAF == b / PER_LEAF ? 2 : 4) * noise[a][b];
            struct nt_sample x = {.kind = NT_SAMPLE_LATENCY,
                                  .a = i,
                                  .b = j,
                                  .bytes = 8,
                                  .count = 30,
                                  .value_us = us,
                                  .latency.median_us = us};
            must(nt_samples_add(s, x, NULL, &err));
        }
    must(nt_samples_end_phase(s, 0.5, &err));
    assert_int_equal(nt_samples_warn(s, &err, "said by the probe"), 0);
    nt_samples_finish(s, NT_STATUS_OK, 0.75);
    return s;
}

static char *solve_to_text(const struct nt_samples *s)
{
    struct nt_map *map;
    char *text;
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
    must(nt_map_write(map, false, &text, NULL, &err));
    nt_map_destroy(map);
    return text;
}

static struct nt_samples *read_back(const struct nt_samples *s)
{
    struct nt_samples_reader *r;
    struct nt_samples *again;
    char *text;
    size_t bytes;
    must(nt_samples_write(s, &text, &bytes, &err));
    must(nt_samples_reader_create("f", &r, &err));
    must(nt_samples_reader_feed(r, text, bytes, &err));
    must(nt_samples_reader_finish(r, &again, &err));
    nt_samples_reader_destroy(r);
    free(text);
    return again;
}

TEST(the_same_samples_give_the_same_bytes)
{
    uint32_t order[HOSTS];
    struct nt_rng rng;
    for (uint32_t k = 0; k < HOSTS; k++)
        order[k] = k;
    SCOPED(samples) *s = sweep(order, -1), *again = read_back(s);
    char *text = solve_to_text(s), *twice = solve_to_text(s), *from_text = solve_to_text(again);
    assert_string_equal(text, twice);
    assert_string_equal(text, from_text);
    assert_non_null(strstr(text, "\"family\": \"tree\""));
    assert_non_null(strstr(text, "\"pairs_measured\": 105, \"pairs_total\": 105, \"rounds\": 1"));
    assert_non_null(strstr(text, "said by the probe"));
    nt_rng_init(&rng, 4);
    for (int turn = 0; turn < 5; turn++) { /* nor does it matter in which order hosts came */
        nt_rng_shuffle(&rng, order, HOSTS);
        SCOPED(samples) *shuffled = sweep(order, -1);
        char *shuffled_text = solve_to_text(shuffled);
        assert_string_equal(text, shuffled_text);
        free(shuffled_text);
    }
    free(text);
    free(twice);
    free(from_text);
}

/* Readings of a second pass over the links, of this noise, and the largest error of a link. */
static double worst_link_after(double sd, double *se_us)
{
    SCOPED(samples) *s = sweep(NULL, -1);
    SCOPED(map) *map;
    struct nt_rng rng;
    double worst = 0;
    nt_rng_init(&rng, 3);
    must(nt_samples_begin_phase(s, NT_SAMPLES_LINK_LATENCY, &err));
    must(nt_samples_begin_round(s, &err));
    for (uint32_t a = 0; a < HOSTS; a++)
        for (uint32_t to = 1; to <= HOSTS / 2; to++) {
            uint32_t b = (a + to) % HOSTS;
            double us = a / PER_LEAF == b / PER_LEAF ? 2 : 4;
            struct nt_sample x = {
                .kind = NT_SAMPLE_LATENCY, .a = a, .b = b, .bytes = 8, .count = 5};
            x.value_us = us * (1 + sd * fabs(nt_rng_normal(&rng)));
            must(nt_samples_add(s, x, NULL, &err));
        }
    must(nt_samples_end_phase(s, 0.5, &err));
    nt_samples_finish(s, NT_STATUS_OK, 1);
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
    *se_us = 0;
    for (size_t k = 0; k < map->model->links; k++) { /* each of 1 us */
        worst = fmax(worst, fabs(map->model->link[k].latency_us - 1));
        *se_us = fmax(*se_us, map->model->link[k].latency_se_us);
    }
    return worst;
}

/* A second pass in which the machine was busy replaces no better latencies of the first. */
TEST(a_second_pass_makes_links_no_worse)
{
    double before_us, after_us, disturbed_us;
    assert_below(worst_link_after(0.01, &before_us), 0.05);
    assert_below(worst_link_after(0.0005, &after_us), 0.005);
    assert_below(after_us, 0.3 * before_us);
    assert_below(worst_link_after(0.3, &disturbed_us), 0.05);
    assert_at_most(disturbed_us, 0.03);
}

TEST(a_missing_host_makes_it_partial)
{
    uint32_t order[HOSTS];
    for (uint32_t k = 0; k < HOSTS; k++)
        order[k] = HOSTS - 1 - k;
    SCOPED(samples) *s = sweep(order, 6);
    struct nt_findings findings = {0};
    SCOPED(map) *map;
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
    assert_int_equal(map->status, NT_STATUS_PARTIAL);
    assert_string_equal(map->host_name[6], "n7");
    for (size_t k = 0; k < HOSTS; k++)
        assert_int_equal(map->model->missing[k], k == 6);
    assert_string_equal(map->warning[0], "host n7 is missing: no answer");
    assert_int_equal(map->sweep.pairs_measured, 91);
    assert_int_equal(map->placement->hosts, HOSTS);
    assert_int_equal(map->placement->order[HOSTS - 1], 6);
    must(nt_map_check(map, &findings, &err));
    if (findings.count > 0)
        fail_msg("%s", findings.line[0]);
    nt_findings_fini(&findings);
}

/* All others were lost: the last host has answered to the end, and is not missing. */
TEST(the_last_host_is_there)
{
    SCOPED(samples) *s = sweep(NULL, -1);
    SCOPED(map) *map;
    for (size_t k = 1; k < HOSTS; k++)
        must(nt_samples_set_missing(s, k, "stopped answering", &err));
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
    assert_int_equal(map->status, NT_STATUS_PARTIAL);
    for (size_t k = 0; k < HOSTS; k++)
        assert_int_equal(map->model->missing[k], k > 0);
    assert_int_equal(map->model->family, NT_FAMILY_UNDETERMINED);
    assert_string_equal(map->warning[0],
                        "0 of 105 pairs measured: too few to determine the network");
}

/* No reading shows the way between two parts: the map states none, by any method. */
TEST(parts_without_a_pair_between_them)
{
    static const char *const name[] = {"n1", "n2", "n3", "n4", "n5", "n6"};
    SCOPED(matrix) *m;
    struct nt_map *map;
    must(nt_matrix_create(6, NT_MATRIX_LATENCY_US, &m, &err));
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++)
            if (i != j && i / 3 == j / 3)
                nt_matrix_set(m, i, j, 2);
    struct nt_solve_input input = {.host_name = name, .latency = m, .pattern = ""};
    must(nt_solve_measured(&input, &map, &err));
    assert_int_equal(map->model->family, NT_FAMILY_UNDETERMINED);
    assert_int_equal(map->model->links, 0);
    assert_string_equal(map->warning[0], "6 of 15 pairs measured: no measured pair connects the "
                                         "hosts around n1 to the hosts around n4");
    nt_map_destroy(map);
    nt_matrix_set(m, 2, 3, 3); /* one is enough */
    must(nt_solve_measured(&input, &map, &err));
    assert_above(map->model->links, 0);
    nt_map_destroy(map);
}

/* Of a job in which hardly a host answered: no matrix of them, and no list without an end. */
TEST(most_hosts_may_be_missing)
{
    enum { MANY = 40000, HERE = 3 };
    SCOPED(samples) *s;
    SCOPED(map) *map;
    char name[16];
    must(nt_samples_create(&s, &err));
    for (size_t k = 0; k < MANY; k++) {
        snprintf(name, sizeof name, "n%05zu", k);
        must(nt_samples_add_host(s, name, &err));
        if (k >= HERE)
            must(nt_samples_set_missing(s, k, "no answer", &err));
    }
    must(nt_samples_begin_phase(s, "latency", &err));
    must(nt_samples_begin_round(s, &err));
    for (uint32_t k = 0; k < HERE; k++) {
        struct nt_sample x = {.a = k,
                              .b = (k + 1) % HERE,
                              .bytes = 8,
                              .count = 3,
                              .value_us = 1,
                              .latency.median_us = 1};
        must(nt_samples_add(s, x, NULL, &err));
    }
    must(nt_samples_end_phase(s, 1, &err));
    nt_samples_finish(s, NT_STATUS_PARTIAL, 1);
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
    assert_int_equal(map->status, NT_STATUS_PARTIAL);
    assert_int_equal(map->sweep.pairs_measured, HERE);
    assert_int_equal(map->model->links, 0);
    assert_true(!map->model->missing[HERE - 1] && map->model->missing[HERE]);
    assert_int_equal(map->warnings, 1002);
    assert_string_equal(map->warning[0],
                        "3 of 799980000 pairs measured: too few to determine the network");
    assert_string_equal(map->warning[1001], "38997 more hosts are missing");
}

TEST(a_pattern_that_does_not_fit_costs_a_warning)
{
    SCOPED(samples) *s = sweep(NULL, -1);
    SCOPED(map) *map;
    must(nt_samples_set_word(&s->job.pattern, "stencil:4x4", &err));
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
    assert_string_equal(map->placement->pattern, "neighbour");
    assert_int_equal(map->warnings, 2);
    assert_non_null(strstr(map->warning[0], "pattern \"stencil:4x4\" needs 16 tasks"));
    assert_int_equal(map->status, NT_STATUS_OK);
}

TEST(one_host_is_kept_whatever_is_spare)
{
    SCOPED(samples) *s = sweep(NULL, -1);
    for (uint32_t kept = 2; kept-- > 0;) {
        char says[96];
        SCOPED(map) *map;
        s->job.spare = (uint32_t)s->hosts - kept;
        snprintf(says, sizeof says, "spare=%zu: the job has %zu hosts, so %zu are left out",
                 s->hosts, s->hosts, s->hosts - 1);
        assert_int_equal(nt_solve_samples(s, NULL, NULL, &map, &err), 0);
        assert_int_equal(map->placement->hosts, 1);
        bool warned = false;
        for (size_t w = 0; w < map->warnings; w++)
            warned |= strcmp(map->warning[w], says) == 0;
        assert_int_equal(warned, kept == 0);
    }
}

/* Ranks that stand far from each other in the scheduler's order talk: r with r + PER_LEAF. */
TEST(a_matrix_comes_from_the_record)
{
    SCOPED(samples) *s = sweep(NULL, -1);
    struct nt_map *map;
    must(nt_samples_set_word(&s->job.pattern, "matrix:/t.csv", &err));
    for (uint32_t r = 0; r < PER_LEAF; r++)
        must(nt_samples_add_traffic(s, r, r + PER_LEAF, 1e6, &err));
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
    assert_string_equal(map->placement->pattern, "matrix:/t.csv");
    assert_above(map->placement->gain, 1.5);
    for (uint32_t r = 0; r < PER_LEAF; r++)
        assert_int_equal(map->placement->rank_host[r] / PER_LEAF,
                         map->placement->rank_host[r + PER_LEAF] / PER_LEAF);
    nt_map_destroy(map);
    struct nt_samples *again = read_back(s);
    char *text = solve_to_text(s), *from_text = solve_to_text(again);
    assert_string_equal(text, from_text);
    free(text);
    free(from_text);
    nt_samples_destroy(again);
    must(nt_samples_add_traffic(s, 5, HOSTS, 1, &err));
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
    assert_string_equal(map->placement->pattern, "neighbour");
    assert_string_equal(
        map->warning[0],
        "pattern matrix:/t.csv needs 16 tasks, but the job has 15; the hint is for neighbour");
    nt_map_destroy(map);
    nt_samples_clear_traffic(s);
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
    assert_string_equal(map->warning[0],
                        "the samples contain no traffic of pattern matrix:/t.csv; the "
                        "hint is for neighbour");
    nt_map_destroy(map);
}

TEST(few_hosts_are_no_special_case)
{
    for (size_t hosts = 0; hosts <= 3; hosts++) {
        SCOPED(samples) *s;
        must(nt_samples_create(&s, &err));
        for (size_t k = 0; k < hosts; k++)
            must(nt_samples_add_host(s, (const char *const[]){"a", "b", "c"}[k], &err));
        nt_samples_finish(s, NT_STATUS_FAILED, 1);
        char *text = solve_to_text(s);
        SCOPED(map) *map;
        must(nt_map_read("f", text, strlen(text), &map, &err));
        assert_int_equal(map->model->hosts, hosts);
        assert_int_equal(map->status, NT_STATUS_FAILED);
        free(text);
    }
}

/* Each pair is read three times more each way; a disturbed reading takes up to three times as long.
 */
static struct nt_map *solved_with(double disturbed)
{
    struct nt_samples *s = sweep(NULL, -1);
    struct nt_map *map;
    struct nt_rng rng;
    size_t once = s->samples;
    nt_rng_init(&rng, 3);
    must(nt_samples_begin_phase(s, "latency", &err));
    must(nt_samples_begin_round(s, &err));
    for (size_t k = 0; k < 3 * once; k++) {
        struct nt_sample x = s->sample[k % once];
        x.value_us *= nt_rng_uniform(&rng) < disturbed ? 1.2 + 1.8 * nt_rng_uniform(&rng) : 1;
        must(nt_samples_add(s, x, NULL, &err));
    }
    must(nt_samples_end_phase(s, 0.5, &err));
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
    nt_samples_destroy(s);
    return map;
}

static bool warns(const struct nt_map *map, const char *part)
{
    for (size_t k = 0; k < map->warnings; k++)
        if (strstr(map->warning[k], part) != NULL)
            return true;
    return false;
}

TEST(disturbed_readings_cost_confidence)
{
    static const double shares[] = {0, 0.1, 0.9};
    double confidence[3];
    for (size_t k = 0; k < 3; k++) {
        SCOPED(map) *map = solved_with(shares[k]);
        confidence[k] = map->model->confidence;
        print_message("%g disturbed: %g\n", shares[k], confidence[k]);
        assert_int_equal(warns(map, "of the measurements were disturbed"), shares[k] > 0.5);
    }
    assert_above(confidence[1], 0.99 * confidence[0]);
    assert_below(confidence[2], 0.8 * confidence[0]);
}

/* In a round of their own: a flow, and beside it one that failed or went as fast. */
static void add_flows(struct nt_samples *s, double MBps, bool failed)
{
    struct nt_sample x = {
        .kind = NT_SAMPLE_BANDWIDTH, .b = 1, .bytes = 1e6 * MBps, .value_us = 1e6};
    struct nt_sample beside = x;
    beside.kind = failed ? NT_SAMPLE_FAILED : x.kind;
    beside.a = 2;
    beside.b = 3;
    must(nt_samples_begin_round(s, &err));
    must(nt_samples_add(s, x, NULL, &err));
    must(nt_samples_add(s, beside, failed ? "no answer" : NULL, &err));
}

TEST(flows_beside_one_that_failed_do_not_count)
{
    for (int failed = 0; failed < 2; failed++) {
        struct nt_samples *s = sweep(NULL, -1);
        struct nt_map *map;
        bool seen = false;
        must(nt_samples_begin_phase(s, "host-links", &err));
        add_flows(s, 100, false);
        add_flows(s, 150, failed);
        must(nt_samples_end_phase(s, 0.1, &err));
        must(nt_solve_samples(s, NULL, NULL, &map, &err));
        for (size_t k = 0; k < map->model->links; k++) {
            const struct nt_link *l = &map->model->link[k];
            if (l->a != 0 && l->b != 0)
                continue;
            double rate = isnan(l->bandwidth_MBps) ? l->bandwidth_back_MBps : l->bandwidth_MBps;
            seen = true;
            assert_below(fabs(rate - (failed ? 100 : 150)), 1);
        }
        assert_true(seen);
        nt_map_destroy(map);
        nt_samples_destroy(s);
    }
}

/* Two leaves of four hosts; the uplink carries 500 one way and 400 the other, host 5 sends 100. */
/* Of short messages bandwidths are lower bounds, of unknown and of long ones they are values. */
TEST(short_messages_bound_bandwidths)
{
    static const struct {
        double bytes;
        bool bound;
    } cases[] = {{4096, true}, {65536, false}, {0, false}, {NAN, false}};
    static const char *const names[] = {"n1", "n2", "n3", "n4", "n5"};
    SCOPED(matrix) *latency, *rates;
    must(nt_matrix_create(5, NT_MATRIX_LATENCY_US, &latency, &err));
    must(nt_matrix_create(5, NT_MATRIX_BANDWIDTH_MBPS, &rates, &err));
    for (uint32_t a = 0; a < 5; a++)
        for (uint32_t b = 0; b < 5; b++) {
            nt_matrix_set(latency, a, b, 1.0f + 0.001f * (float)((a + b) % 3));
            nt_matrix_set(rates, a, b, 1000);
        }
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct nt_solve_input input = {.latency = latency,
                                       .bandwidth = rates,
                                       .rate_bytes = cases[k].bytes,
                                       .host_name = names,
                                       .pattern = ""};
        SCOPED(map) *map;
        bool told = false;
        must(nt_solve_measured(&input, &map, &err));
        assert_above(map->model->links, 0);
        for (size_t l = 0; l < map->model->links; l++)
            assert_int_equal(map->model->link[l].at_least, cases[k].bound);
        for (size_t w = 0; w < map->warnings; w++)
            told = told || strstr(map->warning[w], "messages of 4096 bytes");
        assert_int_equal(told, cases[k].bound);
    }
}

TEST(links_get_the_bandwidth_that_pairs_show)
{
    SCOPED(model) *m;
    SCOPED(matrix) *b;
    must(nt_model_create(8, 2, 9, &m, &err));
    must(nt_matrix_create(8, NT_MATRIX_BANDWIDTH_MBPS, &b, &err));
    for (uint32_t k = 0; k < 8; k++) {
        m->link[k].a = k;
        m->link[k].b = k < 4 ? 8 : 9;
    }
    m->link[8].a = 8;
    m->link[8].b = 9;
    for (size_t i = 0; i < 8; i++)
        for (size_t j = 0; j < 8; j++) {
            double up = i == 5 ? 100 : j == 0 ? 5000 : 1000;
            double middle = i / 4 == j / 4 ? 1e9 : i < 4 ? 500 : 400;
            nt_matrix_set(b, i, j, i == j ? NAN : (float)fmin(up, middle));
        }
    assert_int_equal(nt_link_bandwidth(m, b, &err), 1);
    assert_true(m->link[8].bandwidth_MBps == 500 && m->link[8].bandwidth_back_MBps == 400);
    assert_true(m->link[5].bandwidth_MBps == 100 && m->link[5].bandwidth_back_MBps == 1000);
    assert_true(!m->link[8].at_least && !m->link[5].at_least);
    m->link[8].a = 0; /* a loop: no tree */
    m->link[8].b = 9;
    m->link[7].b = 8;
    m->link[7].a = 0;
    must(nt_link_bandwidth(m, b, &err));
}

/* Two hosts on each of two switches are no line of four; if one of two at a switch is farther by
 * the link between the switches, they may be. */
TEST(only_lines_are_warned_of)
{
    static const float us[2][6] = {{1, 2, 2, 2, 2, 1}, {1, 2, 3, 1, 2, 1}};
    static const char *const names[] = {"a", "b", "c", "d"};
    for (int line = 0; line < 2; line++) {
        SCOPED(matrix) *latency;
        SCOPED(map) *map;
        bool warned = false;
        size_t k = 0;
        must(nt_matrix_create(4, NT_MATRIX_LATENCY_US, &latency, &err));
        for (size_t i = 0; i < 4; i++)
            for (size_t j = i + 1; j < 4; j++) {
                nt_matrix_set(latency, i, j, us[line][k]);
                nt_matrix_set(latency, j, i, us[line][k++]);
            }
        struct nt_solve_input input = {.latency = latency, .host_name = names, .pattern = ""};
        must(nt_solve_measured(&input, &map, &err));
        for (size_t w = 0; w < map->warnings; w++)
            warned = warned || strstr(map->warning[w], "one host each") != NULL;
        assert_int_equal(warned, line);
    }
}

/* ---- rates ---- */

/* Maps from bandwidths alone: what shows, and what does not. */

enum { HOSTS_MAX = 32 };

static double pair_rate(const struct nt_network *net, uint32_t a, uint32_t b)
{
    struct nt_walk walk;
    double least = INFINITY;
    uint32_t arc;
    for (nt_walk_begin(net, a, b, &walk); nt_walk_next(&walk, &arc);)
        least = fmin(least, net->arc[arc].rate_MBps);
    return least;
}

/* One network: its uplinks have that share of what a host has; host 0 so much less. */
static struct nt_map *solve(const char *spec, double uplink, double first, bool contended,
                            struct nt_model **truth)
{
    struct nt_network *net = made_network(spec);
    struct nt_measure_noise noise = {.sd = 0.03, .seed = 4};
    struct nt_matrix *rates;
    struct nt_map *map;
    char name[HOSTS_MAX][24];
    const char *names[HOSTS_MAX];
    for (size_t k = 0; k < net->arcs; k++) {
        bool host = net->arc[k].from < net->hosts || net->arc[k].to < net->hosts;
        bool zero = net->arc[k].from == 0 || net->arc[k].to == 0;
        net->arc[k].rate_MBps = 100 * (zero ? first : host ? 1 : uplink);
    }
    must(nt_matrix_create(net->hosts, NT_MATRIX_BANDWIDTH_MBPS, &rates, &err));
    for (uint32_t a = 0; a < net->hosts; a++) {
        snprintf(name[a], sizeof name[a], "n%u", a);
        names[a] = name[a];
        for (uint32_t b = 0; b < net->hosts; b++)
            if (a != b)
                nt_matrix_set(rates, a, b,
                              (float)(pair_rate(net, a, b) * nt_measure_factor(&noise, a, b, 0)));
    }
    struct nt_solve_input input = {
        .bandwidth = rates, .contended = contended, .host_name = names, .pattern = ""};
    must(nt_solve_measured(&input, &map, &err));
    must(nt_network_truth(net, truth, &err));
    nt_matrix_destroy(rates);
    nt_network_destroy(net);
    struct nt_findings findings = {0};
    must(nt_map_check(map, &findings, &err));
    if (findings.count > 0)
        fail_msg("%s", findings.line[0]);
    return map;
}

static bool rates_warns(const struct nt_map *map, const char *text)
{
    bool said = false;
    for (size_t k = 0; k < map->warnings; k++)
        said |= strstr(map->warning[k], text) != NULL;
    return said;
}

TEST(narrow_uplinks_show_groups)
{
    for (int contended = 0; contended < 2; contended++) {
        SCOPED(model) *truth;
        SCOPED(map) *map = solve("tree:3x4", 0.5, 1, contended, &truth);
        assert_true(nt_shape_equal(map->model, truth));
        assert_above(map->model->confidence, 0.9);
        assert_true(rates_warns(map, "from bandwidths alone"));
        assert_int_equal(rates_warns(map, "all hosts sent"), contended);
        for (size_t k = 0; k < map->model->links; k++) {
            const struct nt_link *l = &map->model->link[k];
            bool host = l->a < map->model->hosts;
            assert_true(isnan(l->latency_us));
            assert_below(fabs(l->bandwidth_MBps - (host ? 100 : 50)), 5);
            assert_int_equal(l->at_least, !host && contended);
        }
    }
}

TEST(wide_uplinks_show_nothing)
{
    SCOPED(model) *truth;
    SCOPED(map) *map = solve("tree:3x4", 4, 1, false, &truth);
    assert_int_equal(map->model->links, 0);
    assert_int_equal(map->model->family, NT_FAMILY_UNDETERMINED);
    assert_true(rates_warns(map, "show no groups"));
}

/* A host that gets less from everybody than others get across groups may hang anywhere. */
TEST(a_narrow_host_makes_groups_unsure)
{
    SCOPED(model) *truth;
    SCOPED(map) *map = solve("tree:3x4", 0.5, 0.3, false, &truth);
    assert_holds(map->model->links == 0 || map->model->confidence <= 0.5,
                 "%zu links, confidence %g", map->model->links, map->model->confidence);
    assert_true(rates_warns(map, "the host or its link is narrow"));
}

/* Four pairs of five hosts: the one in all of the narrow pairs is named, with what it has and what
 * others have. */
TEST(a_narrow_host_is_named)
{
    static const char *const names[] = {"n1", "n2", "n3", "n4", "n5"};
    static const struct {
        size_t a, b;
        float MBps;
    } pair[] = {{0, 1, 49400}, {0, 4, 49300}, {1, 3, 86800}, {2, 4, 88400}};
    SCOPED(matrix) *m;
    SCOPED(map) *map;
    size_t named = 0;
    must(nt_matrix_create(5, NT_MATRIX_BANDWIDTH_MBPS, &m, &err));
    for (size_t k = 0; k < sizeof pair / sizeof *pair; k++) {
        nt_matrix_set(m, pair[k].a, pair[k].b, pair[k].MBps);
        nt_matrix_set(m, pair[k].b, pair[k].a, pair[k].MBps);
    }
    struct nt_solve_input input = {.bandwidth = m, .host_name = names, .pattern = ""};
    must(nt_solve_measured(&input, &map, &err));
    assert_true(rates_warns(map,
                            "host n1 has at most 49400 MB/s to every other host, other hosts have "
                            "86800:"));
    for (size_t w = 0; w < map->warnings; w++)
        named += strstr(map->warning[w], "to every other host") != NULL;
    assert_int_equal(named, 1);
}

/* ---- adaptive ---- */

/* The record of an adaptive sweep: the map that is made from it, and from its text again. */

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
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
    return map;
}

/* The record's text, read and solved again, gives the same map byte for byte. */
static void assert_same_again(const struct nt_samples *s, const struct nt_map *map)
{
    struct nt_samples_reader *reader;
    SCOPED(samples) *again;
    char *text, *first, *second;
    size_t bytes, first_bytes, second_bytes;
    assert_int_equal(nt_samples_write(s, &text, &bytes, NULL), 0);
    assert_int_equal(nt_samples_reader_create("record", &reader, NULL), 0);
    assert_int_equal(nt_samples_reader_feed(reader, text, bytes, NULL), 0);
    assert_int_equal(nt_samples_reader_finish(reader, &again, NULL), 0);
    nt_samples_reader_destroy(reader);
    SCOPED(map) *other = solved(again);
    assert_int_equal(nt_map_write(map, false, &first, &first_bytes, NULL), 0);
    assert_int_equal(nt_map_write(other, false, &second, &second_bytes, NULL), 0);
    assert_int_equal(first_bytes, second_bytes);
    assert_memory_equal(first, second, first_bytes);
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

TEST(a_tree_is_told_by_some_pairs)
{
    SCOPED(network) *n = made_network("tree:4x8");
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct recorded r = record(n, seed, 1000);
        struct nt_map *map = solved(r.samples);
        assert_true(r.verified && is_exact(map, n));
        assert_above(map->model->confidence, 0.9);
        assert_true(map->status == NT_STATUS_OK);
        assert_below(map->sweep.pairs_measured, map->sweep.pairs_total);
        assert_below(map->sweep.rounds, 31);
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
}

/* Whether the record has an attempt of that pair, and whether the map names it. */
static bool was_tried(const struct nt_samples *s, const uint32_t pair[2])
{
    for (size_t k = 0; k < s->samples; k++)
        if (s->sample[k].kind == NT_SAMPLE_FAILED &&
            s->sample[k].a + s->sample[k].b == pair[0] + pair[1] &&
            (s->sample[k].a == pair[0] || s->sample[k].a == pair[1]))
            return true;
    return false;
}

static bool is_named(const struct nt_samples *s, const struct nt_map *map, const uint32_t pair[2])
{
    char one[96], other[96];
    const char *a = s->host_name[pair[0]], *b = s->host_name[pair[1]];
    snprintf(one, sizeof one, "%s and %s could not reach each other: connect: no answer", a, b);
    snprintf(other, sizeof other, "%s and %s could not reach each other: connect: no answer", b, a);
    return warns(map, one) || warns(map, other);
}

/* Of 24 hosts one cannot reach a host of its own leaf, and one of another; an adaptive sweep may
 * need neither pair. What the campaign has inferred gives the map of the record alone. */
TEST(blocked_pairs_of_many_hosts_are_named_and_leave_the_network)
{
    static const uint32_t blocked[][2] = {{0, 1}, {0, 17}};
    SCOPED(network) *n = made_network("tree:3x8");
    size_t named = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        bool all = seed > 6;
        struct nt_inferred known = {0};
        struct recorded r = record_sweep(
            n, &(struct recording){.level = NT_LEVEL_QUICK,
                                   .mode = all ? NT_SWEEP_ALL : NT_SWEEP_AUTO,
                                   .noise = {.sd = 0.02, .outliers = 0.005, .seed = seed},
                                   .known = &known,
                                   .blocked = blocked,
                                   .blockeds = 2});
        struct nt_map *map = solved(r.samples), *job;
        must(nt_solve_samples(r.samples, NULL, &known, &job, &err));
        assert_true(is_exact(map, n) && is_exact(job, n));
        assert_above(map->model->confidence, 0.9);
        assert_close(job->model->confidence, map->model->confidence, 1e-9);
        assert_int_equal(r.verified, !all);
        for (size_t k = 0; k < 2; k++) {
            bool tried = was_tried(r.samples, blocked[k]);
            assert_int_equal(is_named(r.samples, map, blocked[k]), tried);
            assert_int_equal(is_named(r.samples, job, blocked[k]), tried);
            assert_true(tried || !all);
            named += tried;
        }
        nt_inferred_fini(&known);
        nt_map_destroy(job);
        nt_map_destroy(map);
        nt_samples_destroy(r.samples);
    }
    print_message("%zu of 16 blocked pairs were asked for\n", named);
    assert_at_least(named, 6);
}

TEST(a_chain_is_told_by_all)
{
    SCOPED(network) *n = made_network("chain:4x8");
    unsigned exact = 0;
    for (uint64_t seed = 1; seed <= draws(3, 5); seed++) {
        struct recorded r = record(n, seed, 1000);
        struct nt_map *map = solved(r.samples);
        assert_false(r.verified);
        assert_true(map->sweep.pairs_measured == map->sweep.pairs_total);
        exact += is_exact(map, n);
        assert_same_again(r.samples, map);
        nt_map_destroy(map);
        nt_samples_destroy(r.samples);
    }
    assert_at_least(exact, draws(2, 4));
}

/* Cut in any round, a record determines the network or nothing, never half of it. */
TEST(a_cut_record_tells_nothing_false)
{
    static const char *const topologies[] = {"tree:4x8", "chain:4x8"};
    for (size_t t = 0; t < 2; t++) {
        SCOPED(network) *n = made_network(topologies[t]);
        size_t told = 0;
        for (size_t rounds = 1; rounds < 40; rounds++) {
            struct recorded r = record(n, 3, rounds);
            struct nt_map *map = solved(r.samples);
            if (map->model->links > 0) {
                assert_true(t == 0 && is_exact(map, n));
                told++;
            } else {
                assert_above(map->warnings, 0);
            }
            assert_same_again(r.samples, map);
            nt_map_destroy(map);
            nt_samples_destroy(r.samples);
        }
        assert_holds(t == 0 ? told > 10 : told == 0, "%zu told", told);
    }
}

/* ---- prior ---- */

/* A campaign that starts from a prior: its rounds, its record, and the map of that. */

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
    const struct nt_noisy_network noisy = {n, &noise};
    struct nt_samples *s = record_of(n->hosts);
    struct nt_campaign *c;
    struct nt_order o;
    struct nt_result *result = calloc(n->hosts + 1, sizeof *result);
    char phase[32] = "";
    int more;
    *rounds = 0;
    if (belief != NULL)
        must(nt_samples_set_belief(s, belief, &err));
    must(nt_campaign_create(n->hosts, NULL, &options, &c, &err));
    while ((more = nt_campaign_next(c, (double)*rounds * 0.01, &o, &err)) > 0) {
        size_t told;
        if (strcmp(phase, o.phase) != 0) {
            if (phase[0] != '\0')
                must(nt_samples_end_phase(s, 0.1, &err));
            must(nt_samples_begin_phase(s, o.phase, &err));
            snprintf(phase, sizeof phase, "%s", o.phase);
        }
        must(nt_samples_begin_round(s, &err));
        must(nt_order_answer(&noisy, &o, (uint32_t)*rounds, result, &told, &err));
        for (size_t k = 0; k < told; k++)
            must(nt_samples_add(s, nt_record_of(&o, &result[k]), NULL, &err));
        must(nt_campaign_tell(c, result, told, 0.01, &err));
        ++*rounds;
    }
    if (more < 0)
        fail_msg("%s", err.text);
    must(nt_samples_end_phase(s, 0.1, &err));
    nt_samples_finish(s, NT_STATUS_OK, 1);
    nt_campaign_destroy(c);
    free(result);
    return s;
}

static struct nt_map *prior_solved(const struct nt_samples *s)
{
    struct nt_map *map = NULL;
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
    return map;
}

/* Written and read again, the record gives the same map. */
static void check_text(const struct nt_samples *s, const struct nt_map *map)
{
    char *text, *json, *again;
    size_t bytes, n, m;
    struct nt_samples_reader *r = NULL;
    SCOPED(samples) *copy = NULL;
    SCOPED(map) *read = NULL;
    must(nt_samples_write(s, &text, &bytes, &err));
    must(nt_samples_reader_create("s", &r, &err));
    if (nt_samples_reader_feed(r, text, bytes, &err) != 0 ||
        nt_samples_reader_finish(r, &copy, &err) != 0)
        fail_msg("%s", err.text);
    nt_samples_reader_destroy(r);
    SCOPED(map) *other = prior_solved(copy);
    must(nt_map_write(map, false, &json, &n, &err));
    must(nt_map_write(other, false, &again, &m, &err));
    assert_string_equal(json, again);
    must(nt_map_read("m", json, n, &read, &err));
    assert_memory_equal(&read->sweep.prior.pairs_taken, &map->sweep.prior.pairs_taken,
                        3 * sizeof read->sweep.prior.pairs_taken);
    assert_int_equal(read->sweep.prior.used, map->sweep.prior.used);
    assert_string_equal(read->sweep.prior.reason, map->sweep.prior.reason);
    free(text);
    free(json);
    free(again);
}

TEST(test_used)
{
    static const char *const table[] = {"tree:4x4", "tree:2x8", "tree:2x3x4", "tree:8x8"};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(network) *n = made_machine(table[k]);
        SCOPED(model) *truth = true_model(n);
        SCOPED(map) *wide;
        SCOPED(samples) *all = record_of(n->hosts);
        struct nt_model *copy;
        assert_int_equal(nt_model_copy(truth, &copy, NULL), 0);
        assert_int_equal(nt_map_create(copy, (const char *const *)all->host_name, &wide, NULL), 0);
        SCOPED(prior) *prior;
        struct nt_belief *belief;
        assert_int_equal(nt_prior_from_map(wide, NULL, &prior, NULL), 0);
        for (uint64_t seed = 1; seed <= draws(4, 10); seed++) {
            size_t rounds, without;
            assert_int_equal(nt_prior_to_belief(prior, (const char *const *)all->host_name,
                                                n->hosts, &belief, NULL, NULL),
                             0);
            SCOPED(samples) *s = swept(n, belief, seed, &rounds);
            nt_samples_destroy(swept(n, NULL, seed, &without));
            SCOPED(map) *map = prior_solved(s);
            assert_true(map->sweep.prior.used && map->sweep.prior.pairs_contradicted == 0);
            assert_true(nt_shape_equal(map->model, truth));
            assert_at_most(rounds, 5);
            assert_below(3 * rounds, without);
            assert_true(map->sweep.prior.pairs_taken + map->sweep.prior.pairs_verified ==
                        n->hosts * (n->hosts - 1) / 2);
            check_text(s, map);
            nt_belief_destroy(belief);
        }
    }
}

/* What is believed is of another network: as without it, and the map says so. */
TEST(test_refuted)
{
    SCOPED(network) *n = made_machine("tree:4x4");
    SCOPED(model) *truth = true_model(n);
    uint32_t stands[16];
    for (uint32_t h = 0; h < 16; h++)
        stands[h] = (h + 2) % 16;
    SCOPED(belief) *belief = belief_of(truth, stands);
    for (uint64_t seed = 1; seed <= draws(4, 10); seed++) {
        size_t rounds;
        SCOPED(samples) *s = swept(n, belief, seed, &rounds);
        SCOPED(map) *map = prior_solved(s);
        assert_false(map->sweep.prior.used);
        assert_true(map->sweep.prior.given && map->sweep.prior.reason[0] != '\0');
        assert_true(nt_shape_equal(map->model, truth));
        check_text(s, map);
    }
}

/* A host that was lost after all was verified does not undo that. */
TEST(test_lost_later)
{
    SCOPED(network) *n = made_machine("tree:4x4");
    SCOPED(model) *truth = true_model(n);
    SCOPED(belief) *belief = belief_of(truth, NULL);
    size_t rounds;
    SCOPED(samples) *s = swept(n, belief, 3, &rounds);
    assert_int_equal(nt_samples_set_missing(s, 5, "gone", NULL), 0);
    SCOPED(map) *map = prior_solved(s);
    assert_true(map->sweep.prior.used && map->model->missing[5]);
    assert_int_equal(map->model->switches, truth->switches);
}

/* Nothing is measured: the map is what earlier jobs said, as sure and as old as that, and what is
 * made of it says no more. */
TEST(test_taken)
{
    static const char *const table[] = {"star:6", "tree:2x3", "tree:4x4", "tree:2x3x4", "tree:1x8"};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(network) *n = made_machine(table[k]);
        struct nt_model *truth = true_model(n), *copy;
        SCOPED(samples) *s = record_of(n->hosts);
        SCOPED(matrix) *is, *was;
        SCOPED(map) *wide;
        SCOPED(prior) *prior, *again;
        SCOPED(belief) *belief;
        struct nt_prior_facts facts;
        assert_int_equal(nt_model_copy(truth, &copy, NULL), 0);
        assert_int_equal(nt_map_create(copy, (const char *const *)s->host_name, &wide, NULL), 0);
        assert_int_equal(nt_prior_from_map(wide, NULL, &prior, NULL), 0);
        for (size_t h = 0; h < n->hosts; h++)
            prior->of_host[h].day = 20000;
        for (size_t w = 0; w < prior->switch_name.count; w++) {
            prior->of_switch[w].day = 20003;
            prior->of_switch[w].support = 0.75F;
        }
        assert_int_equal(nt_prior_to_belief(prior, (const char *const *)s->host_name, n->hosts,
                                            &belief, &facts, NULL),
                         0);
        assert_int_equal(facts.known, n->hosts);
        assert_int_equal(facts.oldest_day, 20000);
        assert_int_equal(nt_samples_set_belief(s, belief, NULL), 0);
        assert_int_equal(nt_samples_take_belief(s, belief->us, (double)facts.least_support,
                                                facts.oldest_day, NULL),
                         0);
        nt_samples_finish(s, NT_STATUS_OK, 0.01);
        SCOPED(map) *map = prior_solved(s);
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
        assert_int_equal(nt_prior_from_map(map, NULL, &again, NULL), 0);
        assert_int_equal(again->of_host[0].day, 20000); /* no newer for having been used */
        nt_model_destroy(truth);
    }
}

/* Of a host that takes part nothing is known: no network. */
TEST(test_taken_in_part)
{
    SCOPED(samples) *s = record_of(4);
    const double us[] = {1, 2};
    const uint32_t one[] = {0};
    assert_int_equal(nt_samples_begin_belief(s, 2, NULL), 0);
    for (size_t h = 0; h < 3; h++)
        assert_int_equal(nt_samples_believe(s, h, one, NULL), 0);
    assert_int_equal(nt_samples_take_belief(s, us, 1, 20000, NULL), 0);
    nt_samples_finish(s, NT_STATUS_OK, 0.01);
    struct nt_map *map = prior_solved(s);
    assert_true(!map->sweep.prior.all_taken && map->model->links == 0);
    nt_map_destroy(map);
    assert_int_equal(nt_samples_set_missing(s, 3, "gone", NULL), 0);
    map = prior_solved(s);
    assert_true(map->sweep.prior.all_taken && map->model->missing[3]);
    assert_int_equal(map->model->links, 3);
    nt_map_destroy(map);
}

TEST(test_record_refuses)
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
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_samples_reader *r;
        assert_int_equal(nt_samples_reader_create("s", &r, NULL), 0);
        assert_int_equal(nt_samples_reader_feed(r, table[k].text, strlen(table[k].text), &err), -1);
        if (strstr(err.text, table[k].says) == NULL)
            fail_msg("%zu: %s", k, err.text);
        nt_samples_reader_destroy(r);
    }
}

RUN_TESTS
