/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "packed.h"
#include "store_work.h"
#include "utc.h"

enum { PIECE = 65536 }; /* pairs in a row */

/* ---- one day ---- */

struct day_filling {
    struct nt_evidence *evidence;
    uint32_t job;
};

static int fill_pair(void *context, const struct nt_evidence_entry *pair, struct nt_err *err)
{
    struct day_filling *f = context;
    struct nt_evidence_entry entry = *pair;
    entry.job = f->job;
    return nt_evidence_add(f->evidence, &entry, err);
}

static int fill_from(struct nt_query *q, struct nt_evidence *out, struct nt_err *err)
{
    int more = 0, rc = 0;
    while (rc == 0 && (more = nt_query_step(q, err)) > 0) {
        struct day_filling f = {.evidence = out};
        size_t n;
        const void *bytes = nt_query_blob(q, 1, &n);
        rc = nt_evidence_add_job(out, 0, (uint64_t)nt_query_whole(q, 0), nt_store_user(q, 2),
                                 &f.job, err);
        if (rc == 0)
            rc = nt_packed_visit_pairs(bytes, n, out->hosts, fill_pair, &f, err);
    }
    nt_query_end(q);
    return rc == 0 && more == 0 ? 0 : -1;
}

/* The day's jobs, and what was folded of it before (a job that came late). */
static int load_day(struct nt_store *store, int64_t day, struct nt_evidence *out,
                    struct nt_err *err)
{
    struct nt_query *jobs = nt_database_query(
        store->db,
        "SELECT id, readings, user FROM job WHERE readings IS NOT NULL AND time>=?1 AND time<?2",
        err);
    struct nt_query *folded = nt_database_query(
        store->db, "SELECT -rowid, pairs, user FROM reading_user WHERE day=?1", err);
    if (jobs == NULL || folded == NULL || nt_evidence_init(out, store->hosts.count, err) != 0)
        return -1;
    nt_query_set_whole(jobs, 1, day * NT_DAY_S);
    nt_query_set_whole(jobs, 2, (day + 1) * NT_DAY_S);
    nt_query_set_whole(folded, 1, day);
    if (fill_from(jobs, out, err) == 0 && fill_from(folded, out, err) == 0 &&
        nt_evidence_align(out, err) == 0)
        return 0;
    nt_evidence_fini(out);
    return -1;
}

/* Entries of one pair as one; its job's offset leaves each. */
static struct nt_evidence_entry fold_pair(const struct nt_evidence_entry *entry, size_t n)
{
    struct nt_evidence_entry sum = {.a = entry->a, .b = entry->b, .lowest_us = INFINITY};
    double mean = 0, square = 0;
    for (size_t k = 0; k < n; k++) {
        double scale = exp((double)entry[k].ln) / entry[k].lowest_us;
        scale = isfinite(scale) && scale > 0 ? scale : 1;
        double x = entry[k].mean_us * scale, sd = entry[k].sd_us * scale, count = entry[k].count;
        double all = sum.count + count, delta = x - mean;
        square += sd * sd * (count - 1) + delta * delta * sum.count * count / all;
        mean += delta * count / all;
        sum.lowest_us = fminf(sum.lowest_us, (float)(entry[k].lowest_us * scale));
        sum.count += entry[k].count;
    }
    sum.mean_us = fmaxf((float)mean, sum.lowest_us);
    sum.sd_us = sum.count > 1 ? (float)sqrt(square / (sum.count - 1)) : 0;
    return sum;
}

static int compare_users(const void *x, const void *y, void *jobs)
{
    const struct nt_evidence_job *job = jobs;
    const struct nt_evidence_entry *p = x, *q = y;
    if (job[p->job].user != job[q->job].user)
        return job[p->job].user < job[q->job].user ? -1 : 1;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

static int put_piece(struct nt_store *store, int64_t day, uint32_t user, int64_t part,
                     const struct nt_evidence_entry *pair, size_t n, struct nt_err *err)
{
    struct nt_strbuf buf = {0};
    struct nt_query *put =
        nt_database_query(store->db, "INSERT INTO reading_user VALUES(?1, ?2, ?3, ?4)", err);
    if (put == NULL)
        return -1;
    nt_packed_put_pairs(&buf, pair, n);
    nt_query_set_whole(put, 1, day);
    nt_query_set_whole(put, 2, user == NT_NO_USER ? -1 : (int64_t)user);
    nt_query_set_whole(put, 3, part);
    nt_query_set_blob(put, 4, buf.text, buf.used);
    int rc = buf.failed ? nt_err_memory(err) : nt_query_run(put, err);
    nt_query_end(put);
    free(buf.text);
    return rc;
}

/* The pairs of one user, in place: they take no more room than before. */
static int put_user(struct nt_store *store, int64_t day, uint32_t user,
                    struct nt_evidence_entry *entry, size_t n, struct nt_err *err)
{
    size_t kept = 0;
    int rc = 0;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && entry[to].a == entry[from].a && entry[to].b == entry[from].b;)
            to++;
        entry[kept++] = fold_pair(&entry[from], to - from);
    }
    for (size_t from = 0; rc == 0 && from < kept; from += PIECE) {
        size_t left = kept - from;
        rc = put_piece(store, day, user, (int64_t)(from / PIECE), &entry[from],
                       left < PIECE ? left : PIECE, err);
    }
    return rc;
}

static int put_day(struct nt_store *store, int64_t day, struct nt_evidence *e, struct nt_err *err)
{
    struct nt_query *clear =
        nt_database_query(store->db, "DELETE FROM reading_user WHERE day=?1", err);
    if (clear == NULL)
        return -1;
    nt_query_set_whole(clear, 1, day);
    int rc = nt_query_run(clear, err);
    if (e->entries > 0)
        qsort_r(e->entry, e->entries, sizeof *e->entry, compare_users, e->job);
    for (size_t from = 0, to; rc == 0 && from < e->entries; from = to) {
        uint32_t user = e->job[e->entry[from].job].user;
        for (to = from; to < e->entries && e->job[e->entry[to].job].user == user;)
            to++;
        rc = put_user(store, day, user, &e->entry[from], to - from, err);
    }
    return rc;
}

static int fold_day(struct nt_store *store, int64_t day, struct nt_err *err)
{
    struct nt_evidence evidence;
    struct nt_query *clear = nt_database_query(
        store->db,
        "UPDATE job SET readings=NULL WHERE readings IS NOT NULL AND time>=?1 AND time<?2", err);
    if (clear == NULL || load_day(store, day, &evidence, err) != 0)
        return -1;
    int rc = put_day(store, day, &evidence, err);
    nt_evidence_fini(&evidence);
    if (rc != 0)
        return -1;
    nt_query_set_whole(clear, 1, day * NT_DAY_S);
    nt_query_set_whole(clear, 2, (day + 1) * NT_DAY_S);
    return nt_query_run(clear, err);
}

/* ---- all days ---- */

static int first_unfolded(struct nt_store *store, int64_t before_s, int64_t *day,
                          struct nt_err *err)
{
    struct nt_query *q = nt_database_query(
        store->db, "SELECT min(time) FROM job WHERE readings IS NOT NULL AND time<?1", err);
    if (q == NULL)
        return -1;
    nt_query_set_whole(q, 1, before_s);
    int more = nt_query_step(q, err);
    *day = more > 0 && !nt_query_is_null(q, 0) ? nt_query_whole(q, 0) / NT_DAY_S : -1;
    nt_query_end(q);
    return more < 0 ? -1 : 0;
}

static int drop_before(struct nt_store *store, int64_t time_s, struct nt_err *err)
{
    static const char *const sql[] = {
        "DELETE FROM finding WHERE job IN (SELECT id FROM job WHERE time<?1)",
        "DELETE FROM job WHERE time<?1", "DELETE FROM reading_user WHERE day<?1/86400"};
    for (size_t k = 0; k < sizeof sql / sizeof *sql; k++) {
        struct nt_query *q = nt_database_query(store->db, sql[k], err);
        if (q == NULL)
            return -1;
        nt_query_set_whole(q, 1, time_s);
        if (nt_query_run(q, err) != 0)
            return -1;
    }
    return 0;
}

int nt_store_fold(struct nt_store *store, int64_t before_s, int64_t drop_before_s,
                  struct nt_err *err)
{
    int64_t day = 0, end_s = before_s - before_s % NT_DAY_S; /* whole days */
    if (nt_store_commit(store, err) != 0)
        return -1;
    while (day >= 0) {
        if (nt_store_begin(store, err) != 0)
            return -1;
        if (first_unfolded(store, end_s, &day, err) != 0 ||
            (day >= 0 && fold_day(store, day, err) != 0))
            return nt_store_take_back(store);
        if (nt_store_commit(store, err) != 0)
            return -1;
    }
    if (nt_store_begin(store, err) != 0)
        return -1;
    if (drop_before(store, drop_before_s, err) != 0)
        return nt_store_take_back(store);
    return nt_store_commit(store, err);
}
