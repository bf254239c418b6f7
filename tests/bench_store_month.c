/* SPDX-License-Identifier: Apache-2.0 */
/* What a month of a large cluster takes in the store of nettopo fleet: jobs of 2 to 256 hosts, as
 * schedulers draw them, on 10,000 hosts.
 *
 *     build/tests/bench_store_month [JOBS A DAY, default 10000 [DAYS, default 30 [MOST, hosts of a
 * job, default 256]]]
 *
 * Maps are not solved: each job has the pairs that an adaptive sweep measures (20 a host, all of
 * fewer than 24 hosts), the latency of each host's link, one job in four its bandwidths, one in
 * twenty a finding. What is older than 14 days is folded once a day, as nettopo fleet ingest does.
 * After the days of a table's row: rows of jobs, of their hosts, of folded days and of findings;
 * megabytes of the file, bytes a job; milliseconds to take one in, seconds to fold a day. Then what
 * a year comes to: each further day adds as many rows and bytes as the days after the first were
 * folded have, and jobs taken in a second, commits and folding included. */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "fleet_job.h"
#include "rng.h"
#include "store.h"
#include "utc.h"

enum {
    HOSTS = 10000,
    LEAF = 40,
    USERS = 200,
    FOLD_DAYS = 14,
    FEW = 24,
    PAIRS_A_HOST = 20,
    YEAR_DAYS = 365
};
static const int64_t START_S = INT64_C(1790000000) / NT_DAY_S * NT_DAY_S;
static struct nt_err err;

static void must(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "bench_store_month: %s\n", err.text);
    exit(1);
}

static char (*host_names(void))[16]
{
    static char name[HOSTS][16];
    for (unsigned h = 0; h < HOSTS; h++)
        snprintf(name[h], sizeof name[h], "node%05u", h + 1);
    return name;
}

static void add_pair(struct nt_fleet_job *job, uint32_t a, uint32_t b, const uint32_t *host,
                     struct nt_rng *rng)
{
    double us = host[a] / LEAF == host[b] / LEAF ? 1.1 : 1.6;
    us *= 1 + 0.02 * nt_rng_normal(rng);
    job->pair[job->pairs++] = (struct nt_evidence_entry){
        .a = a, .b = b, .count = 1, .lowest_us = (float)us, .mean_us = (float)us};
}

static void add_figure(struct nt_fleet_job *job, uint32_t host, enum nt_figure_kind kind,
                       double usual, struct nt_rng *rng)
{
    job->figure[job->figures++] =
        (struct nt_fleet_figure){.host = host,
                                 .kind = (uint8_t)kind,
                                 .value = (float)(usual * (1 + 0.02 * nt_rng_normal(rng)))};
}

/* Hosts of a run of neighbours with gaps, in rising order. */
static void draw(struct nt_fleet_job *job, char (*name)[16], size_t most, struct nt_rng *rng)
{
    static uint32_t host[HOSTS];
    double u = nt_rng_uniform(rng);
    size_t hosts = (size_t)exp2(1 + (log2((double)most) - 1) * u * u);
    uint32_t at = (uint32_t)nt_rng_below(rng, HOSTS - 2 * most),
             gaps = (uint32_t)nt_rng_below(rng, 3);
    job->hosts = 0;
    for (; job->hosts < hosts; at++)
        if (gaps > 0 || nt_rng_below(rng, 3) > 0) {
            host[job->hosts] = at % HOSTS;
            job->host[job->hosts++] = name[at % HOSTS];
        }
    double share = hosts < FEW ? 1 : (double)PAIRS_A_HOST / (double)(hosts - 1);
    job->pairs = job->figures = job->findings = 0;
    for (uint32_t a = 0; a < hosts; a++)
        for (uint32_t b = a + 1; b < hosts; b++)
            if (share >= 1 || nt_rng_uniform(rng) < share)
                add_pair(job, a, b, host, rng);
    bool wide = nt_rng_below(rng, 4) == 0;
    for (uint32_t h = 0; h < hosts; h++) {
        add_figure(job, h, NT_FIGURE_LATENCY, 0.55, rng);
        if (wide) {
            add_figure(job, h, NT_FIGURE_UP, 12000, rng);
            add_figure(job, h, NT_FIGURE_DOWN, 12000, rng);
        }
    }
    if (nt_rng_below(rng, 20) == 0)
        job->finding[job->findings++] = (struct nt_fleet_finding){
            .host = 0, .kind = NT_FAULT_LINK_SLOW, .found = 2, .expected = 1, .confidence = 0.99F};
}

static void make_room(struct nt_fleet_job *job, size_t most)
{
    static char cluster[] = "c", level[] = "standard";
    *job = (struct nt_fleet_job){.cluster = cluster, .level = level};
    job->host = calloc(most, sizeof *job->host);
    job->pair = calloc(most * (FEW + 2 * PAIRS_A_HOST), sizeof *job->pair);
    job->figure = calloc(most * NT_FIGURE_KINDS, sizeof *job->figure);
    job->finding = calloc(1, sizeof *job->finding);
    if (!job->host || !job->pair || !job->figure || !job->finding)
        exit(1);
}

static uint64_t rows_of(sqlite3 *db, const char *table)
{
    char text[64];
    sqlite3_stmt *query = NULL;
    uint64_t rows = 0;
    snprintf(text, sizeof text, "SELECT count(*) FROM %s", table);
    if (sqlite3_prepare_v2(db, text, -1, &query, NULL) == SQLITE_OK &&
        sqlite3_step(query) == SQLITE_ROW)
        rows = (uint64_t)sqlite3_column_int64(query, 0);
    sqlite3_finalize(query);
    return rows;
}

static double megabytes(const char *file)
{
    struct stat st;
    return stat(file, &st) == 0 ? (double)st.st_size / 1e6 : 0;
}

struct row {
    uint32_t days;
    uint64_t jobs, hosts, folded, findings;
    double mb;
};

static struct row read_row(const char *file, uint32_t days)
{
    char wal[128];
    sqlite3 *db;
    snprintf(wal, sizeof wal, "%s-wal", file);
    if (sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
        exit(1);
    struct row row = {.days = days,
                      .jobs = rows_of(db, "job"),
                      .hosts = rows_of(db, "host"),
                      .folded = rows_of(db, "reading_user"),
                      .findings = rows_of(db, "finding"),
                      .mb = megabytes(file) + megabytes(wal)};
    sqlite3_close(db);
    return row;
}

static void print_row(const struct row *r, double taken_s, double fold_s)
{
    printf("%4u %8llu %8llu %8llu %8llu %8.1f %7.0f %9.2f %7.2f\n", r->days,
           (unsigned long long)r->jobs, (unsigned long long)r->hosts, (unsigned long long)r->folded,
           (unsigned long long)r->findings, r->mb, r->mb * 1e6 / (double)r->jobs,
           taken_s / (double)r->jobs * 1e3, fold_s);
    fflush(stdout);
}

/* A day's growth is that between two rows, both after the first days were folded. */
static double in_a_year(double early, double late, const struct row *from, const struct row *to)
{
    return late + (late - early) / (to->days - from->days) * (YEAR_DAYS - to->days);
}

static void print_year(const struct row *from, const struct row *to, double all_s)
{
    double rows = in_a_year((double)(from->jobs + from->hosts + from->folded + from->findings),
                            (double)(to->jobs + to->hosts + to->folded + to->findings), from, to);
    printf("a year, as days %u to %u went on: %.1f million rows (%.1f of jobs, %.1f of folded "
           "days), %.1f GB\n",
           from->days + 1, to->days, rows / 1e6,
           in_a_year((double)from->jobs, (double)to->jobs, from, to) / 1e6,
           in_a_year((double)from->folded, (double)to->folded, from, to) / 1e6,
           in_a_year(from->mb, to->mb, from, to) / 1e3);
    printf("%.0f jobs a second, folding included\n", (double)to->jobs / all_s);
}

static void remove_store(const char *file)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    char name[128];
    for (size_t k = 0; k < 3; k++) {
        snprintf(name, sizeof name, "%s%s", file, ends[k]);
        unlink(name);
    }
}

int main(int argc, char **argv)
{
    uint32_t a_day = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 10000;
    uint32_t days = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 30;
    size_t most = argc > 3 ? strtoul(argv[3], NULL, 10) : 256;
    char file[64];
    struct nt_fleet_job job;
    struct nt_store *store;
    struct nt_rng rng;
    uint64_t jobs = 0, pairs = 0;
    double taken_s = 0, folding_s = 0;
    struct row early = {0}, row = {0};
    if (a_day == 0 || days == 0 || most < 4 || most > 1024)
        return 2;
    char(*name)[16] = host_names();
    snprintf(file, sizeof file, "/var/tmp/nettopo-bench-month-%d", (int)getpid());
    make_room(&job, most);
    nt_rng_init(&rng, 1);
    must(nt_store_open(file, false, &store, &err));
    printf("%u jobs a day of 2 to %zu hosts, of %d; folded after %d days\n", a_day, most, HOSTS,
           FOLD_DAYS);
    printf("days     jobs    hosts   folded findings       MB bytes/j ms/ingest  fold_s\n");
    for (uint32_t d = 0; d < days; d++) {
        for (uint32_t j = 0; j < a_day; j++) {
            draw(&job, name, most, &rng);
            job.job = ++jobs;
            job.user = 1000 + (uint32_t)nt_rng_below(&rng, USERS);
            job.time_s = START_S + (int64_t)d * NT_DAY_S + (int64_t)j * NT_DAY_S / a_day;
            pairs += job.pairs;
            double began = nt_clock_s();
            must(nt_store_put(store, &job, &err));
            if (j % 500 == 499)
                must(nt_store_commit(store, &err));
            taken_s += nt_clock_s() - began;
        }
        double began = nt_clock_s();
        must(nt_store_commit(store, &err));
        must(nt_store_fold(store, START_S + ((int64_t)d + 1 - FOLD_DAYS) * NT_DAY_S, 0, &err));
        double fold_s = nt_clock_s() - began;
        folding_s += fold_s;
        if ((d + 1) % (days < 6 ? 1 : days / 6) != 0)
            continue;
        row = read_row(file, d + 1);
        print_row(&row, taken_s, fold_s);
        if (early.folded == 0)
            early = row;
    }
    if (early.folded > 0 && early.days < row.days)
        print_year(&early, &row, taken_s + folding_s);
    printf("%.1f pairs a job\n", (double)pairs / (double)jobs);
    nt_store_close(store);
    remove_store(file);
    free(job.host);
    free(job.pair);
    free(job.figure);
    free(job.finding);
    return 0;
}
