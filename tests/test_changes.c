/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "asserts.h"
#include "changes.h"
#include "rng.h"

enum { HOSTS = 120, HOSTS_OF_JOB = 16, JOBS = 1000, FAULTS = 20, HOUR_S = 3600 };

struct planted {
    uint32_t users;
    double offset_sd; /* of a whole job's latencies */
    uint32_t first_fault, fault_jobs;
    double share; /* of a faulty link's bandwidth */
};

/* Every sixth host is narrow, the h-th of them from job first_fault + 10 h on, for fault_jobs. */
static bool is_faulty(const struct planted *p, uint32_t host, uint32_t job)
{
    uint32_t from = p->first_fault + 10 * (host / 6);
    return host % 6 == 0 && job >= from && job < from + p->fault_jobs;
}

static void add_figure(struct nt_changes *c, uint32_t host, enum nt_figure_kind kind, double value)
{
    struct nt_fleet_figure f = {.host = host, .kind = (uint8_t)kind, .value = (float)value};
    assert_int_equal(nt_changes_add(c, &f, host, NULL), 0);
}

static void make(const struct planted *p, struct nt_changes *c, struct nt_rng *rng)
{
    for (uint32_t j = 0; j < JOBS; j++) {
        struct nt_changes_job job = {1700000000 + (int64_t)j * HOUR_S, 5000 + j, j % p->users};
        double offset = exp(p->offset_sd * nt_rng_normal(rng));
        uint32_t first = (uint32_t)nt_rng_below(rng, HOSTS);
        assert_int_equal(nt_changes_add_job(c, job, NULL), 0);
        for (uint32_t k = 0; k < HOSTS_OF_JOB; k++) {
            uint32_t host = (first + k) % HOSTS;
            double wild = nt_rng_uniform(rng) < 0.01 ? 0.4 + nt_rng_uniform(rng) : 1;
            double share = is_faulty(p, host, j) ? p->share : 1;
            add_figure(c, host, NT_FIGURE_LATENCY,
                       0.5 * offset * exp(0.02 * nt_rng_normal(rng)) / wild);
            add_figure(c, host, NT_FIGURE_UP,
                       12000 * share * wild * exp(0.02 * nt_rng_normal(rng)));
            add_figure(c, host, NT_FIGURE_DOWN, 12000 * exp(0.02 * nt_rng_normal(rng)));
        }
    }
}

static struct nt_fleet_change *found(const struct planted *p, uint64_t seed, size_t *count)
{
    struct nt_changes c = {0};
    struct nt_rng rng;
    struct nt_err err = {0};
    struct nt_fleet_change *out = NULL;
    nt_rng_init(&rng, seed);
    make(p, &c, &rng);
    if (nt_changes_find(&c, &out, count, &err) != 0)
        fail_msg("%s", err.text);
    nt_changes_fini(&c);
    return out;
}

static void faults_and_recoveries_are_dated(void **state)
{
    struct planted p = {.users = 5, .first_fault = 300, .fault_jobs = 250, .share = 0.7};
    size_t count, faults = 0, back = 0, quick = 0, others = 0;
    (void)state;
    p.offset_sd = 0.2;
    struct nt_fleet_change *c = found(&p, 1, &count);
    for (size_t k = 0; k < count; k++) {
        uint32_t first = (uint32_t)c[k].first_job - 5000, host = c[k].part;
        if (host % 6 != 0 || c[k].kind != NT_FIGURE_UP) {
            others++;
            continue;
        }
        uint32_t from = p.first_fault + 10 * (host / 6);
        if (c[k].worse && first >= from && first < from + p.fault_jobs) {
            faults++;
            quick += c[k].jobs_to_sure <= 3;
            if (fabs(c[k].to / c[k].from - 0.7) >= 0.05)
                fail_msg("host %u from job %u: %g to %g", host, first, c[k].from, c[k].to);
            assert_true(c[k].users >= 2 && c[k].jobs >= 2);
            assert_true(c[k].since_s == 1700000000 + (int64_t)first * HOUR_S);
            assert_above(c[k].before_s, 0);
            assert_below(c[k].before_s, c[k].since_s);
        } else if (!c[k].worse && first >= from + p.fault_jobs) {
            back += c[k].current;
        } else {
            others++;
        }
    }
    print_message("%zu of %d faults, %zu within three jobs, %zu recoveries, %zu other changes\n",
                  faults, FAULTS, quick, back, others);
    assert_true(faults >= 19 && quick >= 19 && back >= 19 && others <= 1);
    free(c);
}

static void without_faults_there_is_at_most_one_alarm(void **state)
{
    struct planted p = {.users = 3, .offset_sd = 0.2, .share = 1};
    size_t count, sum = 0;
    (void)state;
    for (uint64_t seed = 2; seed < 5; seed++) {
        free(found(&p, seed, &count));
        sum += count;
    }
    print_message("%zu false alarms in 3000 jobs\n", sum);
    assert_true(sum <= 3);
}

static void one_users_jobs_alone_state_nothing(void **state)
{
    struct planted p = {.users = 1, .first_fault = 300, .fault_jobs = 250, .share = 0.3};
    size_t count;
    (void)state;
    free(found(&p, 7, &count));
    assert_int_equal(count, 0);
}

/* A link is narrow from job 30 on, as jobs of all users find. Then one user alone finds it well, in
 * `lone` jobs among those of nobody else, or two users do. */
static size_t cleared_by(uint32_t users, uint32_t lone, struct nt_fleet_change *last)
{
    struct nt_changes c = {0};
    struct nt_rng rng;
    struct nt_fleet_change *out;
    size_t count;
    nt_rng_init(&rng, 5);
    for (uint32_t j = 0; j < 60 + lone; j++) {
        uint32_t user = j < 60 ? j % 3 : users == 0 ? NT_NO_USER : 7 + j % users;
        struct nt_changes_job job = {1700000000 + (int64_t)j * HOUR_S, 5000 + j, user};
        assert_int_equal(nt_changes_add_job(&c, job, NULL), 0);
        for (uint32_t k = 0; k < HOSTS_OF_JOB; k++)
            add_figure(&c, k, NT_FIGURE_UP,
                       (k == 0 && j >= 30 && j < 60 ? 6000 : 12000) *
                           exp(0.02 * nt_rng_normal(&rng)));
    }
    assert_int_equal(nt_changes_find(&c, &out, &count, NULL), 0);
    if (count > 0)
        *last = out[count - 1];
    free(out);
    nt_changes_fini(&c);
    return count;
}

static void one_user_alone_clears_nothing(void **state)
{
    struct nt_fleet_change c = {0};
    (void)state;
    assert_int_equal(cleared_by(1, 0, &c), 1);
    assert_true(c.worse && c.current);
    assert_int_equal(cleared_by(1, 12, &c), 1);
    assert_true(c.worse && c.current && c.first_job == 5030);
    assert_int_equal(cleared_by(0, 12, &c), 1); /* of unknown users: they may be one */
    assert_true(c.worse && c.current);
    assert_int_equal(cleared_by(2, 12, &c), 2);
    assert_true(!c.worse && c.current && c.first_job == 5060);
}

/* All jobs from some day on are slower: the class has changed, no part of it. */
static void a_change_of_all_is_the_classs(void **state)
{
    struct nt_changes c = {0};
    struct nt_rng rng;
    struct nt_fleet_change *out;
    size_t count;
    (void)state;
    nt_rng_init(&rng, 3);
    for (uint32_t j = 0; j < 200; j++) {
        struct nt_changes_job job = {1700000000 + (int64_t)j * HOUR_S, 5000 + j, j % 3};
        assert_int_equal(nt_changes_add_job(&c, job, NULL), 0);
        for (uint32_t k = 0; k < HOSTS_OF_JOB; k++)
            add_figure(&c, (j * 7 + k) % HOSTS, NT_FIGURE_LATENCY,
                       (j < 120 ? 0.5 : 0.65) * exp(0.02 * nt_rng_normal(&rng)));
    }
    assert_int_equal(nt_changes_find(&c, &out, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_int_equal(out[0].part, NT_CHANGE_CLASS);
    assert_int_equal(out[0].first_job, 5120);
    assert_true(out[0].worse);
    assert_close(out[0].to / out[0].from, 1.3, 0.03);
    free(out);
    nt_changes_fini(&c);
}

/* One job saw the host as all others are, the next ones slower. */
static void one_job_before_is_enough_where_all_are_alike(void **state)
{
    struct nt_changes c = {0};
    struct nt_rng rng;
    struct nt_fleet_change *out;
    size_t count;
    (void)state;
    nt_rng_init(&rng, 9);
    for (uint32_t j = 0; j < 40; j++) {
        struct nt_changes_job job = {1700000000 + (int64_t)j * HOUR_S, 5000 + j, j % 3};
        double offset = exp(0.05 * nt_rng_normal(&rng));
        bool late = j == 5 || j >= 30;
        assert_int_equal(nt_changes_add_job(&c, job, NULL), 0);
        for (uint32_t k = late ? 0 : 1; k < HOSTS_OF_JOB; k++)
            add_figure(&c, k, NT_FIGURE_LATENCY,
                       0.5 * offset * (k == 0 && j >= 30 ? 1.43 : 1) *
                           exp(0.02 * nt_rng_normal(&rng)));
    }
    assert_int_equal(nt_changes_find(&c, &out, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_int_equal(out[0].part, 0);
    assert_int_equal(out[0].first_job, 5030);
    assert_true(out[0].worse && out[0].jobs_to_sure <= 3);
    assert_close(out[0].to / out[0].from, 1.43, 0.06);
    free(out);
    nt_changes_fini(&c);
}

/* Hosts are in two jobs with the same others; four are in three jobs of others, the first one
 * faster than the next ones as a whole. */
static void what_is_the_jobs_is_no_change_of_hosts_seen_in_few(void **state)
{
    struct nt_changes c = {0};
    struct nt_rng rng;
    struct nt_fleet_change *out;
    size_t count;
    double offset = 0;
    (void)state;
    nt_rng_init(&rng, 4);
    for (uint32_t j = 0; j < 80; j++) {
        struct nt_changes_job job = {1700000000 + (int64_t)j * HOUR_S, 5000 + j, j % 7};
        bool of_four = j == 20 || j == 40 || j == 60;
        if (j % 2 == 0)
            offset = of_four ? (j == 20 ? -0.06 : 0.06) : 0.02 * nt_rng_normal(&rng);
        assert_int_equal(nt_changes_add_job(&c, job, NULL), 0);
        for (uint32_t k = 0; k < HOSTS_OF_JOB; k++)
            add_figure(&c, of_four && k < 4 ? k : (j / 2 + 1) * HOSTS_OF_JOB + k, NT_FIGURE_LATENCY,
                       0.5 * exp(offset + 0.005 * nt_rng_normal(&rng)));
    }
    assert_int_equal(nt_changes_find(&c, &out, &count, NULL), 0);
    assert_int_equal(count, 0);
    free(out);
    nt_changes_fini(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_and_recoveries_are_dated),
        cmocka_unit_test(without_faults_there_is_at_most_one_alarm),
        cmocka_unit_test(one_users_jobs_alone_state_nothing),
        cmocka_unit_test(one_user_alone_clears_nothing),
        cmocka_unit_test(a_change_of_all_is_the_classs),
        cmocka_unit_test(one_job_before_is_enough_where_all_are_alike),
        cmocka_unit_test(what_is_the_jobs_is_no_change_of_hosts_seen_in_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
