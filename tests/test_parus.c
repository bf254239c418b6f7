/* SPDX-License-Identifier: Apache-2.0 */
/* Bannikov and Salnikov (2013): a regular network, a hierarchical one, simplex channels, merged
 * matrices and the complexity class that the paper states. */
#include "asserts.h"
#include "parus.h"
#include "rng.h"

static struct nt_matrix *empty(size_t n)
{
    struct nt_matrix *m;
    must(nt_matrix_create(n, NT_MATRIX_LATENCY_US, &m, &err));
    return m;
}

static struct nt_parus_result *infer(const struct nt_matrix *const *m, size_t count, double shared,
                                     double duplex)
{
    struct nt_parus_options o = {shared, duplex, 0, 0};
    struct nt_parus_result *r = NULL;
    must(nt_parus_infer(m, count, &o, &r, &err));
    return r;
}

static struct nt_parus_result *infer_one(const struct nt_matrix *m, double shared, double duplex)
{
    return infer(&m, 1, shared, duplex);
}

static const struct nt_parus_arc *arc_of(const struct nt_parus_result *r, uint32_t a, uint32_t b)
{
    for (size_t k = 0; k < r->arcs; k++)
        if (r->arc[k].from == a && r->arc[k].to == b)
            return &r->arc[k];
    return NULL;
}

static size_t ring_steps(size_t a, size_t b, size_t n)
{
    size_t d = a > b ? a - b : b - a;
    return d < n - d ? d : n - d;
}

static size_t torus_hops(size_t a, size_t b, size_t side)
{
    return ring_steps(a % side, b % side, side) +
           ring_steps(a / side % side, b / side % side, side) +
           ring_steps(a / side / side, b / side / side, side);
}

/* As figure 1: processors joined directly. A 4x4x4 torus comes out link by link. */
TEST(a_regular_network_is_found)
{
    const size_t n = 64;
    SCOPED(matrix) *m = empty(n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j)
                nt_matrix_set(m, i, j, 1.5f * (float)torus_hops(i, j, 4));
    struct nt_parus_result *r = infer_one(m, 0.1, 0.1);
    assert_int_equal(r->arcs, n * 6);
    assert_int_equal(r->model->links, n * 3);
    assert_int_equal(r->model->switches, 0);
    for (size_t k = 0; k < r->arcs; k++)
        assert_int_equal(torus_hops(r->arc[k].from, r->arc[k].to, 4), 1);
    for (size_t k = 0; k < r->model->links; k++) {
        assert_false(r->model->link[k].simplex);
        assert_close(r->model->link[k].latency_us, 1.5, 1e-6);
        assert_true(r->model->link[k].probability == 1);
    }
    nt_parus_destroy(r);
}

/* 4 boards of 4 processes; the cells differ a little, so that the chains have lighter arcs. */
static struct nt_matrix *boards(void)
{
    struct nt_matrix *m = empty(16);
    for (size_t i = 0; i < 16; i++)
        for (size_t j = 0; j < 16; j++)
            if (i != j)
                nt_matrix_set(m, i, j,
                              (i / 4 == j / 4 ? 1.0f : 10.0f) + 0.001f * (float)((i * 7 + j) % 5));
    return m;
}

/* "If the network is hierarchical, the algorithm most likely gives a fully connected graph." */
TEST(a_hierarchical_network_is_a_full_mesh)
{
    SCOPED(matrix) *m = boards();
    struct nt_parus_result *r = infer_one(m, 0.2, 0.5);
    assert_int_equal(r->model->family, NT_FAMILY_FULL_MESH);
    assert_int_equal(r->arcs, 16 * 15);
    assert_int_equal(r->groups, 4);
    nt_parus_destroy(r);
}

/* A ring of boards whose direct distance is the sum of its steps: stage 2 finds a skeleton without
 * cycles, stage 3 closes the ring. (It looks at all pairs of a source at once, so the far ends get
 * short cuts as well.) */
TEST(cycles_are_restored)
{
    const size_t n = 12;
    SCOPED(matrix) *m = empty(n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0, around = 0;
            for (size_t k = 0; k < n; k++) { /* links of 1.0, 1.5, 2.0, ... around the ring */
                double w = 1 + 0.5 * (double)k;
                bool inside = i < j ? k >= i && k < j : k >= j && k < i;
                *(inside ? &sum : &around) += w;
            }
            if (i != j)
                nt_matrix_set(m, i, j, (float)fmin(sum, around));
        }
    struct nt_parus_result *r = infer_one(m, 0.01, 0.1);
    for (uint32_t k = 0; k < n; k++) {
        assert_non_null(arc_of(r, k, (uint32_t)((k + 1) % n)));
        assert_non_null(arc_of(r, (uint32_t)((k + 1) % n), k));
    }
    assert_null(arc_of(r, 4, 6)); /* as long as its path: nothing to close */
    nt_parus_destroy(r);
}

/* Figure 1: to the process that sends too slowly lead arrows, not lines. */
TEST(a_slow_sender_has_simplex_links)
{
    const size_t n = 8;
    SCOPED(matrix) *m = empty(n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j)
                nt_matrix_set(m, i, j, i == 0 ? 5 : 1);
    struct nt_parus_result *r = infer_one(m, 0.1, 0.5);
    for (uint32_t j = 1; j < n; j++) {
        assert_non_null(arc_of(r, j, 0));
        assert_null(arc_of(r, 0, j));
    }
    for (size_t k = 0; k < r->model->links; k++) {
        const struct nt_link *link = &r->model->link[k];
        bool touches = link->a == 0 || link->b == 0;
        assert_int_equal(link->simplex, touches);
        if (touches)
            assert_int_equal(link->b, 0);
    }
    nt_parus_destroy(r);
}

/* eps_duplex: two groups whose channel takes 10 there and 18 back. */
/* Three sizes of one pair: 1, 2 and 6 there, 2, 3 and 7 back. */
TEST(lengths_are_of_a_size_or_of_all)
{
    static const float there[] = {1, 2, 6};
    static const struct {
        enum nt_parus_lengths lengths;
        size_t size;
        double us;
    } table[] = {{NT_PARUS_OF_SIZE, 0, 1.5},
                 {NT_PARUS_OF_SIZE, 2, 6.5},
                 {NT_PARUS_MEAN, 0, 3.5},
                 {NT_PARUS_MEDIAN, 0, 2.5}};
    struct nt_matrix *m[3];
    for (size_t k = 0; k < 3; k++) {
        must(nt_matrix_create(2, NT_MATRIX_LATENCY_US, &m[k], &err));
        nt_matrix_set(m[k], 0, 1, there[k]);
        nt_matrix_set(m[k], 1, 0, there[k] + 1);
    }
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_parus_options o = {1, 1, table[k].lengths, table[k].size};
        struct nt_parus_result *r;
        must(nt_parus_infer((const struct nt_matrix *const *)m, 3, &o, &r, &err));
        assert_int_equal(r->model->links, 1);
        assert_close(r->model->link[0].latency_us, table[k].us, 1e-6);
        nt_parus_destroy(r);
    }
    struct nt_parus_options o = {1, 1, NT_PARUS_OF_SIZE, 3};
    struct nt_parus_result *none;
    assert_int_equal(nt_parus_infer((const struct nt_matrix *const *)m, 3, &o, &none, &err), -1);
    for (size_t k = 0; k < 3; k++)
        nt_matrix_destroy(m[k]);
}

TEST(eps_duplex_parts_simplex_from_duplex)
{
    SCOPED(matrix) *m = empty(4);
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++)
            if (i != j)
                nt_matrix_set(m, i, j, i / 2 == j / 2 ? 1 : i < j ? 10 : 18);
    struct nt_parus_result *r = infer_one(m, 0.1, 0.5);
    assert_non_null(arc_of(r, 0, 2));
    assert_null(arc_of(r, 2, 0));
    nt_parus_destroy(r);
    r = infer_one(m, 0.1, 1);
    assert_non_null(arc_of(r, 0, 2));
    assert_non_null(arc_of(r, 2, 0));
    for (size_t k = 0; k < r->model->links; k++)
        assert_false(r->model->link[k].simplex);
    nt_parus_destroy(r);
}

/* The same for a channel that only stage 3 finds: 11 there, 14.5 back, where the path takes 15. */
TEST(eps_duplex_holds_for_restored_cycles)
{
    SCOPED(matrix) *m = empty(4);
    static const float us[4][4] = {
        {0, 3, 10, 12}, {3, 0, 12, 11}, {10, 12, 0, 3}, {12, 14.5f, 3, 0}};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++)
            if (i != j)
                nt_matrix_set(m, i, j, us[i][j]);
    struct nt_parus_result *r = infer_one(m, 0.1, 0.5);
    assert_non_null(arc_of(r, 1, 3));
    assert_non_null(arc_of(r, 3, 1));
    nt_parus_destroy(r);
    r = infer_one(m, 0.1, 0.2);
    assert_non_null(arc_of(r, 1, 3));
    assert_null(arc_of(r, 3, 1));
    nt_parus_destroy(r);
}

/* A probability is the share of the matrices whose topology has the arc; formula 2 for weights. */
TEST(matrices_are_merged)
{
    const size_t n = 8;
    struct nt_matrix *m[4];
    for (size_t k = 0; k < 4; k++) {
        m[k] = empty(n);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                if (i != j)
                    nt_matrix_set(m[k], i, j, (float)ring_steps(i, j, n) * (float)(k + 1));
    }
    nt_matrix_set(m[0], 2, 6, 1.2f); /* a short cut, one way, for the smallest message only */
    struct nt_parus_result *r = infer((const struct nt_matrix *const *)m, 4, 0.1, 0.5);
    assert_true(arc_of(r, 2, 6)->probability == 0.25);
    assert_null(arc_of(r, 6, 2));
    assert_true(arc_of(r, 0, 1)->probability == 1);
    for (size_t k = 0; k < r->model->links; k++) {
        const struct nt_link *link = &r->model->link[k];
        if (link->a == 2 && link->b == 6) {
            assert_true(link->simplex && link->probability == 0.25);
            assert_close(link->latency_us, 1.2, 1e-6);
        } else {
            assert_close(link->latency_us, 1, 1e-6);
        }
    }
    assert_int_equal(r->model->links, n + 1);
    nt_parus_destroy(r);
    for (size_t k = 0; k < 4; k++)
        nt_matrix_destroy(m[k]);
}

static double operations_of(struct nt_matrix *m)
{
    struct nt_parus_result *r = infer_one(m, 0, 0);
    double operations = (double)r->operations;
    nt_parus_destroy(r);
    nt_matrix_destroy(m);
    return operations;
}

static struct nt_matrix *random_weights(size_t n)
{
    struct nt_rng rng;
    struct nt_matrix *m = empty(n);
    nt_rng_init(&rng, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            float w = (float)(1 + nt_rng_uniform(&rng));
            nt_matrix_set(m, i, j, w);
            nt_matrix_set(m, j, i, w);
        }
    return m;
}

static struct nt_matrix *ring(size_t n)
{
    struct nt_matrix *m = empty(n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            size_t apart = i < j ? j - i : i - j;
            nt_matrix_set(m, i, j, (float)(apart < n - apart ? apart : n - apart));
        }
    return m;
}

/* Statement 1: O(n^3) in the worst case. Random weights make many groups, and all of stage 3. In a
 * ring each vertex has two arcs. */
TEST(time_grows_with_the_cube_and_with_the_square_if_arcs_are_few)
{
    double before = 0, ring_before = 0;
    for (size_t n = 32; n <= draws(256, 512); n *= 2) {
        double operations = operations_of(random_weights(n)), few = operations_of(ring(n));
        if (before > 0) {
            double exponent = log2(operations / before), ring_exponent = log2(few / ring_before);
            print_message("  n %3zu: %.3g operations, exponent %.2f; of a ring %.3g, %.2f\n", n,
                          operations, exponent, few, ring_exponent);
            assert_above(exponent, 2.8);
            assert_below(exponent, 3.1);
            assert_below(ring_exponent, 2.1);
        }
        before = operations;
        ring_before = few;
    }
}

TEST(bad_input_is_refused)
{
    SCOPED(matrix) *m = empty(3), *other = empty(4), *large = empty(NT_PARUS_HOSTS_MAX + 1);
    const struct nt_matrix *two[] = {m, other}, *one[] = {m}, *big[] = {large};
    struct nt_parus_options o = {-1, 0, 0, 0};
    struct nt_parus_result *r = NULL;
    assert_int_equal(nt_parus_infer(one, 0, NULL, &r, &err), -1);
    assert_int_equal(nt_parus_infer(two, 2, NULL, &r, &err), -1);
    assert_int_equal(nt_parus_infer(big, 1, NULL, &r, &err), -1);
    assert_int_equal(nt_parus_infer(one, 1, &o, &r, &err), -1);
    nt_matrix_set(m, 2, 1, -4);
    assert_int_equal(nt_parus_infer(one, 1, NULL, &r, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_non_null(strstr(err.text, "hosts 2 and 1 is -4"));
    assert_null(r);
}

TEST(little_is_enough)
{
    for (size_t n = 0; n < 4; n++) {
        SCOPED(matrix) *m = empty(n);
        struct nt_parus_result *r = infer_one(m, 0.1, 0.1);
        assert_int_equal(r->arcs, 0);
        assert_int_equal(r->model->hosts, n);
        nt_parus_destroy(r);
    }
}

RUN_TESTS
