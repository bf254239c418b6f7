/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "graph.h"
#include "rng.h"

/* Three hosts behind a switch, one behind another; the two switches are joined twice when cycle. */
static struct nt_model *two_leaves(bool cycle)
{
    static const uint32_t ends[][2] = {{0, 4}, {1, 4}, {2, 4}, {3, 5}, {4, 5}, {5, 4}};
    struct nt_model *m;
    assert_int_equal(nt_model_create(4, 2, cycle ? 6 : 5, &m, NULL), 0);
    for (size_t k = 0; k < m->links; k++) {
        m->link[k].a = ends[k][0];
        m->link[k].b = ends[k][1];
        m->link[k].latency_us = 1 + (double)k;
    }
    return m;
}

TEST(links_stand_at_both_ends_in_order)
{
    SCOPED(model) *m = two_leaves(true);
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_graph g;
    assert_int_equal(nt_graph_init(&g, m, &memory, NULL), 0);
    static const uint32_t link[] = {0, 1, 2, 4, 5}, to[] = {0, 1, 2, 5, 5};
    assert_int_equal(nt_graph_degree(&g, 4), 5);
    assert_memory_equal(g.link + g.start[4], link, sizeof link);
    assert_memory_equal(g.to + g.start[4], to, sizeof to);
    for (uint32_t h = 0; h < 4; h++) {
        assert_int_equal(nt_graph_degree(&g, h), 1);
        assert_int_equal(g.to[g.start[h]], nt_link_other_end(&m->link[h], h));
    }
    nt_graph_index(&g, m->link, 3);
    assert_int_equal(nt_graph_degree(&g, 4), 3);
    assert_int_equal(nt_graph_degree(&g, 5), 0);
}

TEST(a_search_finds_trees_and_paths)
{
    for (int cycle = 0; cycle < 2; cycle++) {
        SCOPED(model) *m = two_leaves(cycle == 1);
        NT_SCOPED struct nt_arena memory = {0};
        struct nt_graph g;
        struct nt_bfs b;
        uint32_t path[6];
        assert_int_equal(nt_graph_init(&g, m, &memory, NULL), 0);
        assert_int_equal(nt_bfs_init(&b, g.vertices, &memory, NULL), 0);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(nt_bfs_from(&b, &g, 4), cycle == 0);
            assert_int_equal(b.reached, 6);
            assert_int_equal(b.depth[3], 2);
            assert_int_equal(b.parent[3], 5);
            assert_int_equal(b.up[5], 4); /* of two links the first */
            assert_int_equal(b.up[4], NT_NO_LINK);
            assert_int_equal(nt_bfs_path(&b, 0, 3, path), 3);
            assert_int_equal(path[0] + path[1] + path[2], 0 + 4 + 3);
            assert_int_equal(nt_bfs_path(&b, 2, 2, path), 0);
            nt_bfs_clear(&b);
            assert_int_equal(b.depth[3], UINT32_MAX);
        }
    }
}

TEST(what_is_apart_has_no_path)
{
    SCOPED(model) *m = two_leaves(false);
    m->links = 4; /* without the link between the switches */
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_graph g;
    struct nt_bfs b;
    uint32_t path[6];
    assert_int_equal(nt_graph_init(&g, m, &memory, NULL), 0);
    assert_int_equal(nt_bfs_init(&b, g.vertices, &memory, NULL), 0);
    assert_true(nt_bfs_from(&b, &g, 4));
    assert_int_equal(b.reached, 4);
    assert_true(nt_bfs_from(&b, &g, 3));
    assert_int_equal(b.reached, 6);
    assert_int_equal(nt_bfs_path(&b, 0, 3, path), 0);
}

/* Against all paths tried by relaxing every link again and again. */
TEST(shortest_paths_are_the_shortest)
{
    enum { N = 24, LINKS = 50 };
    struct nt_rng rng;
    nt_rng_init(&rng, 7);
    for (int turn = 0; turn < 50; turn++) {
        SCOPED(model) *m;
        double weight[LINKS], far[N];
        assert_int_equal(nt_model_create(N, 0, LINKS, &m, NULL), 0);
        for (size_t k = 0; k < LINKS; k++) {
            m->link[k].a = (uint32_t)(nt_rng_next(&rng) % (N - 1)); /* the last one is apart */
            m->link[k].b = (uint32_t)(nt_rng_next(&rng) % (N - 1));
            weight[k] = (double)(nt_rng_next(&rng) % 8); /* ties, and nothing at all */
        }
        NT_SCOPED struct nt_arena memory = {0};
        struct nt_graph g;
        struct nt_shortest s;
        assert_int_equal(nt_graph_init(&g, m, &memory, NULL), 0);
        assert_int_equal(nt_shortest_init(&s, N, &memory, NULL), 0);
        nt_shortest_from(&s, &g, weight, 0);
        for (size_t v = 0; v < N; v++)
            far[v] = v == 0 ? 0 : INFINITY;
        for (size_t round = 0; round < N; round++)
            for (size_t k = 0; k < LINKS; k++) {
                uint32_t a = m->link[k].a, b = m->link[k].b;
                far[a] = fmin(far[a], far[b] + weight[k]);
                far[b] = fmin(far[b], far[a] + weight[k]);
            }
        for (size_t v = 0; v < N; v++)
            assert_true(s.distance[v] == far[v]);
        assert_true(isinf(s.distance[N - 1]));
    }
}

TEST(sets_join_once)
{
    uint32_t up[5];
    nt_sets_init(up, 5);
    assert_true(nt_sets_join(up, 0, 1));
    assert_true(nt_sets_join(up, 3, 4));
    assert_true(nt_sets_join(up, 1, 4));
    assert_false(nt_sets_join(up, 0, 3));
    assert_int_equal(nt_sets_find(up, 0), 4);
    assert_int_equal(nt_sets_find(up, 2), 2);
    for (int cycle = 0; cycle < 2; cycle++) {
        SCOPED(model) *m = two_leaves(cycle == 1);
        uint32_t scratch[6];
        assert_int_equal(nt_links_are_forest(m->link, m->links, scratch, 6), cycle == 0);
    }
}

RUN_TESTS
