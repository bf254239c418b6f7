/* SPDX-License-Identifier: Apache-2.0 */
/* Known networks: counts, routes against a breadth-first search, the truth, shapes. */
#include "asserts.h"
#include "made_network.h"
#include "rng.h"
#include "shape.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* longest: the longest route between hosts, in links. */
static const struct family {
    const char *spec;
    size_t hosts, switches, links;
    uint32_t longest;
    size_t true_switches, true_links;
} families[] = {
    {"star:1", 1, 1, 1, 0, 1, 1},
    {"star:2", 2, 1, 2, 2, 1, 2},
    {"star:7", 7, 1, 7, 2, 1, 7},
    {"tree:5", 5, 1, 5, 2, 1, 5},
    {"tree:2x3x4", 24, 9, 32, 6, 8, 31}, /* a root with two children is a link */
    {"tree:3x4", 12, 4, 15, 4, 4, 15},
    {"tree:3x1x2x3", 18, 13, 30, 8, 10, 27},
    {"tree:3x4x1", 12, 16, 27, 6, 4, 15},
    {"fattree:4,1", 4, 1, 4, 2, 1, 4},
    {"fattree:4,2", 8, 6, 16, 4, 5, 12},
    {"fattree:4,3", 16, 20, 48, 6, 13, 28},
    {"fattree:8,3", 128, 80, 384, 6, 41, 168},
    {"fattree:6,4", 162, 189, 648, 8, 79, 240},
    {"chain:5x3", 15, 5, 19, 6, 5, 19},
    {"chain:4x1", 4, 4, 7, 5, 2, 5},
    {"chain:1x4", 4, 1, 4, 2, 1, 4},
    {"dragonfly:5x4x2", 40, 20, 80, 5, 20, 80},
    {"dragonfly:9x4x1", 36, 36, 126, 5, 36, 126},
    {"dragonfly:1x3x2", 6, 3, 9, 3, 3, 9},
    {"dragonfly+:3x3x2x2", 18, 15, 39, 5, 15, 39},
    {"aries:3x2x3x2", 36, 18, 66, 7, 18, 66},
    {"aries:1x2x2x1", 4, 4, 8, 4, 4, 8},
    {"torus:4x4", 16, 0, 32, 4, 0, 32},
    {"torus:8x4", 32, 0, 64, 6, 0, 64},
    {"torus:5x3x2", 30, 0, 75, 4, 0, 75},
    {"torus:9", 9, 0, 9, 4, 0, 9},
    {"ring:9", 9, 0, 9, 4, 0, 9},
    {"torus:2x2", 4, 0, 4, 2, 0, 4},
    {"ring:4,hosts=3", 12, 4, 16, 4, 4, 16},
    {"torus:4x3,hosts=2", 24, 12, 48, 5, 12, 48},
    {"mesh:5,hosts=2", 10, 5, 14, 6, 5, 14},
    {"ttorus:5x3:2,hosts=3", 45, 15, 75, 5, 15, 75},
    {"hypercube:3,hosts=2", 16, 8, 28, 5, 8, 28},
    {"fullmesh:4,hosts=3", 12, 4, 18, 3, 4, 18},
    {"torus:1x5", 5, 0, 5, 2, 0, 5},
    {"mesh:4x3", 12, 0, 17, 5, 0, 17},
    {"mesh:6", 6, 0, 5, 5, 0, 5},
    {"ttorus:8x4:4", 32, 0, 64, 4, 0, 64},
    {"ttorus:8x4:0", 32, 0, 64, 6, 0, 64},
    {"ttorus:5x3:2", 15, 0, 30, 3, 0, 30},
    {"ttorus:6x5:1", 30, 0, 60, 5, 0, 60},
    {"hypercube:0", 1, 0, 0, 0, 0, 0},
    {"hypercube:5", 32, 0, 80, 5, 0, 80},
    {"fullmesh:6", 6, 0, 15, 1, 0, 15},
};

TEST(test_counts)
{
    for (size_t k = 0; k < COUNT(families); k++) {
        SCOPED(network) *n = made_network(families[k].spec);
        if (n->hosts != families[k].hosts || n->switches != families[k].switches ||
            n->arcs != 2 * families[k].links)
            fail_msg("%s: %zu hosts, %zu switches, %zu arcs", families[k].spec, n->hosts,
                     n->switches, n->arcs);
    }
}

static void hops_from(const struct nt_network *n, uint32_t from, uint32_t *hops)
{
    uint32_t *queue = calloc(n->hosts + n->switches, sizeof *queue);
    size_t head = 0, tail = 0;
    memset(hops, 0xff, (n->hosts + n->switches) * sizeof *hops);
    hops[from] = 0;
    queue[tail++] = from;
    for (; head < tail; head++)
        for (size_t k = 0; k < n->arcs; k++)
            if (n->arc[k].from == queue[head] && hops[n->arc[k].to] == UINT32_MAX) {
                hops[n->arc[k].to] = hops[queue[head]] + 1;
                queue[tail++] = n->arc[k].to;
            }
    free(queue);
}

/* Follows the arcs of a route; returns how many. */
static uint32_t follow(const struct nt_network *n, const char *name, uint32_t a, uint32_t b)
{
    struct nt_walk walk;
    uint32_t arc, steps = 0, at = a;
    double sum = n->overhead_us[a] + n->overhead_us[b];
    for (nt_walk_begin(n, a, b, &walk); nt_walk_next(&walk, &arc); steps++) {
        if (n->arc[arc].from != at || steps > n->arcs)
            fail_msg("%s: the route from %u to %u breaks at %u", name, a, b, at);
        at = n->arc[arc].to;
        sum += n->arc[arc].latency_us;
    }
    if (at != b)
        fail_msg("%s: the route from %u to %u ends at %u", name, a, b, at);
    assert_close(nt_network_latency(n, a, b), sum, 1e-9);
    return steps;
}

/* Minimal is one link between two groups, though another way may have fewer links. */
static bool has_groups(const char *name)
{
    return strncmp(name, "dragonfly", 9) == 0 || strncmp(name, "aries", 5) == 0;
}

TEST(test_routes)
{
    for (size_t k = 0; k < COUNT(families); k++) {
        const char *name = families[k].spec;
        SCOPED(network) *n = made_network(name);
        uint32_t *hops = calloc(n->hosts + n->switches, sizeof *hops), longest = 0;
        bool shortest = !has_groups(name);
        for (uint32_t a = 0; a < n->hosts; a++) {
            hops_from(n, a, hops);
            for (uint32_t b = 0; b < n->hosts; b++) {
                uint32_t steps = follow(n, name, a, b);
                if (shortest ? steps != hops[b] : steps < hops[b])
                    fail_msg("%s: %u links from %u to %u, %u are enough", name, steps, a, b,
                             hops[b]);
                longest = steps > longest ? steps : longest;
            }
        }
        if (longest != families[k].longest)
            fail_msg("%s: longest route %u, expected %u", name, longest, families[k].longest);
        free(hops);
    }
}

/* Any model gets the same distances as what it was built from: the table's routes. */
TEST(test_from_model)
{
    for (size_t k = 0; k < COUNT(families); k++) {
        SCOPED(network) *n = made_network(families[k].spec), *m;
        must(nt_network_from_model(n->model, &m, &err));
        bool shortest = !has_groups(families[k].spec);
        for (uint32_t a = 0; a < n->hosts; a++)
            for (uint32_t b = 0; b < n->hosts && shortest; b++)
                assert_close(nt_network_latency(m, a, b), nt_network_latency(n, a, b), 1e-9);
    }
}

/* Fat tree: a destination is reached from everywhere over one tree, and no host's links are used
 * more than others in an exchange of all. */
TEST(test_fattree_spread)
{
    SCOPED(network) *n = made_network("fattree:8,3");
    uint32_t *load = calloc(n->arcs, sizeof *load), *down = calloc(n->hosts + n->switches, 4);
    for (uint32_t b = 0; b < n->hosts; b++) {
        memset(down, 0xff, (n->hosts + n->switches) * 4);
        for (uint32_t a = 0; a < n->hosts; a++) {
            struct nt_walk walk;
            uint32_t arc;
            for (nt_walk_begin(n, a, b, &walk); nt_walk_next(&walk, &arc);) {
                uint32_t from = n->arc[arc].from;
                assert_true(down[from] == UINT32_MAX || down[from] == arc);
                down[from] = arc;
                load[arc]++;
            }
        }
    }
    for (size_t k = 0; k < n->arcs; k++)
        assert_in_range(load[k], 1, n->hosts - 1);
    free(load);
    free(down);
}

/* 8x4: the twist evens out what a plain torus puts on its longer rings. */
static uint32_t worst_load(const char *spec)
{
    struct nt_network *n = made_network(spec);
    uint32_t *load = calloc(n->arcs, sizeof *load), worst = 0;
    for (uint32_t a = 0; a < n->hosts; a++)
        for (uint32_t b = 0; b < n->hosts; b++) {
            struct nt_walk walk;
            uint32_t arc;
            for (nt_walk_begin(n, a, b, &walk); nt_walk_next(&walk, &arc);)
                load[arc]++;
        }
    for (size_t k = 0; k < n->arcs; k++)
        worst = load[k] > worst ? load[k] : worst;
    free(load);
    nt_network_destroy(n);
    return worst;
}

TEST(test_twist_balances)
{
    assert_int_equal(worst_load("torus:8x4"), 32);       /* 32 * 32 pairs * 2 hops over 64 arcs */
    assert_in_range(worst_load("ttorus:8x4:4"), 21, 24); /* 84 hops a host over 4 arcs: 21 */
}

TEST(test_truth)
{
    for (size_t k = 0; k < COUNT(families); k++) {
        SCOPED(model) *t = made_truth(families[k].spec);
        if (t->switches != families[k].true_switches || t->links != families[k].true_links)
            fail_msg("%s: the truth has %zu switches and %zu links", families[k].spec, t->switches,
                     t->links);
    }
}

/* As measurements show them: a dragonfly has three groups of three routers or more. */
TEST(the_truth_names_families)
{
    static const struct {
        const char *spec;
        enum nt_family family;
        uint32_t dimensions;
    } rows[] = {{"dragonfly:5x4x2", NT_FAMILY_DRAGONFLY, 3},
                {"dragonfly:4x2x2", NT_FAMILY_IRREGULAR, 0},
                {"dragonfly:2x4x2", NT_FAMILY_IRREGULAR, 0},
                {"torus:4x4,hosts=2", NT_FAMILY_TORUS, 2},
                {"ring:3,hosts=2", NT_FAMILY_IRREGULAR, 0}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        SCOPED(model) *t = made_truth(rows[k].spec);
        assert_int_equal(t->family, rows[k].family);
        assert_int_equal(t->dimensions, rows[k].dimensions);
    }
}

/* The truth of a tree gives the same latencies as the network. A map does not contain the routes of
 * a dragonfly, which use the link between two groups also if a detour has fewer hops. */
TEST(test_truth_latencies)
{
    for (size_t k = 0; k < COUNT(families); k++) {
        SCOPED(network) *n = made_network(families[k].spec), *m;
        SCOPED(model) *t;
        must(nt_network_truth(n, &t, &err));
        must(nt_network_from_model(t, &m, &err));
        bool routed = t->family == NT_FAMILY_IRREGULAR || t->family == NT_FAMILY_DRAGONFLY;
        for (uint32_t a = 0; a < n->hosts && !routed; a++)
            for (uint32_t b = 0; b < n->hosts; b++)
                if (a != b && n->hosts > 1)
                    assert_close(nt_network_latency(m, a, b), nt_network_latency(n, a, b), 1e-9);
    }
}

TEST(test_truth_rates)
{
    struct nt_model *t = made_truth("fattree:8,3"); /* 4 hosts a leaf, 16 a pod */
    size_t count[17] = {0};
    for (size_t k = 0; k < t->links; k++) {
        double times = t->link[k].bandwidth_MBps / 12500;
        assert_true(times == t->link[k].bandwidth_back_MBps / 12500);
        assert_holds(times == 1 || times == 4 || times == 16, "%g cables", times);
        count[(size_t)times]++;
    }
    assert_int_equal(count[1], 128);
    assert_int_equal(count[4], 32);
    assert_int_equal(count[16], 8);
    nt_model_destroy(t);
}

/* Two leaves of two hosts joined over a switch, with a line of empty switches on it. */
TEST(test_truth_of_idle_switches)
{
    const uint32_t ends[][2] = {{0, 4}, {1, 4}, {5, 2}, {5, 3}, {4, 6}, {6, 5}, {6, 7}, {7, 8}};
    SCOPED(model) *m, *t;
    SCOPED(network) *n;
    assert_int_equal(nt_model_create(4, 5, COUNT(ends), &m, NULL), 0);
    for (size_t k = 0; k < COUNT(ends); k++) {
        m->link[k].a = ends[k][0];
        m->link[k].b = ends[k][1];
        m->link[k].latency_us = (double)k + 1;
        m->link[k].bandwidth_MBps = m->link[k].bandwidth_back_MBps = 10 * (double)(k + 1);
    }
    m->overhead_us[0] = 0.5; /* of a host behind a switch: its link's */
    m->link[4].bandwidth_back_MBps = 45;
    assert_int_equal(nt_network_from_model(m, &n, NULL), 0);
    assert_int_equal(nt_network_truth(n, &t, NULL), 0);
    assert_int_equal(t->switches, 2);
    assert_int_equal(t->links, 5);
    for (size_t k = 0; k < t->links; k++) {
        const struct nt_link *l = &t->link[k];
        if (l->a == 0)
            assert_close(l->latency_us, 1.5, 1e-12);
        if (l->a >= 4) { /* links 5 and 6: 11 us, narrowest 50 one way and 45 the other */
            assert_close(l->latency_us, 11, 1e-12);
            assert_true(fmin(l->bandwidth_MBps, l->bandwidth_back_MBps) == 45);
            assert_true(fmax(l->bandwidth_MBps, l->bandwidth_back_MBps) == 50);
        }
    }
    assert_true(nt_shape_equal(t, m));
}

/* Hosts that nothing joins are not hosts on a switch. */
TEST(test_shape_apart)
{
    struct nt_model *star = made_truth("star:5"), *none;
    assert_int_equal(nt_model_create(5, 0, 0, &none, NULL), 0);
    assert_false(nt_shape_equal(star, none));
    assert_false(nt_shape_equal(none, star));
    assert_true(nt_shape_equal(none, none));
    nt_model_destroy(none);
    assert_int_equal(nt_model_create(6, 0, 0, &none, NULL), 0);
    assert_false(nt_shape_equal(star, none));
    nt_model_destroy(none);
    nt_model_destroy(star);
}

TEST(test_shapes)
{
    for (size_t i = 0; i < COUNT(families); i++)
        for (size_t j = 0; j < COUNT(families); j++) {
            SCOPED(model) *a = made_truth(families[i].spec), *b = made_truth(families[j].spec);
            const char *same[][2] = {{"tree:3x4", "tree:3x4x1"}, {"ttorus:8x4:0", "torus:8x4"}};
            bool expected = i == j;
            for (size_t k = 0; k < COUNT(same); k++)
                for (int s = 0; s < 2; s++)
                    expected |= strcmp(families[i].spec, same[k][s]) == 0 &&
                                strcmp(families[j].spec, same[k][1 - s]) == 0;
            /* stars under other names, and the same four hosts in a ring or on two switches */
            if (a->hosts == b->hosts && a->hosts <= 9)
                expected = nt_shape_equal(a, b);
            if (nt_shape_equal(a, b) != expected)
                fail_msg("%s and %s: expected %d", families[i].spec, families[j].spec, expected);
        }
}

TEST(test_shape_pairs)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } pair[] = {
        {"tree:2x4", "star:8", false},      {"star:6", "fullmesh:6", true},
        {"mesh:6", "chain:6x1", true},      {"mesh:6", "torus:6", false},
        {"hypercube:4", "torus:16", false}, {"chain:4x2", "tree:4x2", false},
        {"chain:3x2", "tree:3x2", false},   {"chain:2x4", "tree:2x4", true},
        {"fattree:4,2", "tree:4x2", true},  {"fattree:4,3", "tree:4x2x2", true},
        {"torus:2x2", "hypercube:2", true}, {"torus:4", "hypercube:2", false},
        {"star:1", "hypercube:0", true},    {"dragonfly:1x3x2", "tree:3x2", false},
    };
    for (size_t k = 0; k < COUNT(pair); k++) {
        SCOPED(model) *a = made_truth(pair[k].a), *b = made_truth(pair[k].b);
        if (nt_shape_equal(a, b) != pair[k].equal || nt_shape_equal(b, a) != pair[k].equal)
            fail_msg("%s and %s: expected %d", pair[k].a, pair[k].b, pair[k].equal);
    }
}

TEST(test_shape_counts)
{
    SCOPED(model) *found = made_truth("tree:4x3"), *truth = made_truth("tree:3x4");
    struct nt_shape_difference d;
    assert_int_equal(nt_shape_compare(found, truth, &d, NULL), 0);
    assert_true(d.trees);
    assert_false(d.equal);
    assert_int_equal(d.missing, 3);
    assert_int_equal(d.invented, 4);
}

/* Planes of their own with the same hosts; a perfect solver sees the rates of all. */
TEST(test_rails_are_networks_of_their_own)
{
    struct nt_network *one = made_network("fattree:4,2"),
                      *three = made_network("rails:3:fattree:4,2");
    SCOPED(model) *truth, *truth_three;
    assert_int_equal(nt_network_rails(one), 1);
    assert_int_equal(nt_network_rails(three), 3);
    for (struct nt_network *n = three; n != NULL; n = n->next_rail) {
        assert_int_equal(n->hosts, one->hosts);
        assert_int_equal(n->arcs, one->arcs);
    }
    assert_int_equal(nt_network_truth(one, &truth, NULL), 0);
    assert_int_equal(nt_network_truth(three, &truth_three, NULL), 0);
    assert_true(nt_shape_equal(truth, truth_three));
    for (size_t k = 0; k < truth->links; k++) {
        assert_close(truth_three->link[k].bandwidth_MBps, 3 * truth->link[k].bandwidth_MBps, 1e-6);
        assert_close(truth_three->link[k].latency_us, truth->link[k].latency_us, 1e-9);
    }
    nt_network_destroy(one);
    nt_network_destroy(three);
}

/* Renaming switches and turning links changes nothing; moving a host does. */
TEST(test_shape_renamed)
{
    const char *specs[] = {"tree:2x3x4", "dragonfly:5x4x2", "torus:4x4", "fattree:4,3"};
    for (size_t s = 0; s < COUNT(specs); s++) {
        SCOPED(network) *n = made_network(specs[s]);
        struct nt_model *a = n->model, *b;
        struct nt_rng rng;
        nt_rng_init(&rng, 5);
        uint32_t *name = calloc(a->switches + 1, sizeof *name);
        for (uint32_t k = 0; k < a->switches; k++)
            name[k] = k;
        nt_rng_shuffle(&rng, name, a->switches);
        assert_int_equal(nt_model_copy(a, &b, NULL), 0);
        for (size_t k = 0; k < b->links; k++) {
            struct nt_link *l = &b->link[b->links - 1 - k];
            uint32_t x = a->link[k].a, y = a->link[k].b;
            l->a = y < a->hosts ? y : (uint32_t)a->hosts + name[y - a->hosts];
            l->b = x < a->hosts ? x : (uint32_t)a->hosts + name[x - a->hosts];
        }
        assert_true(nt_shape_equal(a, b));
        for (size_t k = 0; k < b->links; k++) { /* swap the first and the last host */
            uint32_t *end[2] = {&b->link[k].a, &b->link[k].b};
            for (int e = 0; e < 2; e++)
                *end[e] = *end[e] == 0              ? (uint32_t)b->hosts - 1
                          : *end[e] == b->hosts - 1 ? 0
                                                    : *end[e];
        }
        assert_false(nt_shape_equal(a, b));
        nt_model_destroy(b);
        free(name);
    }
}

TEST(test_large_tree)
{
    SCOPED(network) *n = made_network("tree:16x16x16x16");
    struct nt_rng rng;
    nt_rng_init(&rng, 1);
    assert_int_equal(n->hosts, 65536);
    for (int k = 0; k < 10000; k++) {
        uint32_t a = (uint32_t)nt_rng_below(&rng, n->hosts),
                 b = (uint32_t)nt_rng_below(&rng, n->hosts);
        uint32_t up = 0, x = a, y = b;
        for (; x != y; up++) {
            x /= 16;
            y /= 16;
        }
        double expected = up == 0 ? 0 : 1 + 0.5 * (up - 1);
        assert_close(nt_network_latency(n, a, b), expected, 1e-9);
    }
    SCOPED(model) *t;
    assert_int_equal(nt_network_truth(n, &t, NULL), 0);
    assert_int_equal(t->switches, 4369);
    assert_true(nt_shape_equal(t, n->model));
}

TEST(test_bad_specs)
{
    static const char *const bad[] = {
        "",
        "star",
        "star:",
        "star:0",
        "star:-1",
        "star:1x2",
        "star:01",
        "star:1 ",
        "star:99999999999",
        "star:131073",
        "tree:",
        "tree:2x",
        "tree:2xx3",
        "tree:2,3",
        "tree:0x4",
        "tree:1x1x1x1x1x1x1x1x1",
        "tree:131072x131072x131072",
        "fattree:4",
        "fattree:5,2",
        "fattree:4,9",
        "fattree:0,2",
        "fattree:4x3",
        "fattree:128,8",
        "torus:0",
        "torus:4x4,hosts=0",
        "torus:4x4,hosts=",
        "torus:4x4,hosts=2,",
        "torus:4x4,hosts=131072",
        "ring:4,host=2",
        "star:4,hosts=2",
        "tree:2x3,hosts=2",
        "torus:1000x1000x1000",
        "ttorus:8x4",
        "ttorus:8x4:8",
        "ttorus:8x4:",
        "ttorus:8x2:1",
        "ttorus:8x4:4:4",
        "ttorus:8x4x2:1",
        "hypercube:17",
        "hypercube:",
        "fullmesh:4096",
        "dragonfly:2x2",
        "dragonfly:131072x131072x131072",
        "chain:3",
        "chain:131072x131072",
        "Star:3",
        "rails:0:star:2",
        "rails:9:star:2",
        "rails:2",
        "rails:2:",
        "rails:two:star:2",
        "rails:2:rails:2:star:2",
        "rails:8:fullmesh:2048",
        "ring:5x2",
        "/etc/passwd",
    };
    for (size_t k = 0; k < COUNT(bad); k++) {
        struct nt_spec spec = {.hosts = 77};
        if (nt_spec_parse(bad[k], &spec, &err) == 0)
            fail_msg("%s was taken", bad[k]);
        assert_int_equal(err.kind, NT_ERR_USAGE);
        assert_int_equal(spec.hosts, 77);
        assert_non_null(strstr(err.text, "topology"));
    }
    assert_true(nt_spec_names("torus:junk"));
    assert_false(nt_spec_names("map.json"));
}

TEST(test_table_bound)
{
    struct nt_network *n = made_network("torus:128x128"), *m;
    assert_int_equal(nt_network_from_model(n->model, &m, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    n->model->link[3].b = (uint32_t)n->hosts;
    assert_int_equal(nt_network_from_model(n->model, &m, &err), -1);
    nt_network_destroy(n);
}

/* Half of the messages go by other groups: longer, alike both ways, and only between groups. */
TEST(test_adaptive_latencies)
{
    static const char *const specs[] = {"dragonfly:5x4x2", "dragonfly+:4x3x2x2", "aries:4x2x3x2"};
    for (size_t k = 0; k < COUNT(specs); k++) {
        SCOPED(network) *n = made_network(specs[k]), *m = made_network(specs[k]);
        size_t each = n->hosts / n->spec.dimension[0];
        m->adaptive = true;
        for (uint32_t a = 0; a < n->hosts; a++)
            for (uint32_t b = 0; b < n->hosts; b++) {
                double us = nt_network_latency(n, a, b), mean = nt_network_latency(m, a, b);
                assert_close(mean, nt_network_latency(m, b, a), 1e-9);
                if (a / each == b / each)
                    assert_close(mean, us, 1e-9);
                else
                    assert_above(mean, us + 0.1);
            }
    }
}

RUN_TESTS
