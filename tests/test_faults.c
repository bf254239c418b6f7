/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "faults.h"
#include "faults_text.h"
#include "html.h"
#include "known_tree.h"
#include "made_network.h"
#include "map_faults.h"
#include "map_json.h"
#include "matrix_csv.h"
#include "measure.h"
#include "network.h"
#include "rng.h"
#include "rooted_tree.h"
#include "samples.h"
#include "solve.h"
#include "sweep_sim.h"

/* ---- faults ---- */

/* Which parts are reported as worse than comparable parts, which are not, and with which values. */

/* Hosts on one leaf below another switch, each link the same with a given error. */
static struct nt_model *star(size_t hosts, double us, double relative)
{
    struct nt_model *m;
    must(nt_model_create(hosts, 2, hosts + 1, &m, &err));
    m->family = NT_FAMILY_TREE;
    m->tiers = m->tier[1] = 2;
    m->link[hosts] =
        (struct nt_link){.a = (uint32_t)hosts, .b = (uint32_t)hosts + 1, .latency_us = us};
    for (uint32_t h = 0; h < hosts; h++)
        m->link[h] = (struct nt_link){.a = h,
                                      .b = (uint32_t)hosts,
                                      .latency_us = us,
                                      .latency_se_us = us * relative,
                                      .bandwidth_MBps = 100,
                                      .bandwidth_back_MBps = 100,
                                      .bandwidth_se_MBps = 100 * relative,
                                      .bandwidth_back_se_MBps = 100 * relative,
                                      .probability = 1};
    return m;
}

static size_t find(const struct nt_model *m, struct nt_fault *first)
{
    struct nt_faults_found found;
    must(nt_faults_find(m, false, &found, &err));
    size_t count = found.count;
    if (count > 0 && first != NULL)
        *first = found.fault[0];
    nt_faults_found_fini(&found);
    return count;
}

/* How far off a link must be for its class to show it. */
TEST(a_larger_class_shows_what_is_nearer)
{
    static const struct {
        size_t hosts, bad;
        double factor, relative;
        size_t found;
    } table[] = {
        {2, 1, 5, 0.01, 0},         /* who of two? */
        {3, 1, 3, 0.01, 0},         /* of two who are like each other? */
        {6, 1, 3, 0.01, 1},         /* far off */
        {3, 1, 1.16, 0.05, 0},      /* near */
        {48, 1, 1.2, 0.01, 1},      /* near, many others */
        {48, 1, 1.1, 0.001, 0},     /* not worth a word */
        {48, 3, 2, 0.05, 0},        /* several that are like each other: a generation */
        {8, 4, 3, 0.01, 0},         /* what is usual here? */
        {48, 1, 1.3, 0.3, 0},       /* the error covers it */
        {48, 1, 0.5, 0.01, 0},      /* better is no fault */
        {12, 1, 2, (double)NAN, 0}, /* what is known too little of */
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(model) *m = star(table[k].hosts, 1, table[k].relative);
        struct nt_fault f = {.others = 0};
        for (size_t h = 0; h < table[k].bad; h++)
            m->link[h].latency_us *= table[k].factor;
        size_t found = find(m, &f);
        if (found != table[k].found)
            fail_msg("row %zu: %zu found", k, found);
        if (found > 0) {
            assert_int_equal(f.part.kind, NT_FAULT_LINK_SLOW);
            assert_close(f.found, table[k].factor, 1e-6);
            assert_close(f.expected, 1, 1e-3);
            assert_at_least(f.confidence, NT_FAULT_CONFIDENCE);
            assert_below(f.part.a, table[k].bad);
            assert_true(f.others == 1 && f.other[0].kind == NT_FAULT_HOST_SLOW &&
                        f.other[0].a == f.part.a);
        }
    }
}

/* A host of which the job sees no other on its leaf is further away than others, and well. */
TEST(a_host_alone_on_its_leaf_is_not_slow)
{
    static const struct {
        bool single; /* one switch; else the host is on the upper one of two */
        double us;
        size_t found;
    } table[] = {{true, 2.75, 0}, {true, 7, 1}, {false, 2.4, 0}, {false, 7, 1}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(model) *m;
        size_t switches = table[k].single ? 1 : 2;
        must(nt_model_create(14, switches, 13 + switches, &m, &err));
        m->tiers = (uint32_t)switches;
        for (uint32_t h = 0; h < 14; h++)
            m->link[h] = (struct nt_link){.a = h,
                                          .b = h < 12 || table[k].single ? 14 : 15,
                                          .latency_us = h == 13 ? table[k].us : 1,
                                          .latency_se_us = 0.01};
        if (!table[k].single) {
            m->tier[1] = 2;
            m->link[14] = (struct nt_link){.a = 14, .b = 15, .latency_us = 1};
        }
        if (find(m, NULL) != table[k].found)
            fail_msg("row %zu: %zu found", k, find(m, NULL));
    }
}

/* Measured values of four hosts on one switch, one of them with an older adapter. Many starts of
 * the search lead to the same network of two tiers, in which the older adapter is a fault. */
TEST(a_mode_counts_once)
{
    static const double us[] = {0.5676, 0.6187, 0.5362, 0.5651}, se[] = {0.0136, 0.0103};
    static const double MBps[][2] = {{12227, 12498}, {6210, 6173}, {12483, 12355}, {12498, 12483}};
    SCOPED(model) *m;
    must(nt_model_create(4, 1, 4, &m, &err));
    m->tiers = 1;
    for (uint32_t h = 0; h < 4; h++)
        m->link[h] = (struct nt_link){.a = h,
                                      .b = 4,
                                      .latency_us = us[h],
                                      .latency_se_us = se[h % 3 > 0],
                                      .bandwidth_MBps = MBps[h][0],
                                      .bandwidth_back_MBps = MBps[h][1],
                                      .pairs = h == 1 ? 3 : 2,
                                      .back_pairs = h == 1 ? 3 : 2};
    assert_int_equal(find(m, NULL), 0);
}

/* Two of eight hosts have half the rate. Their latencies have no errors and are not compared. */
TEST(rates_alone_show_a_generation)
{
    SCOPED(model) *m = star(8, 1, 0.01);
    struct nt_faults_found found;
    for (uint32_t h = 3; h < 5; h++) {
        m->link[h].latency_se_us = (double)NAN;
        m->link[h].bandwidth_MBps = m->link[h].bandwidth_back_MBps = 50;
    }
    must(nt_faults_find(m, false, &found, &err));
    assert_int_equal(found.count, 0);
    assert_int_equal(found.populations, 2);
    assert_int_equal(found.population[1].hosts, 2);
    assert_close(found.population[1].bandwidth_MBps, 50, 0.5);
    assert_true(isnan(found.population[1].latency_us));
    nt_faults_found_fini(&found);
}

TEST(ways_of_a_narrow_link_are_one_finding)
{
    SCOPED(model) *m = star(12, 1, 0.01);
    struct nt_fault f;
    m->link[3].bandwidth_MBps = 60;
    assert_int_equal(find(m, &f), 1);
    assert_true(f.part.kind == NT_FAULT_LINK_NARROW && f.way == NT_FAULT_UP && f.part.a == 3);
    m->link[3].bandwidth_back_MBps = 50;
    assert_int_equal(find(m, &f), 1);
    assert_true(f.way == NT_FAULT_BOTH);
    assert_close(f.found, 50, 1e-3);
    m->link[3].bandwidth_MBps = 100;
    assert_int_equal(find(m, &f), 1);
    assert_true(f.way == NT_FAULT_DOWN);
    m->link[3].back_at_least = true; /* it may have more */
    assert_int_equal(find(m, &f), 0);
}

/* Others are at least as wide: the link with a value is narrower than comparable links. */
TEST(bounds_show_what_is_usual)
{
    SCOPED(model) *m = star(6, 1, 0.01);
    struct nt_fault f;
    for (size_t k = 0; k < 6; k++)
        m->link[k].at_least = k != 2;
    m->link[2].bandwidth_MBps = m->link[2].bandwidth_back_MBps = 70;
    assert_int_equal(find(m, &f), 1);
    assert_true(f.part.a == 2 && f.way == NT_FAULT_BOTH);
}

/* A finding of 99 % confidence is false on less than one sound network in a hundred, whatever the
 * noise and the size of the class. tests/bench findings has more. */
TEST(sound_networks_have_none)
{
    size_t networks = draws(100, 500), false_ones = 0, sure = 0;
    struct nt_rng rng;
    nt_rng_init(&rng, 7);
    for (size_t k = 0; k < networks; k++) {
        double relative = 0.005 + 0.1 * nt_rng_uniform(&rng), spread = 0.03 * nt_rng_uniform(&rng);
        SCOPED(model) *m = star(2 + nt_rng_below(&rng, 63), 1, relative);
        struct nt_fault f = {.confidence = 0};
        for (size_t h = 0; h < m->links; h++)
            m->link[h].latency_us *=
                exp(spread * nt_rng_normal(&rng)) * (1 + relative * nt_rng_normal(&rng));
        false_ones += find(m, &f) > 0;
        sure += f.confidence >= 0.99;
    }
    if (500 * sure > networks || 150 * false_ones > networks)
        fail_msg("%zu of %zu with a finding, %zu sure", false_ones, networks, sure);
}

/* Hosts at each switch of a chain, whose uplinks are equal; a slow host gives them no length. */
TEST(uplinks_of_a_chain_are_not_slow)
{
    enum { SWITCHES = 4, EACH = 6, HOSTS = SWITCHES * EACH };
    static const uint32_t tier[] = {1, 2, 3, 2};
    struct nt_rng rng;
    nt_rng_init(&rng, 3);
    for (size_t run = 0, runs = draws(20, 200); run < runs; run++) {
        SCOPED(model) *m;
        struct nt_fault f = {.others = 0};
        double relative = 0.005 + 0.02 * nt_rng_uniform(&rng);
        must(nt_model_create(HOSTS, SWITCHES, HOSTS + SWITCHES - 1, &m, &err));
        m->family = NT_FAMILY_TREE;
        m->tiers = 3;
        memcpy(m->tier, tier, sizeof tier);
        for (uint32_t k = 0; k < m->links; k++) {
            bool host = k < HOSTS;
            double us = k == 4 ? 5 : host ? 1 : 0.4;
            uint32_t at = HOSTS + (host ? k / EACH : k - HOSTS);
            m->link[k] = (struct nt_link){.a = host ? k : at,
                                          .b = host ? at : at + 1,
                                          .latency_us = us + relative * nt_rng_normal(&rng),
                                          .latency_se_us = relative,
                                          .probability = 1};
        }
        size_t found = find(m, &f);
        if (found != 1 || (f.part.kind == NT_FAULT_LINK_SLOW && f.part.a != 4))
            fail_msg("run %zu: %zu found", run, found);
    }
}

/* From matrices to the map: one of 48 hosts with 42 % of the bandwidth. */
TEST(a_narrow_host_link_is_found_in_matrices)
{
    enum { HOSTS = 48, BAD = 17 };
    SCOPED(matrix) *latency, *bandwidth;
    SCOPED(map) *map;
    char name[HOSTS][8];
    const char *names[HOSTS];
    struct nt_rng rng;
    nt_rng_init(&rng, 3);
    must(nt_matrix_create(HOSTS, NT_MATRIX_LATENCY_US, &latency, &err));
    must(nt_matrix_create(HOSTS, NT_MATRIX_BANDWIDTH_MBPS, &bandwidth, &err));
    for (size_t i = 0; i < HOSTS; i++) {
        snprintf(name[i], sizeof name[i], "n%zu", i);
        names[i] = name[i];
        for (size_t j = 0; j < HOSTS; j++) {
            double noise = 1 + 0.02 * nt_rng_normal(&rng), rate = i == BAD || j == BAD ? 42 : 100;
            nt_matrix_set(latency, i, j, (float)((i / 12 == j / 12 ? 1 : 1.6) * noise));
            nt_matrix_set(bandwidth, i, j, (float)(rate * (1 + 0.02 * nt_rng_normal(&rng))));
        }
    }
    struct nt_solve_input input = {
        .latency = latency, .bandwidth = bandwidth, .host_name = names, .pattern = ""};
    must(nt_solve_measured(&input, &map, &err));
    struct nt_strbuf line = {0};
    nt_faults_put_line(&line, map, 1000);
    assert_int_equal(map->faults, 1);
    assert_true(map->fault[0].way == NT_FAULT_BOTH && map->model->host_suspect[BAD]);
    assert_true(strncmp(line.text, "link-narrow n17 s", 17) == 0);
    free(line.text);
}

/* 16 hosts on four leaves, one of them slower by a factor. */
TEST(a_host_that_is_slower_by_any_factor_is_found)
{
    enum { HOSTS = 16, BAD = 3 };
    static const double factor[] = {2, 3, 6, 8, 10, 20, 50, 100};
    char name[HOSTS][8];
    const char *names[HOSTS];
    struct nt_rng rng;
    size_t each = draws(2, 5), runs = each * sizeof factor / sizeof *factor, found = 0, others = 0;
    nt_rng_init(&rng, 5);
    for (size_t i = 0; i < HOSTS; i++) {
        snprintf(name[i], sizeof name[i], "n%zu", i);
        names[i] = name[i];
    }
    for (size_t run = 0; run < runs; run++) {
        SCOPED(matrix) *latency;
        SCOPED(map) *map;
        must(nt_matrix_create(HOSTS, NT_MATRIX_LATENCY_US, &latency, &err));
        for (size_t i = 0; i < HOSTS; i++)
            for (size_t j = 0; j < HOSTS; j++) {
                double us = (i / 4 == j / 4 ? 1.4 : 1.9) * (1 + 0.01 * nt_rng_normal(&rng));
                double more = i == BAD || j == BAD ? 0.7 * (factor[run / each] - 1) : 0;
                nt_matrix_set(latency, i, j, (float)(us + more * (1 + 0.01 * nt_rng_normal(&rng))));
            }
        struct nt_solve_input input = {.latency = latency, .host_name = names, .pattern = ""};
        must(nt_solve_measured(&input, &map, &err));
        found += map->faults == 1 && map->model->host_suspect[BAD];
        others += map->faults - map->model->host_suspect[BAD];
    }
    if (10 * found < 9 * runs || others > 0)
        fail_msg("found in %zu of %zu, expected 9 in 10; %zu other findings", found, runs, others);
}

static struct nt_map *judged_map(void)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    struct nt_model *m = star(6, 1, 0.01);
    struct nt_map *map;
    m->link[1].latency_us = 3;
    m->link[4].bandwidth_MBps = 10;
    m->rms_us = m->resolution_us = 0.01;
    must(nt_map_create(m, names, &map, &err));
    must(nt_map_faults(map, &(struct nt_faults_source){0}, &err));
    map->sweep.pairs_total = map->sweep.pairs_measured = 15;
    return map;
}

TEST(findings_are_texts)
{
    SCOPED(map) *map = judged_map();
    struct nt_strbuf line = {0}, cut = {0};
    assert_int_equal(map->faults, 2);
    assert_int_equal(map->warnings, 2);
    map->fault[0].confidence = map->fault[1].confidence = 0.996;
    nt_faults_put_line(&line, map, 1000);
    assert_string_equal(line.text, "link-slow b s1 3/1 us 1.00;link-narrow e s1 10/100 MB/s 1.00");
    nt_faults_put_line(&cut, map, 30);
    assert_string_equal(cut.text, "link-slow b s1 3/1 us 1.00");
    assert_string_equal(map->warning[1], "link e - s1 is narrow upwards: 10 MB/s, expected 100 "
                                         "(>99 % certain), or host e is the cause");
    free(line.text);
    line = (struct nt_strbuf){0};
    map->fault[1].found = 3150;
    map->fault[1].expected = 12490;
    nt_faults_put_line(&line, map, 1000);
    assert_non_null(strstr(line.text, ";link-narrow e s1 3150/12500 MB/s 1.00"));
    free(line.text);
    free(cut.text);
}

/* was, in the text of a map, replaced by is: why is among what is wrong. */
static void expect_refused(const char *text, const char *was, const char *is, const char *why)
{
    struct nt_findings findings = {0};
    SCOPED(map) *map = NULL;
    char *copy = strdup(text), *at = strstr(copy, was);
    assert_non_null(at);
    memcpy(at, is, strlen(is));
    if (strlen(is) < strlen(was))
        at[strlen(is)] = ' ';
    must(nt_map_inspect("f", copy, strlen(copy), &findings, &map, &err));
    if (map != NULL)
        must(nt_map_check(map, &findings, &err));
    bool said = false;
    for (size_t l = 0; l < findings.count; l++)
        said |= strstr(findings.line[l], why) != NULL;
    if (!said)
        fail_msg("%s: %s", is, findings.count > 0 ? findings.line[0] : "nothing");
    nt_findings_fini(&findings);
    free(copy);
}

/* Suspects and findings of a text must agree. */
TEST(a_false_text_is_refused)
{
    static const struct {
        const char *was, *is, *why;
    } table[] = {
        {"1, \"suspect\": true", "1, \"suspect\":false",
         "expected a suspect, which a finding names"},
        {"link-slow", "link-sick", "kind: expected one of link-slow to path-shared"},
        {"\"way\": \"both\"", "\"way\": \"side\"", "way: expected one of both to down"},
        {"\"part\": {\"a\": \"b\"", "\"part\": {\"a\": \"c\"", "found no such finding"},
    };
    struct nt_map *map = judged_map();
    char *text;
    size_t bytes;
    must(nt_map_write(map, false, &text, &bytes, &err));
    nt_map_destroy(map);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        expect_refused(text, table[k].was, table[k].is, table[k].why);
    free(text);
}

/* Eight hosts and four with an older adapter: in the map's text, in its page, and read again. */
TEST(adapter_generations_are_texts)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    struct nt_model *m = star(12, 1, 0.01);
    SCOPED(map) *map, *read;
    char *text, *again, *page;
    size_t bytes;
    for (size_t h = 1; h < 12; h += 3) {
        m->link[h].latency_us = 1.5;
        m->link[h].bandwidth_MBps = m->link[h].bandwidth_back_MBps = 50;
    }
    m->rms_us = m->resolution_us = 0.01;
    must(nt_map_create(m, names, &map, &err));
    must(nt_map_faults(map, &(struct nt_faults_source){0}, &err));
    map->sweep.pairs_total = map->sweep.pairs_measured = 66;
    assert_int_equal(map->faults, 0);
    must(nt_map_write(map, false, &text, &bytes, &err));
    must(nt_map_read("f", text, bytes, &read, &err));
    assert_int_equal(read->populations, 2);
    assert_int_equal(read->population[0].hosts, 8);
    assert_int_equal(read->population[1].hosts, 4);
    assert_close(read->population[1].latency_us, 1.5, 0.01);
    assert_close(read->population[1].bandwidth_MBps, 50, 0.5);
    for (size_t h = 0; h < 12; h++)
        assert_int_equal(read->population_of[h], h % 3 == 1);
    must(nt_map_write(read, false, &again, &bytes, &err));
    assert_string_equal(again, text);
    expect_refused(text, "\"population\": 2", "\"population\": 1",
                   "expected 9, the number of nodes");
    expect_refused(text, "\"population\": 2", "\"population\": 3", "population: ");
    struct nt_picture picture = {.map = read, .title = {"f", NULL}};
    must(nt_html_write(&picture, &page, &bytes, &err));
    assert_non_null(
        strstr(page, "\"populations\":\"8 hosts at 0.8 Gbit/s, 4 hosts at 0.4 Gbit/s\""));
    free(text);
    free(again);
    free(page);
}

/* Row to column: what one way takes longer is that way's. */
TEST(a_way_is_slow_where_directions_are_measured)
{
    SCOPED(model) *m = star(6, 1, 0.01);
    struct nt_matrix *latency;
    struct nt_fault fault[NT_FAULTS_MAX];
    struct nt_rng rng;
    nt_rng_init(&rng, 3);
    for (int down = 0; down < 3; down++) {
        size_t count = 0;
        must(nt_matrix_create(6, NT_MATRIX_LATENCY_US, &latency, &err));
        for (uint32_t a = 0; a < 6; a++)
            for (uint32_t b = 0; b < 6; b++) {
                double us = 2 + (down == 1 && a == 2 ? 1 : 0) + (down == 2 && b == 2 ? 1 : 0);
                if (a != b)
                    nt_matrix_set(latency, a, b,
                                  (float)(us * (1 + 0.02 * (nt_rng_uniform(&rng) - 0.5))));
            }
        must(nt_one_way_slow_find(m, latency, fault, &count, &err));
        assert_int_equal(count, down > 0);
        if (down > 0) {
            assert_int_equal(fault[0].part.kind, NT_FAULT_LINK_SLOW);
            assert_int_equal(fault[0].part.a, 2);
            assert_int_equal(fault[0].way, down == 1 ? NT_FAULT_UP : NT_FAULT_DOWN);
            assert_close(fault[0].found, 2, 0.1);
        }
        nt_matrix_destroy(latency);
    }
}

/* In networks with cycles a host's own link is slow in all its pairs; another, in some of many
 * hosts, is nobody's. */
TEST(a_way_of_a_host_is_slow_in_graphs)
{
    static const char *const specs[] = {"torus:4x4", "ring:9", "torus:4x4,hosts=2",
                                        "ring:5,hosts=3", "dragonfly:3x4x2"};
    const struct nt_measure_noise noise = {.sd = 0.01, .seed = 5};
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int way = 0; way < 4; way++) {
            SCOPED(network) *net = made_network(specs[k]);
            SCOPED(model) *m;
            SCOPED(matrix) *latency;
            struct nt_fault fault[NT_FAULTS_MAX];
            size_t count = 0, arc = 0;
            must(nt_network_truth(net, &m, &err));
            while (net->switches > 0 &&
                   (net->arc[arc].from < net->hosts || net->arc[arc].to < net->hosts))
                arc++;
            net->arc[arc].latency_us += way == 3 ? 1 : 0;
            must(nt_measure_latencies(net, &noise, &latency, &err));
            for (uint32_t h = 0; h < m->hosts; h++) {
                if (way == 1 && h != 4)
                    nt_matrix_set(latency, 4, h, nt_matrix_get(latency, 4, h) + 1);
                if (way == 2 && h != 4)
                    nt_matrix_set(latency, h, 4, nt_matrix_get(latency, h, 4) + 1);
            }
            must(nt_one_way_slow_find(m, latency, fault, &count, &err));
            if (count != (way == 1 || way == 2))
                fail_msg("%s: %zu findings, way %d", specs[k], count, way);
            if (count > 0) {
                assert_int_equal(fault[0].part.kind,
                                 m->switches > 0 ? NT_FAULT_LINK_SLOW : NT_FAULT_HOST_SLOW);
                assert_int_equal(fault[0].part.a, 4);
                assert_int_equal(fault[0].way, way == 1 ? NT_FAULT_UP : NT_FAULT_DOWN);
                assert_close(fault[0].found - fault[0].expected, 1, 0.1);
            }
        }
}

/* ---- sound trees -----------------------------------------------------------------------------*/

enum { LEAVES = 8, IN_POD = 2, PLACED_MAX = 8 };

static size_t solve_findings(const struct nt_matrix *latency, const struct nt_matrix *bandwidth)
{
    struct nt_map *map;
    char name[16][8];
    const char *names[16];
    for (size_t k = 0; k < latency->n; k++) {
        snprintf(name[k], sizeof name[k], "n%zu", k + 1);
        names[k] = name[k];
    }
    struct nt_solve_input input = {
        .latency = latency, .bandwidth = bandwidth, .host_name = names, .pattern = ""};
    must(nt_solve_measured(&input, &map, &err));
    size_t faults = map->faults;
    nt_map_destroy(map);
    return faults;
}

/* Ends of 0.58 us, uplinks of 0.15 and 0.18, two leaves in a pod. */
static size_t findings_of(const uint32_t *leaf, size_t hosts, double noise, struct nt_rng *rng)
{
    struct nt_matrix *latency;
    must(nt_matrix_create(hosts, NT_MATRIX_LATENCY_US, &latency, &err));
    for (size_t a = 0; a < hosts; a++)
        for (size_t b = 0; b < a; b++) {
            double us = 2 * 0.58 + (leaf[a] == leaf[b] ? 0 : 2 * 0.15) +
                        (leaf[a] / IN_POD == leaf[b] / IN_POD ? 0 : 2 * 0.18);
            us *= exp(noise * nt_rng_normal(rng));
            nt_matrix_set(latency, a, b, (float)us);
            nt_matrix_set(latency, b, a, (float)us);
        }
    size_t found = solve_findings(latency, NULL);
    nt_matrix_destroy(latency);
    return found;
}

/* Each way to place hosts on the leaves of four pods, equivalent ones left out: hosts in order of
 * leaves, a new leaf or a new pod after the last. */
static size_t place_next(uint32_t *leaf, size_t placed, size_t hosts, struct nt_rng *rng)
{
    size_t found = 0;
    if (placed == hosts)
        return findings_of(leaf, hosts, 0, rng) + findings_of(leaf, hosts, 0.01, rng);
    uint32_t last = leaf[placed - 1], pod = (last / IN_POD + 1) * IN_POD;
    const uint32_t next[] = {last, last + 1, pod};
    for (size_t k = 0; k < 3; k++) {
        if (next[k] >= LEAVES || (k == 1 && next[k] == pod))
            continue;
        leaf[placed] = next[k];
        found += place_next(leaf, placed + 1, hosts, rng);
    }
    return found;
}

TEST(no_placement_on_a_sound_tree_has_a_finding)
{
    uint32_t leaf[PLACED_MAX] = {0};
    struct nt_rng rng;
    nt_rng_init(&rng, 5);
    for (size_t hosts = 4; hosts <= draws(6, PLACED_MAX); hosts++)
        assert_int_equal(place_next(leaf, 1, hosts, &rng), 0);
}

static struct nt_named_matrix *read_table(const char *name, enum nt_matrix_kind kind)
{
    char path[64], text[4096];
    struct nt_csv_reader *r;
    struct nt_named_matrix *table;
    snprintf(path, sizeof path, "tests/data/findings/%s.csv", name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t bytes = fread(text, 1, sizeof text, f);
    fclose(f);
    must(nt_csv_reader_create(path, kind, &r, &err));
    must(nt_csv_reader_feed(r, text, bytes, &err));
    must(nt_csv_reader_finish(r, &table, &err));
    nt_csv_reader_destroy(r);
    return table;
}

/* Leaves and pods of which a job has one host or two, exact and as measured on a sound cluster; and
 * two of eight hosts with an older adapter. */
TEST(sound_tables_have_none)
{
    static const struct {
        const char *latency, *bandwidth;
    } table[] = {{"three-leaves-4", NULL},
                 {"three-leaves-6", NULL},
                 {"two-leaves-4", NULL},
                 {"measured-4", NULL},
                 {"old-adapter-8", "old-adapter-8.bandwidth"}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_named_matrix *us = read_table(table[k].latency, NT_MATRIX_LATENCY_US),
                               *rate = NULL;
        if (table[k].bandwidth != NULL)
            rate = read_table(table[k].bandwidth, NT_MATRIX_BANDWIDTH_MBPS);
        if (solve_findings(us->matrix, rate == NULL ? NULL : rate->matrix) != 0)
            fail_msg("%s: a finding", table[k].latency);
        nt_named_matrix_destroy(us);
        nt_named_matrix_destroy(rate);
    }
}

/* ---- what must not matter --------------------------------------------------------------------*/

/* A tree of random shape and figures, hosts below every leaf; its vertices and links are in this
 * order and at this top. */
struct drawn {
    struct nt_model *m;
    uint32_t vertex[256], link[256]; /* what each is, as it was drawn */
};

static void shuffle(struct nt_rng *rng, uint32_t *x, uint32_t first, uint32_t end)
{
    for (uint32_t k = first; k < end; k++)
        x[k] = k;
    for (uint32_t k = end - first; rng != NULL && k > 1; k--) {
        uint32_t other = first + (uint32_t)nt_rng_below(rng, k), last = first + k - 1,
                 held = x[other];
        x[other] = x[last];
        x[last] = held;
    }
}

static void draw_tree(struct drawn *d, uint64_t seed, struct nt_rng *order)
{
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    uint32_t pods = 2 + (uint32_t)nt_rng_below(&rng, 3), leaves = pods * 2;
    uint32_t switches = leaves + pods + 1;
    uint32_t hosts = leaves + (uint32_t)nt_rng_below(&rng, seed % 8 == 0 ? 120 : 40);
    uint32_t links = hosts + switches - 1, place[256];
    bool old = nt_rng_uniform(&rng) < 0.4, faulty = nt_rng_uniform(&rng) < 0.6;
    must(nt_model_create(hosts, switches, links, &d->m, &err));
    shuffle(order, d->vertex, 0, hosts);
    shuffle(order, d->vertex, hosts, hosts + switches);
    shuffle(order, place, 0, links);
    uint32_t bad = faulty ? (uint32_t)nt_rng_below(&rng, links) : UINT32_MAX;
    for (uint32_t k = 0; k < links; k++) {
        uint32_t s = k - hosts,
                 leaf = hosts + (k < leaves ? k : (uint32_t)nt_rng_below(&rng, leaves));
        uint32_t up = k < hosts ? leaf : s < leaves ? hosts + leaves + s / 2 : hosts + switches - 1;
        double us = (k < hosts ? 0.6 : s < leaves ? 0.2 : 0.25) * exp(0.015 * nt_rng_normal(&rng));
        us *= (k == bad ? 2.5 : 1) * (k < hosts && old && nt_rng_uniform(&rng) < 0.3 ? 1.2 : 1);
        struct nt_link l = {.a = d->vertex[k],
                            .b = d->vertex[up],
                            .latency_us = us,
                            .latency_se_us = 0.005,
                            .bandwidth_MBps = (double)NAN,
                            .bandwidth_back_MBps = (double)NAN,
                            .probability = 1};
        if (order != NULL && nt_rng_uniform(order) < 0.5) {
            l.a = d->vertex[up];
            l.b = d->vertex[k];
        }
        d->link[place[k]] = k;
        d->m->link[place[k]] = l;
    }
    /* the switch of the highest tier is the top that the search hangs the tree up at */
    uint32_t top = order != NULL ? (uint32_t)nt_rng_below(order, switches) : switches - 1;
    for (uint32_t k = 0; k < switches; k++)
        d->m->tier[d->vertex[hosts + k] - hosts] = k == top ? 4 : k < leaves ? 1 : 2;
}

/* The number of the link as it was drawn. */
static uint32_t link_of(const struct drawn *d, const struct nt_fault *f)
{
    for (uint32_t k = 0; k < d->m->links; k++) {
        const struct nt_link *l = &d->m->link[k];
        if ((l->a == f->part.a && l->b == f->part.b) || (l->a == f->part.b && l->b == f->part.a))
            return d->link[k];
    }
    return UINT32_MAX;
}

TEST(neither_order_nor_the_top_matter)
{
    size_t with = 0, trees = draws(40, 200);
    for (uint64_t seed = 1; seed <= trees; seed++) {
        struct drawn one, other;
        struct nt_faults_found x, y;
        struct nt_rng rng;
        nt_rng_init(&rng, 1000 + seed);
        draw_tree(&one, seed, NULL);
        draw_tree(&other, seed, &rng);
        must(nt_faults_find(one.m, false, &x, &err));
        must(nt_faults_find(other.m, false, &y, &err));
        with += x.count > 0;
        if (x.count != y.count || x.populations != y.populations)
            fail_msg("seed %d: %zu and %zu findings", (int)seed, x.count, y.count);
        for (size_t k = 0; k < x.count; k++) {
            size_t j = 0;
            while (j < y.count && link_of(&other, &y.fault[j]) != link_of(&one, &x.fault[k]))
                j++;
            if (j == y.count || fabs(x.fault[k].confidence - y.fault[j].confidence) > 1e-10)
                fail_msg("seed %d: another part or confidence", (int)seed);
        }
        nt_faults_found_fini(&x);
        nt_faults_found_fini(&y);
        nt_model_destroy(one.m);
        nt_model_destroy(other.m);
    }
    assert_above(4 * with, trees);
}

/* ---- losses ---- */

/* Which link loses messages, from the resent messages on the paths of a known tree. */

enum { PINGS = 90, SEGMENTS = 1000, SEEDS = 40 };

struct lossy {
    uint32_t link;
    double forth, back; /* shares lost, from a to b of the link and back */
};

static double draw_lost(struct nt_rng *rng, double segments, double rate)
{
    double lost = 0;
    for (double k = 0; k < segments; k++)
        lost += nt_rng_uniform(rng) < rate;
    return lost;
}

/* A ping-pong of all pairs, and one flow each way of neighbours. */
static size_t measure(const struct nt_model *m, const struct lossy *at, double usual,
                      struct nt_rng *rng, struct nt_loss_count *seen)
{
    struct nt_rooted_tree *rooted;
    uint32_t channel[256];
    size_t n = 0;
    must(nt_rooted_tree_create(m, &rooted, &err));
    assert_at_most(nt_rooted_tree_room(rooted), 256);
    for (uint32_t a = 0; a < m->hosts; a++)
        for (uint32_t b = 0; b < m->hosts; b++) {
            double rate[2] = {usual, usual};
            size_t hops = a == b ? 0 : nt_rooted_tree_path(rooted, a, b, channel);
            for (size_t k = 0; k < hops; k++)
                if (channel[k] / 2 == at->link) {
                    rate[0] += channel[k] % 2 == 0 ? at->forth : at->back;
                    rate[1] += channel[k] % 2 == 0 ? at->back : at->forth;
                }
            if (a < b)
                seen[n++] = (struct nt_loss_count){a, b, false, PINGS,
                                                   2 * draw_lost(rng, PINGS / 2.0, rate[0]) +
                                                       draw_lost(rng, PINGS / 2.0, rate[1])};
            if (hops > 0 && (a + 1 == b || b + 1 == a))
                seen[n++] =
                    (struct nt_loss_count){a, b, true, SEGMENTS, draw_lost(rng, SEGMENTS, rate[0])};
        }
    nt_rooted_tree_destroy(rooted);
    for (size_t k = 0; k < n; k++)
        seen[k].again = fmin(seen[k].again, seen[k].segments);
    return n;
}

static size_t losses_find(const struct nt_model *m, const struct lossy *at, double usual,
                          uint64_t seed, struct nt_fault *fault)
{
    struct nt_loss_count seen[2048];
    struct nt_rng rng;
    size_t count = 0;
    nt_rng_init(&rng, seed);
    size_t n = measure(m, at, usual, &rng, seen);
    must(nt_losses_find(m, seen, n, fault, &count, &err));
    return count;
}

static struct nt_fault fault[NT_FAULTS_MAX];

/* Of hosts, and of a leaf's uplink, whose hosts all lose. */
TEST(the_lossy_link_is_named)
{
    SCOPED(model) *m = known_tree(2, 2, 4, true, true, 3);
    size_t right = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct lossy at = {.link = (uint32_t)(seed * 7 % 20), .forth = 0.02, .back = 0.02};
        size_t count = losses_find(m, &at, 0, seed, fault);
        right += count == 1 && fault[0].part.kind == NT_FAULT_LINK_LOSSY &&
                 fault[0].part.a == m->link[at.link].a && fault[0].part.b == m->link[at.link].b;
        assert_at_most(count, 1);
        assert_holds(count == 0 || fault[0].found > 0.5, "loss %g, expected above 0.5",
                     fault[0].found);
    }
    assert_at_least(right, SEEDS - 2);
}

TEST(one_way_is_told_by_flows)
{
    SCOPED(model) *m = known_tree(1, 2, 4, false, true, 1);
    for (int down = 0; down < 2; down++) {
        struct lossy at = {.link = 2, .forth = down ? 0 : 0.03, .back = down ? 0.03 : 0};
        assert_int_equal(losses_find(m, &at, 0, 5, fault), 1);
        assert_int_equal(fault[0].way, down ? NT_FAULT_DOWN : NT_FAULT_UP);
        assert_int_equal(fault[0].others, 1); /* the host */
    }
}

/* What all paths lose is usual. */
TEST(what_is_usual_is_no_finding)
{
    SCOPED(model) *m = known_tree(2, 2, 4, true, true, 3);
    struct lossy none = {.link = UINT32_MAX};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        assert_int_equal(losses_find(m, &none, 0.002, seed, fault), 0);
        assert_int_equal(losses_find(m, &none, 0, seed, fault), 0);
    }
}

/* A burst on one path is no link. */
TEST(one_path_is_not_enough)
{
    SCOPED(model) *m = known_tree(1, 2, 4, false, true, 1);
    struct lossy none = {.link = UINT32_MAX};
    struct nt_loss_count seen[256];
    struct nt_rng rng;
    size_t count = 0;
    nt_rng_init(&rng, 1);
    size_t n = measure(m, &none, 0, &rng, seen);
    seen[3].again = 40;
    must(nt_losses_find(m, seen, n, fault, &count, &err));
    assert_int_equal(count, 0);
}

/* A narrow link drops what comes too fast; a lossy one is slow for flows. */
TEST(a_narrow_link_is_one_finding)
{
    SCOPED(model) *m = known_tree(1, 2, 4, false, true, 1);
    struct lossy at = {.link = 1, .forth = 0.03, .back = 0.03};
    struct nt_loss_count seen[256];
    struct nt_rng rng;
    for (int pings = 0; pings < 2; pings++) {
        const struct nt_fault narrow = {.part = {NT_FAULT_LINK_NARROW, 1, m->link[1].b},
                                        .found = 10,
                                        .expected = 100,
                                        .confidence = 1};
        size_t count = 1;
        fault[0] = narrow;
        nt_rng_init(&rng, 9);
        size_t n = measure(m, &at, 0, &rng, seen);
        for (size_t k = 0; k < n && !pings; k++)
            if (!seen[k].flow)
                seen[k].again = 0;
        must(nt_losses_find(m, seen, n, fault, &count, &err));
        assert_int_equal(count, 1);
        assert_int_equal(fault[0].part.kind, pings ? NT_FAULT_LINK_LOSSY : NT_FAULT_LINK_NARROW);
        assert_int_equal(fault[0].other[pings ? 0 : fault[0].others - 1].kind,
                         pings ? NT_FAULT_HOST_SLOW : NT_FAULT_LINK_LOSSY);
    }
}

/* The lines of a record, to the map's findings. */
TEST(a_record_has_what_was_sent_again)
{
    SCOPED(samples) *s;
    SCOPED(map) *map;
    char name[8];
    must(nt_samples_create(&s, &err));
    for (int h = 0; h < 6; h++) {
        snprintf(name, sizeof name, "n%d", 6 - h);
        must(nt_samples_add_host(s, name, &err));
    }
    must(nt_samples_begin_phase(s, "latency", &err));
    for (uint32_t a = 0; a < 6; a++)
        for (uint32_t b = a + 1; b < 6; b++) {
            must(nt_samples_begin_round(s, &err));
            struct nt_sample x = {
                .kind = NT_SAMPLE_LATENCY, .a = a, .b = b, .count = 60, .bytes = 8, .value_us = 10};
            must(nt_samples_add(s, x, NULL, &err));
            struct nt_sample again = {
                .kind = NT_SAMPLE_RESENT, .a = b, .b = a, .count = 4, .segments = 66};
            if (a == 2 || b == 2)
                must(nt_samples_add(s, again, NULL, &err));
        }
    must(nt_samples_end_phase(s, 1, &err));
    nt_samples_finish(s, NT_STATUS_OK, 1);
    must(nt_solve_samples(s, NULL, NULL, &map, &err));
    assert_int_equal(map->faults, 1);
    assert_int_equal(map->fault[0].part.kind, NT_FAULT_LINK_LOSSY);
    assert_string_equal(map->host_name[map->fault[0].part.a], "n4");
    assert_close(map->fault[0].found, 100 * 4 / 120.0, 0.01);
    assert_true(map->warnings == 1 && strstr(map->warning[0], "loses messages") != NULL);
}

/* ---- rails ---- */

/* Distinguishes a host from its cable, in simulated sweeps of hosts with two rails. */

enum { HOSTS = 16, HOST = 5, BOTH_RAILS = -1, NO_RAIL = -2 };

static const char TWO_RAILS[] = "rails:2:tree:2x8";

/* The host's own link on a rail. */
static void plant(struct nt_network *network, int rail, double latency, double rate)
{
    int number = 0;
    for (struct nt_network *n = network; n != NULL; n = n->next_rail, number++) {
        uint32_t arc = n->out[n->first[HOST]];
        if (rail != number && rail != BOTH_RAILS)
            continue;
        for (uint32_t k = 0; k < 2; k++) {
            n->arc[arc ^ k].latency_us *= latency;
            n->arc[arc ^ k].rate_MBps *= rate;
        }
    }
}

static struct nt_map *sweep(const char *spec, int rail, double latency, double rate, uint64_t seed)
{
    struct nt_measure_noise noise = {.sd = 0.01, .host_spread = 0.01, .seed = seed};
    struct nt_network *network = made_network(spec);
    const struct nt_noisy_network noisy = {network, &noise};
    struct nt_samples *samples;
    struct nt_map *map;
    char name[HOSTS][8];
    const char *names[HOSTS];
    for (int h = 0; h < HOSTS; h++) {
        snprintf(name[h], sizeof name[h], "n%d", h + 1);
        names[h] = name[h];
    }
    must(nt_measure_apply_structure(&noise, network, &err));
    plant(network, rail, latency, rate);
    must(nt_samples_simulate(&noisy, names, 0.01, &samples, &err));
    must(nt_solve_samples(samples, NULL, NULL, &map, &err));
    nt_samples_destroy(samples);
    nt_network_destroy(network);
    return map;
}

struct expected {
    int rail;
    double latency, rate;
    enum nt_fault_kind kind;
    const char *name; /* of the rail in the finding */
    bool by_rate;
};

static bool is_found(const struct nt_map *map, const struct expected *e)
{
    const struct nt_fault *f = map->fault;
    if (map->faults != 1 || strcmp(map->host_name[f->part.a], "n6") != 0)
        return false;
    bool host = f->part.a == f->part.b;
    return f->part.kind == e->kind && host == (e->kind == NT_FAULT_HOST_SLOW) && f->others == 0 &&
           strcmp(f->rail, e->name) == 0 && f->by_rate == e->by_rate &&
           map->model->host_suspect[f->part.a];
}

TEST(a_fault_on_one_rail_is_its_cable_on_all_the_host)
{
    static const struct expected cases[] = {
        {0, 2, 1, NT_FAULT_LINK_SLOW, "rail0", false},
        {1, 2, 1, NT_FAULT_LINK_SLOW, "rail1", false},
        {BOTH_RAILS, 2, 1, NT_FAULT_HOST_SLOW, "", false},
        {0, 1, 0.4, NT_FAULT_LINK_NARROW, "rail0", false},
        {1, 1, 0.4, NT_FAULT_LINK_NARROW, "rail1", false},
        {BOTH_RAILS, 1, 0.4, NT_FAULT_HOST_SLOW, "", true},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const struct expected *e = &cases[k];
        size_t right = 0, sweeps = draws(8, 20);
        for (uint64_t seed = 1; seed <= sweeps; seed++) {
            SCOPED(map) *map = sweep(TWO_RAILS, e->rail, e->latency, e->rate, seed);
            right += is_found(map, e);
        }
        if (20 * right < 19 * sweeps)
            fail_msg("case %zu: %zu of %zu", k, right, sweeps);
    }
}

TEST(sound_rails_have_no_finding)
{
    for (uint64_t seed = 1; seed <= draws(8, 20); seed++) {
        SCOPED(map) *map = sweep(TWO_RAILS, NO_RAIL, 1, 1, seed);
        assert_int_equal(map->faults, 0);
    }
}

TEST(with_one_rail_the_host_is_an_alternative)
{
    SCOPED(map) *map = sweep("tree:2x8", 0, 1, 0.4, 1);
    assert_int_equal(map->faults, 1);
    assert_int_equal(map->fault[0].part.kind, NT_FAULT_LINK_NARROW);
    assert_int_equal(map->fault[0].others, 1);
    assert_string_equal(map->fault[0].rail, "");
}

TEST(the_sentence_names_the_rail)
{
    SCOPED(map) *map = sweep(TWO_RAILS, 1, 1, 0.4, 1);
    bool told = false;
    for (size_t k = 0; k < map->warnings; k++)
        told = told || strstr(map->warning[k], " is narrow on rail rail1: ");
    assert_true(told);
}

/* What is written is read again, of a slow host too. */
TEST(the_map_keeps_rail_and_unit)
{
    for (int rail = BOTH_RAILS; rail <= 0; rail++) {
        SCOPED(map) *map = sweep(TWO_RAILS, rail, 1, 0.4, 1), *again;
        char *text, *second;
        size_t bytes;
        must(nt_map_write(map, false, &text, &bytes, &err));
        assert_non_null(strstr(text, rail == 0 ? "\"rail\": \"rail0\"" : "\"host-slow\""));
        assert_non_null(strstr(text, "\"unit\": \"MB/s\""));
        must(nt_map_read("map", text, bytes, &again, &err));
        must(nt_map_write(again, false, &second, &bytes, &err));
        assert_string_equal(text, second);
        free(text);
        free(second);
    }
}

RUN_TESTS
