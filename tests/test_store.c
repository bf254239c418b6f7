/* SPDX-License-Identifier: Apache-2.0 */
#define TEST_BEFORE make_ground
#define TEST_AFTER remove_ground

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asserts.h"
#include "database.h"
#include "fleet_loggp.h"
#include "rng.h"
#include "store.h"
#include "strbuf.h"
#include "utc.h"

enum { JOBS = 60, BATCH = 7, KILLS = 200 };
static const int64_t NOON = INT64_C(1795478400) + 43200; /* 2026-11-24T12:00:00Z */

struct ground {
    char top[64], file[80];
};

static int make_ground(void **state)
{
    struct ground *g = calloc(1, sizeof *g);
    if (g == NULL)
        return -1;
    /* where the file system does not wait for a disk */
    snprintf(g->top, sizeof g->top, "%s/nettopo-store-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(g->top) == NULL)
        return -1;
    snprintf(g->file, sizeof g->file, "%s/store", g->top);
    *state = g;
    return 0;
}

static void remove_files(const struct ground *g)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char name[96];
    for (size_t k = 0; k < 3; k++) {
        snprintf(name, sizeof name, "%s%s", g->file, ends[k]);
        unlink(name);
    }
}

static int remove_ground(void **state)
{
    struct ground *g = *state;
    remove_files(g);
    int rc = rmdir(g->top);
    free(g);
    return rc;
}

static struct nt_store *opened(const struct ground *g, bool read_only)
{
    struct nt_store *store = NULL;
    must(nt_store_open(g->file, read_only, &store, &err));
    return store;
}

/* Job k of a cluster of 12 hosts: four of them, all pairs, twice as slow in odd jobs. */
static struct nt_fleet_job *made(uint64_t k)
{
    struct nt_rng rng;
    struct nt_fleet_job *job = nt_object_create(sizeof *job, &err);
    job->cluster = nt_arena_text(&job->memory, "c", 1);
    job->level = nt_arena_text(&job->memory, "quick", 5);
    job->job = k;
    job->user = (uint32_t)(1000 + k % 3);
    job->time_s = NOON + (int64_t)k * 60;
    job->hosts = 4;
    job->host = nt_arena_array(&job->memory, 4, sizeof *job->host);
    job->pair = nt_arena_array(&job->memory, 6, sizeof *job->pair);
    job->figure = nt_arena_array(&job->memory, 4, sizeof *job->figure);
    job->finding = nt_arena_array(&job->memory, 1, sizeof *job->finding);
    nt_rng_init(&rng, k);
    for (uint32_t h = 0; h < 4; h++) {
        char name[16];
        int n = snprintf(name, sizeof name, "n%zu", h * 10 + nt_rng_below(&rng, 3));
        job->host[h] = nt_arena_text(&job->memory, name, (size_t)n);
        job->figure[job->figures++] = (struct nt_fleet_figure){.host = h, .value = 0.5f};
    }
    for (uint32_t a = 0; a < 4; a++)
        for (uint32_t b = a + 1; b < 4; b++)
            job->pair[job->pairs++] =
                (struct nt_evidence_entry){.a = a,
                                           .b = b,
                                           .count = 2,
                                           .lowest_us = k % 2 == 0 ? 1.0f : 2.0f,
                                           .mean_us = k % 2 == 0 ? 1.1f : 2.2f,
                                           .sd_us = 0.1f};
    job->finding[job->findings++] = (struct nt_fleet_finding){
        .host = 2, .kind = NT_FAULT_HOST_SLOW, .found = 2, .expected = 1, .confidence = 0.9f};
    return job;
}

static void put(struct nt_store *store, uint64_t k)
{
    struct nt_fleet_job *job = made(k);
    must(nt_store_put(store, job, &err));
    nt_fleet_job_destroy(job);
}

static void commit(struct nt_store *store)
{
    must(nt_store_commit(store, &err));
}

static struct nt_store_sums sums_of(struct nt_store *store)
{
    struct nt_store_sums sums;
    must(nt_store_count(store, &sums, &err));
    return sums;
}

/* A store of one job, to which these statements are done. */
static void make_changed(const struct ground *g, const char *statements)
{
    struct nt_database *db;
    struct nt_store *store = opened(g, false);
    put(store, 1);
    commit(store);
    nt_store_close(store);
    const struct nt_schema any = {0x6e74666c, NT_STORE_VERSION, NULL};
    if (nt_database_open(g->file, false, &any, &db, &err) != 0 ||
        nt_database_run(db, statements, &err) != 0)
        fail_msg("%s: %s", statements, err.text);
    nt_database_close(db);
}

TEST(a_job_counts_once)
{
    struct ground *g = *state;
    struct nt_store *store = opened(g, false);
    for (int turn = 0; turn < 2; turn++)
        for (uint64_t k = 1; k <= 5; k++)
            put(store, k);
    struct nt_fleet_job *again = made(5);
    again->restart = 1; /* a requeued job ran twice */
    assert_int_equal(nt_store_put(store, again, NULL), 0);
    nt_fleet_job_destroy(again);
    commit(store);
    struct nt_store_sums sums = sums_of(store);
    assert_int_equal(sums.jobs, 6);
    assert_int_equal(sums.users, 3);
    assert_int_equal(sums.findings, 6);
    assert_string_equal(sums.cluster, "c");
    assert_int_equal(sums.first_s, NOON + 60);
    nt_store_close(store);
}

TEST(another_cluster_is_refused)
{
    struct ground *g = *state;
    struct nt_store *store = opened(g, false);
    put(store, 1);
    struct nt_fleet_job *job = made(2);
    job->cluster[0] = 'd';
    assert_int_equal(nt_store_put(store, job, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    assert_string_equal(err.text, "the map is from cluster \"d\", but the store is for \"c\"");
    nt_fleet_job_destroy(job);
    put(store, 3); /* the others are not lost with it */
    commit(store);
    assert_int_equal(sums_of(store).jobs, 2);
    nt_store_close(store);
}

TEST(what_is_not_committed_is_lost)
{
    struct ground *g = *state;
    struct nt_store *store = opened(g, false);
    put(store, 1);
    commit(store);
    put(store, 2);
    nt_store_close(store);
    store = opened(g, true);
    assert_int_equal(sums_of(store).jobs, 1);
    nt_store_close(store);
}

TEST(readers_do_not_wait_for_a_writer)
{
    struct ground *g = *state;
    struct nt_store *writer = opened(g, false);
    put(writer, 1);
    commit(writer);
    put(writer, 2);
    struct nt_store *reader = opened(g, true);
    assert_int_equal(sums_of(reader).jobs, 1);
    commit(writer);
    assert_int_equal(sums_of(reader).jobs, 2);
    nt_store_close(reader);
    nt_store_close(writer);
}

/* A second writer numbers hosts after those that the first has added. */
TEST(two_writers_agree_on_hosts)
{
    struct ground *g = *state;
    struct nt_store *one = opened(g, false), *two = opened(g, false);
    struct nt_names names = {0};
    for (uint64_t k = 1; k <= 20; k++) {
        put(k % 2 == 0 ? one : two, k);
        commit(k % 2 == 0 ? one : two);
    }
    must(nt_store_hosts(one, &names, NULL, &err));
    assert_int_equal(names.count, sums_of(two).hosts);
    nt_names_fini(&names);
    nt_store_close(one);
    nt_store_close(two);
}

/* ---- evidence, and its folding ---- */

static struct nt_evidence evidence_of(struct nt_store *store)
{
    struct nt_evidence e;
    must(nt_store_evidence(store, 0, 1000000, &e, &err));
    return e;
}

static uint64_t readings_in(const struct nt_evidence *e)
{
    uint64_t sum = 0;
    for (size_t k = 0; k < e->entries; k++)
        sum += e->entry[k].count;
    return sum;
}

TEST(old_readings_are_folded_by_pair_user_and_day)
{
    struct ground *g = *state;
    struct nt_store *store = opened(g, false);
    for (uint64_t k = 1; k <= JOBS; k++)
        put(store, k);
    commit(store);
    struct nt_evidence before = evidence_of(store);
    assert_int_equal(before.entries, 6 * JOBS);
    assert_int_equal(before.jobs, JOBS);
    /* the day is not over: nothing happens */
    must(nt_store_fold(store, NOON + 3600, 0, &err));
    struct nt_evidence same = evidence_of(store);
    assert_int_equal(same.jobs, JOBS);
    must(nt_store_fold(store, NOON + NT_DAY_S, 0, &err));
    struct nt_evidence after = evidence_of(store);
    assert_int_equal(after.jobs, 3); /* one per user */
    for (size_t k = 0; k < 3; k++)
        assert_true(after.job[k].user >= 1000 && after.job[k].user <= 1002);
    assert_true(after.job[0].user != after.job[1].user && after.job[1].user != after.job[2].user);
    assert_below(after.entries, before.entries);
    assert_int_equal(readings_in(&after), readings_in(&before));
    /* jobs were twice as slow or not: folded without their offsets all are alike */
    for (size_t k = 0; k < after.entries; k++) {
        const struct nt_evidence_entry *x = &after.entry[k];
        assert_close(x->lowest_us / after.entry[0].lowest_us, 1, 0.02);
        assert_close(x->mean_us / x->lowest_us, 1.1, 0.02);
    }
    /* a job that comes late joins its day */
    put(store, JOBS + 1);
    commit(store);
    must(nt_store_fold(store, NOON + NT_DAY_S, 0, &err));
    struct nt_evidence late = evidence_of(store);
    assert_int_equal(late.jobs, 3);
    assert_int_equal(readings_in(&late), readings_in(&before) + 12);
    must(nt_store_fold(store, NOON + NT_DAY_S, NOON + 2 * NT_DAY_S, &err));
    assert_int_equal(sums_of(store).jobs, 0);
    assert_int_equal(sums_of(store).findings, 0);
    nt_evidence_fini(&before);
    nt_evidence_fini(&same);
    nt_evidence_fini(&after);
    nt_evidence_fini(&late);
    nt_store_close(store);
}

static int count_job(void *context, const struct nt_store_job *job, struct nt_err *err)
{
    int64_t *last = context;
    (void)err;
    assert_above(job->time_s, *last);
    assert_above(job->figures_bytes, 0);
    *last = job->time_s;
    return 0;
}

static int count_finding(void *context, const struct nt_store_finding *f, struct nt_err *err)
{
    size_t *n = context;
    (void)err;
    assert_int_equal(f->finding.kind, NT_FAULT_HOST_SLOW);
    ++*n;
    return 0;
}

TEST(jobs_and_findings_come_by_time)
{
    struct ground *g = *state;
    struct nt_store *store = opened(g, false);
    int64_t last = 0;
    size_t findings = 0;
    for (uint64_t k = 10; k > 0; k--)
        put(store, k);
    commit(store);
    assert_int_equal(nt_store_visit_jobs(store, NOON, count_job, &last, NULL), 0);
    assert_int_equal(last, NOON + 600);
    assert_int_equal(nt_store_visit_findings(store, NOON + 540, count_finding, &findings, NULL), 0);
    assert_int_equal(findings, 2);
    nt_store_close(store);
}

/* ---- killed ---- */

/* The text of all that the store knows of its jobs. */
static char *dumped(struct nt_store *store)
{
    struct nt_evidence e = evidence_of(store);
    struct nt_names names = {0};
    struct nt_strbuf d = {0};
    nt_store_hosts(store, &names, NULL, NULL);
    assert_int_equal(nt_evidence_sort(&e, NULL), 0);
    for (size_t k = 0; k < e.entries; k++)
        nt_strbuf_print(&d, "%s %s %lld %.4g\n", names.name[e.entry[k].a], names.name[e.entry[k].b],
                        (long long)e.job[e.entry[k].job].time_s, (double)e.entry[k].mean_us);
    nt_names_fini(&names);
    nt_evidence_fini(&e);
    char *text = NULL;
    assert_int_equal(nt_strbuf_finish(&d, &text, NULL, NULL), 0);
    return text;
}

/* progress: a byte a job, or -1 */
static void ingest_all(const struct ground *g, int progress)
{
    struct nt_store *store = opened(g, false);
    for (uint64_t k = 1; k <= JOBS; k++) {
        put(store, k);
        if (k % BATCH == 0)
            commit(store);
        if (progress >= 0 && write(progress, "", 1) != 1)
            _exit(1);
    }
    commit(store);
    nt_store_close(store);
}

/* Once so many jobs are put; where exactly, its and this process's speed decide. */
static void kill_after(const struct ground *g, size_t jobs)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        ingest_all(g, ends[1]);
        _exit(0);
    }
    assert_above(pid, 0);
    close(ends[1]);
    for (size_t k = 0; k < jobs; k++)
        if (read(ends[0], &byte, 1) != 1)
            break;
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ends[0]);
}

/* Each time on what the one before left, and from the beginning once all is there. */
TEST(killed_at_200_points_nothing_is_lost_or_doubled)
{
    struct ground *g = *state;
    struct nt_rng rng;
    size_t parts = 0;
    ingest_all(g, -1);
    struct nt_store *store = opened(g, true);
    char *expected = dumped(store);
    nt_store_close(store);
    nt_rng_init(&rng, 1);
    for (int turn = 0; turn < KILLS; turn++) {
        if (turn % 4 == 0)
            remove_files(g);
        kill_after(g, nt_rng_below(&rng, JOBS + 1));
        if (nt_store_open(g->file, false, &store, &err) != 0)
            fail_msg("after kill %d: %s", turn, err.text);
        uint64_t jobs = sums_of(store).jobs;
        assert_holds(jobs == JOBS || jobs % BATCH == 0, "%llu jobs", (unsigned long long)jobs);
        parts += jobs > 0 && jobs < JOBS;
        nt_store_close(store);
        if (turn % 4 != 3)
            continue;
        ingest_all(g, -1);
        store = opened(g, true);
        char *found = dumped(store);
        assert_string_equal(found, expected);
        free(found);
        nt_store_close(store);
    }
    assert_above(parts, 0); /* else it was never killed within */
    free(expected);
}

/* ---- LogGP ---- */

/* Job k of a user measured L over a device. */
static void put_loggp(struct nt_store *store, uint64_t k, uint32_t user, const char *rail,
                      double L_us, double g_us)
{
    struct nt_fleet_job *job = made(k);
    job->user = user;
    job->loggp = nt_arena_array(&job->memory, 2, sizeof *job->loggp);
    for (; job->loggps < 2; job->loggps++) {
        struct nt_loggp g = {.class_name = "same switch",
                             .min_bytes = job->loggps == 0 ? 1 : 2049,
                             .max_bytes = job->loggps == 0 ? 2048 : 4194304,
                             .L_us = job->loggps == 0 ? L_us : 3 * L_us,
                             .o_send_us = NAN,
                             .o_recv_us = NAN,
                             .g_us = g_us,
                             .G_us_per_byte = 0.001,
                             .gap_us_per_byte = isnan(g_us) ? NAN : 0.001,
                             .support = NAN};
        snprintf(g.rail, sizeof g.rail, "%s", rail);
        job->loggp[job->loggps] = g;
    }
    must(nt_store_put(store, job, &err));
    nt_fleet_job_destroy(job);
}

/* One user's jobs state nothing, however many they are; of two users' the one that most agree with,
 * its gaps if it has any, as of the last day on which one agreed. */
TEST(loggp_takes_two_users)
{
    struct ground *g = *state;
    struct nt_store *store = opened(g, false);
    struct nt_loggp *found;
    size_t n;
    for (uint64_t k = 1; k <= 5; k++)
        put_loggp(store, k, 1000, "fab0", 2, 1);
    for (uint64_t k = 6; k <= 8; k++) /* nor is somebody who is not known a second user */
        put_loggp(store, k, NT_NO_USER, "fab0", 2, 1);
    must(nt_fleet_loggp(store, 0, &found, &n, &err));
    assert_true(n == 0 && found == NULL);
    put_loggp(store, 9, 1001, "fab0", 2.1, (double)NAN);
    put_loggp(store, 10, 1001, "fab0", 20, 1); /* of a disturbed job */
    put_loggp(store, 11, 1001, "fab1", 5, 1);  /* two users that say otherwise */
    put_loggp(store, 12, 1002, "fab1", 50, 1);
    put_loggp(store, 13, 1001, "fab2", 5, 1); /* the same latency, another gap */
    put_loggp(store, 14, 1002, "fab2", 5, 3);
    put_loggp(store, 15, 1001, "fab3", 5, 1); /* one is slow beside the other */
    put_loggp(store, 16, 1002, "fab3", 5.9, 1);
    must(nt_fleet_loggp(store, 0, &found, &n, &err));
    assert_int_equal(n, 2);
    for (size_t k = 0; k < n; k++) {
        assert_string_equal(found[k].rail, "fab0");
        assert_string_equal(found[k].seen, "2026-11-24");
        assert_close(found[k].support, (9 + 1.0) / (10 + 2), 1e-9);
        assert_true(found[k].g_us == 1);
    }
    assert_true(found[0].max_bytes == 2048 && found[1].L_us == 6);
    free(found);
    /* what is too old does not count */
    must(nt_fleet_loggp(store, NOON + 9 * 60, &found, &n, &err));
    assert_int_equal(n, 0);
    /* and goes with its jobs */
    must(nt_store_fold(store, 0, NOON + 3600, &err));
    must(nt_fleet_loggp(store, 0, &found, &n, &err));
    assert_int_equal(n, 0);
    nt_store_close(store);
}

/* ---- versions ---- */

TEST(an_older_file_is_brought_up_to_date)
{
    struct ground *g = *state;
    struct nt_store *store;
    /* back to version 1, which had no names of switches */
    make_changed(g, "DROP TABLE switch_member; DROP INDEX job_unfolded;"
                    "DROP TABLE reading_user; DROP TABLE loggp; CREATE TABLE reading_day(day, host,"
                    " pairs); INSERT INTO reading_day VALUES(19000, 3, x'00');"
                    "PRAGMA user_version=1");
    assert_int_equal(nt_store_open(g->file, true, &store, &err), -1);
    assert_non_null(
        strstr(err.text, "has version 1. \"nettopo fleet ingest\" converts it to version 5."));
    store = opened(g, false);
    struct nt_switch_naming naming = {0};
    must(nt_store_naming(store, &naming, &err));
    struct nt_switch_member member = {.host = 0, .tier = 1, .number = 7};
    must(nt_switch_naming_add(&naming, member, &err));
    naming.last = 9;
    must(nt_store_set_naming(store, &naming, &err));
    nt_switch_naming_fini(&naming);
    must(nt_store_naming(store, &naming, &err));
    assert_int_equal(naming.members, 1);
    assert_int_equal(naming.last, 9);
    assert_int_equal(sums_of(store).jobs, 1);
    nt_switch_naming_fini(&naming);
    nt_store_close(store);
}

/* A second writer waits for the first, which ends some time after it has begun to wait. */
static int release;

static void release_writer(int number)
{
    (void)number;
    ssize_t n = write(release, "x", 1);
    (void)n;
}

TEST(a_writer_waits_for_another)
{
    struct ground *g = *state;
    struct nt_store *store = opened(g, false);
    int ready[2], go[2];
    char byte;
    assert_true(pipe(ready) == 0 && pipe(go) == 0);
    pid_t other = fork();
    if (other == 0) {
        struct nt_store *own = opened(g, false);
        put(own, 1); /* within a transaction */
        bool told = write(ready[1], "x", 1) == 1 && read(go[0], &byte, 1) == 1;
        commit(own);
        nt_store_close(own);
        _exit(told ? 0 : 1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    release = go[1];
    signal(SIGALRM, release_writer);
    ualarm(200000, 0);
    put(store, 2);
    commit(store);
    int status;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    assert_int_equal(sums_of(store).jobs, 2);
    nt_store_close(store);
    for (int k = 0; k < 2; k++) {
        close(ready[k]);
        close(go[k]);
    }
    assert_at_least(NT_DATABASE_WAIT_MS, 600000); /* more than folding a day takes */
}

/* Whatever a damaged file says: one line, and no memory for it. */
TEST(what_a_damaged_store_says_is_bounded)
{
    static const char *const damage[] = {
        "INSERT INTO switch_member VALUES(2147483648, 1, 1)",
        "INSERT INTO switch_member VALUES(-1, 1, 1)",
        "INSERT INTO switch_member VALUES(0, 4294967297, 1)",
        "INSERT INTO switch_member VALUES(0, 1, 4294967295)",
        "INSERT INTO switch_member VALUES(0, 1, 0)",
        "INSERT OR REPLACE INTO meta VALUES('switch_numbers', '4294967295')",
        "INSERT INTO reading_user VALUES(9223372036854775807, 0, 0, x'00')",
        "INSERT INTO reading_user VALUES(20000, 0, 0, x'ffffffffffff')",
        "INSERT INTO host(name, seen) VALUES('n1' || char(27) || '[2J', 0)",
        "UPDATE job SET readings=x'ffffffff7f'",
        "UPDATE job SET time=9223372036854775807, user=-5, figures=x'ff'",
    };
    struct ground *g = *state;
    for (size_t k = 0; k < sizeof damage / sizeof *damage; k++) {
        make_changed(g, damage[k]);
        struct nt_store *store = opened(g, true);
        struct nt_switch_naming naming = {0};
        struct nt_evidence e;
        struct nt_names hosts = {0};
        struct nt_store_sums sums;
        int refused = nt_store_naming(store, &naming, &err) != 0;
        if (nt_store_evidence(store, 0, 1000, &e, &err) == 0)
            nt_evidence_fini(&e);
        else
            refused++;
        refused += nt_store_hosts(store, &hosts, NULL, &err) != 0;
        must(nt_store_count(store, &sums, &err));
        assert_at_least(sums.last_s, 0);
        assert_below(sums.last_s, INT64_C(1) << 40);
        if (refused == 0 && k + 1 < sizeof damage / sizeof *damage)
            fail_msg("%s: taken", damage[k]);
        assert_true(refused == 0 || err.kind == NT_ERR_INPUT);
        nt_switch_naming_fini(&naming);
        nt_names_fini(&hosts);
        nt_store_close(store);
        remove_files(g);
    }
}

TEST(what_is_no_store_is_refused)
{
    struct ground *g = *state;
    struct nt_store *store;
    struct nt_database *db;
    assert_int_equal(nt_store_open(g->file, true, &store, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    FILE *f = fopen(g->file, "w");
    for (int k = 0; k < 200; k++)
        fputs("this is no database\n", f);
    fclose(f);
    assert_int_equal(nt_store_open(g->file, false, &store, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    unlink(g->file);
    static const char *const step[] = {"CREATE TABLE t(x)"};
    const struct nt_schema other = {77, 1, step};
    must(nt_database_open(g->file, false, &other, &db, &err));
    nt_database_close(db);
    assert_int_equal(nt_store_open(g->file, false, &store, &err), -1);
    assert_non_null(strstr(err.text, "is not a store of nettopo"));
    remove_files(g);
    store = opened(g, false);
    nt_store_close(store);
    const struct nt_schema same = {0x6e74666c, NT_STORE_VERSION, NULL};
    must(nt_database_open(g->file, false, &same, &db, &err));
    nt_database_run(db, "PRAGMA user_version=99", &err);
    nt_database_close(db);
    assert_int_equal(nt_store_open(g->file, false, &store, &err), -1);
    assert_non_null(strstr(err.text, "expected version 5 or older, found 99"));
}

RUN_TESTS
