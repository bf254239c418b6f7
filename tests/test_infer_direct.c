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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_families)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
