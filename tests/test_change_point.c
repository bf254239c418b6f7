/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "asserts.h"
#include "change_point.h"
#include "rng.h"

enum { READINGS_MAX = 400 };

struct planted {
    size_t n, from, until; /* between these the link is at share */
    double share, sd, outliers;
    double doubt;
};

/* A series about 0; outliers are between a third and one and a half. */
static void make(const struct planted *p, struct nt_rng *rng, struct nt_change_reading *out)
{
    for (size_t k = 0; k < p->n; k++) {
        double x = k >= p->from && k < p->until ? log(p->share) : 0;
        x += p->sd * nt_rng_normal(rng);
        if (nt_rng_uniform(rng) < p->outliers)
            x += log(0.33 + 1.2 * nt_rng_uniform(rng));
        out[k] = (struct nt_change_reading){.x = x, .sd = p->sd, .doubt = p->doubt};
    }
}

static size_t changes_of(const struct planted *p, struct nt_rng *rng, struct nt_change *change,
                         double *level)
{
    static struct nt_change_reading reading[READINGS_MAX];
    struct nt_err err = {0};
    size_t changes;
    make(p, rng, reading);
    if (nt_change_points(reading, p->n, &nt_change_default, change, &changes, level, &err) != 0)
        fail_msg("%s", err.text);
    return changes;
}

/* Within three readings, and nothing else; recovery as well. At 95 % of what was planted. */
static void a_link_at_70_percent_is_found_within_three_readings(void **state)
{
    enum { RUNS = 1000 };
    size_t found = 0, back = 0, dated = 0;
    struct nt_rng rng;
    (void)state;
    nt_rng_init(&rng, 1);
    for (int run = 0; run < RUNS; run++) {
        struct nt_change c[NT_CHANGES_MAX];
        double level;
        struct planted p = {.n = 80, .share = 0.7, .sd = 0.03, .outliers = 0.01, .doubt = 0.02};
        p.from = 3 + nt_rng_below(&rng, 30);
        p.until = p.from + 20;
        size_t n = changes_of(&p, &rng, c, &level);
        bool first = n >= 1 && c[0].at >= p.from && c[0].seen < p.from + 3;
        found += first;
        dated += n >= 1 && c[0].at == p.from;
        back += n >= 2 && c[1].at >= p.until && c[1].seen < p.until + 3;
        if (first) {
            assert_close(c[0].after, log(0.7), 0.1);
            assert_at_least(c[0].confidence, 0.99);
        }
    }
    print_message("%zu of %d found within three readings, %zu with the right date, %zu "
                  "recoveries\n",
                  found, RUNS, dated, back);
    assert_true(found >= RUNS * 95 / 100);
    assert_true(dated >= RUNS * 95 / 100);
    assert_true(back >= RUNS * 95 / 100);
}

/* A thousand jobs of 30 links with two figures each, one in a hundred an outlier. */
static void a_thousand_jobs_give_no_more_than_one_false_alarm(void **state)
{
    size_t alarms = 0;
    struct nt_rng rng;
    (void)state;
    nt_rng_init(&rng, 2);
    for (int series = 0; series < 600; series++) {
        struct nt_change c[NT_CHANGES_MAX];
        double level;
        struct planted p = {.n = 100, .share = 1, .sd = 0.03, .outliers = 0.01, .doubt = 0.02};
        alarms += changes_of(&p, &rng, c, &level);
        assert_below(fabs(level), 0.1);
    }
    print_message("%zu false alarms in 60000 readings\n", alarms);
    assert_true(alarms <= 1);
}

static void small_changes_do_not_count(void **state)
{
    struct nt_rng rng;
    (void)state;
    nt_rng_init(&rng, 3);
    for (int run = 0; run < 100; run++) {
        struct nt_change c[NT_CHANGES_MAX];
        double level;
        struct planted p = {
            .n = 100, .from = 40, .until = 100, .share = 0.95, .sd = 0.01, .doubt = 0.02};
        assert_int_equal(changes_of(&p, &rng, c, &level), 0);
    }
}

/* Slow for three jobs, or longer, and then back: the level before did not go on all the time with
 * outliers in between, whatever the noise. Two such readings may have been outliers. */
static void what_was_slow_for_three_jobs_is_stated_with_its_recovery(void **state)
{
    static const double sds[] = {0.01, 0.02, 0.03};
    struct nt_change_reading r[24];
    struct nt_change c[NT_CHANGES_MAX];
    double level;
    (void)state;
    for (size_t s = 0; s < sizeof sds / sizeof *sds; s++)
        for (size_t slow = 2; slow <= 8; slow++)
            for (size_t back = 2; back <= 6; back++) {
                size_t n = 8 + slow + back, found;
                for (size_t k = 0; k < n; k++)
                    r[k] = (struct nt_change_reading){
                        .x = k >= 8 && k < 8 + slow ? 0.36 : 0, .sd = sds[s], .doubt = 0.02};
                assert_int_equal(
                    nt_change_points(r, n, &nt_change_default, c, &found, &level, NULL), 0);
                assert_below(fabs(level), 0.02);
                assert_int_equal(found, slow < 3 ? 0 : 2);
                if (found == 0)
                    continue;
                assert_int_equal(c[0].at, 8);
                assert_below(fabs(c[0].before), 0.02);
                assert_close(c[0].after, 0.36, 0.02);
                assert_int_equal(c[1].at, 8 + slow);
                assert_close(c[1].before, 0.36, 0.02);
                assert_below(fabs(c[1].after), 0.02);
                assert_at_least(c[1].confidence, nt_change_default.certainty);
            }
}

/* What may be the neighbour's is no evidence by itself, however often: with half of all doubt it
 * takes more. */
static void doubtful_readings_count_less(void **state)
{
    struct nt_change_reading r[12];
    struct nt_change c[NT_CHANGES_MAX];
    size_t sure, doubtful;
    double level;
    (void)state;
    for (size_t k = 0; k < 12; k++)
        r[k] = (struct nt_change_reading){.x = k < 8 ? 0 : -0.36, .sd = 0.03, .doubt = 0.02};
    assert_int_equal(nt_change_points(r, 10, &nt_change_default, c, &sure, &level, NULL), 0);
    assert_int_equal(sure, 1);
    assert_int_equal(c[0].at, 8);
    assert_int_equal(c[0].seen, 9);
    for (size_t k = 8; k < 12; k++)
        r[k].doubt = 0.9;
    assert_int_equal(nt_change_points(r, 10, &nt_change_default, c, &doubtful, &level, NULL), 0);
    assert_int_equal(doubtful, 0);
}

/* Of what is like others, one reading that shows it says what the level was. */
static void what_is_like_others_is_known_by_one_reading(void **state)
{
    struct nt_change_reading r[] = {
        {0.01, 0.02, 0.02}, {0.36, 0.02, 0.02}, {0.35, 0.02, 0.02}, {0.37, 0.02, 0.02}};
    struct nt_change_options alike = nt_change_default;
    struct nt_change c[NT_CHANGES_MAX];
    size_t n;
    double level;
    (void)state;
    assert_int_equal(nt_change_points(r, 4, &nt_change_default, c, &n, &level, NULL), 0);
    assert_int_equal(n, 0);
    alike.alike = 0.02;
    assert_int_equal(nt_change_points(r, 4, &alike, c, &n, &level, NULL), 0);
    assert_int_equal(n, 1);
    assert_int_equal(c[0].at, 1);
    assert_below(fabs(c[0].before), 0.03);
    assert_close(c[0].after, 0.36, 0.03);
    r[0].doubt = 0.5; /* perhaps of its neighbour */
    assert_int_equal(nt_change_points(r, 4, &alike, c, &n, &level, NULL), 0);
    assert_int_equal(n, 0);
    r[0] = (struct nt_change_reading){0.3, 0.02, 0.02}; /* never like the others */
    assert_int_equal(nt_change_points(r, 4, &alike, c, &n, &level, NULL), 0);
    assert_int_equal(n, 0);
}

static void wrong_readings_are_refused(void **state)
{
    struct nt_change_reading r = {.x = 0, .sd = 0, .doubt = 0};
    struct nt_change c[NT_CHANGES_MAX];
    size_t n;
    double level;
    struct nt_err err = {0};
    (void)state;
    assert_int_equal(nt_change_points(&r, 1, &nt_change_default, c, &n, &level, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_int_equal(nt_change_points(&r, 0, &nt_change_default, c, &n, &level, &err), 0);
    assert_int_equal(n, 0);
}

/* The same series a step lower has the same changes: levels are relative. */
static void relabelling_the_level_changes_nothing(void **state)
{
    struct nt_rng rng;
    struct nt_change_reading r[60];
    struct nt_change c[NT_CHANGES_MAX], d[NT_CHANGES_MAX];
    size_t n, m;
    double level;
    struct planted p = {.n = 60,
                        .from = 30,
                        .until = 60,
                        .share = 0.7,
                        .sd = 0.03,
                        .outliers = 0.01,
                        .doubt = 0.02};
    (void)state;
    nt_rng_init(&rng, 5);
    make(&p, &rng, r);
    nt_change_points(r, 60, &nt_change_default, c, &n, &level, NULL);
    for (size_t k = 0; k < 60; k++)
        r[k].x = -r[k].x; /* faster by as much */
    nt_change_points(r, 60, &nt_change_default, d, &m, &level, NULL);
    assert_int_equal(n, m);
    for (size_t k = 0; k < n; k++) {
        assert_int_equal(c[k].at, d[k].at);
        assert_below(fabs(c[k].after + d[k].after), 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_at_70_percent_is_found_within_three_readings),
        cmocka_unit_test(a_thousand_jobs_give_no_more_than_one_false_alarm),
        cmocka_unit_test(small_changes_do_not_count),
        cmocka_unit_test(what_was_slow_for_three_jobs_is_stated_with_its_recovery),
        cmocka_unit_test(doubtful_readings_count_less),
        cmocka_unit_test(what_is_like_others_is_known_by_one_reading),
        cmocka_unit_test(wrong_readings_are_refused),
        cmocka_unit_test(relabelling_the_level_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
