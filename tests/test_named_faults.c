/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "asserts.h"
#include "named_faults.h"

enum { LIKE = 5 };

/* A job each character: of user '0' to '9', that names part 1; of user 'a' to 'j', that crosses it
 * and does not, 'A' to 'J' with a figure of it as the others have it; '.': one with too few parts
 * to tell; '!' and '?', users as well: that name it, alone below its switch, and as one of two;
 * '*' names it and 'z' does not, of a user whom nobody knows. */
static struct nt_changes_job job_of(const char *jobs, size_t k)
{
    bool unknown = jobs[k] == '*' || jobs[k] == 'z';
    return (struct nt_changes_job){1000 + (int64_t)k, 10 + k,
                                   unknown ? NT_NO_USER : (uint32_t)jobs[k]};
}

static size_t found_in(const char *jobs, uint8_t tier, struct nt_fleet_change *out)
{
    struct nt_named n = {0};
    struct nt_fleet_change *c = NULL;
    const struct nt_named_part part = {1, tier, NT_FIGURE_LATENCY};
    size_t count = 0, all = strlen(jobs);
    for (size_t k = all; k-- > 0;) { /* the order does not matter */
        const struct nt_changes_job job = job_of(jobs, k);
        if ((jobs[k] >= '0' && jobs[k] <= '9') || strchr("!?*", jobs[k]) != NULL)
            assert_int_equal(nt_named_add(&n, part, job, 4 + (double)k, 2, 0.9, NULL), 0);
    }
    for (size_t k = 0; k < all; k++) {
        const struct nt_changes_job job = job_of(jobs, k);
        struct nt_named_crossing crossed[2 * LIKE];
        for (uint32_t p = 0; p < 2 * LIKE; p++)
            crossed[p] = (struct nt_named_crossing){
                .part = {p % LIKE, tier, NT_FIGURE_LATENCY},
                .among = (jobs[k] == '!' && p % LIKE != 1) || (jobs[k] == '?' && p % LIKE > 1),
                .value = jobs[k] >= 'A' && jobs[k] <= 'J' ? 3.9F : 2};
        size_t some = jobs[k] == '.' ? 2 : 2 * LIKE;
        assert_int_equal(nt_named_cross(&n, job, crossed, some, NULL), 0);
    }
    assert_int_equal(nt_named_find(&n, &c, &count, NULL), 0);
    if (count > 0)
        *out = c[0];
    free(c);
    nt_named_fini(&n);
    return count;
}

static void what_every_job_names_is_told(void **state)
{
    struct nt_fleet_change c;
    (void)state;
    assert_int_equal(found_in("12", 0, &c), 1);
    assert_true(c.part == 1 && c.kind == NT_FIGURE_LATENCY && c.worse && c.current && c.named);
    assert_true(c.since_s == 1000 && c.before_s == 0 && c.first_job == 10);
    assert_true(c.jobs == 2 && c.users == 2 && c.from == 2);
    assert_above(c.confidence, 0.89);
    assert_int_equal(found_in(".1.2.1", 0, &c), 1); /* who cannot tell says nothing */
    assert_true(c.since_s == 1001 && c.jobs == 3 && c.users == 2 && c.to == 7);
    assert_int_equal(found_in("ab121", 0, &c), 1);
    assert_true(c.since_s == 1002 && c.before_s == 1001 && c.jobs == 3);
}

static void too_little_is_not_told(void **state)
{
    static const char *const jobs[] = {"",        "1",      "11111", "12ab", "a12",
                                       "1a2a1a2", "12aba1", ".",     "a"};
    struct nt_fleet_change c;
    (void)state;
    for (size_t k = 0; k < sizeof jobs / sizeof *jobs; k++)
        if (found_in(jobs[k], 0, &c) != 0)
            fail_msg("%s", jobs[k]);
}

/* One user, or users nobody knows, state nothing and clear nothing: two users do both. A user who
 * goes on naming a part keeps two others from nothing. */
static void one_user_alone_clears_nothing(void **state)
{
    struct nt_fleet_change c;
    (void)state;
    assert_int_equal(found_in("12a", 0, &c), 1);
    assert_true(c.since_s == 1000 && c.jobs == 2 && c.users == 2);
    assert_int_equal(found_in("12aaaaaa", 0, &c), 1);
    assert_int_equal(found_in("12a1aa2a", 0, &c), 1);
    assert_true(c.jobs == 4 && c.users == 2);
    assert_int_equal(found_in("12zzz", 0, &c), 1);
    assert_int_equal(found_in("12ab", 0, &c), 0);
    assert_int_equal(found_in("12azb", 0, &c), 0);
    assert_int_equal(found_in("121a1b1", 0, &c), 0);
    assert_int_equal(found_in("12ab121", 0, &c), 1);
    assert_true(c.since_s == 1004 && c.jobs == 3);
    assert_int_equal(found_in("*1*1", 0, &c), 0);
}

/* Of a few hosts no map says which is slow, though the figure is the same. */
static void who_agrees_says_nothing(void **state)
{
    struct nt_fleet_change c;
    (void)state;
    assert_int_equal(found_in("1A2A1", 0, &c), 1);
    assert_true(c.since_s == 1000 && c.before_s == 0 && c.jobs == 3 && c.jobs_to_sure == 2);
    assert_int_equal(found_in("1112A", 0, &c), 1);
    assert_true(c.jobs == 4 && c.jobs_to_sure == 4); /* the first one of a second user */
    assert_int_equal(found_in("1a2A", 0, &c), 0);
    assert_int_equal(found_in("AAA", 0, &c), 0);
}

/* A latency between switches as slow as those of its like below other switches. */
static void a_link_between_switches_is_held_against_those_below_the_same(void **state)
{
    struct nt_fleet_change c;
    (void)state;
    assert_int_equal(found_in("12", 1, &c), 1);
    assert_int_equal(found_in("1!", 1, &c), 0);
    assert_int_equal(found_in("!a!12!1", 1, &c), 1);
    assert_true(c.since_s == 1003 && c.jobs == 3);
    assert_int_equal(found_in("1?", 1, &c), 1);
    assert_int_equal(found_in("1!", 0, &c), 1); /* a host's link: its job knows which are alike */
}

/* A current change of the same part and kind says it already; one that is over does not. */
static void what_changed_is_told_once(void **state)
{
    (void)state;
    for (int current = 0; current < 2; current++) {
        struct nt_named n = {0};
        size_t count = 1;
        struct nt_fleet_change *c = calloc(1, sizeof *c);
        const struct nt_named_part part = {7, 2, NT_FIGURE_UP};
        c[0] = (struct nt_fleet_change){
            .part = 7, .tier = 2, .kind = NT_FIGURE_UP, .current = current > 0};
        for (uint32_t j = 0; j < 3; j++)
            assert_int_equal(
                nt_named_add(&n, part, (struct nt_changes_job){j, j, j}, 1, 2, 1, NULL), 0);
        assert_int_equal(nt_named_find(&n, &c, &count, NULL), 0);
        assert_int_equal(count, current > 0 ? 1 : 2);
        free(c);
        nt_named_fini(&n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_every_job_names_is_told),
        cmocka_unit_test(too_little_is_not_told),
        cmocka_unit_test(one_user_alone_clears_nothing),
        cmocka_unit_test(who_agrees_says_nothing),
        cmocka_unit_test(a_link_between_switches_is_held_against_those_below_the_same),
        cmocka_unit_test(what_changed_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
