/* SPDX-License-Identifier: Apache-2.0 */
/* Bufe (2014): the thesis's own examples and measurements, and properties of the method. */
#include "asserts.h"
#include "bufe.h"
#include "rng.h"
#include "seed_tables.h"

static struct nt_bufe_result *infer(const struct nt_matrix *m, double epsilon)
{
    struct nt_bufe_options o;
    struct nt_bufe_result *r = NULL;
    nt_bufe_default(&o);
    o.epsilon = epsilon;
    must(nt_bufe_infer(m, NULL, &o, &r, &err));
    return r;
}

static struct nt_bufe_result *infer_table(const char *name, double epsilon)
{
    struct nt_matrix *m = seed_table(name);
    struct nt_bufe_result *r = infer(m, epsilon);
    nt_matrix_destroy(m);
    return r;
}

static const struct nt_link *link_of(const struct nt_model *m, uint32_t a, uint32_t b)
{
    for (size_t k = 0; k < m->links; k++)
        if ((m->link[k].a == a && m->link[k].b == b) || (m->link[k].a == b && m->link[k].b == a))
            return &m->link[k];
    return NULL;
}

static double latency_of(const struct nt_model *m, uint32_t a, uint32_t b)
{
    const struct nt_link *link = link_of(m, a, b);
    return link == NULL ? INFINITY : link->latency_us;
}

/* The switch of host h, by its only link. */
static uint32_t switch_of(const struct nt_model *m, uint32_t h)
{
    uint32_t found = UINT32_MAX;
    for (size_t k = 0; k < m->links; k++) {
        if (m->link[k].a != h && m->link[k].b != h)
            continue;
        assert_int_equal(found, UINT32_MAX);
        found = m->link[k].a == h ? m->link[k].b : m->link[k].a;
    }
    assert_at_least(found, m->hosts);
    assert_below(found, m->hosts + m->switches);
    return found;
}

/* Table 2.1, figures 2.6 and 2.7: every edge but (B,D), which is as long as the path. */
TEST(table_2_1_basic_model)
{
    struct nt_bufe_result *r = infer_table("bufe-2.1", 0.1);
    static const uint32_t edges[][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {2, 3}};
    assert_int_equal(r->basic, 5);
    for (size_t k = 0; k < 5; k++) {
        assert_int_equal(r->basic_edge[k].a, edges[k][0]);
        assert_int_equal(r->basic_edge[k].b, edges[k][1]);
        assert_true(r->basic_edge[k].latency_us == 3);
    }
    nt_bufe_destroy(r);
}

/* Table 2.2, figures 2.8 to 2.11: all edges at first, then three switches of three hosts and one
 * over them, each link 1. */
TEST(table_2_2_tree)
{
    struct nt_bufe_result *r = infer_table("bufe-2.2", 0.1);
    const struct nt_model *m = r->model;
    assert_int_equal(r->basic, 36);
    assert_int_equal(m->switches, 4);
    assert_int_equal(m->links, 12);
    assert_int_equal(m->family, NT_FAMILY_TREE);
    for (size_t k = 0; k < m->links; k++)
        assert_close(m->link[k].latency_us, 1, 1e-6);
    for (uint32_t h = 0; h < 9; h++)
        assert_int_equal(switch_of(m, h) == switch_of(m, 0), h < 3);
    for (uint32_t h = 3; h < 9; h++)
        assert_int_equal(switch_of(m, h) == switch_of(m, 3), h < 6);
    assert_true(r->fitted);
    assert_above(m->r2, 0.999999);
    assert_below(m->rms_us, 1e-6);
    assert_int_equal(r->rank, 12);
    assert_int_equal(r->rows, 36);
    nt_bufe_destroy(r);
}

/* Table 2.3, figure 2.16: one switch; the edge between B and C is virtual and goes. */
TEST(table_2_3_hosts_of_three_kinds)
{
    struct nt_bufe_result *r = infer_table("bufe-2.3", 0.1);
    static const double expected[] = {1, 1, 2, 3};
    assert_int_equal(r->basic, 6);
    assert_int_equal(r->virtual_host, 1);
    assert_int_equal(r->model->switches, 1);
    assert_int_equal(r->model->links, 4);
    assert_int_equal(r->model->family, NT_FAMILY_STAR);
    for (uint32_t h = 0; h < 4; h++)
        assert_close(latency_of(r->model, h, 4), expected[h], 1e-6);
    nt_bufe_destroy(r);
}

/* Table 3.5, figure 3.1: "the nodes are all connected with a single switch". */
TEST(table_3_5_westmere_cluster)
{
    struct nt_bufe_result *r = infer_table("bufe-3.5", 0.05);
    assert_int_equal(r->model->family, NT_FAMILY_STAR);
    assert_int_equal(r->model->switches, 1);
    assert_int_equal(r->model->links, 10);
    for (size_t k = 0; k < 10; k++) {
        assert_above(r->model->link[k].latency_us, 26);
        assert_below(r->model->link[k].latency_us, 28);
    }
    nt_bufe_destroy(r);
}

/* Table 3.6, figure 3.1: two sockets of six cores. */
TEST(table_3_6_westmere_node)
{
    struct nt_bufe_result *r = infer_table("bufe-3.6", 0.15);
    const struct nt_model *m = r->model;
    assert_int_equal(m->switches, 2);
    assert_int_equal(m->links, 13);
    for (uint32_t h = 0; h < 12; h++)
        assert_int_equal(switch_of(m, h) == switch_of(m, 0), h < 6);
    assert_above(latency_of(m, 12, 13), 0.38);
    assert_below(latency_of(m, 12, 13), 0.47);
    assert_above(m->r2, 0.99);
    nt_bufe_destroy(r);
}

/* Tables 3.7 and 3.8, section 3.3.2: with a high epsilon, "a star with a single switch". */
TEST(table_3_8_magny_node_is_a_star)
{
    struct nt_bufe_result *r = infer_table("bufe-3.8", 0.2);
    assert_int_equal(r->model->family, NT_FAMILY_STAR);
    nt_bufe_destroy(r);
    r = infer_table("bufe-3.7", 0.2);
    assert_int_equal(r->model->family, NT_FAMILY_STAR);
    nt_bufe_destroy(r);
}

/* Distances over a tree or ring that is given by its links; hosts first. */
struct known {
    size_t hosts, vertices;
    double d[64][64];
};

static void known_init(struct known *k, size_t hosts, size_t vertices)
{
    *k = (struct known){.hosts = hosts, .vertices = vertices};
    for (size_t i = 0; i < vertices; i++)
        for (size_t j = 0; j < vertices; j++)
            k->d[i][j] = i == j ? 0 : INFINITY;
}

static void known_link(struct known *k, size_t a, size_t b, double latency)
{
    k->d[a][b] = k->d[b][a] = latency;
}

static struct nt_matrix *known_matrix(struct known *k, double noise, uint64_t seed)
{
    struct nt_matrix *m;
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    for (size_t v = 0; v < k->vertices; v++)
        for (size_t i = 0; i < k->vertices; i++)
            for (size_t j = 0; j < k->vertices; j++)
                if (k->d[i][v] + k->d[v][j] < k->d[i][j])
                    k->d[i][j] = k->d[i][v] + k->d[v][j];
    must(nt_matrix_create(k->hosts, NT_MATRIX_LATENCY_US, &m, &err));
    for (size_t i = 0; i < k->hosts; i++)
        for (size_t j = 0; j < k->hosts; j++)
            if (i != j)
                nt_matrix_set(m, i, j, (float)(k->d[i][j] * (1 + noise * nt_rng_normal(&rng))));
    return m;
}

/* Section 2.2.4, figures 2.13 and 2.14: four switches in a cycle; the diagonals are virtual. */
TEST(ring_of_switches_loses_its_diagonals)
{
    struct known k;
    known_init(&k, 12, 16);
    for (size_t h = 0; h < 12; h++)
        known_link(&k, h, 12 + h / 3, 1);
    for (size_t s = 0; s < 4; s++)
        known_link(&k, 12 + s, 12 + (s + 1) % 4, 3);
    SCOPED(matrix) *m = known_matrix(&k, 0, 1);
    struct nt_bufe_result *r = infer(m, 0.05);
    assert_int_equal(r->model->switches, 4);
    assert_int_equal(r->model->links, 16);
    assert_int_equal(r->virtual_switch, 2);
    for (uint32_t h = 0; h < 12; h++)
        assert_close(latency_of(r->model, h, switch_of(r->model, h)), 1, 1e-6);
    nt_bufe_destroy(r);
}

/* Section 2.2.5, figure 2.15: two, then three kinds of hosts on one switch are rejoined. */
TEST(kinds_of_hosts_share_their_switch)
{
    for (size_t kinds = 1; kinds <= 3; kinds++) {
        struct known k;
        known_init(&k, 4 * kinds, 4 * kinds + 1);
        for (size_t h = 0; h < 4 * kinds; h++)
            known_link(&k, h, 4 * kinds, 1 + (double)(h / 4));
        SCOPED(matrix) *m = known_matrix(&k, 0, 1);
        struct nt_bufe_result *r = infer(m, 0.05);
        assert_int_equal(r->model->switches, 1);
        assert_int_equal(r->model->links, 4 * kinds);
        assert_int_equal(r->rejoined, kinds - 1);
        for (uint32_t h = 0; h < 4 * kinds; h++)
            assert_close(latency_of(r->model, h, (uint32_t)(4 * kinds)), (1 + (double)(h / 4)),
                         1e-5);
        nt_bufe_destroy(r);
    }
}

/* Section 2.2.3: once the first leaf's hosts are attached to their switch, it is as far from the
 * hosts of the others as those are from each other (2.6). A clique of both would make a line of
 * switches. */
TEST(cliques_are_never_mixed)
{
    struct known k;
    known_init(&k, 9, 13);
    for (size_t h = 0; h < 9; h++)
        known_link(&k, h, 9 + h / 3, h < 3 ? 1 : 1.3);
    for (size_t s = 0; s < 3; s++)
        known_link(&k, 9 + s, 12, 0.65);
    SCOPED(matrix) *m = known_matrix(&k, 0, 1);
    struct nt_bufe_result *r = infer(m, 0.05);
    assert_int_equal(r->model->switches, 4);
    assert_int_equal(r->model->links, 12);
    assert_int_equal(r->model->family, NT_FAMILY_TREE);
    for (uint32_t h = 0; h < 9; h++)
        assert_close(latency_of(r->model, h, switch_of(r->model, h)), (h < 3 ? 1 : 1.3), 1e-5);
    nt_bufe_destroy(r);
}

/* Distances 2, 3 and 4.2: between leaves of different pods it is 2.2, nearly the 2 of the hosts,
 * and yet the leaves of one pod, which are 1 apart, belong together first. */
TEST(tiers_come_one_after_another)
{
    struct known k;
    known_init(&k, 36, 51);
    for (size_t h = 0; h < 36; h++)
        known_link(&k, h, 36 + h / 3, 1);
    for (size_t s = 0; s < 12; s++)
        known_link(&k, 36 + s, 48 + s / 4, 0.5);
    for (size_t p = 0; p < 3; p++)
        known_link(&k, 48 + p, 48 + (p + 1) % 3, 1.2);
    SCOPED(matrix) *m = known_matrix(&k, 0, 1);
    struct nt_bufe_result *r = infer(m, 0.1);
    assert_int_equal(r->model->switches, 16); /* the three pods are attached to one switch */
    assert_int_equal(r->model->links, 51);
    assert_int_equal(r->model->family, NT_FAMILY_TREE);
    nt_bufe_destroy(r);
}

/* Leaves of two hosts need the size-two rule; two hosts alone are no switch. */
TEST(pairs_become_switches_only_with_a_third)
{
    struct known k;
    known_init(&k, 8, 13);
    for (size_t h = 0; h < 8; h++)
        known_link(&k, h, 8 + h / 2, 1);
    for (size_t s = 0; s < 4; s++)
        known_link(&k, 8 + s, 12, 1);
    struct nt_matrix *m = known_matrix(&k, 0, 1);
    struct nt_bufe_result *r = infer(m, 0.05);
    assert_int_equal(r->model->switches, 5);
    assert_int_equal(r->model->family, NT_FAMILY_TREE);
    nt_bufe_destroy(r);
    nt_matrix_destroy(m);
    known_init(&k, 2, 2);
    known_link(&k, 0, 1, 2);
    m = known_matrix(&k, 0, 1);
    r = infer(m, 0.05);
    assert_int_equal(r->model->switches, 0);
    assert_int_equal(r->model->links, 1);
    nt_bufe_destroy(r);
    nt_matrix_destroy(m);
}

/* A star of 32 hosts with 2 % noise is a star; the same matrix gives the same model. */
TEST(noise_within_epsilon_changes_nothing)
{
    struct known k;
    known_init(&k, 32, 33);
    for (size_t h = 0; h < 32; h++)
        known_link(&k, h, 32, 1);
    SCOPED(matrix) *m = known_matrix(&k, 0.02, 7);
    struct nt_bufe_result *r = infer(m, 0.2), *again = infer(m, 0.2);
    assert_int_equal(r->model->family, NT_FAMILY_STAR);
    assert_int_equal(r->model->links, 32);
    assert_memory_equal(r->fitted_us, again->fitted_us, 32 * sizeof *r->fitted_us);
    nt_bufe_destroy(r);
    nt_bufe_destroy(again);
}

static struct nt_matrix *bandwidths(size_t n, const double *host)
{
    struct nt_matrix *m;
    must(nt_matrix_create(n, NT_MATRIX_BANDWIDTH_MBPS, &m, &err));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j)
                nt_matrix_set(m, i, j, (float)(host[i] < host[j] ? host[i] : host[j]));
    return m;
}

/* Links have the throughput that pairs show of them. */
/* With missing cells, a host can keep links to two switches: as many links as a tree has, and none.
 */
TEST(a_host_with_two_links_is_in_no_tree)
{
    static const double us[5][5] = {{0, 0, 0, 3.007, 2.049},
                                    {0, 0, 3.074, 3.077, 0},
                                    {0, 3.074, 0, 2.05, 0},
                                    {3.007, 3.077, 2.05, 0, 2.029},
                                    {2.049, 0, 0, 2.029, 0}};
    SCOPED(matrix) *m = NULL;
    assert_int_equal(nt_matrix_create(5, NT_MATRIX_LATENCY_US, &m, &err), 0);
    for (uint32_t i = 0; i < 5; i++)
        for (uint32_t j = 0; j < 5; j++)
            if (us[i][j] > 0)
                nt_matrix_set(m, i, j, (float)us[i][j]);
    struct nt_bufe_result *r = infer(m, 0.15);
    assert_int_equal(r->model->links, 5 + r->model->switches - 1);
    assert_int_equal(r->model->family, NT_FAMILY_IRREGULAR);
    nt_bufe_destroy(r);
}

TEST(links_have_their_throughput)
{
    static const double rate[5] = {1000, 1000, 1000, 500, 1000};
    SCOPED(matrix) *b = bandwidths(5, rate), *l;
    must(nt_matrix_create(5, NT_MATRIX_LATENCY_US, &l, &err));
    for (size_t i = 0; i < 5; i++)
        for (size_t j = 0; j < 5; j++)
            if (i != j)
                nt_matrix_set(l, i, j, 4);
    struct nt_bufe_result *r;
    must(nt_bufe_infer(l, b, NULL, &r, &err));
    assert_int_equal(r->model->family, NT_FAMILY_STAR);
    for (uint32_t h = 0; h < 5; h++) {
        const struct nt_link *link = link_of(r->model, h, 5);
        assert_close(link->latency_us, 2, 1e-4);
        assert_close(link->bandwidth_MBps, rate[h], 1e-3);
    }
    nt_bufe_destroy(r);
}

TEST(bad_input_is_refused)
{
    SCOPED(matrix) *m, *wide, *rate;
    struct nt_bufe_result *r = NULL;
    struct nt_bufe_options o;
    nt_bufe_default(&o);
    must(nt_matrix_create(3, NT_MATRIX_LATENCY_US, &m, &err));
    must(nt_matrix_create(NT_BUFE_HOSTS_MAX + 1, NT_MATRIX_LATENCY_US, &wide, &err));
    must(nt_matrix_create(3, NT_MATRIX_BANDWIDTH_MBPS, &rate, &err));
    assert_int_equal(nt_bufe_infer(wide, NULL, NULL, &r, &err), -1);
    assert_int_equal(nt_bufe_infer(rate, NULL, NULL, &r, &err), -1);
    assert_int_equal(nt_bufe_infer(m, m, NULL, &r, &err), -1);
    o.epsilon = NAN;
    assert_int_equal(nt_bufe_infer(m, NULL, &o, &r, &err), -1);
    nt_matrix_set(m, 0, 1, -1);
    assert_int_equal(nt_bufe_infer(m, NULL, NULL, &r, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_non_null(strstr(err.text, "hosts 0 and 1 is -1"));
    assert_null(r);
}

/* The search is exponential: it ends at its limit, with a sentence. */
TEST(work_is_bounded)
{
    SCOPED(matrix) *m = seed_table("bufe-3.6");
    struct nt_bufe_options o;
    struct nt_bufe_result *r = NULL;
    nt_bufe_default(&o);
    o.work_max = 5;
    assert_int_equal(nt_bufe_infer(m, NULL, &o, &r, &err), -1);
    assert_null(r);
    assert_non_null(strstr(err.text, "more than 5 visits"));
}

/* None, one, and hosts without measurements. */
TEST(little_is_enough)
{
    for (size_t n = 0; n < 5; n++) {
        SCOPED(matrix) *m;
        must(nt_matrix_create(n, NT_MATRIX_LATENCY_US, &m, &err));
        struct nt_bufe_result *r = infer(m, 0.1);
        assert_int_equal(r->model->links, 0);
        for (size_t h = 0; h < n; h++)
            assert_int_equal(r->model->missing[h], n > 1);
        nt_bufe_destroy(r);
    }
}

RUN_TESTS
