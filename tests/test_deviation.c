/* SPDX-License-Identifier: Apache-2.0 */
/* Deviations between two measurements, by hand and by what holds for all of them, and how they are
 * written. */
#include "asserts.h"
#include "deviation.h"
#include "deviation_text.h"
#include "rng.h"

static struct nt_matrix *matrix_of(size_t n, const float *at)
{
    struct nt_matrix *m;
    must(nt_matrix_create(n, NT_MATRIX_LATENCY_US, &m, &err));
    for (size_t k = 0; k < n * n; k++)
        if (k / n != k % n)
            m->at[k] = at[k];
    return m;
}

static struct nt_deviation deviation_of(const struct nt_matrix *first,
                                        const struct nt_matrix *second, double tolerance)
{
    struct nt_deviation d;
    must(nt_deviation_init(&d, first, second, tolerance, &err));
    return d;
}

/* Differences 1, -2, 0, 3, 0, -1 of six directions. */
TEST(equations_3_1_to_3_4)
{
    SCOPED(matrix) *a = matrix_of(3, (const float[]){0, 5, 4, 4, 0, 7, 6, 5, 0});
    SCOPED(matrix) *b = matrix_of(3, (const float[]){0, 4, 6, 4, 0, 4, 6, 6, 0});
    struct nt_deviation d = deviation_of(a, b, 0.5);
    assert_int_equal(d.pairs, 6);
    assert_close(d.mean, 1.0 / 6, 1e-6);
    assert_close(d.mean_absolute, 7.0 / 6, 1e-6);
    assert_close(d.quadratic_mean, sqrt(15.0 / 6), 1e-6);
    assert_close(d.greatest, 3, 1e-6);
    assert_true(d.at.a == 1 && d.at.b == 2);
    assert_int_equal(d.differing, 1); /* 7 against 4; 6 against 4 and 5 against 4 are within */
    assert_close(d.difference[0], -2, 1e-6);
    assert_close(d.difference[4], 3, 1e-6);
    assert_close(d.second[2], 5, 1e-6); /* of 4 4 4 6 6 6 */
    nt_deviation_fini(&d);
    d = deviation_of(b, a, 0);
    assert_close(d.greatest, -3, 1e-6); /* with its sign */
    assert_int_equal(d.differing, 4);
    assert_true(d.pair[0].first == 4 && d.pair[0].second == 7); /* 3 of 4 is the largest share */
    nt_deviation_fini(&d);
}

/* A triangle against both directions: their mean, once. */
TEST(one_triangle_is_enough)
{
    SCOPED(matrix) *a = matrix_of(2, (const float[]){0, 5, NAN, 0});
    SCOPED(matrix) *b = matrix_of(2, (const float[]){0, 2, 4, 0});
    struct nt_deviation d = deviation_of(a, b, 0);
    assert_int_equal(d.pairs, 1);
    assert_close(d.mean, 2, 1e-6);
    nt_deviation_fini(&d);
    a->at[1] = NAN;
    assert_int_equal(nt_deviation_init(&d, a, b, 0, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    nt_deviation_fini(&d);
}

static struct nt_matrix *random_matrix(size_t n, uint64_t seed, double spread)
{
    struct nt_rng rng;
    struct nt_matrix *m;
    nt_rng_init(&rng, seed);
    must(nt_matrix_create(n, NT_MATRIX_LATENCY_US, &m, &err));
    for (size_t k = 0; k < n * n; k++)
        if (k / n != k % n)
            m->at[k] = (float)pow(spread, nt_rng_uniform(&rng));
    return m;
}

/* As in the tables of section 3.2.3: MD(1,3) = MD(1,2) + MD(2,3); and no mean is over the greatest.
 */
TEST(what_holds_for_all_of_them)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        double spread = seed % 2 == 0 ? 2 : 1000;
        struct nt_matrix *m[3];
        double md[3];
        for (uint64_t k = 0; k < 3; k++)
            m[k] = random_matrix(9, 10 * seed + k, spread);
        for (int k = 0; k < 3; k++) {
            struct nt_deviation d = deviation_of(m[k == 2 ? 0 : k], m[k == 2 ? 2 : k + 1], 0.25);
            size_t in[2] = {0, 0};
            md[k] = d.mean;
            assert_at_most(fabs(d.mean), d.mean_absolute + 1e-9);
            assert_at_most(d.mean_absolute, d.quadratic_mean + 1e-9);
            assert_at_most(d.quadratic_mean, fabs(d.greatest) + 1e-9);
            assert_int_equal(d.factors, spread > 10);
            for (int bin = 0; bin < NT_DEVIATION_BINS; bin++) {
                assert_below(d.edge[bin], d.edge[bin + 1]);
                for (int s = 0; s < 2; s++)
                    in[s] += d.bin[bin][s];
            }
            assert_true(in[0] == d.pairs && in[1] == d.pairs);
            nt_deviation_fini(&d);
        }
        assert_close(md[2], md[0] + md[1], 1e-6 * spread);
        for (int k = 0; k < 3; k++)
            nt_matrix_destroy(m[k]);
    }
}

static size_t times(const char *text, const char *what)
{
    size_t n = 0;
    for (text = strstr(text, what); text != NULL; text = strstr(text + 1, what))
        n++;
    return n;
}

/* More hosts than cells: each cell is the largest of its block, so that one pair is seen. */
TEST(a_raster_of_many_hosts_shows_one_pair)
{
    enum { HOSTS = 300 };
    SCOPED(matrix) *a = random_matrix(HOSTS, 1, 1), *b = random_matrix(HOSTS, 2, 1);
    static const char *name[HOSTS];
    for (size_t h = 0; h < HOSTS; h++)
        name[h] = "n";
    a->at[7 * HOSTS + 250] = 5;
    struct nt_deviation d = deviation_of(a, b, 0.25);
    struct nt_deviation_report r = {.deviation = &d,
                                    .first = a,
                                    .second = b,
                                    .host_name = name,
                                    .title = {"<a>", "b"},
                                    .tolerance = 0.25};
    char *text;
    must(nt_deviation_svg(&r, &text, NULL, &err));
    assert_int_equal(times(text, "class=\"more\""), 1);
    assert_int_equal(times(text, "class=\"less\""), 0);
    assert_int_equal(times(text, "&#60;a&#62;"), 1);
    free(text);
    must(nt_deviation_text(&r, &text, NULL, &err));
    assert_int_equal(times(text, "\n1 of 89700 pairs differ by more than 25 %\nn n: 5 against 1"),
                     1);
    free(text);
    nt_deviation_fini(&d);
}

RUN_TESTS
