/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds of the bandwidth planner: allowed pairs, covered links, flows that must not share a
 * round. */
#include "asserts.h"
#include "flow_schedule.h"
#include "known_rates.h"
#include "made_network.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* A random tree of switches with hosts anywhere on it, some hosts missing. */
static struct nt_model *random_tree(uint64_t seed)
{
    struct nt_rng rng;
    struct nt_model *m;
    nt_rng_init(&rng, seed);
    size_t switches = 1 + nt_rng_below(&rng, 9), hosts = 1 + nt_rng_below(&rng, 40);
    size_t missing = nt_rng_below(&rng, 3);
    assert_int_equal(nt_model_create(hosts + missing, switches, hosts + switches - 1, &m, NULL), 0);
    for (uint32_t h = 0; h < hosts; h++)
        m->link[h] = (struct nt_link){
            .a = h, .b = (uint32_t)(m->hosts + nt_rng_below(&rng, switches)), .latency_us = 1};
    for (size_t s = 1; s < switches; s++)
        m->link[hosts + s - 1] = (struct nt_link){.a = (uint32_t)(m->hosts + s),
                                                  .b = (uint32_t)(m->hosts + nt_rng_below(&rng, s)),
                                                  .latency_us = 1};
    for (size_t h = hosts; h < m->hosts; h++)
        m->missing[h] = true;
    assert_int_equal(nt_model_canonicalise(m, NULL), 0);
    return m;
}

/* ---- a sweep that is watched ---- */

struct watched {
    const struct nt_model *m;
    struct nt_rooted_tree *rooted;
    struct nt_unique_paths *paths;
    const bool *absent;
    uint32_t (*partner)[2]; /* hosts: the first two different partners in host-links */
    unsigned *most;         /* channels: the most flows in one round of the phase tiers */
    unsigned *flows;        /* channels: of this round */
    uint32_t *path;
    size_t rounds;
};

static void watch_pair(struct watched *w, const struct nt_order *o, uint32_t a, uint32_t b)
{
    size_t n = nt_unique_paths_find(w->paths, w->rooted, a, b, w->path);
    assert_true(n > 0 && a < w->m->hosts && b < w->m->hosts && a != b);
    assert_false(w->m->missing[a] || w->m->missing[b]);
    assert_false(w->absent != NULL && (w->absent[a] || w->absent[b]));
    for (size_t k = 0; k < n; k++)
        w->flows[w->path[k]]++;
    for (int e = 0; e < 2 && strcmp(o->phase, "host-links") == 0; e++) {
        uint32_t *p = w->partner[e ? b : a], other = e ? a : b;
        if (p[0] == UINT32_MAX)
            p[0] = other;
        else if (p[0] != other)
            p[1] = other;
    }
}

/* Every host at most one partner; in host-links no two flows on one link. */
static void watch_round(struct watched *w, const struct nt_order *o)
{
    bool *busy = calloc(w->m->hosts + 1, sizeof *busy);
    bool alone = strcmp(o->phase, "host-links") == 0;
    memset(w->flows, 0, (2 * w->m->links + 1) * sizeof *w->flows);
    assert_true(o->kind == NT_ORDER_BANDWIDTH && o->pairs > 0);
    assert_at_least(o->window_s, 0.01);
    assert_at_most(o->window_s, 0.3);
    assert_at_least(o->message_bytes, 1);
    assert_at_most(o->message_bytes, 1 << 20);
    for (size_t k = 0; k < o->pairs; k++) {
        uint32_t a = o->pair[k][0], b = o->pair[k][1];
        assert_false(busy[a] || busy[b]);
        busy[a] = busy[b] = true;
        watch_pair(w, o, a, b);
    }
    for (size_t c = 0; c < 2 * w->m->links; c++) {
        bool inner = w->m->link[c / 2].a >= w->m->hosts;
        if (alone && !inner)
            assert_at_most(w->flows[c], 1);
        if (strcmp(o->phase, "tiers") == 0 && w->flows[c] > w->most[c])
            w->most[c] = w->flows[c];
    }
    w->rounds++;
    free(busy);
}

/* rate: what each flow gets; lose_at: after that round lose[0] is lost. */
static void watch(struct watched *w, const struct nt_model *m, const bool *absent, double max_load,
                  double rate)
{
    struct nt_bandwidth_options options = {.max_load = max_load};
    struct nt_planner *planner;
    struct nt_order order;
    struct nt_result *result = calloc(m->hosts + 1, sizeof *result);
    *w = (struct watched){.m = m, .absent = absent};
    w->partner = malloc((m->hosts + 1) * sizeof *w->partner);
    memset(w->partner, 0xff, (m->hosts + 1) * sizeof *w->partner);
    w->most = calloc(2 * m->links + 1, sizeof *w->most);
    w->flows = calloc(2 * m->links + 1, sizeof *w->flows);
    assert_int_equal(nt_rooted_tree_create(m, &w->rooted, NULL), 0);
    assert_int_equal(nt_unique_paths_create(m, w->rooted, &w->paths, NULL), 0);
    w->path = malloc(nt_rooted_tree_room(w->rooted) * sizeof *w->path);
    must(nt_bandwidth_create(m, absent, &options, &planner, &err));
    size_t left = nt_bandwidth_rounds_left(planner);
    for (;;) {
        size_t announced = nt_bandwidth_rounds_left(planner);
        assert_at_most(announced, left);
        left = announced;
        if (planner->ops->next(planner, &order, &err) != 1)
            break;
        assert_above(left, 0);
        assert_below(nt_bandwidth_rounds_left(planner), left);
        watch_round(w, &order);
        for (size_t k = 0; k < order.pairs; k++)
            result[k] = (struct nt_result){.a = order.pair[k][0],
                                           .b = order.pair[k][1],
                                           .ok = true,
                                           .value_us = 1e6,
                                           .bytes = rate * 1e6};
        assert_int_equal(planner->ops->tell(planner, result, order.pairs, &err), 0);
    }
    assert_int_equal(nt_bandwidth_rounds_left(planner), 0);
    nt_planner_destroy(planner);
    free(result);
}

static void watched_fini(struct watched *w)
{
    free(w->partner);
    free(w->most);
    free(w->flows);
    free(w->path);
    nt_unique_paths_destroy(w->paths);
    nt_rooted_tree_destroy(w->rooted);
}

static size_t hosts_at(const struct nt_model *m, uint32_t v, const bool *absent)
{
    size_t n = 0;
    for (size_t k = 0; k < m->links; k++)
        n += m->link[k].b == v && m->link[k].a < m->hosts &&
             !(absent != NULL && absent[m->link[k].a]);
    return n;
}

static void must_cover_hosts(const struct watched *w)
{
    for (size_t k = 0; k < w->m->links; k++) {
        uint32_t h = w->m->link[k].a, v = w->m->link[k].b;
        if (h >= w->m->hosts || (w->absent != NULL && w->absent[h]))
            continue;
        size_t n = hosts_at(w->m, v, w->absent);
        if (n >= 2)
            assert_true(w->partner[h][0] != UINT32_MAX);
        if (n == 3 || (n > 3 && n % 2 == 0))
            assert_true(w->partner[h][1] != UINT32_MAX);
    }
}

/* Each link between switches carries, both ways, as many flows as either side could give: all
 * hosts below, or all others where they are fewer. */
static void must_fill_links(const struct watched *w, bool spill)
{
    const struct nt_rooted_tree *h = w->rooted;
    for (size_t k = 1; k < h->reached; k++) {
        uint32_t c = h->order[k];
        size_t n = nt_rooted_tree_count(h, c), all = nt_rooted_tree_count(h, h->root);
        if (c < h->hosts || n == 0 || n == all)
            continue;
        size_t want = n < all - n ? n : all - n;
        if (spill && want > 1) /* others at the same time may have taken partners */
            want = (want + 1) / 2;
        assert_at_least(w->most[h->up[c]], want);
        assert_at_least(w->most[h->up[c] ^ 1], want);
    }
}

static const char *const regular[] = {"star:2",       "star:3",      "star:9",    "tree:3x4",
                                      "tree:4x4",     "tree:5x3",    "tree:7x5",  "tree:3x4x6",
                                      "tree:4x3x2x5", "fattree:4,3", "tree:10x2", "tree:2x4"};

TEST(test_regular_trees)
{
    for (size_t k = 0; k < COUNT(regular); k++) {
        struct watched w;
        SCOPED(model) *m = made_truth(regular[k]);
        watch(&w, m, NULL, 0, 1000);
        must_cover_hosts(&w);
        must_fill_links(&w, false);
        watched_fini(&w);
    }
}

TEST(test_any_tree)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct watched w;
        SCOPED(model) *m = random_tree(seed);
        bool *absent = calloc(m->hosts + 1, sizeof *absent);
        absent[seed % m->hosts] = seed % 3 == 0;
        watch(&w, m, absent, 0, 1000);
        must_cover_hosts(&w);
        if (seed % 3 != 0)
            must_fill_links(&w, true);
        watched_fini(&w);
        free(absent);
    }
}

/* A sender's uplink has well more flows than any receiver's downlink, so that it is the bottleneck
 * of its flows. */
TEST(test_fan_has_one_bottleneck)
{
    static const char *const specs[] = {"tree:3x4", "tree:4x4", "tree:6x4", "tree:3x4x6",
                                        "tree:9x4"};
    for (size_t k = 0; k < COUNT(specs); k++) {
        SCOPED(model) *m = made_truth(specs[k]);
        struct nt_rooted_tree *h;
        struct nt_fan f;
        struct nt_flow_schedule d;
        assert_int_equal(nt_rooted_tree_create(m, &h, NULL), 0);
        assert_int_equal(nt_fan_init(&f, h, NULL), 0);
        assert_int_equal(nt_flow_schedule_init(&d, h, 1, NULL), 0);
        for (uint32_t height = 2; height <= f.highest; height++)
            for (uint32_t turn = 0; turn < f.bins[h->root]; turn++) {
                nt_flow_schedule_clear(&d);
                nt_flow_schedule_fan(&d, &f, height, turn);
                assert_above(d.pairs, 0);
                unsigned sent[4096] = {0}, got[4096] = {0};
                for (size_t p = 0; p < d.pairs; p++)
                    for (int e = 0; e < 2; e++) {
                        uint32_t v = d.pair[p][e];
                        while (f.height[h->parent[v]] < height)
                            v = h->parent[v];
                        (e ? got : sent)[v]++;
                    }
                for (uint32_t v = 0; v < h->vertices; v++) {
                    assert_holds(sent[v] == 0 || got[v] == 0,
                                 "vertex %u sends %u and gets %u flows", v, sent[v], got[v]);
                    if (v >= h->hosts && sent[v] > 0)
                        assert_int_equal(sent[v], nt_rooted_tree_count(h, v));
                    if (got[v] > 0 && v >= h->hosts)
                        assert_at_most(4 * got[v], 3 * nt_rooted_tree_count(h, v));
                }
            }
        nt_flow_schedule_fini(&d);
        nt_fan_fini(&f);
        nt_rooted_tree_destroy(h);
    }
}

/* Networks of hosts alone: all links, both directions, in rounds that share none. */
TEST(test_direct_networks)
{
    static const char *const specs[] = {"torus:4x4", "torus:3x3x3", "mesh:5x4",    "hypercube:4",
                                        "torus:7",   "fullmesh:6",  "ttorus:4x4:2"};
    for (size_t k = 0; k < COUNT(specs); k++) {
        struct watched w;
        SCOPED(model) *m = made_truth(specs[k]);
        unsigned *seen = calloc(2 * m->links + 1, sizeof *seen);
        SCOPED(planner) *planner;
        struct nt_order o;
        size_t degree = 0, rounds = 0;
        watch(&w, m, NULL, 0, 1000);
        for (uint32_t h = 0; h < m->hosts; h++)
            if (w.rooted->graph.start[h + 1] - w.rooted->graph.start[h] > degree)
                degree = w.rooted->graph.start[h + 1] - w.rooted->graph.start[h];
        assert_int_equal(nt_bandwidth_create(m, NULL, NULL, &planner, NULL), 0);
        for (; planner->ops->next(planner, &o, NULL) == 1; rounds++) {
            for (size_t p = 0; p < o.pairs && strcmp(o.phase, "host-links") == 0; p++) {
                assert_int_equal(nt_rooted_tree_path(w.rooted, o.pair[p][0], o.pair[p][1], w.path),
                                 1);
                seen[w.path[0]]++;
            }
            planner->ops->tell(planner, NULL, 0, NULL);
        }
        for (size_t c = 0; c < 2 * m->links; c++)
            assert_int_equal(seen[c], 1);
        assert_at_most(rounds, 2 * (2 * degree - 1) + 2);
        watched_fini(&w);
        free(seen);
    }
}

/* The nearest hosts load each link between switches both ways, all at once; where that is not
 * enough, more hosts do than stand at a switch. As in figure 2.20 of A. Bufe
 * (Hamburg 2014) no fourth host is sure to go over a link of four switches with three hosts each.
 * rate: of a flow that is held back is less. */
TEST(test_links_on_cycles)
{
    static const struct {
        const char *spec;
        unsigned hosts; /* at a switch */
        bool more;      /* reach a link over its neighbours */
    } known[] = {{"ring:4,hosts=3", 3, false},
                 {"ring:7,hosts=3", 3, true},
                 {"torus:5x5,hosts=2", 2, true},
                 {"dragonfly:4x4x3", 3, true},
                 {"hypercube:3,hosts=4", 4, false}};
    for (size_t k = 0; k < COUNT(known); k++)
        for (int lost = 0; lost < 2; lost++) {
            struct watched w;
            struct nt_model *m = made_truth(known[k].spec);
            bool *absent = calloc(m->hosts + 1, sizeof *absent);
            absent[0] = lost;
            watch(&w, m, absent, 0, 1000); /* as fast as alone: no link holds flows back */
            size_t more = 0;
            for (size_t c = 0; c < 2 * m->links; c++) {
                if (m->link[c / 2].a < m->hosts)
                    continue;
                more += w.most[c] > known[k].hosts;
                assert_at_least(w.most[c], known[k].hosts - (unsigned)lost);
            }
            assert_int_equal(more > 0, known[k].more);
            watched_fini(&w);
            free(absent);
            nt_model_destroy(m);
        }
}

TEST(test_lost_hosts_stay_away)
{
    SCOPED(model) *m = made_truth("tree:4x4");
    SCOPED(planner) *planner;
    struct nt_order o;
    assert_int_equal(nt_bandwidth_create(m, NULL, NULL, &planner, NULL), 0);
    for (size_t round = 0; planner->ops->next(planner, &o, NULL) == 1; round++) {
        for (size_t p = 0; p < o.pairs; p++)
            for (int e = 0; e < 2; e++)
                assert_false((round > 2 && o.pair[p][e] == 5) || (round > 9 && o.pair[p][e] < 4));
        planner->ops->tell(planner, NULL, 0, NULL);
        if (round == 2)
            planner->ops->lose(planner, 5);
        for (uint32_t h = 0; round == 9 && h < 4; h++)
            planner->ops->lose(planner, h);
        planner->ops->lose(planner, 1000000);
    }
}

TEST(test_max_load)
{
    SCOPED(model) *m = made_truth("tree:4x8");
    struct watched w;
    watch(&w, m, NULL, 0.5, 1000);
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a >= m->hosts)
            for (size_t c = 2 * k; c < 2 * k + 2; c++)
                assert_in_range(w.most[c], 1, 4);
    watched_fini(&w);
    struct nt_planner *planner;
    assert_int_equal(
        nt_bandwidth_create(m, NULL, &(struct nt_bandwidth_options){.max_load = 2}, &planner, &err),
        -1);
    assert_int_equal(err.kind, NT_ERR_USAGE);
}

/* Ten milliseconds where links are fast, longer where 1 MiB or 128 messages take long. */
TEST(test_windows)
{
    static const struct {
        double rate_MBps, window_s;
    } table[] = {{12500, 0.01}, {1000, 0.01}, {100, 0.0839}, {23.5, 0.12}, {2, 0.262}, {0.5, 0.3}};
    SCOPED(model) *m = made_truth("star:8");
    for (size_t k = 0; k < COUNT(table); k++) {
        SCOPED(planner) *planner;
        struct nt_order o;
        assert_int_equal(nt_bandwidth_create(m, NULL, NULL, &planner, NULL), 0);
        for (int round = 0; round < 4; round++) {
            assert_int_equal(planner->ops->next(planner, &o, NULL), 1);
            assert_string_equal(o.phase, round < 2 ? "warm-up" : "host-links");
            struct nt_result r[4];
            for (size_t p = 0; p < o.pairs; p++)
                r[p] = (struct nt_result){.a = o.pair[p][0],
                                          .b = o.pair[p][1],
                                          .ok = true,
                                          .value_us = 1e6,
                                          .bytes = table[k].rate_MBps * 1e6};
            planner->ops->tell(planner, r, o.pairs, NULL);
        }
        assert_close(o.window_s / table[k].window_s, 1, 0.01);
        assert_close(nt_bandwidth_window_s(planner) / table[k].window_s, 1, 0.01);
        double messages = table[k].rate_MBps * 1e6 * o.window_s / o.message_bytes;
        assert_above(messages, 16);
        assert_below(messages, 1000);
    }
}

/* A network that carries no more than `total` at once: rounds are split so that flows get what they
 * get alone, and every host is still measured. */
TEST(test_crowded)
{
    SCOPED(model) *m = made_truth("tree:4x4");
    SCOPED(planner) *planner;
    struct nt_order o;
    struct nt_result r[32];
    unsigned sent[16] = {0}, got[16] = {0};
    const double total = 400, alone = 100;
    size_t split = 0;
    assert_int_equal(nt_bandwidth_create(m, NULL, NULL, &planner, NULL), 0);
    size_t announced = nt_bandwidth_rounds_left(planner);
    for (size_t round = 0; planner->ops->next(planner, &o, NULL) == 1; round++) {
        double rate = fmin(alone, total / (double)o.pairs);
        for (size_t p = 0; p < o.pairs; p++) {
            r[p] = (struct nt_result){
                .a = o.pair[p][0], .b = o.pair[p][1], .ok = true, .value_us = 1, .bytes = rate};
            if (strcmp(o.phase, "host-links") == 0) {
                assert_at_most(o.pairs, 3);
                sent[o.pair[p][0]]++;
                got[o.pair[p][1]]++;
            }
        }
        split += strcmp(o.phase, "tiers") == 0 && o.pairs > 4;
        planner->ops->tell(planner, r, o.pairs, NULL);
        if (round == 2)
            assert_above(nt_bandwidth_rounds_left(planner), announced);
    }
    for (uint32_t h = 0; h < 16; h++)
        assert_true(sent[h] >= 2 && got[h] >= 2);
    assert_int_equal(split, 0); /* a leaf's flows together, no two leaves */
}

TEST(test_phases)
{
    SCOPED(model) *m = made_truth("tree:3x4");
    static const unsigned bit[] = {NT_BANDWIDTH_HOST_LINKS, NT_BANDWIDTH_TIERS,
                                   NT_BANDWIDTH_LADDER};
    static const char *const name[] = {"host-links", "tiers", "ladder"};
    for (size_t k = 0; k < COUNT(bit); k++) {
        SCOPED(planner) *planner;
        struct nt_order o;
        size_t seen = 0;
        assert_int_equal(nt_bandwidth_create(m, NULL,
                                             &(struct nt_bandwidth_options){.phases = bit[k]},
                                             &planner, NULL),
                         0);
        assert_int_equal(nt_bandwidth_rounds_left(planner),
                         nt_bandwidth_phase_left(planner, "warm-up") +
                             nt_bandwidth_phase_left(planner, name[k]));
        while (planner->ops->next(planner, &o, NULL) == 1) {
            assert_true(strcmp(o.phase, "warm-up") == 0 || strcmp(o.phase, name[k]) == 0);
            seen += strcmp(o.phase, name[k]) == 0;
            planner->ops->tell(planner, NULL, 0, NULL);
        }
        assert_above(seen, 0);
    }
}

/* Drives the planner; every flow has the rate, as if it were alone. Returns the rounds of warm-up.
 */
static size_t drive_at(struct nt_planner *planner, double rate_MBps, double *window_s)
{
    struct nt_order o;
    size_t warm = 0;
    while (planner->ops->next(planner, &o, NULL) == 1) {
        struct nt_result results[16];
        assert_in_range(o.pairs, 1, COUNT(results));
        for (size_t k = 0; k < o.pairs; k++)
            results[k] = (struct nt_result){.a = o.pair[k][0],
                                            .b = o.pair[k][1],
                                            .ok = true,
                                            .value_us = o.window_s * 1e6,
                                            .bytes = rate_MBps * o.window_s * 1e6};
        warm += strcmp(o.phase, "warm-up") == 0;
        *window_s = o.window_s;
        assert_int_equal(planner->ops->tell(planner, results, o.pairs, NULL), 0);
    }
    nt_planner_destroy(planner);
    return warm;
}

/* Of planners one after another the first alone has a warm-up, and the others go by it. */
TEST(test_one_warm_up_is_enough)
{
    static const unsigned phases[] = {NT_BANDWIDTH_HOST_LINKS, NT_BANDWIDTH_TIERS,
                                      NT_BANDWIDTH_LADDER};
    SCOPED(model) *m = made_truth("tree:2x2x4");
    struct nt_bandwidth_state seen = {0};
    SCOPED(planner) *planner;
    double window_s = 0;
    for (size_t k = 0; k < COUNT(phases); k++) {
        struct nt_bandwidth_options options = {.phases = phases[k], .seen = &seen};
        assert_int_equal(nt_bandwidth_create(m, NULL, &options, &planner, NULL), 0);
        assert_int_equal(drive_at(planner, 100, &window_s), k == 0 ? 2 : 0);
        assert_close(window_s, 8 * 1048576 / 100e6, 1e-9); /* by the rate */
        assert_close(seen.rate_MBps, 100, 1e-9);
        assert_true(isinf(seen.limit_MBps));
    }
    /* what the network carries at once counts for the others, too */
    seen.limit_MBps = 450;
    struct nt_bandwidth_options options = {.phases = NT_BANDWIDTH_HOST_LINKS, .seen = &seen};
    struct nt_order o;
    assert_int_equal(nt_bandwidth_create(m, NULL, &options, &planner, NULL), 0);
    assert_int_equal(planner->ops->next(planner, &o, NULL), 1);
    assert_string_equal(o.phase, "host-links");
    assert_in_range(o.pairs, 1, 5);
}

/* No two of those that are left share a switch: the warm-up of tiers has nobody to pair at one, and
 * must not take the ends of links for hosts. */
TEST(test_one_host_left_of_each_leaf)
{
    SCOPED(model) *m = made_truth("tree:5x2");
    SCOPED(planner) *planner;
    struct nt_order o;
    bool absent[10] = {false};
    for (size_t h = 0; h < COUNT(absent); h += 2)
        absent[h] = true;
    assert_int_equal(
        nt_bandwidth_create(m, absent, &(struct nt_bandwidth_options){.phases = NT_BANDWIDTH_TIERS},
                            &planner, NULL),
        0);
    while (planner->ops->next(planner, &o, NULL) == 1) {
        for (size_t k = 0; k < o.pairs; k++)
            assert_true(o.pair[k][0] < m->hosts && o.pair[k][1] < m->hosts);
        planner->ops->tell(planner, NULL, 0, NULL);
    }
}

RUN_TESTS
