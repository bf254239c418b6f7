/* Networks without switches must come back with their family, dimensions, overhead and hop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

static void test_families(void **state)
{
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t seed = 0; seed < 3; seed++) {
            struct nt_rng rng;
            struct nt_err err;
            struct nt_model *m, *truth = known_lattice(cases[c].dimensions, cases[c].size,
                                                       cases[c].wraps, cases[c].twist, 0.5, 0.5);
            nt_rng_init(&rng, seed);
            struct nt_matrix *x = known_measure(truth, &(struct known_noise){.sd = 0.01}, &rng);
            known_must(nt_infer_latency(x, NULL, 1, &m, &err), &err);
            if (!known_same_shape(truth, m) || m->family != cases[c].family ||
                m->twist != cases[c].twist)
                fail_msg("%s: %s of %zu links, twist %u", cases[c].what, nt_family_name(m->family),
                         m->links, m->twist);
            for (size_t k = 0; k < cases[c].dimensions; k++)
                assert_int_equal(m->dimension[k], cases[c].size[k]);
            assert_true(fabs(m->link[0].latency_us - 0.5) < 0.02);
            assert_true(fabs(m->overhead_us[0] - 0.5) < 0.02);
            nt_matrix_destroy(x);
            nt_model_destroy(truth);
            nt_model_destroy(m);
        }
}

static struct nt_model *infer(const struct nt_matrix *x)
{
    struct nt_model *m;
    struct nt_err err;
    known_must(nt_infer_latency(x, NULL, 1, &m, &err), &err);
    return m;
}

static struct nt_model *lattice(size_t c, double overhead_us, double hop_us)
{
    return known_lattice(cases[c].dimensions, cases[c].size, cases[c].wraps, cases[c].twist,
                         overhead_us, hop_us);
}

enum { RING6, RING, LINE, TORUS, TORUS5, TORUS3, TWISTED, MESH, CUBE, CUBE4, CUBE5 };

/* Wrong and missing readings, and noise under which no single reading tells one hop from two. */
static void test_hard(void **state)
{
    (void)state;
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
        size_t exact = 0;
        for (size_t seed = 0; seed < 4; seed++) {
            struct nt_rng rng;
            nt_rng_init(&rng, 100 * seed + c);
            struct nt_model *truth = lattice(hard[c].net, hard[c].overhead_us, hard[c].hop_us);
            struct nt_matrix *x = known_measure(truth,
                                                &(struct known_noise){.sd = hard[c].sd,
                                                                      .outliers = hard[c].wrong,
                                                                      .missing = hard[c].missing},
                                                &rng);
            struct nt_model *m = infer(x);
            exact += known_same_shape(truth, m) && m->family == cases[hard[c].net].family;
            nt_matrix_destroy(x);
            nt_model_destroy(truth);
            nt_model_destroy(m);
        }
        if (exact < 3)
            fail_msg("%s, case %zu: %zu of 4", cases[hard[c].net].what, c, exact);
    }
}

/* A link that is broken is no link that was misread: the other pairs of its row say so. */
static void test_broken_link(void **state)
{
    (void)state;
    for (size_t seed = 0; seed < 4; seed++) {
        struct nt_rng rng;
        nt_rng_init(&rng, seed);
        struct nt_model *truth = known_lattice(2, (const size_t[]){8, 8}, true, 0, 0.5, 0.5);
        truth->link[seed * 10] = truth->link[--truth->links];
        struct nt_matrix *x = known_measure(truth, &(struct known_noise){.sd = 0.02}, &rng);
        struct nt_model *m = infer(x);
        assert_true(known_same_shape(truth, m));
        assert_int_equal(m->family, NT_FAMILY_IRREGULAR);
        assert_true(m->confidence > 0.8);
        nt_matrix_destroy(x);
        nt_model_destroy(truth);
        nt_model_destroy(m);
    }
}

/* No tree and no network of hosts describes a dragonfly: it must not be stated that one does. */
static void test_dragonflies(void **state)
{
    (void)state;
    const size_t shapes[][3] = {{4, 2, 8}, {6, 3, 6}, {5, 4, 4}, {9, 4, 4}};
    for (size_t k = 0; k < 8; k++) {
        struct nt_rng rng;
        const size_t *s = shapes[k / 2];
        nt_rng_init(&rng, k);
        struct nt_model *truth = known_dragonfly(s[0], s[1], s[2], k % 2 == 0 ? 0.5 : 0.25);
        struct nt_matrix *x = known_measure(truth, &(struct known_noise){.sd = 0.02}, &rng);
        struct nt_model *m = infer(x);
        assert_int_equal(m->family, NT_FAMILY_UNDETERMINED);
        assert_true(m->confidence < 0.05);
        nt_matrix_destroy(x);
        nt_model_destroy(truth);
        nt_model_destroy(m);
    }
}

/* What is stated falls with what the readings say, and is high where they leave no doubt. */
static void test_confidence(void **state)
{
    (void)state;
    /* at 30 % nothing speaks for more than one switch in some */
    const double sds[] = {0.02, 0.1, 0.15, 0.2};
    double before = 1;
    for (size_t k = 0; k < 4; k++) {
        double sum = 0;
        for (size_t seed = 0; seed < 6; seed++) {
            struct nt_rng rng;
            nt_rng_init(&rng, seed);
            struct nt_model *truth = lattice(TORUS, 0.5, 0.5);
            struct nt_matrix *x = known_measure(truth, &(struct known_noise){.sd = sds[k]}, &rng);
            struct nt_model *m = infer(x);
            sum += m->confidence / 6;
            nt_matrix_destroy(x);
            nt_model_destroy(truth);
            nt_model_destroy(m);
        }
        assert_true(k > 0 || sum > 0.95);
        assert_true(sum < before + 0.02);
        before = sum;
    }
    assert_true(before < 0.5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families),    cmocka_unit_test(test_hard),
        cmocka_unit_test(test_broken_link), cmocka_unit_test(test_dragonflies),
        cmocka_unit_test(test_confidence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
