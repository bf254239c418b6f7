/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "packed.h"
#include "store_work.h"

enum { APPLICATION_ID = 0x6e74666c };

/* Of each version what it adds to the one before. What was released is never changed. */
static const char *const step[NT_STORE_VERSION] = {
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE host(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, seen INTEGER NOT NULL);"
    "CREATE TABLE job(id INTEGER PRIMARY KEY, job INTEGER NOT NULL, restart INTEGER NOT NULL,"
    " user INTEGER, time INTEGER NOT NULL, level TEXT NOT NULL, status INTEGER NOT NULL,"
    " hosts INTEGER NOT NULL, readings BLOB, figures BLOB NOT NULL, UNIQUE(job, restart));"
    "CREATE INDEX job_time ON job(time);"
    "CREATE TABLE finding(job INTEGER NOT NULL REFERENCES job(id), host INTEGER NOT NULL,"
    " tier INTEGER NOT NULL, kind INTEGER NOT NULL, way INTEGER NOT NULL, alone INTEGER NOT NULL,"
    " found REAL NOT NULL, expected REAL NOT NULL, confidence REAL NOT NULL);"
    "CREATE INDEX finding_job ON finding(job);"
    "CREATE TABLE reading_day(day INTEGER NOT NULL, host INTEGER NOT NULL, pairs BLOB NOT NULL,"
    " PRIMARY KEY(day, host)) WITHOUT ROWID;",
    "CREATE TABLE switch_member(host INTEGER NOT NULL, tier INTEGER NOT NULL,"
    " number INTEGER NOT NULL, PRIMARY KEY(host, tier)) WITHOUT ROWID;"
    "CREATE INDEX job_unfolded ON job(time) WHERE readings IS NOT NULL;",
    /* user -1: not known, as of all that was folded before */
    "CREATE TABLE reading_user(day INTEGER NOT NULL, user INTEGER NOT NULL, part INTEGER NOT NULL,"
    " pairs BLOB NOT NULL, UNIQUE(day, user, part));"
    "INSERT INTO reading_user SELECT day, -1, host, pairs FROM reading_day;"
    "DROP TABLE reading_day;",
    "", /* figures that are bounds */
};

static const struct nt_schema schema = {APPLICATION_ID, NT_STORE_VERSION, step};

int nt_store_open(const char *file, bool read_only, struct nt_store **out, struct nt_err *err)
{
    struct nt_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return nt_err_memory(err);
    if (nt_database_open(file, read_only, &schema, &store->db, err) != 0) {
        free(store);
        return -1;
    }
    *out = store;
    return 0;
}

void nt_store_close(struct nt_store *store)
{
    if (store == NULL)
        return;
    nt_database_close(store->db);
    nt_names_fini(&store->hosts);
    free(store);
}

/* ---- transactions ---- */

int nt_store_take_back(struct nt_store *store)
{
    nt_database_run(store->db, "ROLLBACK", NULL);
    nt_names_fini(&store->hosts); /* some may have come with it */
    store->open = false;
    return -1;
}

static int learn_hosts(struct nt_store *store, struct nt_err *err)
{
    struct nt_query *q =
        nt_database_query(store->db, "SELECT name FROM host WHERE id>?1 ORDER BY id", err);
    uint32_t index;
    int more = 0, rc = 0;
    if (q == NULL)
        return -1;
    nt_query_set_whole(q, 1, (int64_t)store->hosts.count);
    while (rc >= 0 && (more = nt_query_step(q, err)) > 0) {
        const char *name = nt_query_text(q, 0);
        rc = nt_names_add_copy(&store->hosts, name, strlen(name), &index, err);
    }
    nt_query_end(q);
    return rc < 0 || more < 0 ? -1 : 0;
}

int nt_store_begin(struct nt_store *store, struct nt_err *err)
{
    if (store->open)
        return 0;
    if (nt_database_run(store->db, "BEGIN IMMEDIATE", err) != 0)
        return -1;
    store->open = true;
    return learn_hosts(store, err) == 0 ? 0 : nt_store_take_back(store);
}

int nt_store_commit(struct nt_store *store, struct nt_err *err)
{
    if (!store->open)
        return 0;
    if (nt_database_run(store->db, "COMMIT", err) != 0)
        return nt_store_take_back(store);
    store->open = false;
    return 0;
}

/* ---- a job comes ---- */

int nt_store_has(struct nt_store *store, uint64_t job, uint32_t restart, bool *has,
                 struct nt_err *err)
{
    struct nt_query *q =
        nt_database_query(store->db, "SELECT 1 FROM job WHERE job=?1 AND restart=?2", err);
    if (q == NULL)
        return -1;
    nt_query_set_whole(q, 1, (int64_t)job);
    nt_query_set_whole(q, 2, restart);
    int more = nt_query_step(q, err);
    *has = more > 0;
    nt_query_end(q);
    return more < 0 ? -1 : 0;
}

static int check_cluster(struct nt_store *store, const char *cluster, struct nt_err *err)
{
    struct nt_query *q =
        nt_database_query(store->db, "SELECT value FROM meta WHERE key='cluster'", err);
    struct nt_query *set =
        nt_database_query(store->db, "INSERT INTO meta VALUES('cluster', ?1)", err);
    if (q == NULL || set == NULL)
        return -1;
    int more = nt_query_step(q, err), rc = more < 0 ? -1 : 0;
    if (more > 0 && strcmp(nt_query_text(q, 0), cluster) != 0)
        rc = nt_err_set(err, NT_ERR_INPUT, "of cluster \"%.64s\": the store is of \"%.64s\"",
                        cluster, nt_query_text(q, 0));
    nt_query_end(q);
    if (rc != 0 || more > 0)
        return rc;
    nt_query_set_text(set, 1, cluster);
    return nt_query_run(set, err);
}

static int put_host(struct nt_store *store, const char *name, uint32_t *number, int64_t time_s,
                    struct nt_err *err)
{
    bool is_new = *number == NT_NAMES_NONE;
    struct nt_query *q =
        nt_database_query(store->db,
                          is_new ? "INSERT INTO host(id, name, seen) VALUES(?1, ?3, ?2)"
                                 : "UPDATE host SET seen=?2 WHERE id=?1 AND seen<?2",
                          err);
    if (q == NULL ||
        (is_new && nt_names_add_copy(&store->hosts, name, strlen(name), number, err) < 0))
        return -1;
    nt_query_set_whole(q, 1, (int64_t)*number + 1);
    nt_query_set_whole(q, 2, time_s);
    if (is_new)
        nt_query_set_text(q, 3, name);
    return nt_query_run(q, err);
}

/* number[k]: of the job's host k. Counted first, so that a job that is refused leaves no hosts. */
static int number_hosts(struct nt_store *store, const struct nt_fleet_job *job, uint32_t *number,
                        struct nt_err *err)
{
    size_t unknown = 0;
    for (size_t k = 0; k < job->hosts; k++) {
        number[k] = nt_names_find(&store->hosts, job->host[k], strlen(job->host[k]));
        unknown += number[k] == NT_NAMES_NONE;
    }
    if (unknown > NT_HOSTS_MAX - store->hosts.count)
        return nt_err_set(err, NT_ERR_INPUT, "more than %d hosts in one cluster",
                          (int)NT_HOSTS_MAX);
    for (size_t k = 0; k < job->hosts; k++)
        if (put_host(store, job->host[k], &number[k], job->time_s, err) != 0)
            return -1;
    return 0;
}

static int compare_pairs(const void *x, const void *y)
{
    const struct nt_evidence_entry *p = x, *q = y;
    return p->a != q->a ? (p->a > q->a) - (p->a < q->a) : (p->b > q->b) - (p->b < q->b);
}

static int compare_figures(const void *x, const void *y)
{
    const struct nt_fleet_figure *p = x, *q = y;
    if (p->host != q->host)
        return p->host < q->host ? -1 : 1;
    return p->tier != q->tier ? p->tier - q->tier : p->kind - q->kind;
}

static int pack_pairs(const struct nt_fleet_job *job, const uint32_t *number, struct nt_strbuf *buf,
                      struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_evidence_entry *pair = nt_arena_array(&memory, job->pairs, sizeof *pair);
    if (pair == NULL)
        return nt_arena_check(&memory, err);
    for (size_t k = 0; k < job->pairs; k++) {
        uint32_t a = number[job->pair[k].a], b = number[job->pair[k].b];
        pair[k] = job->pair[k];
        pair[k].a = a < b ? a : b;
        pair[k].b = a < b ? b : a;
    }
    qsort(pair, job->pairs, sizeof *pair, compare_pairs);
    nt_packed_put_pairs(buf, pair, job->pairs);
    return buf->failed ? nt_err_memory(err) : 0;
}

static int pack_figures(const struct nt_fleet_job *job, const uint32_t *number,
                        struct nt_strbuf *buf, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_fleet_figure *figure = nt_arena_array(&memory, job->figures, sizeof *figure);
    if (figure == NULL)
        return nt_arena_check(&memory, err);
    for (size_t k = 0; k < job->figures; k++) {
        figure[k] = job->figure[k];
        figure[k].host = number[job->figure[k].host];
    }
    qsort(figure, job->figures, sizeof *figure, compare_figures);
    nt_packed_put_figures(buf, figure, job->figures);
    return buf->failed ? nt_err_memory(err) : 0;
}

static double finite_or_zero(double value)
{
    return isfinite(value) ? value : 0;
}

static int put_finding(struct nt_store *store, int64_t job, uint32_t host,
                       const struct nt_fleet_finding *f, struct nt_err *err)
{
    struct nt_query *q = nt_database_query(
        store->db, "INSERT INTO finding VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)", err);
    if (q == NULL)
        return -1;
    nt_query_set_whole(q, 1, job);
    nt_query_set_whole(q, 2, host);
    nt_query_set_whole(q, 3, f->tier);
    nt_query_set_whole(q, 4, f->kind);
    nt_query_set_whole(q, 5, f->way);
    nt_query_set_whole(q, 6, f->alone);
    nt_query_set_number(q, 7, finite_or_zero(f->found));
    nt_query_set_number(q, 8, finite_or_zero(f->expected));
    nt_query_set_number(q, 9, finite_or_zero(f->confidence));
    return nt_query_run(q, err);
}

static int put_row(struct nt_store *store, const struct nt_fleet_job *job,
                   const struct nt_strbuf *pairs, const struct nt_strbuf *figures,
                   struct nt_err *err)
{
    struct nt_query *q = nt_database_query(
        store->db,
        "INSERT INTO job(job, restart, user, time, level, status, hosts, readings, figures)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        err);
    if (q == NULL)
        return -1;
    nt_query_set_whole(q, 1, (int64_t)job->job);
    nt_query_set_whole(q, 2, job->restart);
    if (job->user == NT_NO_USER)
        nt_query_set_null(q, 3);
    else
        nt_query_set_whole(q, 3, job->user);
    nt_query_set_whole(q, 4, job->time_s);
    nt_query_set_text(q, 5, job->level);
    nt_query_set_whole(q, 6, job->status);
    nt_query_set_whole(q, 7, (int64_t)job->hosts);
    nt_query_set_blob(q, 8, pairs->text, pairs->used);
    nt_query_set_blob(q, 9, figures->text, figures->used);
    return nt_query_run(q, err);
}

static int put_all(struct nt_store *store, const struct nt_fleet_job *job, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_strbuf pairs = {0}, figures = {0};
    uint32_t *number = nt_arena_array(&memory, job->hosts, sizeof *number);
    int rc = number == NULL ? nt_arena_check(&memory, err) : 0;
    if (rc == 0)
        rc = number_hosts(store, job, number, err);
    if (rc == 0)
        rc = pack_pairs(job, number, &pairs, err);
    if (rc == 0)
        rc = pack_figures(job, number, &figures, err);
    if (rc == 0)
        rc = put_row(store, job, &pairs, &figures, err);
    int64_t row = nt_database_last_row(store->db);
    for (size_t k = 0; rc == 0 && k < job->findings; k++)
        rc = put_finding(store, row, number[job->finding[k].host], &job->finding[k], err);
    free(pairs.text);
    free(figures.text);
    return rc;
}

int nt_store_put(struct nt_store *store, const struct nt_fleet_job *job, struct nt_err *err)
{
    struct nt_err why = {0};
    bool has;
    if (nt_store_begin(store, err) != 0)
        return -1;
    if (nt_store_has(store, job->job, job->restart, &has, &why) == 0 &&
        (has || (check_cluster(store, job->cluster, &why) == 0 && put_all(store, job, &why) == 0)))
        return 0;
    if (why.kind != NT_ERR_INPUT)
        nt_store_take_back(store);
    return nt_err_set(err, why.kind, "%s", why.text);
}
