/* SPDX-License-Identifier: Apache-2.0 */
#include "asserts.h"
#include "changes.h"
#include "rng.h"

/* ---- point ---- */

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

/* What is found in n readings that resemble no others. */
static struct nt_change_series series_of(const struct nt_change_reading *reading, size_t n)
{
    struct nt_change_series found;
    must(nt_change_points(reading, n, 0, &found, &err));
    return found;
}

static struct nt_change_series changes_of(const struct planted *p, struct nt_rng *rng)
{
    static struct nt_change_reading reading[READINGS_MAX];
    make(p, rng, reading);
    return series_of(reading, p->n);
}

/* Within three readings, and nothing else; recovery as well. At 95 % of the planted value. */
TEST(a_link_at_70_percent_is_found_within_three_readings)
{
    enum { RUNS = 1000 };
    size_t soon = 0, back = 0, dated = 0;
    struct nt_rng rng;
    nt_rng_init(&rng, 1);
    for (int run = 0; run < RUNS; run++) {
        struct planted p = {.n = 80, .share = 0.7, .sd = 0.03, .outliers = 0.01, .doubt = 0.02};
        p.from = 3 + nt_rng_below(&rng, 30);
        p.until = p.from + 20;
        struct nt_change_series found = changes_of(&p, &rng);
        const struct nt_change *c = found.change;
        size_t n = found.changes;
        bool first = n >= 1 && c[0].at >= p.from && c[0].seen < p.from + 3;
        soon += first;
        dated += n >= 1 && c[0].at == p.from;
        back += n >= 2 && c[1].at >= p.until && c[1].seen < p.until + 3;
        if (first) {
            assert_close(c[0].after, log(0.7), 0.1);
            assert_at_least(c[0].confidence, 0.99);
        }
    }
    print_message("%zu of %d found within three readings, %zu with the right date, %zu "
                  "recoveries\n",
                  soon, RUNS, dated, back);
    assert_at_least(soon, RUNS * 95 / 100);
    assert_at_least(dated, RUNS * 95 / 100);
    assert_at_least(back, RUNS * 95 / 100);
}

/* A thousand jobs of 30 links with two figures each, one in a hundred an outlier. */
TEST(a_thousand_jobs_give_no_more_than_one_false_alarm)
{
    size_t alarms = 0;
    struct nt_rng rng;
    nt_rng_init(&rng, 2);
    for (int series = 0; series < 600; series++) {
        struct planted p = {.n = 100, .share = 1, .sd = 0.03, .outliers = 0.01, .doubt = 0.02};
        struct nt_change_series found = changes_of(&p, &rng);
        alarms += found.changes;
        assert_below(fabs(found.level), 0.1);
    }
    print_message("%zu false alarms in 60000 readings\n", alarms);
    assert_at_most(alarms, 1);
}

TEST(small_changes_do_not_count)
{
    struct nt_rng rng;
    nt_rng_init(&rng, 3);
    for (int run = 0; run < 100; run++) {
        struct planted p = {
            .n = 100, .from = 40, .until = 100, .share = 0.95, .sd = 0.01, .doubt = 0.02};
        assert_int_equal(changes_of(&p, &rng).changes, 0);
    }
}

/* Slow for three jobs, or longer, and then back: the level before did not go on all the time with
 * outliers in between, whatever the noise. Two such readings may have been outliers. */
TEST(what_was_slow_for_three_jobs_is_stated_with_its_recovery)
{
    static const double sds[] = {0.01, 0.02, 0.03};
    struct nt_change_reading r[24];
    for (size_t s = 0; s < sizeof sds / sizeof *sds; s++)
        for (size_t slow = 2; slow <= 8; slow++)
            for (size_t back = 2; back <= 6; back++) {
                size_t n = 8 + slow + back;
                for (size_t k = 0; k < n; k++)
                    r[k] = (struct nt_change_reading){
                        .x = k >= 8 && k < 8 + slow ? 0.36 : 0, .sd = sds[s], .doubt = 0.02};
                const struct nt_change_series found = series_of(r, n);
                const struct nt_change *c = found.change;
                assert_below(fabs(found.level), 0.02);
                assert_int_equal(found.changes, slow < 3 ? 0 : 2);
                if (found.changes == 0)
                    continue;
                assert_int_equal(c[0].at, 8);
                assert_below(fabs(c[0].before), 0.02);
                assert_close(c[0].after, 0.36, 0.02);
                assert_int_equal(c[1].at, 8 + slow);
                assert_close(c[1].before, 0.36, 0.02);
                assert_below(fabs(c[1].after), 0.02);
                assert_at_least(c[1].confidence, 0.99);
            }
}

/* What may be the neighbour's is no evidence by itself, however often: with half of all doubt it
 * takes more. */
TEST(doubtful_readings_count_less)
{
    struct nt_change_reading r[12];
    for (size_t k = 0; k < 12; k++)
        r[k] = (struct nt_change_reading){.x = k < 8 ? 0 : -0.36, .sd = 0.03, .doubt = 0.02};
    struct nt_change_series found = series_of(r, 10);
    assert_int_equal(found.changes, 1);
    assert_int_equal(found.change[0].at, 8);
    assert_int_equal(found.change[0].seen, 9);
    for (size_t k = 8; k < 12; k++)
        r[k].doubt = 0.9;
    assert_int_equal(series_of(r, 10).changes, 0);
}

/* Of what is like others, one reading that shows it says what the level was. */
TEST(what_is_like_others_is_known_by_one_reading)
{
    struct nt_change_reading r[] = {
        {0.01, 0.02, 0.02}, {0.36, 0.02, 0.02}, {0.35, 0.02, 0.02}, {0.37, 0.02, 0.02}};
    const double comparable_sd = 0.02;
    struct nt_change_series found;
    const struct nt_change *c = found.change;
    assert_int_equal(series_of(r, 4).changes, 0);
    assert_int_equal(nt_change_points(r, 4, comparable_sd, &found, NULL), 0);
    assert_int_equal(found.changes, 1);
    assert_int_equal(c[0].at, 1);
    assert_below(fabs(c[0].before), 0.03);
    assert_close(c[0].after, 0.36, 0.03);
    r[0].doubt = 0.5; /* perhaps of its neighbour */
    assert_int_equal(nt_change_points(r, 4, comparable_sd, &found, NULL), 0);
    assert_int_equal(found.changes, 0);
    r[0] = (struct nt_change_reading){0.3, 0.02, 0.02}; /* never like the others */
    assert_int_equal(nt_change_points(r, 4, comparable_sd, &found, NULL), 0);
    assert_int_equal(found.changes, 0);
}

TEST(wrong_readings_are_refused)
{
    struct nt_change_reading r = {.x = 0, .sd = 0, .doubt = 0};
    struct nt_change_series found;
    assert_int_equal(nt_change_points(&r, 1, 0, &found, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_int_equal(series_of(&r, 0).changes, 0);
}

/* The same series a step lower has the same changes: levels are relative. */
TEST(relabelling_the_level_changes_nothing)
{
    struct nt_rng rng;
    struct nt_change_reading r[60];
    struct planted p = {.n = 60,
                        .from = 30,
                        .until = 60,
                        .share = 0.7,
                        .sd = 0.03,
                        .outliers = 0.01,
                        .doubt = 0.02};
    nt_rng_init(&rng, 5);
    make(&p, &rng, r);
    const struct nt_change_series slower = series_of(r, 60);
    for (size_t k = 0; k < 60; k++)
        r[k].x = -r[k].x; /* faster by as much */
    const struct nt_change_series faster = series_of(r, 60);
    assert_int_equal(slower.changes, faster.changes);
    for (size_t k = 0; k < slower.changes; k++) {
        assert_int_equal(slower.change[k].at, faster.change[k].at);
        assert_below(fabs(slower.change[k].after + faster.change[k].after), 1e-9);
    }
}

/* ---- changes ---- */

enum { HOSTS = 120, HOSTS_OF_JOB = 16, JOBS = 1000, FAULTS = 20, HOUR_S = 3600 };

struct changes_planted {
    uint32_t users;
    double offset_sd; /* of a whole job's latencies */
    uint32_t first_fault, fault_jobs;
    double share; /* of a faulty link's bandwidth */
};

/* Every sixth host is narrow, the h-th of them from job first_fault + 10 h on, for fault_jobs. */
static bool is_faulty(const struct changes_planted *p, uint32_t host, uint32_t job)
{
    uint32_t from = p->first_fault + 10 * (host / 6);
    return host % 6 == 0 && job >= from && job < from + p->fault_jobs;
}

static void add_figure(struct nt_changes *c, uint32_t host, enum nt_figure_kind kind, double value)
{
    struct nt_fleet_figure f = {.host = host, .kind = (uint8_t)kind, .value = (float)value};
    assert_int_equal(nt_changes_add(c, &f, host, NULL), 0);
}

static void changes_make(const struct changes_planted *p, struct nt_changes *c, struct nt_rng *rng)
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

static struct nt_fleet_change *found(const struct changes_planted *p, uint64_t seed, size_t *count)
{
    struct nt_changes c = {0};
    struct nt_rng rng;
    struct nt_fleet_change *out = NULL;
    nt_rng_init(&rng, seed);
    changes_make(p, &c, &rng);
    must(nt_changes_find(&c, &out, count, &err));
    nt_changes_fini(&c);
    return out;
}

TEST(faults_and_recoveries_are_dated)
{
    struct changes_planted p = {.users = 5, .first_fault = 300, .fault_jobs = 250, .share = 0.7};
    size_t count, faults = 0, back = 0, quick = 0, others = 0;
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
            assert_at_least(c[k].users, 2);
            assert_at_least(c[k].jobs, 2);
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
    assert_at_least(faults, 19);
    assert_at_least(quick, 19);
    assert_at_least(back, 19);
    assert_at_most(others, 1);
    free(c);
}

TEST(without_faults_there_is_at_most_one_alarm)
{
    struct changes_planted p = {.users = 3, .offset_sd = 0.2, .share = 1};
    size_t count, sum = 0;
    for (uint64_t seed = 2; seed < 5; seed++) {
        free(found(&p, seed, &count));
        sum += count;
    }
    print_message("%zu false alarms in 3000 jobs\n", sum);
    assert_at_most(sum, 3);
}

TEST(one_users_jobs_alone_state_nothing)
{
    struct changes_planted p = {.users = 1, .first_fault = 300, .fault_jobs = 250, .share = 0.3};
    size_t count;
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

TEST(one_user_alone_clears_nothing)
{
    struct nt_fleet_change c = {0};
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
TEST(a_change_of_all_is_the_classs)
{
    struct nt_changes c = {0};
    struct nt_rng rng;
    struct nt_fleet_change *out;
    size_t count;
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
TEST(one_job_before_is_enough_where_all_are_alike)
{
    struct nt_changes c = {0};
    struct nt_rng rng;
    struct nt_fleet_change *out;
    size_t count;
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
    assert_true(out[0].worse);
    assert_at_most(out[0].jobs_to_sure, 3);
    assert_close(out[0].to / out[0].from, 1.43, 0.06);
    free(out);
    nt_changes_fini(&c);
}

/* Hosts are in two jobs with the same others; four are in three jobs of others, the first one
 * faster than the next ones as a whole. */
TEST(what_is_the_jobs_is_no_change_of_hosts_seen_in_few)
{
    struct nt_changes c = {0};
    struct nt_rng rng;
    struct nt_fleet_change *out;
    size_t count;
    double offset = 0;
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

/* ---- named ---- */

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
    struct nt_reported n = {0};
    struct nt_fleet_change *c = NULL;
    const struct nt_reported_part part = {1, tier, NT_FIGURE_LATENCY};
    size_t count = 0, all = strlen(jobs);
    for (size_t k = all; k-- > 0;) { /* the order does not matter */
        const struct nt_changes_job job = job_of(jobs, k);
        const struct nt_fleet_finding finding = {
            .found = 4 + (float)k, .expected = 2, .confidence = 0.9F};
        if ((jobs[k] >= '0' && jobs[k] <= '9') || strchr("!?*", jobs[k]) != NULL)
            assert_int_equal(nt_reported_add(&n, part, job, &finding, NULL), 0);
    }
    for (size_t k = 0; k < all; k++) {
        const struct nt_changes_job job = job_of(jobs, k);
        struct nt_reported_use crossed[2 * LIKE];
        for (uint32_t p = 0; p < 2 * LIKE; p++)
            crossed[p] = (struct nt_reported_use){
                .part = {p % LIKE, tier, NT_FIGURE_LATENCY},
                .among = (jobs[k] == '!' && p % LIKE != 1) || (jobs[k] == '?' && p % LIKE > 1),
                .value = jobs[k] >= 'A' && jobs[k] <= 'J' ? 3.9F : 2};
        size_t some = jobs[k] == '.' ? 2 : 2 * LIKE;
        assert_int_equal(nt_reported_add_uses(&n, job, crossed, some, NULL), 0);
    }
    assert_int_equal(nt_reported_find(&n, &c, &count, NULL), 0);
    if (count > 0)
        *out = c[0];
    free(c);
    nt_reported_fini(&n);
    return count;
}

TEST(what_every_job_names_is_told)
{
    struct nt_fleet_change c;
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

TEST(too_little_is_not_told)
{
    static const char *const jobs[] = {"",        "1",      "11111", "12ab", "a12",
                                       "1a2a1a2", "12aba1", ".",     "a"};
    struct nt_fleet_change c;
    for (size_t k = 0; k < sizeof jobs / sizeof *jobs; k++)
        if (found_in(jobs[k], 0, &c) != 0)
            fail_msg("%s", jobs[k]);
}

/* One user, or users nobody knows, state nothing and clear nothing: two users do both. A user who
 * goes on naming a part keeps two others from nothing. */
TEST(named_one_user_alone_clears_nothing)
{
    struct nt_fleet_change c;
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

/* With a few hosts no map shows which one is slow, although the value is the same. */
TEST(who_agrees_says_nothing)
{
    struct nt_fleet_change c;
    assert_int_equal(found_in("1A2A1", 0, &c), 1);
    assert_true(c.since_s == 1000 && c.before_s == 0 && c.jobs == 3 && c.jobs_to_sure == 2);
    assert_int_equal(found_in("1112A", 0, &c), 1);
    assert_true(c.jobs == 4 && c.jobs_to_sure == 4); /* the first one of a second user */
    assert_int_equal(found_in("1a2A", 0, &c), 0);
    assert_int_equal(found_in("AAA", 0, &c), 0);
}

/* A latency between switches as slow as comparable latencies below other switches. */
TEST(a_link_between_switches_is_held_against_those_below_the_same)
{
    struct nt_fleet_change c;
    assert_int_equal(found_in("12", 1, &c), 1);
    assert_int_equal(found_in("1!", 1, &c), 0);
    assert_int_equal(found_in("!a!12!1", 1, &c), 1);
    assert_true(c.since_s == 1003 && c.jobs == 3);
    assert_int_equal(found_in("1?", 1, &c), 1);
    assert_int_equal(found_in("1!", 0, &c), 1); /* a host's link: its job knows which are alike */
}

/* A current change of the same part and kind says it already; one that is over does not. */
TEST(what_changed_is_told_once)
{
    for (int current = 0; current < 2; current++) {
        struct nt_reported n = {0};
        size_t count = 1;
        struct nt_fleet_change *c = calloc(1, sizeof *c);
        const struct nt_reported_part part = {7, 2, NT_FIGURE_UP};
        const struct nt_fleet_finding finding = {.found = 1, .expected = 2, .confidence = 1};
        c[0] = (struct nt_fleet_change){
            .part = 7, .tier = 2, .kind = NT_FIGURE_UP, .current = current > 0};
        for (uint32_t j = 0; j < 3; j++)
            assert_int_equal(
                nt_reported_add(&n, part, (struct nt_changes_job){j, j, j}, &finding, NULL), 0);
        assert_int_equal(nt_reported_find(&n, &c, &count, NULL), 0);
        assert_int_equal(count, current > 0 ? 1 : 2);
        free(c);
        nt_reported_fini(&n);
    }
}

RUN_TESTS
