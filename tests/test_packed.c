/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "asserts.h"
#include "packed.h"

static const struct nt_evidence_entry pairs[] = {
    {.a = 0, .b = 1, .count = 1, .lowest_us = 1.25f, .mean_us = 1.25f},
    {.a = 0, .b = 70000, .count = 3, .lowest_us = 2, .mean_us = 2.5f, .sd_us = 0.3f},
    {.a = 7, .b = 8, .count = 300, .lowest_us = 0.01f, .mean_us = 0.01f},
    {.a = 7, .b = 9, .count = 1, .lowest_us = 9e8f, .mean_us = 9e8f},
    {.a = 70001, .b = 70002, .count = 2, .lowest_us = 1.3f, .mean_us = 1.31f, .sd_us = 0.01f},
};
enum { PAIRS = sizeof pairs / sizeof *pairs, HOSTS = 80000 };

static const struct nt_fleet_figure figures[] = {
    {.host = 0, .tier = 0, .kind = NT_FIGURE_LATENCY, .value = 0.5f},
    {.host = 0, .tier = 0, .kind = NT_FIGURE_UP, .value = 12000},
    {.host = 0, .tier = 0, .kind = NT_FIGURE_DOWN, .value = 11000, .bound = true},
    {.host = 0, .tier = 7, .kind = NT_FIGURE_LATENCY, .value = 1e-6f},
    {.host = 70000, .tier = 1, .kind = NT_FIGURE_UP, .value = 1e8f, .shared = true, .bound = true},
};
enum { FIGURES = sizeof figures / sizeof *figures };

static void assert_near(double found, double expected)
{
    if (fabs(found - expected) > 0.001 * fabs(expected))
        fail_msg("%g is not %g", found, expected);
}

static int check_pair(void *context, const struct nt_evidence_entry *p, struct nt_err *err)
{
    size_t *k = context;
    (void)err;
    assert_true(*k < PAIRS);
    assert_int_equal(p->a, pairs[*k].a);
    assert_int_equal(p->b, pairs[*k].b);
    assert_int_equal(p->count, pairs[*k].count);
    assert_near(p->lowest_us, pairs[*k].lowest_us);
    assert_near(p->mean_us, pairs[*k].mean_us);
    assert_below(fabs(p->sd_us - pairs[*k].sd_us), 0.001 * p->mean_us);
    ++*k;
    return 0;
}

static int check_figure(void *context, const struct nt_fleet_figure *f, struct nt_err *err)
{
    size_t *k = context;
    (void)err;
    assert_true(*k < FIGURES);
    assert_int_equal(f->host, figures[*k].host);
    assert_int_equal(f->tier, figures[*k].tier);
    assert_int_equal(f->kind, figures[*k].kind);
    assert_int_equal(f->shared, figures[*k].shared);
    assert_int_equal(f->bound, figures[*k].bound);
    assert_near(f->value, figures[*k].value);
    ++*k;
    return 0;
}

static void what_is_packed_comes_back(void **state)
{
    struct nt_strbuf buf = {0};
    struct nt_err err = {0};
    size_t k = 0;
    (void)state;
    nt_packed_put_pairs(&buf, pairs, PAIRS);
    assert_int_equal(nt_packed_visit_pairs(buf.text, buf.used, HOSTS, check_pair, &k, &err), 0);
    assert_int_equal(k, PAIRS);
    assert_true(buf.used <= 10 * (size_t)PAIRS);
    k = 0;
    assert_int_equal(nt_packed_visit_pairs(buf.text, buf.used, 70002, check_pair, &k, &err), -1);
    buf.used = k = 0;
    nt_packed_put_figures(&buf, figures, FIGURES);
    assert_int_equal(nt_packed_visit_figures(buf.text, buf.used, HOSTS, check_figure, &k, &err), 0);
    assert_int_equal(k, FIGURES);
    free(buf.text);
}

static int take_pair(void *context, const struct nt_evidence_entry *p, struct nt_err *err)
{
    (void)context, (void)err;
    assert_true(p->a < p->b && p->b < 100 && p->count > 0);
    assert_above(p->lowest_us, 0);
    assert_at_least(p->mean_us, p->lowest_us);
    assert_at_least(p->sd_us, 0);
    assert_true(isfinite(p->sd_us));
    return 0;
}

static int take_figure(void *context, const struct nt_fleet_figure *f, struct nt_err *err)
{
    (void)context, (void)err;
    assert_true(f->host < 100 && f->tier < NT_FLEET_TIERS && f->kind < NT_FIGURE_KINDS);
    return 0;
}

/* Every change of one byte, and every cut: an error, or values within bounds. */
static void damaged_bytes_stay_within_bounds(void **state)
{
    struct nt_strbuf buf = {0};
    (void)state;
    nt_packed_put_pairs(&buf, pairs, 1);
    nt_packed_put_pairs(&buf, pairs + 1, PAIRS - 1);
    for (size_t at = 0; at < buf.used; at++)
        for (int value = 0; value < 256; value++) {
            char was = buf.text[at];
            buf.text[at] = (char)value;
            nt_packed_visit_pairs(buf.text, buf.used, 100, take_pair, NULL, NULL);
            nt_packed_visit_figures(buf.text, buf.used, 100, take_figure, NULL, NULL);
            nt_packed_visit_pairs(buf.text, at, 100, take_pair, NULL, NULL);
            buf.text[at] = was;
        }
    free(buf.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_comes_back),
        cmocka_unit_test(damaged_bytes_stay_within_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
