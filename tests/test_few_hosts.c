/* SPDX-License-Identifier: Apache-2.0 */
/* Every tree of few hosts is found from exact readings. */
#include "asserts.h"
#include "job_groups.h"
#include "job_network.h"

/* Trees without an inner vertex of two links, by their leaves: 1, 2, 3, 7, 13, 32 (series-reduced
 * trees, Cayley's count). */
TEST(test_all_shapes)
{
    const size_t counts[] = {1, 2, 3, 7, 13, 32};
    struct job_shape shape[JOB_SHAPES_MAX];
    for (size_t hosts = 3; hosts <= JOB_FEW; hosts++)
        assert_int_equal(job_shapes(hosts, shape), counts[hosts - 3]);
}

static double log_uniform(double low, double high, struct nt_rng *rng)
{
    return low * pow(high / low, nt_rng_uniform(rng));
}

/* Host links of 0.2 to 3 us, others of 0.02 to 2. */
static void draw_wide_lengths(struct nt_model *m, struct nt_rng *rng)
{
    for (size_t k = 0; k < m->links; k++)
        m->link[k].latency_us =
            m->link[k].a < m->hosts ? log_uniform(0.2, 3, rng) : log_uniform(0.02, 2, rng);
}

/* Draws of the shape whose map is another tree. */
static size_t wrong_of(const struct job_shape *shape, bool wide, size_t networks)
{
    size_t wrong = 0;
    for (size_t s = 0; s < networks; s++) {
        struct nt_rng rng;
        struct job_groups truth, map;
        nt_rng_init(&rng, 100 * s + shape->hosts);
        SCOPED(model) *network = job_few(shape, s % 4 == 3, &rng);
        if (wide)
            draw_wide_lengths(network, &rng);
        SCOPED(matrix) *x = job_measure(network, &(struct job_noise){0}, &rng);
        SCOPED(model) *m = known_inferred(x, 1);
        job_groups_of(network, &truth);
        job_groups_of(m, &map);
        wrong += !job_groups_same(&truth, &map);
        job_groups_fini(&truth);
        job_groups_fini(&map);
    }
    return wrong;
}

/* least: networks of each number of hosts; 128 are four of each shape of eight, the last with equal
 * lengths. */
static void every_tree_is_found(bool wide, size_t least)
{
    struct job_shape shape[JOB_SHAPES_MAX];
    size_t failed = 0;
    for (size_t hosts = 3; hosts <= JOB_FEW; hosts++) {
        size_t shapes = job_shapes(hosts, shape), networks = (least + shapes - 1) / shapes;
        for (size_t k = 0; k < shapes; k++) {
            char name[JOB_NAME];
            size_t wrong = wrong_of(&shape[k], wide, networks);
            job_name(&shape[k], name);
            if (wrong > 0)
                print_message("%zu hosts, %s: %zu of %zu are wrong\n", hosts, name, wrong,
                              networks);
            failed += wrong;
        }
    }
    assert_int_equal(failed, 0);
}

TEST(test_exact_readings)
{
    every_tree_is_found(false, draws(128, 384));
}

/* A link between switches may be a hundredth of a latency. */
TEST(test_exact_readings_of_any_length)
{
    every_tree_is_found(true, draws(128, 256));
}

/* A star fits these with an error of 58 us, {1,4} beside {2,3} with none. */
TEST(test_four_hosts)
{
    const uint32_t side[] = {1, 2};
    struct job_groups truth, map;
    SCOPED(matrix) *x = job_four();
    SCOPED(model) *m = known_inferred(x, 1);
    job_groups_init(&truth, 4);
    truth.tree = true;
    job_groups_add(&truth, side, 2, 100, 1);
    job_groups_of(m, &map);
    assert_true(job_groups_same(&truth, &map));
    assert_below(m->rms_us, 1);
    job_groups_fini(&truth);
    job_groups_fini(&map);
}

/* The fit leaves over more than what could be distinguished: then the shape is not certain. */
TEST(test_misfit_is_not_sure)
{
    struct job_shape shape[JOB_SHAPES_MAX];
    for (size_t hosts = 4; hosts <= JOB_FEW; hosts++) {
        size_t shapes = job_shapes(hosts, shape);
        for (size_t s = 0; s < draws(6, 20) * shapes; s++) {
            struct nt_rng rng;
            nt_rng_init(&rng, s);
            SCOPED(model) *network = job_few(&shape[s % shapes], false, &rng);
            struct job_noise noise = {.sd = 0.01 * (double)(s % 6)};
            SCOPED(matrix) *x = job_measure(network, &noise, &rng);
            SCOPED(model) *m = known_inferred(x, 1);
            if (m->rms_us > m->resolution_us && m->confidence >= 0.9)
                fail_msg("%zu hosts, seed %zu: rms %.3f us over a resolution of %.3f, confidence "
                         "%.2f",
                         hosts, s, m->rms_us, m->resolution_us, m->confidence);
        }
    }
}

/* Repeats that are as far apart as noise is, up to half as much more or less. */
static struct nt_matrix *errors_of(const struct nt_matrix *x, double sd, struct nt_rng *rng)
{
    struct nt_matrix *errors;
    known_must(nt_matrix_create(x->n, NT_MATRIX_LATENCY_US, &errors, &err), &err);
    for (size_t k = 0; k < x->n * x->n; k++)
        errors->at[k] = (float)(sd * (0.5 + nt_rng_uniform(rng))) * x->at[k];
    return errors;
}

/* Four hosts, a gap of so many sd of a reading between two pairs, 0: none. Returns the support of
 * the link between switches, 0 without. */
static double support_of_gap(double gap, double sd, size_t seed)
{
    const size_t two[] = {2, 2};
    const double us[] = {0.6, gap * sd * 0.6};
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    struct nt_model *network =
        gap > 0 ? known_balanced(2, two, us) : known_balanced(1, (const size_t[]){4}, us);
    struct nt_matrix *x = job_measure(network, &(struct job_noise){.sd = sd}, &rng), *errors;
    struct nt_model *m;
    errors = errors_of(x, sd, &rng);
    known_must(nt_infer_latency(x, errors, 1, &m, &err), &err);
    double support = 0;
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a >= m->hosts)
            support = m->link[k].probability;
    nt_matrix_destroy(x);
    nt_matrix_destroy(errors);
    nt_model_destroy(network);
    nt_model_destroy(m);
    return support;
}

/* Four leaves of two, nearer by six sd of a reading: no pair would be seen by itself, but all
 * uplinks are as long. */
TEST(test_pairs_of_eight)
{
    enum { RUNS = 40, PAIRS = 4 };
    const size_t fan[] = {PAIRS, 2};
    const double sd = 0.02, us[] = {0.6, 6 * sd * 0.6};
    size_t found = 0;
    for (size_t s = 0; s < RUNS; s++) {
        struct nt_rng rng;
        nt_rng_init(&rng, s);
        SCOPED(model) *network = known_balanced(2, fan, us);
        SCOPED(matrix) *x = job_measure(network, &(struct job_noise){.sd = sd}, &rng);
        SCOPED(model) *m = known_inferred(x, 1);
        struct job_groups truth, map;
        job_groups_of(network, &truth);
        job_groups_of(m, &map);
        for (size_t k = 0; k < truth.count; k++)
            found += job_groups_find(&map, &truth.group[k]) != NULL;
        job_groups_fini(&truth);
        job_groups_fini(&map);
    }
    print_message("%zu of %d pairs\n", found, RUNS * PAIRS);
    assert_at_least(found * 10, 9 * RUNS * PAIRS);
}

/* Two degrees of freedom do not distinguish noise from a split, but repeats do. */
TEST(test_repeats_tell_noise)
{
    enum { RUNS = 300 };
    size_t split = 0, sure = 0, found = 0;
    for (size_t s = 0; s < RUNS; s++) {
        double sd = 0.01 * (double)(1 + s % 10), none = support_of_gap(0, sd, s);
        split += none > 0;
        sure += none >= 0.9;
        found += support_of_gap(6, sd, s) > 0;
    }
    print_message("of %d: %zu split, %zu of them surely; %zu gaps found\n", RUNS, split, sure,
                  found);
    assert_at_most(split * 33, RUNS);
    assert_at_most(sure * 100, RUNS);
    assert_at_least(found * 10, RUNS * 9);
}

/* Of `runs` noisy sets of four hosts behind one switch, read to a step: the number with a group of
 * high support. */
static size_t sure_of_steps(double steps_a_us, size_t runs)
{
    const size_t four = 4;
    const double host_us = 0.6;
    size_t sure = 0;
    for (size_t s = 0; s < runs; s++) {
        struct nt_rng rng;
        nt_rng_init(&rng, 10 * s + four);
        SCOPED(model) *network = known_balanced(1, &four, &host_us);
        struct job_noise noise = {.sd = 0.003 + 0.04 * nt_rng_uniform(&rng)};
        SCOPED(matrix) *x = job_measure(network, &noise, &rng);
        for (size_t k = 0; k < four * four; k++)
            x->at[k] = (float)(round(steps_a_us * (double)x->at[k]) / steps_a_us);
        SCOPED(model) *m = known_inferred(x, 1);
        for (size_t k = 0; k < m->links; k++)
            sure += m->link[k].a >= four && m->link[k].probability >= 0.9;
    }
    return sure;
}

/* Noisy readings of a few digits often agree with a tree to the last one. */
TEST(test_steps_make_no_switch)
{
    size_t runs = draws(500, 1500);
    assert_int_equal(sure_of_steps(1000, runs), 0);
    assert_int_equal(sure_of_steps(2000, runs), 0);
    assert_at_most(sure_of_steps(2400, runs) * 300, runs); /* a clock's ticks */
}

RUN_TESTS
