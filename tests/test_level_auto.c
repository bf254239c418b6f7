/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "level_auto.h"

enum { SKIP = NT_AUTO_SKIP, QUICK = NT_AUTO_QUICK, STANDARD = NT_AUTO_STANDARD };

/* Of a job of 16 hosts that the prior knows since yesterday. */
static const struct nt_auto_facts sure = {
    .hosts = 16, .known = 16, .whole = true, .support = 0.97, .age_days = 1, .budget_s = 5};

static void choose(struct nt_auto_facts f, int is_short, int between, int is_long)
{
    static const double limit_s[] = {60, 499, 500, 4999, 5000, 86400, 0};
    const int want[] = {is_short, is_short, between, between, is_long, is_long, is_long};
    for (size_t k = 0; k < sizeof limit_s / sizeof *limit_s; k++) {
        f.limit_s = limit_s[k];
        if ((int)nt_auto_level_choose(&f) != want[k])
            fail_msg("limit %g s: %d, expected %d", f.limit_s, (int)nt_auto_level_choose(&f),
                     want[k]);
    }
}

TEST(a_sure_prior_saves_the_sweep)
{
    struct nt_auto_facts f = sure;
    choose(f, SKIP, SKIP, QUICK);
    f.support = 0.9;
    choose(f, SKIP, SKIP, QUICK);
    f.age_days = 30;
    choose(f, SKIP, SKIP, QUICK);
    f.hosts = f.known = 500;
    f.age_days = 0;
    choose(f, SKIP, SKIP, QUICK);
}

TEST(what_is_not_sure_is_measured)
{
    struct nt_auto_facts f[8];
    for (size_t k = 0; k < 8; k++)
        f[k] = sure;
    f[0].known = 15;
    f[1].whole = false;
    f[2].support = 0.89;
    f[3].age_days = 31;
    f[3].hosts = f[3].known = 8;
    f[4].age_days = -1;
    f[5].hosts = f[5].known = 501;
    f[5].age_days = 0;
    f[6].age_days = 31;
    f[7].known = 8;
    for (size_t k = 0; k < 8; k++)
        choose(f[k], QUICK, QUICK, STANDARD);
}

TEST(without_a_prior_only_short_jobs_save)
{
    struct nt_auto_facts f = sure;
    f.known = 7;
    choose(f, QUICK, STANDARD, STANDARD);
    f.known = 0;
    choose(f, QUICK, STANDARD, STANDARD);
    f.hosts = 1;
    f.known = 1;
    choose(f, QUICK, QUICK, STANDARD);
}

RUN_TESTS
