/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "cost.h"
#include "hierarchy.h"
#include "hint.h"
#include "known_tree.h"

static struct nt_map map_of(struct nt_model *model)
{
    return (struct nt_map){.model = model};
}

static uint32_t *capacities(size_t hosts, uint32_t each)
{
    uint32_t *c = calloc(hosts + 1, sizeof *c);
    for (size_t k = 0; k < hosts; k++)
        c[k] = each;
    return c;
}

static struct nt_hint *hint_of(struct nt_model *model, const char *pattern, uint32_t *room,
                               size_t ntasks)
{
    const struct nt_map map = map_of(model);
    const struct nt_hint_request asked = {
        .pattern = pattern, .tasks = ntasks, .capacity = room, .any_first = true};
    struct nt_hint *hint = NULL;
    must(nt_hint_create(&map, &asked, &hint, &err));
    return hint;
}

static void respects_capacities(const struct nt_hint *hint, const uint32_t *room, size_t hosts)
{
    uint32_t *used = calloc(hosts + 1, sizeof *used);
    for (size_t r = 0; r < hint->ntasks; r++) {
        assert_in_range(hint->rank_host[r], 0, hosts - 1);
        used[hint->rank_host[r]]++;
    }
    for (size_t h = 0; h < hosts; h++)
        assert_in_range(used[h], 0, room[h]);
    free(used);
}

static void never_worse(const struct nt_hint *h)
{
    assert_at_most(h->cost, h->cost_default * 1.000001);
    assert_at_least(h->gain, 1);
}

TEST(a_ring_on_scattered_hosts_reaches_the_lower_bound)
{
    SCOPED(model) *m = known_tree(2, 4, 4, true, false, 7);
    uint32_t *room = capacities(m->hosts, 2);
    for (int way = 0; way < 4; way++) {
        bool chain = way % 2 == 1, any_first = way < 2;
        const struct nt_map map = map_of(m);
        const struct nt_hint_request asked = {.pattern = chain ? "neighbour" : "ring",
                                              .tasks = 64,
                                              .capacity = room,
                                              .any_first = any_first};
        SCOPED(hint) *h;
        must(nt_hint_create(&map, &asked, &h, &err));
        if (!any_first) { /* costs nothing here */
            assert_int_equal(h->rank_host[0], 0);
            assert_close(h->first_percent, 0, 0);
        }
        respects_capacities(h, room, m->hosts);
        never_worse(h);
        assert_above(h->gain, 1.5);
        if (!chain)
            assert_close(h->metrics.latency_us, h->lower_bound, 1e-6);
    }
    free(room);
}

TEST(hosts_already_in_order_need_no_change)
{
    static const char *const patterns[] = {"ring", "neighbour", "tree", "alltoall"};
    SCOPED(model) *m = known_tree(2, 4, 4, false, false, 0);
    uint32_t *room = capacities(m->hosts, 1);
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        SCOPED(hint) *h = hint_of(m, patterns[k], room, 32);
        assert_close(h->gain, 1, 0);
        for (uint32_t r = 0; r < 32; r++)
            assert_int_equal(h->rank_host[r], r);
    }
    free(room);
}

TEST(a_stencil_is_cut_into_boxes)
{
    /* 16 x 16 tasks on 8 leaves of 4 hosts of 8 tasks: a leaf holds 32 tasks. In row-major order
     * over sorted hosts a leaf is two rows, 32 of its edges leave it; as a 4 x 8 box 20 to 24. */
    SCOPED(model) *m = known_tree(2, 4, 4, true, false, 3);
    uint32_t *room = capacities(m->hosts, 8);
    SCOPED(hint) *h = hint_of(m, "stencil:16x16:periodic", room, 256);
    respects_capacities(h, room, m->hosts);
    never_worse(h);
    SCOPED(model) *sorted = known_tree(2, 4, 4, false, false, 3);
    SCOPED(hint) *rows = hint_of(sorted, "stencil:16x16:periodic", room, 256);
    assert_below(h->cost, 0.85 * rows->cost_default);
    assert_close(h->cost, rows->cost, 0.05 * h->cost);
    free(room);
}

TEST(unequal_rooms_and_odd_numbers_of_tasks_fit)
{
    struct nt_rng rng;
    nt_rng_init(&rng, 11);
    for (uint64_t seed = 0; seed < 30; seed++) {
        SCOPED(model) *m = known_tree(2, 3, 3, true, seed % 2 == 0, seed);
        uint32_t *room = capacities(m->hosts, 0);
        size_t all = 0;
        for (size_t k = 0; k < m->hosts; k++)
            all += room[k] = (uint32_t)nt_rng_below(&rng, 5);
        if (seed % 3 == 0)
            m->missing[4] = true, all -= room[4], room[4] = 0;
        size_t tasks = all > 3 ? all - nt_rng_below(&rng, 3) : all;
        static const char *const patterns[] = {"ring", "tree", "alltoall", "neighbour"};
        for (size_t k = 0; k < 4 && tasks > 0; k++) {
            SCOPED(hint) *h = hint_of(m, patterns[k], room, tasks);
            respects_capacities(h, room, m->hosts);
            never_worse(h);
            assert_int_equal(h->hosts, m->hosts);
        }
        free(room);
    }
}

TEST(relabelled_hosts_cost_the_same)
{
    double first = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        SCOPED(model) *m = known_tree(2, 4, 4, true, false, seed);
        uint32_t *room = capacities(m->hosts, 4);
        SCOPED(hint) *h = hint_of(m, "stencil:16x8", room, 128);
        if (seed == 0)
            first = h->cost;
        assert_close(h->cost, first, 1e-6 * first);
        free(room);
    }
}

/* The order in which links come, and which end is named first, mean nothing. */
TEST(the_order_of_the_links_changes_nothing)
{
    static const char *const patterns[] = {"ring", "stencil:8x9", "tree", "alltoall"};
    struct nt_rng rng;
    nt_rng_init(&rng, 21);
    for (size_t p = 0; p < 4; p++) {
        SCOPED(model) *m = known_tree(2, 4, 4, true, true, 5);
        uint32_t *room = capacities(m->hosts, 1);
        for (size_t k = 0; k < m->hosts; k++)
            room[k] = 1 + (uint32_t)(k % 4);
        SCOPED(hint) *before = hint_of(m, patterns[p], room, 72);
        for (size_t k = m->links; k > 1; k--) {
            size_t other = nt_rng_below(&rng, k);
            struct nt_link l = m->link[k - 1];
            m->link[k - 1] = m->link[other];
            m->link[other] = l;
            uint32_t a = m->link[k - 1].a;
            m->link[k - 1].a = m->link[k - 1].b;
            m->link[k - 1].b = a;
        }
        SCOPED(hint) *after = hint_of(m, patterns[p], room, 72);
        assert_memory_equal(before->rank_host, after->rank_host, 72 * sizeof(uint32_t));
        assert_close(after->gain, before->gain, 1e-9);
        free(room);
    }
}

/* Other names for the same hosts, each with the room that it had: the same cost. */
TEST(relabelled_hosts_of_unequal_rooms_cost_the_same)
{
    static const char *const patterns[] = {"ring", "neighbour", "tree", "stencil:12x6"};
    for (size_t p = 0; p < 4; p++) {
        double first = 0;
        for (uint64_t seed = 0; seed < 6; seed++) {
            SCOPED(model) *m = known_tree(2, 4, 4, true, false, seed);
            uint32_t *room = capacities(m->hosts, 1);
            for (size_t k = 0; k < m->hosts; k++) /* link k is of the k-th host of the tree */
                room[m->link[k].a] = 1 + (uint32_t)(k % 4);
            SCOPED(hint) *h = hint_of(m, patterns[p], room, 72);
            respects_capacities(h, room, m->hosts);
            never_worse(h);
            if (seed == 0)
                first = h->metrics.latency_us;
            assert_close(h->metrics.latency_us, first, 1e-6 * first);
            free(room);
        }
    }
}

TEST(a_matrix_of_hidden_clusters_is_found)
{
    enum { TASKS = 64, CLUSTER = 8 };
    SCOPED(model) *m = known_tree(2, 4, 4, true, true, 5);
    uint32_t *room = capacities(m->hosts, 2), hidden[TASKS];
    struct nt_rng rng;
    nt_rng_init(&rng, 5);
    for (uint32_t k = 0; k < TASKS; k++)
        hidden[k] = k;
    nt_rng_shuffle(&rng, hidden, TASKS);
    static uint32_t pair[TASKS * TASKS][2];
    static float bytes[TASKS * TASKS];
    size_t n = 0;
    for (uint32_t a = 0; a < TASKS; a++)
        for (uint32_t b = 0; b < a; b++)
            if (a / CLUSTER == b / CLUSTER) {
                pair[n][0] = hidden[a];
                pair[n][1] = hidden[b];
                bytes[n++] = 1e6f;
            }
    struct nt_traffic *t;
    struct nt_map map = map_of(m);
    SCOPED(hint) *h;
    must(nt_traffic_from_triples(TASKS, (const uint32_t(*)[2])pair, bytes, n, &t, &err));
    const struct nt_hint_request asked = {
        .pattern = "matrix:m", .traffic = t, .capacity = room, .any_first = true};
    must(nt_hint_create(&map, &asked, &h, &err));
    respects_capacities(h, room, m->hosts);
    never_worse(h);
    assert_below(h->metrics.latency_us, 2.0 + 1e-6); /* no cluster leaves its switch */
    assert_above(h->gain, 2);
    nt_traffic_destroy(t);
    free(room);
}

TEST(what_does_not_fit_is_said)
{
    static const struct {
        const char *pattern;
        size_t ntasks;
        const char *says;
    } table[] = {{"stencil:3x3", 8, "pattern \"stencil:3x3\" needs 9 tasks, but the job has 8"},
                 {"megatron:tp=2,pp=2,dp=2", 4,
                  "pattern \"megatron:tp=2,pp=2,dp=2\" needs 8 tasks, but the job has 4"},
                 {"stencil:3y3", 9, "pattern \"stencil:3y3\": expected neighbour"},
                 {"stencil:0x3", 9, "pattern \"stencil:0x3\": expected neighbour"},
                 {"stencil:99999999999999999999x3", 9,
                  "pattern \"stencil:99999999999999999999x3\": expected neighbour"},
                 {"torus", 9, "pattern \"torus\": expected neighbour"},
                 {"ring", 17, "do not fit"},
                 {"ring", 0, "expected 1 to"}};
    SCOPED(model) *m = known_tree(1, 2, 4, true, false, 5);
    uint32_t *room = capacities(m->hosts, 2);
    struct nt_map map = map_of(m);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_hint *h = NULL;
        const struct nt_hint_request asked = {.pattern = table[k].pattern,
                                              .tasks = table[k].ntasks,
                                              .capacity = room,
                                              .any_first = true};
        assert_int_equal(nt_hint_create(&map, &asked, &h, &err), -1);
        bool wrong_pattern = strstr(table[k].says, "pattern") != NULL;
        assert_int_equal(err.kind, wrong_pattern ? NT_ERR_USAGE : NT_ERR_INPUT);
        assert_null(h);
        assert_non_null(strstr(err.text, table[k].says));
    }
    free(room);
}

/* A torus without switches, of side x side hosts in a scrambled order. */
static struct nt_model *dealt_torus(uint32_t side)
{
    struct nt_model *m;
    struct nt_rng rng;
    uint32_t hosts = side * side, deal[64];
    nt_rng_init(&rng, 3);
    for (uint32_t k = 0; k < hosts; k++)
        deal[k] = k;
    nt_rng_shuffle(&rng, deal, hosts);
    must(nt_model_create(hosts, 0, 2 * (size_t)hosts, &m, &err));
    for (uint32_t k = 0; k < hosts; k++) {
        uint32_t x = k % side, y = k / side;
        struct nt_link *l = &m->link[2 * (size_t)k];
        l[0].a = l[1].a = deal[k];
        l[0].b = deal[y * side + (x + 1) % side];
        l[1].b = deal[(y + 1) % side * side + x];
        l[0].latency_us = l[1].latency_us = 1;
    }
    return m;
}

TEST(a_stencil_on_a_torus_gets_nearer)
{
    SCOPED(model) *m = dealt_torus(4);
    uint32_t *room = capacities(16, 1);
    SCOPED(hint) *h = hint_of(m, "stencil:4x4:periodic", room, 16);
    respects_capacities(h, room, 16);
    never_worse(h);
    assert_above(h->gain, 1.2);
    free(room);
}

/* A torus that is shifted onto itself puts rank 0 on any host without a loss. */
TEST(rank_0_on_the_first_host_costs_nothing_on_a_torus)
{
    SCOPED(model) *m = dealt_torus(8);
    uint32_t *room = capacities(64, 1);
    struct nt_map map = map_of(m);
    SCOPED(hint) *h;
    must(nt_hint_create(
        &map,
        &(struct nt_hint_request){.pattern = "stencil:8x8:periodic", .tasks = 64, .capacity = room},
        &h, &err));
    respects_capacities(h, room, 64);
    assert_int_equal(h->rank_host[0], 0);
    assert_close(h->first_percent, 0, 0);
    assert_above(h->gain, 2);
    free(room);
}

/* Neighbours of a ring of 64 hosts, dealt at random: a chain of ranks can follow the links. Some
 * hosts may be left out, some take more tasks than others. */
TEST(tasks_follow_the_links_of_a_direct_network)
{
    enum { HOSTS = 64 };
    SCOPED(model) *m;
    uint32_t deal[HOSTS];
    struct nt_rng rng;
    nt_rng_init(&rng, 11);
    for (uint32_t k = 0; k < HOSTS; k++)
        deal[k] = k;
    nt_rng_shuffle(&rng, deal, HOSTS);
    must(nt_model_create(HOSTS, 0, HOSTS, &m, &err));
    for (uint32_t k = 0; k < HOSTS; k++)
        m->link[k] = (struct nt_link){.a = deal[k],
                                      .b = deal[(k + 1) % HOSTS],
                                      .latency_us = 1,
                                      .bandwidth_MBps = NAN,
                                      .bandwidth_back_MBps = NAN,
                                      .probability = 1};
    for (size_t way = 0; way < 3; way++) {
        uint32_t *room = capacities(HOSTS, 1);
        size_t tasks = way == 0 ? HOSTS : 48;
        for (size_t h = 0; way == 2 && h < HOSTS; h++)
            room[deal[h]] = h < 16 ? 0 : h < 40 ? 1 : 2;
        SCOPED(hint) *h = hint_of(m, "ring", room, tasks);
        respects_capacities(h, room, HOSTS);
        never_worse(h);
        assert_above(h->gain, (way == 0 ? 5 : 2));
        free(room);
    }
}

static struct nt_hint *hint_of_messages(struct nt_model *m, const char *pattern, double bytes)
{
    struct nt_map map = map_of(m);
    struct nt_hint *hint = NULL;
    uint32_t *room = capacities(m->hosts, 1);
    const struct nt_hint_request asked = {.pattern = pattern,
                                          .tasks = m->hosts,
                                          .message_bytes = bytes,
                                          .capacity = room,
                                          .any_first = true};
    must(nt_hint_create(&map, &asked, &hint, &err));
    free(room);
    return hint;
}

/* Of 16 times the bytes a link needs 16 times the time for, and a message the same latency. */
TEST(the_time_is_of_the_messages_asked_for)
{
    static const char *const patterns[] = {"ring", "tree", "alltoall"};
    SCOPED(model) *m = known_tree(2, 2, 4, false, false, 5);
    for (size_t k = 0; k < m->links; k++)
        m->link[k].bandwidth_MBps = m->link[k].bandwidth_back_MBps = 10;
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        SCOPED(hint) *little = hint_of_messages(m, patterns[k], 4096);
        SCOPED(hint) *much = hint_of_messages(m, patterns[k], 65536);
        assert_close(little->message_bytes, 4096, 1e-6);
        assert_close(much->message_bytes, 65536, 1e-6);
        const struct nt_metrics *a = &little->metrics_default, *b = &much->metrics_default;
        assert_close(16 * a->max_link_load, b->max_link_load, 1e-6 * b->max_link_load);
        assert_close(a->latency_us, b->latency_us, 1e-9 * b->latency_us);
        assert_close(little->cost_default, a->latency_us + a->max_link_load, 1e-9);
    }
}

/* Recursive doubling of four hosts behind two switches: the step within both takes what a host's
 * link needs for a message, that between them what the uplink needs for two. */
TEST(steps_follow_each_other)
{
    const double bytes = 4096, host_MBps = 10, uplink_MBps = 4;
    SCOPED(model) *m = known_tree(1, 2, 2, false, true, 5);
    for (size_t k = 0; k < m->links; k++)
        m->link[k].bandwidth_MBps = m->link[k].bandwidth_back_MBps =
            m->link[k].a < m->hosts ? host_MBps : uplink_MBps;
    SCOPED(hint) *hint = hint_of_messages(m, "tree", bytes);
    assert_close(hint->metrics_default.max_link_load, bytes / host_MBps + 2 * bytes / uplink_MBps,
                 1e-6 * bytes);
}

/* Two hosts with slower links at both ends of a chain, and all others behind another switch: with
 * these two side by side the mean latency is 2 % higher, but the uplink carries half. */
TEST(a_little_latency_does_not_outweigh_half_of_the_time)
{
    enum { HOSTS = 6, NEAR = HOSTS, FAR };
    SCOPED(model) *m;
    must(nt_model_create(HOSTS, 2, HOSTS + 1, &m, &err));
    for (uint32_t k = 0; k <= HOSTS; k++) {
        bool end = k == 0 || k == HOSTS - 1, up = k == HOSTS;
        double rate = up ? 100 : 10000;
        m->link[k] = (struct nt_link){.a = up ? NEAR : k,
                                      .b = up || end ? FAR : NEAR,
                                      .latency_us = up    ? 0.1
                                                    : end ? 12
                                                          : 10,
                                      .bandwidth_MBps = rate,
                                      .bandwidth_back_MBps = rate,
                                      .probability = 1};
    }
    m->family = NT_FAMILY_TREE;
    SCOPED(hint) *hint = hint_of_messages(m, "neighbour", 65536);
    never_worse(hint);
    assert_above(hint->metrics.latency_us, hint->metrics_default.latency_us * 1.005);
    assert_close(hint->metrics_default.max_link_load / hint->metrics.max_link_load, 2, 1e-6);
    assert_above(hint->gain, 1.9);
}

/* Hosts in turn behind two switches. A complete sweep finds the rate of the uplink; a short one a
 * lower bound, or none: then the gain must not be higher. */
TEST(an_uplink_that_is_not_measured_raises_no_gain)
{
    enum { HOSTS = 8, SWITCHES = 2 };
    const double whole = 50, missing = (double)NAN, bound = 13.9;
    const struct {
        double forth, back;
        bool forth_bound, both_bounds;
    } table[] = {{whole, whole, false, false},
                 {bound, missing, true, false},
                 {bound, bound, false, true},
                 {missing, missing, false, false}};
    double gain[4];
    for (size_t row = 0; row < 4; row++) {
        SCOPED(model) *m;
        must(nt_model_create(HOSTS, SWITCHES, HOSTS + 1, &m, &err));
        for (uint32_t k = 0; k <= HOSTS; k++) {
            bool up = k == HOSTS;
            m->link[k] = (struct nt_link){.a = k,
                                          .b = up ? HOSTS + 1 : HOSTS + k % 2,
                                          .latency_us = 100,
                                          .bandwidth_MBps = up ? table[row].forth : 25,
                                          .bandwidth_back_MBps = up ? table[row].back : 25,
                                          .forth_at_least = up && table[row].forth_bound,
                                          .at_least = up && table[row].both_bounds,
                                          .probability = 1};
        }
        m->family = NT_FAMILY_TREE;
        SCOPED(hint) *hint = hint_of_messages(m, "ring", 65536);
        gain[row] = hint->gain;
        assert_close(hint->gain, hint->cost_default / hint->cost, 1e-9);
        assert_above(hint->gain, 1);
        assert_at_most(hint->gain, gain[0]);
    }
    assert_above(gain[0], 1.3);
}

RUN_TESTS
