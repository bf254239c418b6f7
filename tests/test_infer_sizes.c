/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "infer.h"
#include "known_network.h"
#include "rng.h"

enum { HOSTS = 12, PER_LEAF = 4, SIZES = 4, SEED = 1 };

/* Leaves of PER_LEAF hosts; all on one switch when far is near. Directions differ by skew. */
static struct nt_matrix *tree(double near, double far, double skew)
{
    struct nt_matrix *m;
    struct nt_rng rng;
    nt_rng_init(&rng, 9);
    must(nt_matrix_create(HOSTS, NT_MATRIX_LATENCY_US, &m, &err));
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < HOSTS; j++)
            if (i != j) {
                double us = (i / PER_LEAF == j / PER_LEAF ? near : far) * (i < j ? 1 : skew);
                us *= 1 + 0.002 * nt_rng_normal(&rng);
                nt_matrix_set(m, i, j, (float)us);
            }
    return m;
}

static struct nt_model *merged(struct nt_matrix *const *m, size_t sizes)
{
    const struct nt_size_latencies from = {sizes, (const struct nt_matrix *const *)m, NULL};
    struct nt_model *model;
    must(nt_infer_sizes(&from, SEED, NULL, &model, &err));
    return model;
}

static bool is_inner(const struct nt_model *model, size_t k)
{
    return model->link[k].a >= HOSTS && model->link[k].b >= HOSTS;
}

static void destroy(struct nt_matrix **m, size_t sizes)
{
    for (size_t k = 0; k < sizes; k++)
        nt_matrix_destroy(m[k]);
}

/* The leaves show in three sizes of four; the hosts' links in all. */
TEST(a_link_is_as_sure_as_the_sizes_are_of_it)
{
    struct nt_matrix *m[SIZES] = {tree(2, 4, 1), tree(3, 6, 1), tree(9, 9, 1), tree(20, 40, 1)};
    struct nt_model *model = merged(m, SIZES);
    assert_int_equal(model->switches, HOSTS / PER_LEAF + 1);
    for (size_t k = 0; k < model->links; k++) {
        double p = model->link[k].probability;
        assert_holds(is_inner(model, k) ? p > 0.75 && p < 0.85 : p > 0.999,
                     "probability %g, expected .75 to .85, of a host above .999", p);
        assert_holds(!is_inner(model, k) || model->confidence <= p, "confidence %g, probability %g",
                     model->confidence, p);
    }
    nt_model_destroy(model);
    model = merged(m, 1);
    for (size_t k = 0; k < model->links; k++)
        assert_above(model->link[k].probability, (is_inner(model, k) ? 0.9 : 0.999));
    nt_model_destroy(model);
    destroy(m, SIZES);
}

/* Readings of 20 us that scatter by a fifth could not show leaves that are 1 us apart. */
TEST(a_size_that_could_not_show_a_link_says_nothing)
{
    struct nt_matrix *m[2] = {tree(2, 4, 1), tree(20, 20, 1)};
    struct nt_rng rng;
    nt_rng_init(&rng, 3);
    for (size_t c = 0; c < HOSTS * HOSTS; c++)
        m[1]->at[c] *= (float)exp(0.2 * nt_rng_normal(&rng));
    struct nt_model *alone = merged(m, 1), *model = merged(m, 2);
    assert_int_equal(model->switches, HOSTS / PER_LEAF + 1);
    for (size_t k = 0; k < model->links; k++)
        assert_above(model->link[k].probability, alone->link[k].probability - 1e-9);
    nt_model_destroy(alone);
    nt_model_destroy(model);
    destroy(m, 2);
}

/* One size of four has the leaves, and the others could have shown them. */
TEST(a_link_that_most_sizes_lack_is_taken_out)
{
    struct nt_matrix *m[SIZES] = {tree(2, 4, 1), tree(3, 3, 1), tree(9, 9, 1), tree(20, 20, 1)};
    struct nt_model *model = merged(m, SIZES);
    assert_int_equal(model->family, NT_FAMILY_STAR);
    assert_int_equal(model->switches, 1);
    assert_below(model->confidence, 0.6);
    for (size_t k = 0; k < model->links; k++) {
        assert_above(model->link[k].latency_us, 0.9);
        assert_below(model->link[k].latency_us, 2.1);
    }
    nt_model_destroy(model);
    destroy(m, SIZES);
}

/* The smallest message does not show the leaves, and the larger ones do: what has no latency in the
 * map is not in it. */
TEST(a_link_that_the_first_size_cannot_tell_is_not_added)
{
    struct nt_matrix *m[SIZES] = {tree(2, 2, 1), tree(9, 12, 1), tree(9, 12, 1), tree(20, 40, 1)};
    struct nt_model *model = merged(m, SIZES);
    assert_int_equal(model->family, NT_FAMILY_STAR);
    assert_int_equal(model->switches, 1);
    for (size_t k = 0; k < model->links; k++)
        assert_close(model->link[k].latency_us, 1, 0.02);
    nt_model_destroy(model);
    destroy(m, SIZES);
}

/* A matrix of the smallest message with so few pairs that leaves can be overlooked. */
static struct nt_matrix *sparse(uint64_t seed)
{
    struct nt_matrix *m = tree(2, 2.4, 1);
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < i; j++) {
            bool read = nt_rng_uniform(&rng) < 0.45;
            float us = read ? nt_matrix_get(m, i, j) : NAN;
            us *= (float)exp(0.02 * nt_rng_normal(&rng));
            nt_matrix_set(m, i, j, us);
            nt_matrix_set(m, j, i, us);
        }
    return m;
}

/* Whether all hosts of a leaf are at one switch, and those of another elsewhere. */
static bool has_leaves(const struct nt_model *model)
{
    bool has = true;
    for (size_t k = 0; k < model->links; k++)
        for (size_t i = 0; i < k; i++)
            if (model->link[k].a < HOSTS && model->link[i].a < HOSTS)
                has = has && (model->link[i].b == model->link[k].b) ==
                                 (model->link[i].a / PER_LEAF == model->link[k].a / PER_LEAF);
    return has;
}

/* Few readings of the smallest message overlook leaves that are there, and a larger one names them:
 * they are added, with figures of the smallest. */
TEST(a_link_of_larger_sizes_is_added)
{
    size_t added = 0, whole = 0, networks = draws(20, 60);
    for (uint64_t seed = 1; seed <= networks; seed++) {
        struct nt_matrix *m[2] = {sparse(seed), tree(20, 40, 1)};
        struct nt_model *alone = merged(m, 1), *both = merged(m, 2);
        if (alone->family == NT_FAMILY_STAR || alone->family == NT_FAMILY_TREE) {
            added += both->switches > alone->switches;
            whole += both->switches > alone->switches && has_leaves(both);
        }
        for (size_t k = 0; k < both->links && both->switches > alone->switches; k++) {
            const struct nt_link *l = &both->link[k];
            assert_at_least(l->probability, 0.5);
            assert_above(l->latency_us, 0);
            assert_holds(!is_inner(both, k) || both->confidence <= l->probability,
                         "confidence %g, probability %g", both->confidence, l->probability);
        }
        nt_model_destroy(alone);
        nt_model_destroy(both);
        destroy(m, 2);
    }
    print_message("added to %zu of %zu, %zu of them whole then\n", added, networks, whole);
    assert_at_least(20 * added, networks);
    assert_at_least(whole, 1);
}

/* Leaves of another size's own: they cut across those that are there, which stay. */
TEST(a_link_that_contradicts_is_not_added)
{
    struct nt_matrix *m[2] = {tree(2, 4, 1), tree(9, 9, 1)};
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < HOSTS; j++)
            if (i != j && i % 3 == j % 3)
                nt_matrix_set(m[1], i, j, nt_matrix_get(m[1], i, j) / 2);
    struct nt_model *model = merged(m, 2);
    assert_int_equal(model->switches, HOSTS / PER_LEAF + 1);
    for (size_t k = 0; k < model->links; k++)
        if (model->link[k].a < HOSTS)
            for (size_t i = 0; i < k; i++)
                if (model->link[i].a < HOSTS)
                    assert_int_equal(model->link[i].b == model->link[k].b,
                                     model->link[i].a / PER_LEAF == model->link[k].a / PER_LEAF);
    nt_model_destroy(model);
    nt_matrix_destroy(m[0]);
    nt_matrix_destroy(m[1]);
}

/* Several sizes of one switch are no more switches than one size: nothing is added by chance. */
TEST(noise_adds_no_links)
{
    size_t false_switches = 0, runs = draws(40, 100);
    struct nt_rng rng;
    nt_rng_init(&rng, 5);
    for (size_t run = 0; run < runs; run++) {
        struct nt_matrix *m[SIZES];
        for (size_t k = 0; k < SIZES; k++) {
            m[k] = tree((double)(k + 1), (double)(k + 1), 1);
            for (size_t c = 0; c < HOSTS * HOSTS; c++)
                m[k]->at[c] *= (float)exp(0.05 * nt_rng_normal(&rng));
        }
        struct nt_model *model = merged(m, SIZES);
        false_switches += model->switches != 1;
        nt_model_destroy(model);
        for (size_t k = 0; k < SIZES; k++)
            nt_matrix_destroy(m[k]);
    }
    assert_at_most(100 * false_switches, runs);
}

/* Whether exactly the hosts of one leaf are at the switch, which one link leads to. */
static bool is_leaf(const struct nt_model *model, uint32_t vertex)
{
    size_t hosts = 0, links = 0, leaf = HOSTS;
    bool one = true;
    for (size_t k = 0; k < model->links; k++) {
        const struct nt_link *l = &model->link[k];
        if (l->a >= HOSTS)
            links += l->a == vertex || l->b == vertex;
        if (l->a >= HOSTS || l->b != vertex)
            continue;
        one = one && (hosts == 0 || l->a / PER_LEAF == leaf);
        leaf = l->a / PER_LEAF;
        hosts++;
    }
    return one && hosts == PER_LEAF && links == 1;
}

/* Leaves from hardly to well seen, in sizes of more and more noise, with wrong readings. */
static struct nt_matrix *drawn(double gap, size_t size, struct nt_rng *rng)
{
    double near = 1 + (double)size;
    struct nt_matrix *m = tree(near, near * (1 + gap), 1);
    for (size_t i = 0; i < HOSTS; i++)
        for (size_t j = 0; j < i; j++) {
            double us = (double)nt_matrix_get(m, i, j);
            us *= exp((0.02 + 0.01 * (double)size) * nt_rng_normal(rng));
            us *= nt_rng_uniform(rng) < 0.01 ? 0.8 + nt_rng_uniform(rng) : 1; /* mostly high */
            nt_matrix_set(m, i, j, (float)us);
            nt_matrix_set(m, j, i, (float)us);
        }
    return m;
}

/* The probability of several sizes is what that of one is: nine in ten of those at 0.9 are there.
 */
TEST(sizes_are_as_right_as_they_are_sure)
{
    enum { DRAWN = 3 };
    size_t stated = 0, real = 0, runs = draws(80, 200);
    struct nt_rng rng;
    nt_rng_init(&rng, 11);
    for (size_t run = 0; run < runs; run++) {
        struct nt_matrix *m[DRAWN];
        double gap = 0.12 * nt_rng_uniform(&rng);
        for (size_t k = 0; k < DRAWN; k++)
            m[k] = drawn(gap, k, &rng);
        struct nt_model *model = merged(m, DRAWN);
        for (size_t k = 0; k < model->links; k++) {
            if (!is_inner(model, k))
                continue;
            assert_at_least(model->link[k].probability, 0.5);
            if (model->link[k].probability < 0.9)
                continue;
            stated++;
            real += is_leaf(model, model->link[k].a) || is_leaf(model, model->link[k].b);
        }
        nt_model_destroy(model);
        destroy(m, DRAWN);
    }
    print_message("at 0.9 and more: %zu groups, %zu of them real\n", stated, real);
    assert_at_least(stated, runs / 2);
    assert_at_least(10 * real, 9 * stated);
}

/* A host that one size lacks leaves the others' links as probable as they are. */
TEST(a_size_without_a_host_has_its_say)
{
    struct nt_matrix *m[2] = {tree(2, 4, 1), tree(3, 6, 1)};
    for (size_t j = 1; j < HOSTS; j++) {
        nt_matrix_set(m[1], 0, j, NAN);
        nt_matrix_set(m[1], j, 0, NAN);
    }
    struct nt_model *model = merged(m, 2);
    for (size_t k = 0; k < model->links; k++)
        assert_above(model->link[k].probability, (is_inner(model, k) ? 0.9 : 0.999));
    nt_model_destroy(model);
    nt_matrix_destroy(m[0]);
    nt_matrix_destroy(m[1]);
}

/* Two leaves of three hosts. */
static struct nt_model *two_leaves(void)
{
    struct nt_model *m = known_leaves(2, (const size_t[]){3, 3}, 1, 1);
    known_must(nt_model_canonicalise(m, &err), &err);
    return m;
}

TEST(sizes_are_weighed_by_their_confidence)
{
    SCOPED(model) *m = two_leaves(), *same = two_leaves();
    SCOPED(model) *star = known_balanced(1, (const size_t[]){6}, (const double[]){1});
    known_must(nt_model_canonicalise(star, &err), &err);
    m->confidence = same->confidence = star->confidence = 0.9;
    const struct nt_model *others[] = {same, star};
    known_must(nt_infer_merge_sizes(&m, others, 2, NULL, 1, &err), &err);
    for (size_t k = 0; k < m->links; k++) {
        double expected = m->link[k].a < m->hosts ? 1 : (1 + 1 + 0.25) / 3;
        assert_close(m->link[k].probability, expected, 1e-9);
    }
}

RUN_TESTS
