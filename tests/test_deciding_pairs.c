/* SPDX-License-Identifier: Apache-2.0 */
/* Which pairs are measured again, and in which rounds. */
#include "asserts.h"
#include "deciding_pairs.h"

enum { HOSTS_MAX = 64, ROUNDS_MAX = 64 };

/* Leaves of group[k] hosts each below a top that has the other hosts, all in the order of numbers;
 * the group k has the support. */
static struct nt_model *leaves(size_t hosts, const size_t *group, const double *support,
                               size_t groups)
{
    struct nt_model *m;
    uint32_t h = 0, top = (uint32_t)(hosts + groups);
    size_t links = 0;
    assert_int_equal(nt_model_create(hosts, groups + 1, hosts + groups, &m, NULL), 0);
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t leaf = (uint32_t)hosts + g;
        for (size_t k = 0; k < group[g]; k++) {
            m->link[links].a = h++;
            m->link[links++].b = leaf;
        }
        m->link[links].a = leaf;
        m->link[links].b = top;
        m->link[links++].probability = support[g];
        m->tier[g] = 1;
    }
    m->tier[groups] = groups > 0 ? 2 : 1;
    while (h < hosts) {
        m->link[links].a = h++;
        m->link[links++].b = top;
    }
    return m;
}

static void ask(struct nt_model *m, const uint32_t (*pair)[2], size_t count)
{
    free(m->deciding_pair);
    m->deciding_pair = calloc(count, sizeof *m->deciding_pair);
    assert_non_null(m->deciding_pair);
    memcpy(m->deciding_pair, pair, count * sizeof *pair);
    m->deciding = count;
}

static size_t times(const struct nt_deciding_pairs *d, uint32_t a, uint32_t b)
{
    size_t n = 0;
    for (size_t k = 0; k < d->start[d->rounds]; k++)
        n += d->pair[k][0] == a && d->pair[k][1] == b;
    return n;
}

static void check_rounds(const struct nt_deciding_pairs *d, const struct nt_model *m,
                         const bool *absent, size_t most)
{
    assert_at_most(d->rounds, most);
    assert_at_most(d->deciding, d->start[d->rounds]);
    for (size_t r = 0; r < d->rounds; r++) {
        bool busy[HOSTS_MAX] = {0};
        assert_below(d->start[r], d->start[r + 1]);
        for (size_t k = d->start[r]; k < d->start[r + 1]; k++) {
            uint32_t a = d->pair[k][0], b = d->pair[k][1];
            assert_below(a, b);
            assert_below(b, m->hosts);
            assert_false(busy[a] || busy[b] || m->missing[a] || m->missing[b]);
            assert_false(absent != NULL && (absent[a] || absent[b]));
            assert_int_equal(times(d, a, b), 1);
            busy[a] = busy[b] = true;
        }
    }
}

TEST(of_few_hosts_every_pair_decides)
{
    for (size_t hosts = 2; hosts <= NT_DECIDING_PAIRS_FEW; hosts++)
        for (size_t most = 1; most <= ROUNDS_MAX; most *= 8) {
            SCOPED(model) *m = leaves(hosts, NULL, NULL, 0);
            struct nt_deciding_pairs d;
            assert_int_equal(nt_deciding_pairs_find(m, NULL, most, 1, &d, NULL), 0);
            check_rounds(&d, m, NULL, most);
            size_t all = hosts % 2 == 0 ? hosts - 1 : hosts, rounds = all < most ? all : most;
            assert_int_equal(d.rounds, rounds);
            assert_int_equal(d.deciding, rounds * (hosts / 2));
            nt_deciding_pairs_fini(&d);
        }
}

/* First those that tell most; not those of hosts that take no part. */
TEST(pairs_that_the_model_asks_for_decide)
{
    static const uint32_t asked[][2] = {{7, 30}, {11, 12}, {11, 25}, {11, 12}, {12, 25}};
    SCOPED(model) *m = leaves(40, NULL, NULL, 0);
    struct nt_deciding_pairs d;
    bool absent[HOSTS_MAX] = {[12] = true};
    ask(m, asked, 5);
    assert_int_equal(nt_deciding_pairs_find(m, NULL, 2, 1, &d, NULL), 0);
    check_rounds(&d, m, NULL, 2);
    assert_int_equal(d.deciding, 3); /* 12-25 needs a third round */
    assert_int_equal(times(&d, 7, 30) + times(&d, 11, 12) + times(&d, 11, 25), 3);
    assert_above(d.start[d.rounds], d.deciding); /* controls */
    nt_deciding_pairs_fini(&d);
    assert_int_equal(nt_deciding_pairs_find(m, absent, ROUNDS_MAX, 1, &d, NULL), 0);
    check_rounds(&d, m, absent, ROUNDS_MAX);
    assert_int_equal(d.deciding, 2);
    assert_int_equal(times(&d, 7, 30) + times(&d, 11, 25), 2);
    nt_deciding_pairs_fini(&d);
}

TEST(pairs_that_do_not_fit_decide)
{
    SCOPED(model) *m = leaves(40, NULL, NULL, 0);
    struct nt_deciding_pairs d;
    free(m->pair_off);
    m->pair_off = calloc(1, sizeof *m->pair_off);
    m->pairs_off = 1;
    m->pair_off[0][0] = 20;
    m->pair_off[0][1] = 33;
    assert_int_equal(nt_deciding_pairs_find(m, NULL, ROUNDS_MAX, 1, &d, NULL), 0);
    assert_int_equal(times(&d, 20, 33), 1);
    nt_deciding_pairs_fini(&d);
}

TEST(without_switches_nothing_decides)
{
    for (size_t hosts = 0; hosts <= 40; hosts += 20) {
        SCOPED(model) *m;
        struct nt_deciding_pairs d;
        assert_int_equal(nt_model_create(hosts, 0, hosts, &m, NULL), 0);
        for (uint32_t h = 0; h < hosts; h++) {
            m->link[h].a = h;
            m->link[h].b = (h + 1) % (uint32_t)hosts;
        }
        assert_int_equal(nt_deciding_pairs_find(m, NULL, ROUNDS_MAX, 1, &d, NULL), 0);
        assert_int_equal(d.rounds, 0);
        assert_int_equal(d.deciding, 0);
        nt_deciding_pairs_fini(&d);
    }
}

RUN_TESTS
