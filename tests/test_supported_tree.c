/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "cost.h"
#include "distance.h"
#include "equal_parts.h"
#include "hint.h"
#include "known_tree.h"
#include "matrix.h"

enum { PODS = 2, LEAVES = 4, HOSTS = 4, ALL = PODS * LEAVES * HOSTS };

/* Of the links between switches; each host's own is sure. */
static void set_all(struct nt_model *m, double probability)
{
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a >= m->hosts)
            m->link[k].probability = probability;
}

static struct nt_link *uplink(struct nt_model *m, uint32_t vertex)
{
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a == vertex)
            return &m->link[k];
    fail_msg("no link of %u", vertex);
    return NULL;
}

static uint32_t leaf(const struct nt_model *m, uint32_t number)
{
    return (uint32_t)m->hosts + 1 + PODS + number;
}

static struct nt_model *sure_of(const struct nt_model *m)
{
    struct nt_model *sure;
    must(nt_supported_tree_create(m, &sure, &err));
    return sure;
}

static struct nt_hint *hint_of(struct nt_model *m, const char *pattern, uint32_t each)
{
    struct nt_map map = {.model = m};
    uint32_t room[ALL];
    struct nt_hint *h;
    for (size_t k = 0; k < ALL; k++)
        room[k] = each;
    const struct nt_hint_request asked = {
        .pattern = pattern, .tasks = each * ALL, .capacity = room, .any_first = true};
    must(nt_hint_create(&map, &asked, &h, &err));
    return h;
}

static float far(const struct nt_model *m, size_t a, size_t b)
{
    struct nt_matrix *all;
    must(nt_model_latencies(m, &all, &err));
    float us = nt_matrix_get(all, a, b);
    nt_matrix_destroy(all);
    return us;
}

/* Host links 1 us, of leaves 2, of pods 3; a leaf and the pod above it go. */
TEST(a_switch_that_is_not_sure_leaves_its_hosts_where_they_were)
{
    SCOPED(model) *m = known_tree(PODS, LEAVES, HOSTS, false, true, 1);
    assert_null(sure_of(m));
    uplink(m, leaf(m, 0))->probability = 0.89;
    struct nt_link *pod = uplink(m, (uint32_t)m->hosts + 1);
    *pod = (struct nt_link){.a = pod->b,
                            .b = pod->a,
                            .latency_us = 3,
                            .bandwidth_MBps = 300,
                            .bandwidth_back_MBps = 200,
                            .probability = 0.6};
    uplink(m, leaf(m, 7))->probability = 0.9;
    SCOPED(model) *sure = sure_of(m);
    assert_int_equal(sure->links, m->links - 2);
    assert_close((double)far(sure, 0, 1), 12, 1e-5);  /* one leaf before: 2 */
    assert_close((double)far(sure, 0, 4), 12, 1e-5);  /* one pod before: 6 */
    assert_close((double)far(sure, 4, 5), 2, 1e-5);   /* a sure leaf */
    assert_close((double)far(sure, 0, 16), 12, 1e-5); /* as before */
    assert_close((double)far(sure, 28, 31), 2, 1e-5);
    const struct nt_link *host = uplink(sure, 0);
    assert_int_equal(host->b, m->hosts);
    assert_close(host->bandwidth_MBps, 200, 1e-9); /* upwards: the pod's b to a */
    assert_close(host->bandwidth_back_MBps, 300, 1e-9);
}

TEST(without_a_sure_group_the_order_is_the_schedulers)
{
    static const char *const patterns[] = {"ring", "neighbour", "stencil:4x8", "tree"};
    SCOPED(model) *m = known_tree(PODS, LEAVES, HOSTS, true, true, 7);
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        set_all(m, 0.9);
        SCOPED(hint) *sure = hint_of(m, patterns[k], 1);
        set_all(m, 0.89);
        SCOPED(hint) *none = hint_of(m, patterns[k], 1);
        assert_above(sure->gain, 1.1);
        assert_at_least(none->gain, 1);
        assert_at_most(none->gain, 1);
        for (uint32_t r = 0; r < ALL; r++)
            assert_int_equal(none->rank_host[r], r);
    }
    m->confidence = (double)NAN; /* shares of message sizes are no support */
    SCOPED(hint) *shares = hint_of(m, "ring", 1);
    assert_above(shares->gain, 1.1);
}

/* Which tasks share a host rests on no switch: 32 hosts of 8 tasks, a grid of 16 x 16. */
TEST(without_a_sure_group_tasks_still_share_hosts)
{
    SCOPED(model) *m = known_tree(PODS, LEAVES, HOSTS, true, true, 7);
    SCOPED(hint) *sure = hint_of(m, "stencil:16x16:periodic", 8);
    set_all(m, 0.89);
    SCOPED(hint) *none = hint_of(m, "stencil:16x16:periodic", 8);
    assert_above(none->gain, 1.4);
    assert_below(none->gain, 0.6 * sure->gain);
}

/* Leaves of which the map is not sure add nothing to the gain. */
TEST(an_unsure_group_is_no_gain)
{
    SCOPED(model) *m = known_tree(PODS, LEAVES, HOSTS, true, false, 3);
    SCOPED(hint) *all = hint_of(m, "ring", 1);
    for (uint32_t k = 0; k < PODS * LEAVES - 1; k++)
        uplink(m, leaf(m, k))->probability = 0.7;
    SCOPED(hint) *some = hint_of(m, "ring", 1);
    assert_above(some->gain, 1.05);
    assert_below(some->gain, all->gain - 0.1);
}

static struct nt_metrics cost_of(const struct nt_model *m, const char *pattern,
                                 const uint32_t *rank_host)
{
    struct nt_distance *d;
    struct nt_traffic *t;
    struct nt_metrics metrics;
    must(nt_distance_create(m, &d, &err));
    must(nt_traffic_create(pattern, ALL, &t, &err));
    must(nt_cost(d, t, rank_host, &metrics, &err));
    nt_distance_destroy(d);
    nt_traffic_destroy(t);
    return metrics;
}

/* Networks of links of any length: the order that is best without the groups that are not sure may
 * cost more where they are there after all, and then it is not taken. */
TEST(the_hint_is_no_worse_where_an_unsure_group_is_there)
{
    uint32_t order[ALL];
    for (uint32_t k = 0; k < ALL; k++)
        order[k] = k;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        SCOPED(model) *m = known_tree(PODS, LEAVES, HOSTS, true, false, seed);
        struct nt_rng rng;
        nt_rng_init(&rng, seed);
        for (size_t k = 0; k < m->links; k++) {
            m->link[k].latency_us = 0.1 + 3 * nt_rng_uniform(&rng);
            if (m->link[k].a >= m->hosts && nt_rng_below(&rng, 4) > 0)
                m->link[k].probability = 0.6;
        }
        SCOPED(hint) *h = hint_of(m, "neighbour", 1);
        double was = cost_of(m, "neighbour", order).latency_us;
        double is = cost_of(m, "neighbour", h->rank_host).latency_us;
        assert_at_most(is, was * 1.000001);
        assert_at_most(h->gain, was / is * 1.000001);
        assert_at_least(h->gain, 1);
    }
}

RUN_TESTS
