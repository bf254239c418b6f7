/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <stdlib.h>
#include <string.h>

#include "packed.h"
#include "store_work.h"
#include "utc.h"

/* Days that were folded are jobs whose ids no job has. */
static const uint64_t DAY_ID = UINT64_C(1) << 62;

/* What a store says is bounded before it is used: the file may be damaged. */
static const int64_t TIME_MAX_S = INT64_C(253402300799); /* the year 9999 */
enum { TIERS_MAX = 64, NUMBERS_MAX = 1 << 24 };

static int damaged(const char *what, struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_INPUT, "the store is damaged: %s", what);
}

uint32_t nt_store_user(struct nt_query *q, int column)
{
    int64_t user = nt_query_is_null(q, column) ? -1 : nt_query_whole(q, column);
    return user < 0 || user >= NT_NO_USER ? NT_NO_USER : (uint32_t)user;
}

static int64_t time_of(struct nt_query *q, int column)
{
    int64_t time_s = nt_query_whole(q, column);
    return time_s < 0 ? 0 : time_s > TIME_MAX_S ? TIME_MAX_S : time_s;
}

int nt_store_count(struct nt_store *store, struct nt_store_sums *out, struct nt_err *err)
{
    struct nt_store_sums sums = {0};
    struct nt_query *q = nt_database_query(
        store->db,
        "SELECT (SELECT value FROM meta WHERE key='cluster'), (SELECT count(*) FROM host),"
        " (SELECT count(*) FROM finding),"
        " (SELECT page_count*page_size FROM pragma_page_count, pragma_page_size),"
        " count(*), count(DISTINCT ifnull(user, -1)), sum(status=0), sum(status=1), sum(status=2),"
        " min(time), max(time) FROM job",
        err);
    if (q == NULL || nt_query_step(q, err) <= 0)
        return -1;
    const char *cluster = nt_query_text(q, 0);
    size_t n = strlen(cluster);
    memcpy(sums.cluster, cluster, n < sizeof sums.cluster ? n : sizeof sums.cluster - 1);
    sums.hosts = (uint64_t)nt_query_whole(q, 1);
    sums.findings = (uint64_t)nt_query_whole(q, 2);
    sums.bytes = (uint64_t)nt_query_whole(q, 3);
    sums.jobs = (uint64_t)nt_query_whole(q, 4);
    sums.users = (uint64_t)nt_query_whole(q, 5);
    sums.ok = (uint64_t)nt_query_whole(q, 6);
    sums.partial = (uint64_t)nt_query_whole(q, 7);
    sums.failed = (uint64_t)nt_query_whole(q, 8);
    sums.first_s = time_of(q, 9);
    sums.last_s = time_of(q, 10);
    nt_query_end(q);
    *out = sums;
    return 0;
}

int nt_store_hosts(struct nt_store *store, struct nt_names *out, int64_t **seen_s,
                   struct nt_err *err)
{
    struct nt_query *q =
        nt_database_query(store->db, "SELECT name, seen FROM host ORDER BY id", err);
    int64_t *seen = calloc(NT_HOSTS_MAX, sizeof *seen);
    int more = 0, rc = seen == NULL ? nt_err_memory(err) : q == NULL ? -1 : 0;
    while (rc == 0 && (more = nt_query_step(q, err)) > 0) {
        uint32_t index;
        const char *name = nt_query_text(q, 0);
        rc = out->count < NT_HOSTS_MAX && nt_host_name_check(name, NULL) == 0
                 ? nt_names_add_copy(out, name, strlen(name), &index, err)
                 : 1;
        if (rc > 0)
            rc = damaged("a host twice, too many, or none", err);
        if (rc == 0)
            seen[index] = time_of(q, 1);
    }
    nt_query_end(q);
    if (rc == 0 && more == 0 && seen_s != NULL) {
        *seen_s = seen;
        return 0;
    }
    free(seen);
    return rc == 0 && more == 0 ? 0 : -1;
}

/* ---- evidence ---- */

struct filling {
    struct nt_evidence *evidence;
    uint32_t job;
};

static int fill_pair(void *context, const struct nt_evidence_entry *pair, struct nt_err *err)
{
    struct filling *f = context;
    struct nt_evidence_entry entry = *pair;
    entry.job = f->job;
    return nt_evidence_add(f->evidence, &entry, err);
}

static int fill_rows(struct nt_query *q, size_t max_entries, struct nt_evidence *out,
                     struct nt_err *err)
{
    int more = 0, rc = 0;
    while (rc == 0 && out->entries < max_entries && (more = nt_query_step(q, err)) > 0) {
        struct filling f = {.evidence = out};
        size_t n;
        const void *bytes = nt_query_blob(q, 3, &n);
        rc = nt_evidence_add_job(out, time_of(q, 1), (uint64_t)nt_query_whole(q, 0),
                                 nt_store_user(q, 2), &f.job, err);
        if (rc == 0)
            rc = nt_packed_visit_pairs(bytes, n, out->hosts, fill_pair, &f, err);
    }
    nt_query_end(q);
    return rc == 0 && more >= 0 ? 0 : -1;
}

/* A job per user and day: what was folded has no offsets any more. */
static int fill_days(struct nt_query *q, size_t max_entries, struct nt_evidence *out,
                     struct nt_err *err)
{
    int more = 0, rc = 0;
    uint64_t last = 0;
    struct filling f = {.evidence = out};
    while (rc == 0 && out->entries < max_entries && (more = nt_query_step(q, err)) > 0) {
        int64_t day = nt_query_whole(q, 0);
        uint32_t user = nt_store_user(q, 1);
        size_t n;
        const void *bytes = nt_query_blob(q, 2, &n);
        if (day < 0 || day > TIME_MAX_S / NT_DAY_S) {
            rc = damaged("no day", err);
            continue;
        }
        uint64_t id = DAY_ID + ((uint64_t)day << 32 | user);
        if (id != last)
            rc = nt_evidence_add_job(out, day * NT_DAY_S + NT_DAY_S / 2, id, user, &f.job, err);
        last = id;
        if (rc == 0)
            rc = nt_packed_visit_pairs(bytes, n, out->hosts, fill_pair, &f, err);
    }
    nt_query_end(q);
    return rc == 0 && more >= 0 ? 0 : -1;
}

static int count_hosts(struct nt_store *store, size_t *hosts, struct nt_err *err)
{
    struct nt_query *q = nt_database_query(store->db, "SELECT count(*) FROM host", err);
    if (q == NULL || nt_query_step(q, err) <= 0)
        return -1;
    *hosts = (size_t)nt_query_whole(q, 0);
    nt_query_end(q);
    return 0;
}

int nt_store_evidence(struct nt_store *store, int64_t since_s, size_t max_entries,
                      struct nt_evidence *out, struct nt_err *err)
{
    struct nt_query *jobs = nt_database_query(
        store->db,
        "SELECT id, time, user, readings FROM job WHERE readings IS NOT NULL AND time>=?1"
        " ORDER BY time DESC, id DESC",
        err);
    struct nt_query *days = nt_database_query(
        store->db,
        "SELECT day, user, pairs FROM reading_user WHERE day>=?1 ORDER BY day DESC, user DESC",
        err);
    size_t hosts;
    if (jobs == NULL || days == NULL || count_hosts(store, &hosts, err) != 0 ||
        nt_evidence_init(out, hosts, err) != 0)
        return -1;
    nt_query_set_whole(jobs, 1, since_s);
    nt_query_set_whole(days, 1, since_s / NT_DAY_S);
    if (fill_rows(jobs, max_entries, out, err) == 0 && fill_days(days, max_entries, out, err) == 0)
        return 0;
    nt_evidence_fini(out);
    return -1;
}

/* ---- jobs and findings ---- */

int nt_store_visit_jobs(struct nt_store *store, int64_t since_s, nt_store_each_job *each,
                        void *context, struct nt_err *err)
{
    struct nt_query *q = nt_database_query(
        store->db,
        "SELECT id, job, restart, user, time, figures FROM job WHERE time>=?1 ORDER BY time, id",
        err);
    int more = 0, rc = q == NULL ? -1 : 0;
    if (rc == 0)
        nt_query_set_whole(q, 1, since_s);
    while (rc == 0 && (more = nt_query_step(q, err)) > 0) {
        struct nt_store_job job = {
            .id = (uint64_t)nt_query_whole(q, 0),
            .job = (uint64_t)nt_query_whole(q, 1),
            .restart = (uint32_t)nt_query_whole(q, 2),
            .user = nt_store_user(q, 3),
            .time_s = time_of(q, 4),
        };
        job.figures = nt_query_blob(q, 5, &job.figures_bytes);
        rc = each(context, &job, err);
    }
    nt_query_end(q);
    return rc == 0 && more == 0 ? 0 : -1;
}

int nt_store_visit_findings(struct nt_store *store, int64_t since_s, nt_store_each_finding *each,
                            void *context, struct nt_err *err)
{
    struct nt_query *q = nt_database_query(
        store->db,
        "SELECT j.job, j.user, j.time, f.host, f.tier, f.kind, f.way, f.alone, f.found, f.expected,"
        " f.confidence FROM job j JOIN finding f ON f.job=j.id WHERE j.time>=?1"
        " ORDER BY j.time, j.id",
        err);
    int more = 0, rc = q == NULL ? -1 : 0;
    if (rc == 0)
        nt_query_set_whole(q, 1, since_s);
    while (rc == 0 && (more = nt_query_step(q, err)) > 0) {
        struct nt_store_finding f = {
            .job = (uint64_t)nt_query_whole(q, 0),
            .user = nt_store_user(q, 1),
            .time_s = time_of(q, 2),
            .finding = {.host = (uint32_t)nt_query_whole(q, 3),
                        .tier = (uint8_t)nt_query_whole(q, 4),
                        .kind = (uint8_t)nt_query_whole(q, 5),
                        .way = (uint8_t)nt_query_whole(q, 6),
                        .alone = nt_query_whole(q, 7) != 0,
                        .found = (float)nt_query_number(q, 8),
                        .expected = (float)nt_query_number(q, 9),
                        .confidence = (float)nt_query_number(q, 10)},
        };
        rc = each(context, &f, err);
    }
    nt_query_end(q);
    return rc == 0 && more == 0 ? 0 : -1;
}

/* ---- names of switches ---- */

int nt_store_naming(struct nt_store *store, struct nt_switch_naming *out, struct nt_err *err)
{
    struct nt_query *q =
        nt_database_query(store->db, "SELECT host, tier, number FROM switch_member", err);
    struct nt_query *last =
        nt_database_query(store->db, "SELECT value FROM meta WHERE key='switch_numbers'", err);
    int more = 0, rc = q == NULL || last == NULL ? -1 : 0;
    while (rc == 0 && (more = nt_query_step(q, err)) > 0) {
        int64_t host = nt_query_whole(q, 0), tier = nt_query_whole(q, 1);
        int64_t number = nt_query_whole(q, 2);
        if (host < 0 || host >= NT_HOSTS_MAX || tier < 1 || tier > TIERS_MAX || number < 1 ||
            number > NUMBERS_MAX)
            rc = damaged("no switch", err);
        else
            rc = nt_switch_naming_add(
                out, (struct nt_switch_member){(uint32_t)host, (uint32_t)tier, (uint32_t)number},
                err);
    }
    nt_query_end(q);
    if (rc == 0 && more == 0 && (more = nt_query_step(last, err)) > 0) {
        unsigned long given = strtoul(nt_query_text(last, 0), NULL, 10);
        rc = given > NUMBERS_MAX ? damaged("no number of switches", err) : 0;
        out->last = rc == 0 && given > out->last ? (uint32_t)given : out->last;
        more = 0;
    }
    nt_query_end(last);
    return rc == 0 && more == 0 ? 0 : -1;
}

static int put_members(struct nt_store *store, const struct nt_switch_naming *naming,
                       struct nt_err *err)
{
    struct nt_query *put = nt_database_query(
        store->db, "INSERT OR REPLACE INTO switch_member VALUES(?1, ?2, ?3)", err);
    struct nt_query *last = nt_database_query(
        store->db, "INSERT OR REPLACE INTO meta VALUES('switch_numbers', ?1)", err);
    int rc = put == NULL || last == NULL ? -1 : 0;
    for (size_t k = 0; rc == 0 && k < naming->members; k++) {
        nt_query_set_whole(put, 1, naming->member[k].host);
        nt_query_set_whole(put, 2, naming->member[k].tier);
        nt_query_set_whole(put, 3, naming->member[k].number);
        rc = nt_query_run(put, err);
    }
    if (rc != 0)
        return -1;
    nt_query_set_whole(last, 1, naming->last);
    return nt_query_run(last, err);
}

int nt_store_set_naming(struct nt_store *store, const struct nt_switch_naming *naming,
                        struct nt_err *err)
{
    if (nt_store_begin(store, err) != 0)
        return -1;
    if (nt_database_run(store->db, "DELETE FROM switch_member", err) != 0 ||
        put_members(store, naming, err) != 0)
        return nt_store_take_back(store);
    return nt_store_commit(store, err);
}
