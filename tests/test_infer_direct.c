/* SPDX-License-Identifier: Apache-2.0 */
/* Networks without switches must come back with their family, dimensions, overhead and hop. */
#include "asserts.h"
#include "direct.h"
#include "known_network.h"

static const struct {
    const char *what;
    size_t dimensions, size[5];
    bool wraps;
    size_t twist;
    enum nt_family family;
} cases[] = {
    {"ring of 6", 1, {6}, true, 0, NT_FAMILY_RING},
    {"ring of 16", 1, {16}, true, 0, NT_FAMILY_RING},
    {"line of 6", 1, {6}, false, 0, NT_FAMILY_MESH},
    {"torus 8x4", 2, {8, 4}, true, 0, NT_FAMILY_TORUS},
    {"torus 5x5", 2, {5, 5}, true, 0, NT_FAMILY_TORUS},
    {"torus 4x4x3", 3, {4, 4, 3}, true, 0, NT_FAMILY_TORUS},
    {"twisted torus 8x4", 2, {8, 4}, true, 4, NT_FAMILY_TORUS},
    {"mesh 6x5", 2, {6, 5}, false, 0, NT_FAMILY_MESH},
    {"cube", 3, {2, 2, 2}, false, 0, NT_FAMILY_HYPERCUBE},
    {"hypercube of 4", 4, {2, 2, 2, 2}, false, 0, NT_FAMILY_HYPERCUBE},
    {"hypercube of 5", 5, {2, 2, 2, 2, 2}, false, 0, NT_FAMILY_HYPERCUBE},
};

TEST(test_families)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t seed = 0; seed < 3; seed++) {
            struct nt_rng rng;
            struct nt_model *m, *truth = known_lattice(cases[c].dimensions, cases[c].size,
                                                       cases[c].wraps, cases[c].twist, 0.5, 0.5);
            nt_rng_init(&rng, seed);
            SCOPED(matrix) *x = known_measure(truth, &(struct known_noise){.sd = 0.01}, &rng);
            known_must(nt_infer_latency(x, NULL, 1, &m, &err), &err);
            if (!known_same_shape(truth, m) || m->family != cases[c].family ||
                m->twist != cases[c].twist)
                fail_msg("%s: %s of %zu links, twist %u", cases[c].what, nt_family_name(m->family),
                         m->links, m->twist);
            for (size_t k = 0; k < cases[c].dimensions; k++)
                assert_int_equal(m->dimension[k], cases[c].size[k]);
            assert_close(m->link[0].latency_us, 0.5, 0.02);
            assert_close(m->overhead_us[0], 0.5, 0.02);
            nt_model_destroy(truth);
            nt_model_destroy(m);
        }
}

static struct nt_model *lattice(size_t c, double overhead_us, double hop_us)
{
    return known_lattice(cases[c].dimensions, cases[c].size, cases[c].wraps, cases[c].twist,
                         overhead_us, hop_us);
}

enum { RING6, RING, LINE, TORUS, TORUS5, TORUS3, TWISTED, MESH, CUBE, CUBE4, CUBE5 };

/* Wrong and missing readings, and noise under which no single reading distinguishes one hop from
 * two. */
TEST(test_hard)
{
    const struct {
        size_t net;
        double sd, wrong, missing, overhead_us, hop_us;
    } hard[] = {
        {RING, 0.05, 0, 0, 0.5, 0.5},         {RING, 0.02, 0.02, 0.1, 0.5, 0.5},
        {TORUS, 0.1, 0, 0, 0.5, 0.5},         {TORUS, 0.05, 0.03, 0.2, 0.5, 0.5},
        {TORUS3, 0.02, 0.05, 0, 0.5, 0.5},    {TWISTED, 0.02, 0, 0.3, 0.5, 0.5},
        {TWISTED, 0.05, 0.03, 0.2, 0.5, 0.5}, {MESH, 0.05, 0.02, 0.1, 0.5, 0.5},
        {CUBE5, 0.1, 0, 0, 0.5, 0.5},         {CUBE5, 0.02, 0.03, 0.2, 0.5, 0.5},
        {TORUS, 0.008, 0.01, 0, 2.175, 0.1},  {CUBE4, 0.09, 0, 0, 0.5, 0.5},
    };
    for (size_t c = 0; c < sizeof hard / sizeof *hard; c++) {
        size_t exact = 0, networks = draws(2, 4);
        for (size_t seed = 0; seed < networks; seed++) {
            struct nt_rng rng;
            nt_rng_init(&rng, 100 * seed + c);
            SCOPED(model) *truth = lattice(hard[c].net, hard[c].overhead_us, hard[c].hop_us);
            struct nt_matrix *x = known_measure(truth,
                                                &(struct known_noise){.sd = hard[c].sd,
                                                                      .outliers = hard[c].wrong,
                                                                      .missing = hard[c].missing},
                                                &rng);
            SCOPED(model) *m = known_inferred(x, 1);
            exact += known_same_shape(truth, m) && m->family == cases[hard[c].net].family;
            nt_matrix_destroy(x);
        }
        if (4 * exact < 3 * networks)
            fail_msg("%s, case %zu: %zu of %zu", cases[hard[c].net].what, c, exact, networks);
    }
}

/* A link that is broken is no link that was misread: the other pairs of its row say so. */
TEST(test_broken_link)
{
    for (size_t seed = 0; seed < 4; seed++) {
        struct nt_rng rng;
        nt_rng_init(&rng, seed);
        SCOPED(model) *truth = known_lattice(2, (const size_t[]){8, 8}, true, 0, 0.5, 0.5);
        truth->link[seed * 10] = truth->link[--truth->links];
        SCOPED(matrix) *x = known_measure(truth, &(struct known_noise){.sd = 0.02}, &rng);
        SCOPED(model) *m = known_inferred(x, 1);
        assert_true(known_same_shape(truth, m));
        assert_int_equal(m->family, NT_FAMILY_IRREGULAR);
        assert_above(m->confidence, 0.8);
    }
}

/* No tree and no network of hosts describes a dragonfly: it must not be stated that one does. With
 * three routers a group and more it may be found; with two nothing tells a local link from a global
 * one, and all that can be stated are its routers and links. */
TEST(test_dragonflies)
{
    const size_t shapes[][3] = {{4, 2, 8}, {6, 3, 6}, {5, 4, 4}, {9, 4, 4}};
    size_t found = 0;
    for (size_t k = 0; k < 8; k += draws(2, 1)) {
        struct nt_rng rng;
        const size_t *s = shapes[k / 2];
        nt_rng_init(&rng, k);
        SCOPED(model) *truth = known_dragonfly(s[0], s[1], s[2], k % 2 == 0 ? 0.5 : 0.25);
        SCOPED(matrix) *x = known_measure(truth, &(struct known_noise){.sd = 0.02}, &rng);
        SCOPED(model) *m = known_inferred(x, 1);
        found += m->family == NT_FAMILY_DRAGONFLY;
        if (m->family == NT_FAMILY_DRAGONFLY) {
            assert_true(s[1] > 2 && m->dimension[0] == s[0] && m->dimension[1] == s[1] &&
                        m->dimension[2] == s[2]);
            assert_true(known_same_shape(truth, m));
        } else if (!known_same_shape(truth,
                                     m)) { /* right, but without its name: it has two lengths */
            assert_holds(m->family == NT_FAMILY_UNDETERMINED || m->shortcuts, "%s",
                         nt_family_name(m->family));
            assert_below(m->confidence, 0.05);
        }
    }
    assert_at_least(found, draws(2, 4)); /* tests/bench groups has more */
}

/* What is stated falls with what the readings say, and is high where they leave no doubt. With more
 * noise one switch is stated, since nothing else is found, with a low confidence. */
TEST(test_confidence)
{
    const double sds[] = {0.02, 0.1, 0.15, 0.2, 0.3};
    double before = 1;
    for (size_t k = 0; k < sizeof sds / sizeof *sds; k++) {
        double right = 0, wrong = 0;
        size_t networks = draws(3, 6);
        for (size_t seed = 0; seed < networks; seed++) {
            struct nt_rng rng;
            nt_rng_init(&rng, seed);
            SCOPED(model) *truth = lattice(TORUS, 0.5, 0.5);
            SCOPED(matrix) *x = known_measure(truth, &(struct known_noise){.sd = sds[k]}, &rng);
            SCOPED(model) *m = known_inferred(x, 1);
            bool same = known_same_shape(truth, m) && m->family == NT_FAMILY_TORUS;
            right += same ? m->confidence / (double)networks : 0;
            wrong = !same && m->confidence > wrong ? m->confidence : wrong;
        }
        print_message("noise %g: confidence %.3f, at most %.3f of another network\n", sds[k], right,
                      wrong);
        assert_holds(k > 0 || right > 0.95, "confidence %g, expected above 0.95", right);
        assert_below(right, before + 0.05);
        assert_below(wrong, 0.9);
        before = right;
    }
    assert_below(before, 0.5);
}

/* ---- the search itself ---- */

/* Readings as the search takes them. */
static struct nt_work work_of(const struct nt_matrix *x)
{
    struct nt_work w = {.n = x->n, .d = x->at};
    nt_rng_init(&w.rng, 1);
    w.host = calloc(x->n + 1, sizeof *w.host);
    assert_non_null(w.host);
    for (uint32_t i = 0; i < x->n; i++) {
        w.host[i] = i;
        for (size_t j = 0; j < i; j++)
            w.pairs += x->at[i * x->n + j] > 0;
    }
    nt_noise_estimate(w.d, w.n, &w.rng, &w.noise);
    return w;
}

static struct nt_direct found_in(struct nt_model *truth, const struct known_noise *noise,
                                 uint64_t seed, struct nt_direct_effort *effort)
{
    struct nt_rng rng;
    struct nt_direct d;
    nt_rng_init(&rng, seed);
    struct nt_matrix *x = known_measure(truth, noise, &rng);
    struct nt_work w = work_of(x);
    known_must(nt_direct_find(&w, effort, &d, &err), &err);
    free(w.host);
    nt_matrix_destroy(x);
    return d;
}

/* The likeliest start may come to nothing when its links are judged one by one; then the others
 * have their turn. */
TEST(test_all_starts)
{
    SCOPED(model) *truth = known_lattice(1, (const size_t[]){8}, true, 0, 0.5, 0.5);
    size_t found = 0;
    for (size_t seed = 0; seed < 200; seed++) {
        struct nt_direct_effort effort = {.most = NT_DIRECT_STEPS_MAX};
        struct nt_direct d =
            found_in(truth, &(struct known_noise){.sd = 0.2, .missing = 0.3}, seed, &effort);
        found += d.score < INFINITY;
        nt_direct_fini(&d);
    }
    assert_at_least(found, 155); /* 151 when the first that comes to nothing ends it */
}

/* A search costs what there is to look at, not what there could be, and ends where it may cost no
 * more: then nothing is found. */
TEST(test_effort)
{
    enum { HOSTS = 512, READINGS = 16, MOST = 4000000 }; /* of 67 million triples of hosts */
    struct nt_model *truth =
        known_balanced(2, (const size_t[]){16, 32}, (const double[]){0.6, 0.3});
    const struct known_noise few = {.sd = 0.02, .missing = 1 - (double)READINGS / HOSTS};
    struct nt_direct_effort whole = {.most = NT_DIRECT_STEPS_MAX}, none = {.most = 1000};
    struct nt_direct d = found_in(truth, &few, 1, &whole);
    assert_below(whole.steps, MOST);
    nt_direct_fini(&d);
    nt_model_destroy(truth);
    truth = lattice(TORUS, 0.5, 0.5);
    d = found_in(truth, &(struct known_noise){.sd = 0.02}, 1, &whole);
    assert_true(isfinite(d.score));
    nt_direct_fini(&d);
    d = found_in(truth, &(struct known_noise){.sd = 0.02}, 1, &none);
    assert_true(!isfinite(d.score) && nt_direct_is_spent(&none));
    assert_below(none.steps, 100000);
    nt_direct_fini(&d);
    nt_model_destroy(truth);
}

/* Trees in which each host was measured with few others: one switch for all fits those and is not
 * stated, and a search for links between hosts would take too long. */
TEST(test_few_readings)
{
    const struct {
        size_t leaves;
        double met, wrong;
    } few[] = {{4, 32, 0}, {32, 64, 0}, {32, 64, 0.005}};
    for (size_t k = 0; k < sizeof few / sizeof *few; k++) {
        struct nt_rng rng;
        struct nt_model *truth = known_balanced(3, (const size_t[]){4, few[k].leaves, 16},
                                                (const double[]){0.6, 0.25, 0.4});
        nt_rng_init(&rng, 1);
        struct known_noise noise = {.sd = 0.02,
                                    .outliers = few[k].wrong,
                                    .missing = 1 - few[k].met / (double)(truth->hosts - 1)};
        SCOPED(matrix) *x = known_measure(truth, &noise, &rng);
        SCOPED(model) *m = known_inferred(x, 1);
        if (!known_same_shape(truth, m) && m->family != NT_FAMILY_UNDETERMINED)
            fail_msg("case %zu: %s, confidence %.3f", k, nt_family_name(m->family), m->confidence);
        nt_model_destroy(truth);
    }
}

RUN_TESTS
