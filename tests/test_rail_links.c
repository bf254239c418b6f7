/* SPDX-License-Identifier: Apache-2.0 */
/* Which pairs are measured on each rail: every host of a switch with others, nobody twice. */
#include "asserts.h"
#include "known_tree.h"
#include "rail_links.h"

enum { HOSTS = 64 };

static const char *const rails[] = {"mlx5_0", "mlx5_1"};

struct tally {
    size_t rounds, pairs, partners[HOSTS], on[2], longs;
    bool met[HOSTS][HOSTS];
};

static void count_round(const struct nt_order *order, struct tally *t)
{
    bool busy[HOSTS] = {false};
    assert_int_equal(order->kind, NT_ORDER_PRTT);
    assert_string_equal(order->phase, NT_RAIL_LINKS_PHASE);
    assert_int_equal(order->count, 1);
    t->rounds++;
    t->longs += order->message_bytes > 8;
    t->on[strcmp(order->rail, rails[1]) == 0]++;
    for (size_t k = 0; k < order->pairs; k++) {
        uint32_t a = order->pair[k][0], b = order->pair[k][1];
        assert_false(busy[a] || busy[b] || a == b);
        busy[a] = busy[b] = true;
        t->partners[a] += !t->met[a][b];
        t->partners[b] += !t->met[a][b];
        t->met[a][b] = t->met[b][a] = true;
        t->pairs++;
    }
}

static struct tally drive(const struct nt_model *m, const bool *missing, uint32_t lost)
{
    struct nt_rail_links_settings settings = {
        .rails = 2, .rail = rails, .missing = missing, .rate_MBps = 12500};
    struct nt_planner *planner;
    struct nt_order order;
    struct tally t = {0};
    size_t rounds;
    int more;
    must(nt_rail_links_create(m, &settings, &planner, &rounds, &err));
    if (lost < m->hosts)
        planner->ops->lose(planner, lost);
    while ((more = planner->ops->next(planner, &order, &err)) > 0)
        count_round(&order, &t);
    assert_int_equal(more, 0);
    assert_int_equal(t.rounds, rounds);
    nt_planner_destroy(planner);
    return t;
}

TEST(hosts_of_a_switch_meet)
{
    for (uint32_t size = 3; size < 9; size++) {
        SCOPED(model) *m = known_tree(1, 3, size, false, false, 1);
        struct tally t = drive(m, NULL, UINT32_MAX);
        assert_int_equal(t.on[0], t.on[1]);
        assert_int_equal(t.longs, t.rounds / 2);
        for (uint32_t h = 0; h < m->hosts; h++) {
            assert_at_least(t.partners[h], 2);
            for (uint32_t other = 0; other < m->hosts; other++)
                assert_true(!t.met[h][other] || h / size == other / size);
        }
    }
}

TEST(two_hosts_are_left_out)
{
    SCOPED(model) *m = known_tree(1, 3, 2, false, false, 1);
    assert_int_equal(drive(m, NULL, UINT32_MAX).rounds, 0);
}

TEST(who_is_lost_or_missing_is_left_out)
{
    SCOPED(model) *m = known_tree(1, 2, 6, false, false, 1);
    bool missing[12] = {[3] = true};
    struct tally t = drive(m, missing, 7);
    assert_int_equal(t.partners[3] + t.partners[7], 0);
    assert_at_least(t.partners[2], 2);
    assert_at_least(t.partners[8], 2);
}

RUN_TESTS
