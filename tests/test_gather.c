/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "gather.h"

static struct nt_gather of(size_t hosts)
{
    struct nt_gather g;
    assert_int_equal(nt_gather_init(&g, hosts, NULL), 0);
    return g;
}

TEST(it_is_over_when_all_have_contributed)
{
    struct nt_gather g = of(3);
    assert_true(nt_gather_contribution(&g, 2, 1, false)); /* before rank 0 opens it */
    assert_false(nt_gather_is_over(&g, 0));
    assert_true(nt_gather_contribution(&g, 0, 1, false));
    assert_int_equal(nt_gather_open(&g, 1, 10, NULL), 0);
    assert_false(nt_gather_is_over(&g, 9.9));
    assert_true(nt_gather_contribution(&g, 1, 1, true)); /* not complete yet */
    assert_false(nt_gather_is_over(&g, 9.9));
    assert_true(nt_gather_contribution(&g, 1, 1, false));
    assert_true(nt_gather_is_over(&g, 0));
    assert_int_equal(nt_gather_close(&g), 0);
    assert_false(nt_gather_is_over(&g, 100));
    nt_gather_fini(&g);
}

TEST(a_contribution_is_counted_once)
{
    struct nt_gather g = of(2);
    assert_true(nt_gather_contribution(&g, 1, 3, false));
    assert_false(nt_gather_contribution(&g, 1, 3, false));
    assert_false(nt_gather_contribution(&g, 1, 3, true));
    assert_false(nt_gather_contribution(&g, 1, 2, false));
    assert_false(nt_gather_contribution(&g, 2, 1, false)); /* no such host */
    nt_gather_fini(&g);
}

TEST(a_host_that_misses_a_gather_is_not_awaited)
{
    struct nt_gather g = of(4);
    nt_gather_contribution(&g, 0, 1, false);
    nt_gather_contribution(&g, 1, 1, false);
    nt_gather_contribution(&g, 2, 1, true); /* never completed */
    nt_gather_open(&g, 1, 10, NULL);
    assert_false(nt_gather_is_over(&g, 9));
    assert_true(nt_gather_is_over(&g, 10));
    assert_int_equal(nt_gather_close(&g), 2);
    assert_false(nt_gather_contribution(&g, 2, 1, false)); /* late */
    nt_gather_contribution(&g, 0, 2, false);
    nt_gather_open(&g, 2, 20, NULL);
    assert_false(nt_gather_is_over(&g, 0));
    nt_gather_contribution(&g, 1, 2, false);
    assert_true(nt_gather_is_over(&g, 0));
    assert_int_equal(nt_gather_close(&g), 0);
    nt_gather_fini(&g);
}

TEST(a_host_that_contributes_in_time_is_awaited_again)
{
    struct nt_gather g = of(2);
    nt_gather_set_lost(&g, 1);
    nt_gather_contribution(&g, 0, 1, false);
    nt_gather_open(&g, 1, 10, NULL);
    assert_true(nt_gather_is_over(&g, 0));
    assert_true(nt_gather_contribution(&g, 1, 1, true));
    assert_true(nt_gather_is_over(&g, 0)); /* not complete, so not awaited */
    assert_true(nt_gather_contribution(&g, 1, 1, false));
    assert_int_equal(nt_gather_close(&g), 0);
    nt_gather_contribution(&g, 0, 2, false);
    nt_gather_open(&g, 2, 20, NULL);
    assert_false(nt_gather_is_over(&g, 0));
    nt_gather_contribution(&g, 1, 2, false);
    assert_true(nt_gather_is_over(&g, 0));
    nt_gather_fini(&g);
}

TEST(a_lost_host_is_not_awaited)
{
    struct nt_gather g = of(3);
    nt_gather_contribution(&g, 0, 1, false);
    nt_gather_set_lost(&g, 1);
    nt_gather_open(&g, 1, 10, NULL);
    assert_false(nt_gather_is_over(&g, 0));
    nt_gather_set_lost(&g, 2);
    nt_gather_set_lost(&g, 2);
    assert_true(nt_gather_is_over(&g, 0));
    nt_gather_set_lost(&g, 7);
    nt_gather_fini(&g);
}

TEST(seq_must_increase)
{
    struct nt_gather g = of(1);
    assert_int_equal(nt_gather_open(&g, 0, 1, &err), -1);
    must(nt_gather_open(&g, 5, 1, &err));
    assert_int_equal(nt_gather_open(&g, 6, 1, &err), -1);
    assert_non_null(strstr(err.text, "open"));
    nt_gather_close(&g);
    assert_int_equal(nt_gather_open(&g, 5, 1, &err), -1);
    must(nt_gather_open(&g, 9, 1, &err));
    nt_gather_fini(&g);
}

RUN_TESTS
