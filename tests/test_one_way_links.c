/* SPDX-License-Identifier: Apache-2.0 */
/* Links that work in one direction only, found in latencies with directions. */
#include "asserts.h"
#include "infer.h"
#include "rng.h"

enum { HOSTS = 16, LEAF = 4, NOBODY = HOSTS };

/* What a matrix of four leaves has of faults. */
struct fault {
    size_t mute_host; /* nothing is measured from it */
    size_t deaf_host; /* nothing is measured to it */
    size_t slow_leaf; /* 1..4: twice as long to other leaves; 0: none */
    double noise;
    double holes;    /* share of cells */
    double outliers; /* share of cells that are three times as long */
    bool triangle;
};

static const struct fault none = {.mute_host = NOBODY, .deaf_host = NOBODY, .noise = 0.02};

static struct nt_matrix *measured(const struct fault *f, struct nt_rng *rng)
{
    struct nt_matrix *m;
    must(nt_matrix_create(HOSTS, NT_MATRIX_LATENCY_US, &m, &err));
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < HOSTS; j++) {
            bool far = i / LEAF != j / LEAF;
            double us = (far ? 3 : 2) * exp(f->noise * nt_rng_normal(rng));
            if (far && i / LEAF + 1 == f->slow_leaf)
                us *= 2;
            if (nt_rng_uniform(rng) < f->outliers)
                us *= 3;
            bool hole = nt_rng_uniform(rng) < f->holes;
            if (i != j && i != f->mute_host && j != f->deaf_host && !hole &&
                !(f->triangle && i > j))
                nt_matrix_set(m, i, j, (float)us);
        }
    return m;
}

static struct nt_model *solved(const struct fault *f, struct nt_rng *rng)
{
    struct nt_matrix *m = measured(f, rng);
    struct nt_model *model;
    must(nt_infer_latency(m, NULL, 1, &model, &err));
    nt_matrix_destroy(m);
    return model;
}

static size_t count_simplex(const struct nt_model *m)
{
    size_t n = 0;
    for (size_t k = 0; k < m->links; k++)
        n += m->link[k].simplex;
    return n;
}

static const struct nt_link *the_simplex(const struct nt_model *m)
{
    assert_int_equal(count_simplex(m), 1);
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].simplex)
            return &m->link[k];
    return NULL;
}

TEST(a_host_that_only_receives)
{
    struct nt_rng rng;
    struct fault f = none;
    nt_rng_init(&rng, 1);
    f.mute_host = 5;
    SCOPED(model) *m = solved(&f, &rng);
    assert_true(the_simplex(m)->a >= HOSTS && the_simplex(m)->b == 5);
    SCOPED(matrix) *modelled;
    must(nt_model_latencies(m, &modelled, &err));
    assert_true(isnan(nt_matrix_get(modelled, 5, 0)));
    assert_close((double)nt_matrix_get(modelled, 0, 5), 3, 0.1);
}

TEST(a_host_that_only_sends)
{
    struct nt_rng rng;
    struct fault f = none;
    nt_rng_init(&rng, 2);
    f.deaf_host = 9;
    SCOPED(model) *m = solved(&f, &rng);
    assert_true(the_simplex(m)->a == 9 && the_simplex(m)->b >= HOSTS);
}

/* The leaf's link and not those of its hosts, whose pairs inside the leaf go both ways. */
TEST(a_leaf_that_is_slow_upwards)
{
    struct nt_rng rng;
    struct fault f = none;
    nt_rng_init(&rng, 3);
    f.slow_leaf = 2;
    f.outliers = 0.03;
    SCOPED(model) *m = solved(&f, &rng);
    const struct nt_link *l = the_simplex(m);
    assert_at_least(l->a, HOSTS);
    assert_at_least(l->b, HOSTS);
    bool leaf = false;
    for (size_t k = 0; k < m->links; k++)
        leaf |= m->link[k].a == LEAF && m->link[k].b == l->b;
    assert_true(leaf);
}

TEST(what_was_not_asked_is_no_fault)
{
    const struct fault table[] = {
        none,
        {.mute_host = NOBODY, .deaf_host = NOBODY, .noise = 0.02, .triangle = true},
        {.mute_host = NOBODY, .deaf_host = NOBODY, .noise = 0.02, .holes = 0.3},
        {.mute_host = NOBODY, .deaf_host = NOBODY, .noise = 0.02, .outliers = 0.15},
        {.mute_host = NOBODY, .deaf_host = NOBODY, .noise = 0.3},
        {.mute_host = NOBODY, .deaf_host = NOBODY, .noise = 0.15, .holes = 0.5, .outliers = 0.1},
    };
    struct nt_rng rng;
    nt_rng_init(&rng, 4);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        size_t wrong = 0, runs = draws(20, 50);
        for (size_t run = 0; run < runs; run++) {
            SCOPED(model) *m = solved(&table[k], &rng);
            wrong += count_simplex(m) > 0;
        }
        assert_at_most(50 * wrong, runs);
    }
}

RUN_TESTS
