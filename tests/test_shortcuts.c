/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts anywhere in a dragonfly, few of each group: those of two groups with a link between their
 * routers are nearer than others, which makes groups of a tree that are no places. A map is right
 * if it has the routers and no group is sure, or if all that are sure are groups of the dragonfly.
 */
#include "asserts.h"
#include "infer.h"
#include "measure.h"
#include "network.h"
#include "rng.h"
#include "rooted_tree.h"
#include "switch_support.h"

static size_t jobs(void)
{
    return draws(6, 12);
}

enum { HOSTS_MAX = 512, PER_ROUTER = 4, PER_GROUP = 32 };

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
    struct nt_measure_noise noise = {.sd = 0.05, .seed = seed};
    must(nt_spec_parse(topology, &spec, &err));
    must(nt_network_build(&spec, NULL, &net, &err));
    assert_at_most(net->hosts, HOSTS_MAX);
    must(nt_measure_latencies(net, &noise, &all, &err));
    nt_rng_init(&rng, seed);
    for (uint32_t k = 0; k < net->hosts; k++)
        host[k] = k;
    if (any)
        nt_rng_shuffle(&rng, host, net->hosts);
    must(nt_matrix_create(hosts, NT_MATRIX_LATENCY_US, &some, &err));
    for (size_t a = 0; a < hosts; a++)
        for (size_t b = 0; b < hosts; b++)
            nt_matrix_set(some, a, b, nt_matrix_get(all, host[a], host[b]));
    must(nt_infer_latency(some, NULL, 1, &model, &err));
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

/* Whether each group that is sure has all hosts of one group of the dragonfly, and no others. */
static bool sure_are_places(const struct nt_model *m, const uint32_t *host)
{
    struct nt_rooted_tree *h;
    bool places = true;
    must(nt_rooted_tree_create(m, &h, &err));
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        size_t first[2] = {m->hosts, m->hosts}; /* of the hosts outside and inside */
        bool in[HOSTS_MAX] = {false};
        if (!is_sure(m, l) || !h->tree)
            continue;
        uint32_t below = h->parent[l->a] == l->b ? l->a : l->b;
        for (uint32_t at = h->head[below]; at < h->tail[below]; at++)
            in[h->host[at]] = true;
        for (size_t a = m->hosts; a-- > 0;)
            first[in[a]] = a;
        bool one[2] = {true, true}, mixed = false;
        for (size_t a = 0; a < m->hosts; a++) {
            one[in[a]] &= host[a] / PER_GROUP == host[first[in[a]]] / PER_GROUP;
            for (size_t b = 0; b < a; b++)
                mixed |= in[a] != in[b] && host[a] / PER_GROUP == host[b] / PER_GROUP;
        }
        places &= (one[0] || one[1]) && !mixed;
    }
    nt_rooted_tree_destroy(h);
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

TEST(test_only_places_are_sure_beside_shortcuts)
{
    size_t found = 0;
    uint32_t host[HOSTS_MAX];
    for (uint64_t seed = 1; seed <= 24; seed++) {
        struct nt_model *m =
            infer_some("dragonfly:9x8x4", seed % 2 == 0 ? 24 : 32, true, seed, host);
        found += (has_routers(m, host) || sure_groups(m) > 0) && sure_are_places(m, host);
        assert_below(m->confidence, 0.9);
        nt_model_destroy(m);
    }
    assert_at_least(found, 22);
}

/* A graph that is nearly as likely as the tree takes from the support of its groups. */
TEST(test_no_group_is_rather_none)
{
    uint32_t host[HOSTS_MAX];
    size_t groups = 0;
    for (uint64_t seed = 1; seed <= 4 * jobs(); seed++) {
        SCOPED(model) *m = infer_some("dragonfly:9x8x4", 10, true, seed, host);
        for (size_t k = 0; k < m->links && m->family == NT_FAMILY_TREE; k++)
            if (m->link[k].a >= m->hosts && m->link[k].b >= m->hosts) {
                assert_at_least(m->link[k].probability, NT_SUPPORT_REPORTED);
                groups++;
            }
    }
    assert_above(groups, 0);
}

/* Whole routers: they are told by what their hosts have among them. */
TEST(test_routers_stay_sure)
{
    uint32_t host[HOSTS_MAX];
    for (uint64_t seed = 1; seed <= draws(1, 3); seed++) {
        SCOPED(model) *m = infer_some("dragonfly:9x8x4", 144, false, seed, host);
        assert_true(has_routers(m, host));
        assert_int_equal(m->switches, 144 / PER_ROUTER);
        assert_holds(m->family != NT_FAMILY_TREE && m->confidence >= 0.9, "%s, confidence %g",
                     nt_family_name(m->family), m->confidence);
    }
}

TEST(test_trees_have_none)
{
    static const char *const trees[] = {"tree:6x6", "tree:3x4x4", "star:24"};
    size_t sure = 0;
    uint32_t host[HOSTS_MAX];
    for (uint64_t seed = 1; seed <= jobs(); seed++)
        for (size_t k = 0; k < sizeof trees / sizeof *trees; k++) {
            SCOPED(model) *m = infer_some(trees[k], 24, true, seed, host);
            assert_true(m->family == (k == 2 ? NT_FAMILY_STAR : NT_FAMILY_TREE));
            assert_false(m->shortcuts);
            sure += sure_groups(m);
        }
    assert_at_least(sure, jobs());
}

RUN_TESTS
