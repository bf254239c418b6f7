/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts anywhere in a dragonfly, few of each group: those of two groups with a link between their
 * routers are nearer than others, which makes groups of a tree that are no places. A map is right
 * if it has the routers and no group is sure, or if all that are sure are groups of the dragonfly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "infer.h"
#include "measure.h"
#include "network.h"
#include "rng.h"

enum { SEEDS = 12 };

enum { HOSTS_MAX = 512, VERTICES_MAX = 2 * HOSTS_MAX, PER_ROUTER = 4, PER_GROUP = 32 };

/* The map of some hosts of a network, the first ones or any, with 5 % of noise.
 * host[HOSTS_MAX]: which they are. */
static struct nt_model *infer_some(const char *topology, size_t hosts, bool any, uint64_t seed,
                                   uint32_t *host)
{
    struct nt_spec spec;
    struct nt_network *net;
    struct nt_matrix *all, *some;
    struct nt_model *model;
    struct nt_rng rng;
    struct nt_err err;
    struct nt_measure_noise noise = {.sd = 0.05, .seed = seed};
    assert_int_equal(nt_spec_parse(topology, &spec, &err), 0);
    assert_int_equal(nt_network_build(&spec, NULL, &net, &err), 0);
    assert_true(net->hosts <= HOSTS_MAX);
    assert_int_equal(nt_measure_latencies(net, &noise, &all, &err), 0);
    nt_rng_init(&rng, seed);
    for (uint32_t k = 0; k < net->hosts; k++)
        host[k] = k;
    if (any)
        nt_rng_shuffle(&rng, host, net->hosts);
    assert_int_equal(nt_matrix_create(hosts, NT_MATRIX_LATENCY_US, &some, &err), 0);
    for (size_t a = 0; a < hosts; a++)
        for (size_t b = 0; b < hosts; b++)
            nt_matrix_set(some, a, b, nt_matrix_get(all, host[a], host[b]));
    assert_int_equal(nt_infer_latency(some, NULL, 1, &model, &err), 0);
    nt_matrix_destroy(all);
    nt_matrix_destroy(some);
    nt_network_destroy(net);
    return model;
}

static bool is_sure(const struct nt_model *m, const struct nt_link *l)
{
    return l->a >= m->hosts && l->b >= m->hosts && l->probability >= 0.9;
}

static size_t sure_groups(const struct nt_model *m)
{
    size_t sure = 0;
    for (size_t k = 0; k < m->links; k++)
        sure += is_sure(m, &m->link[k]);
    return sure;
}

/* Marks the vertices on one side of a link. */
static void mark_side(const struct nt_model *m, size_t link, bool *in)
{
    memset(in, 0, VERTICES_MAX * sizeof *in);
    in[m->link[link].a] = true;
    for (bool more = true; more;) {
        more = false;
        for (size_t k = 0; k < m->links; k++) {
            const struct nt_link *l = &m->link[k];
            if (k != link && in[l->a] != in[l->b])
                in[l->a] = in[l->b] = more = true;
        }
    }
}

/* Whether each group that is sure has all hosts of one group of the dragonfly, and no others. */
static bool sure_are_places(const struct nt_model *m, const uint32_t *host)
{
    bool places = true, in[VERTICES_MAX];
    for (size_t k = 0; k < m->links; k++) {
        size_t first[2] = {m->hosts, m->hosts}; /* of the hosts outside and inside */
        if (!is_sure(m, &m->link[k]))
            continue;
        mark_side(m, k, in);
        for (size_t h = m->hosts; h-- > 0;)
            first[in[h]] = h;
        bool one[2] = {true, true}, mixed = false;
        for (size_t h = 0; h < m->hosts; h++) {
            one[in[h]] &= host[h] / PER_GROUP == host[first[in[h]]] / PER_GROUP;
            for (size_t other = 0; other < h; other++)
                mixed |= in[h] != in[other] && host[h] / PER_GROUP == host[other] / PER_GROUP;
        }
        places &= (one[0] || one[1]) && !mixed;
    }
    return places;
}

/* Whether hosts share a switch if and only if they share a router. */
static bool has_routers(const struct nt_model *m, const uint32_t *host)
{
    uint32_t on[HOSTS_MAX] = {0};
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a < m->hosts)
            on[m->link[k].a] = m->link[k].b;
    for (size_t a = 0; a < m->hosts; a++)
        for (size_t b = 0; b < a; b++)
            if ((on[a] == on[b]) != (host[a] / PER_ROUTER == host[b] / PER_ROUTER))
                return false;
    return true;
}

static void test_only_places_are_sure_beside_shortcuts(void **state)
{
    size_t found = 0;
    uint32_t host[HOSTS_MAX];
    (void)state;
    for (uint64_t seed = 1; seed <= 2 * SEEDS; seed++) {
        struct nt_model *m =
            infer_some("dragonfly:9x8x4", seed % 2 == 0 ? 24 : 32, true, seed, host);
        found += (has_routers(m, host) || sure_groups(m) > 0) && sure_are_places(m, host);
        assert_true(m->confidence < 0.9);
        nt_model_destroy(m);
    }
    assert_true(found >= 2 * SEEDS - 2);
}

/* Whole routers: they are told by what their hosts have among them. */
static void test_routers_stay_sure(void **state)
{
    uint32_t host[HOSTS_MAX];
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct nt_model *m = infer_some("dragonfly:9x8x4", 144, false, seed, host);
        assert_true(has_routers(m, host));
        assert_int_equal(m->switches, 144 / PER_ROUTER);
        assert_true(m->family != NT_FAMILY_TREE && m->confidence >= 0.9);
        nt_model_destroy(m);
    }
}

static void test_trees_have_none(void **state)
{
    static const char *const trees[] = {"tree:6x6", "tree:3x4x4", "star:24"};
    size_t sure = 0;
    uint32_t host[HOSTS_MAX];
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (size_t k = 0; k < sizeof trees / sizeof *trees; k++) {
            struct nt_model *m = infer_some(trees[k], 24, true, seed, host);
            assert_true(m->family == (k == 2 ? NT_FAMILY_STAR : NT_FAMILY_TREE));
            assert_false(m->shortcuts);
            sure += sure_groups(m);
            nt_model_destroy(m);
        }
    assert_true(sure >= SEEDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_places_are_sure_beside_shortcuts),
        cmocka_unit_test(test_routers_stay_sure),
        cmocka_unit_test(test_trees_have_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
