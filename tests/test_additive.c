/* SPDX-License-Identifier: Apache-2.0 */
/* Computed readings give their tree, whatever its links; noisy readings on a grid do not. */
#include "asserts.h"
#include "infer_steps.h"
#include "job_groups.h"
#include "job_network.h"

/* Of readings with those standard errors, NULL: unknown. NULL: none is found. */
static struct nt_model *find_with(const struct nt_matrix *x, const struct nt_matrix *error)
{
    struct nt_model *m;
    struct nt_work w = {.error = error};
    bool *missing = calloc(x->n, sizeof *missing);
    w.host = malloc(x->n * sizeof *w.host);
    w.d = malloc(x->n * x->n * sizeof *w.d);
    assert_true(missing != NULL && w.host != NULL && w.d != NULL);
    nt_work_fill(&w, x);
    nt_work_drop_missing(&w, x->n, missing);
    known_must(nt_additive_find(&w, x->n, &m, &err), &err);
    free(missing);
    free(w.host);
    free(w.d);
    return m;
}

static struct nt_model *find(const struct nt_matrix *x)
{
    return find_with(x, NULL);
}

/* Links of a hundredth of a latency and more. */
static void draw_lengths(struct nt_model *m, struct nt_rng *rng)
{
    for (size_t k = 0; k < m->links; k++) {
        double least = m->link[k].a < m->hosts ? 0.2 : 0.02;
        m->link[k].latency_us = least * pow(3 / least, nt_rng_uniform(rng));
    }
}

TEST(every_tree_of_few_hosts_is_found)
{
    enum { DRAWS = 6 };
    struct job_shape shape[JOB_SHAPES_MAX];
    for (size_t hosts = 4; hosts <= JOB_FEW; hosts++) {
        size_t shapes = job_shapes(hosts, shape);
        for (size_t s = 0; s < DRAWS * shapes; s++) {
            struct nt_rng rng;
            struct job_groups truth, found;
            nt_rng_init(&rng, s);
            SCOPED(model) *network = job_few(&shape[s % shapes], false, &rng);
            draw_lengths(network, &rng);
            SCOPED(matrix) *x = job_measure(network, &(struct job_noise){0}, &rng);
            SCOPED(model) *m = find(x);
            assert_non_null(m);
            job_groups_of(network, &truth);
            job_groups_of(m, &found);
            assert_true(job_groups_same(&truth, &found));
            job_groups_fini(&truth);
            job_groups_fini(&found);
        }
    }
}

/* Networks whose tree is found in noisy readings to a step; 0: to none. */
static size_t found_on_grid(size_t hosts, double sd, double step_us)
{
    enum { RUNS = 200 };
    const double host_us = 0.6;
    size_t found = 0;
    for (size_t s = 0; s < RUNS; s++) {
        struct nt_rng rng;
        nt_rng_init(&rng, s);
        struct nt_model *network = known_balanced(1, &hosts, &host_us);
        struct job_noise noise = {.sd = sd};
        struct nt_matrix *x = job_measure(network, &noise, &rng);
        for (size_t k = 0; k < hosts * hosts && step_us > 0; k++)
            x->at[k] = (float)(round((double)x->at[k] / step_us) * step_us);
        for (size_t i = 0; i < hosts; i++) /* as of one direction */
            for (size_t j = 0; j < i; j++)
                x->at[j * hosts + i] = x->at[i * hosts + j];
        struct nt_model *m = find(x);
        for (size_t k = 0; m != NULL && k < m->links; k++)
            if (m->link[k].a >= hosts) {
                found++;
                break;
            }
        nt_model_destroy(m);
        nt_matrix_destroy(x);
        nt_model_destroy(network);
    }
    return found;
}

TEST(noisy_readings_on_a_grid_are_no_tree)
{
    assert_int_equal(found_on_grid(4, 0.02, 0.001), 0);
    assert_int_equal(found_on_grid(4, 0.02, 1.0 / 2400), 0); /* a clock's ticks */
    assert_int_equal(found_on_grid(8, 0.02, 0.1), 0);        /* nearly all are one value */
    assert_int_equal(found_on_grid(6, 0.02, 0), 0);
}

/* Four readings of a star in a real sweep agree with another tree to the last digit. */
TEST(readings_with_standard_errors_are_no_distances)
{
    const double us[2][3] = {{0.999022, 0.996064, 0.997784}, {1.001918, 0.993592, 1.000677}};
    SCOPED(matrix) *x, *error;
    known_must(nt_matrix_create(4, NT_MATRIX_LATENCY_US, &x, &err), &err);
    known_must(nt_matrix_create(4, NT_MATRIX_LATENCY_US, &error, &err), &err);
    for (size_t i = 1; i < 4; i++)
        for (size_t j = 0; j < i; j++) {
            double value = j == 0 ? us[0][i - 1] : us[1][i + j - 3];
            x->at[i * 4 + j] = x->at[j * 4 + i] = (float)value;
            error->at[i * 4 + j] = error->at[j * 4 + i] = NAN;
        }
    struct nt_model *computed = find_with(x, error);
    assert_non_null(computed);
    nt_model_destroy(computed);
    error->at[1] = 0.003f;
    assert_null(find_with(x, error));
}

TEST(a_missing_pair_leaves_more_than_one_tree)
{
    struct nt_rng rng;
    nt_rng_init(&rng, 1);
    const size_t two[] = {2, 4};
    const double us[] = {0.6, 0.2};
    SCOPED(model) *network = known_balanced(2, two, us);
    SCOPED(matrix) *x = job_measure(network, &(struct job_noise){0}, &rng);
    struct nt_model *m = find(x);
    assert_non_null(m);
    nt_model_destroy(m);
    nt_matrix_set(x, 0, 1, NAN);
    nt_matrix_set(x, 1, 0, NAN);
    assert_null(find(x));
}

RUN_TESTS
