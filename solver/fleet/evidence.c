/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "matrix.h"
#include "memory.h"

static const double LATENCY_MAX_US = 1e9;

int nt_evidence_init(struct nt_evidence *e, size_t hosts, struct nt_err *err)
{
    if (hosts > NT_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu hosts in a cluster: at most %d", hosts,
                          (int)NT_HOSTS_MAX);
    *e = (struct nt_evidence){.hosts = hosts};
    return 0;
}

void nt_evidence_fini(struct nt_evidence *e)
{
    free(e->job);
    free(e->entry);
    *e = (struct nt_evidence){0};
}

/* Room for one more element of so many bytes. */
static int grow(void **array, size_t *capacity, size_t count, size_t bytes, struct nt_err *err)
{
    if (count < *capacity)
        return 0;
    size_t room = *capacity > 0 ? *capacity + *capacity / 2 : 1024;
    void *more = room > SIZE_MAX / bytes ? NULL : realloc(*array, room * bytes);
    if (more == NULL)
        return nt_err_memory(err);
    *array = more;
    *capacity = room;
    return 0;
}

int nt_evidence_add_job(struct nt_evidence *e, int64_t time_s, uint64_t id, uint32_t user,
                        uint32_t *index, struct nt_err *err)
{
    if (e->jobs >= NT_EVIDENCE_JOBS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "over %d jobs", (int)NT_EVIDENCE_JOBS_MAX);
    void *jobs = e->job;
    if (grow(&jobs, &e->jobs_capacity, e->jobs, sizeof *e->job, err) < 0)
        return -1;
    e->job = jobs;
    if (index != NULL)
        *index = (uint32_t)e->jobs;
    e->job[e->jobs++] =
        (struct nt_evidence_job){.time_s = time_s, .id = id, .user = user, .offset_ln = NAN};
    return 0;
}

static bool is_latency(double us)
{
    return us > 0 && us < LATENCY_MAX_US;
}

int nt_evidence_add(struct nt_evidence *e, const struct nt_evidence_entry *folded,
                    struct nt_err *err)
{
    struct nt_evidence_entry new = *folded;
    if (new.a >= e->hosts || new.b >= e->hosts || new.a == new.b || new.job >= e->jobs)
        return nt_err_set(err, NT_ERR_INPUT, "no pair %u %u of %zu hosts in job %u of %zu", new.a,
                          new.b, e->hosts, new.job, e->jobs);
    if (new.count == 0 || !is_latency((double)new.lowest_us) || !is_latency((double)new.mean_us) ||
        !(new.sd_us >= 0) || !isfinite(new.sd_us))
        return nt_err_set(err, NT_ERR_INPUT, "hosts %u %u: latency %g us, mean %g, sd %g of %u",
                          new.a, new.b, (double)new.lowest_us, (double)new.mean_us,
                          (double)new.sd_us, new.count);
    if (e->entries >= NT_EVIDENCE_ENTRIES_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "over %d readings", (int)NT_EVIDENCE_ENTRIES_MAX);
    void *entries = e->entry;
    if (grow(&entries, &e->entries_capacity, e->entries, sizeof *e->entry, err) < 0)
        return -1;
    e->entry = entries;
    if (new.a > new.b) {
        new.a = folded->b;
        new.b = folded->a;
    }
    new.ln = logf(new.lowest_us);
    e->entry[e->entries++] = new;
    return 0;
}

int nt_evidence_note(struct nt_evidence *e, uint32_t job, uint32_t a, uint32_t b, double us,
                     struct nt_err *err)
{
    const struct nt_evidence_entry one = {
        .a = a, .b = b, .job = job, .count = 1, .lowest_us = (float)us, .mean_us = (float)us};
    return nt_evidence_add(e, &one, err);
}

/* ---- order ------------------------------------------------------------------------------------
 */

static int compare_jobs(const void *x, const void *y, void *jobs)
{
    const struct nt_evidence_job *all = jobs;
    const uint32_t *m = x, *n = y;
    const struct nt_evidence_job *p = &all[*m], *q = &all[*n];
    if (p->time_s != q->time_s)
        return p->time_s < q->time_s ? -1 : 1;
    if (p->id != q->id)
        return p->id < q->id ? -1 : 1;
    return (*m > *n) - (*m < *n);
}

static int sort_jobs(struct nt_evidence *e, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *order = nt_arena_array(&memory, e->jobs + 1, sizeof *order);
    uint32_t *number = nt_arena_array(&memory, e->jobs + 1, sizeof *number);
    struct nt_evidence_job *was = nt_arena_array(&memory, e->jobs + 1, sizeof *was);
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    for (size_t j = 0; j < e->jobs; j++) {
        order[j] = (uint32_t)j;
        was[j] = e->job[j];
    }
    qsort_r(order, e->jobs, sizeof *order, compare_jobs, was);
    for (size_t j = 0; j < e->jobs; j++) {
        e->job[j] = was[order[j]];
        number[order[j]] = (uint32_t)j;
    }
    for (size_t k = 0; k < e->entries; k++)
        e->entry[k].job = number[e->entry[k].job];
    return 0;
}

static int compare_entries(const void *x, const void *y)
{
    const struct nt_evidence_entry *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    if (p->b != q->b)
        return p->b < q->b ? -1 : 1;
    if (p->job != q->job)
        return p->job < q->job ? -1 : 1;
    if (p->lowest_us != q->lowest_us) /* so that folding is the same in any order of adding */
        return p->lowest_us < q->lowest_us ? -1 : 1;
    return (p->mean_us > q->mean_us) - (p->mean_us < q->mean_us);
}

/* Adds the readings of one entry to another of the same pair and job (Chan et al. 1979). */
static void fold(struct nt_evidence_entry *into, const struct nt_evidence_entry *from)
{
    double n = into->count, m = from->count, sum = n + m;
    double step = (double)from->mean_us - (double)into->mean_us;
    double squares = (n - 1) * (double)into->sd_us * (double)into->sd_us +
                     (m - 1) * (double)from->sd_us * (double)from->sd_us +
                     step * step * n * m / sum;
    into->mean_us = (float)((double)into->mean_us + step * m / sum);
    into->sd_us = (float)sqrt(squares / (sum - 1));
    into->lowest_us = fminf(into->lowest_us, from->lowest_us);
    into->ln = fminf(into->ln, from->ln);
    into->count = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

int nt_evidence_sort(struct nt_evidence *e, struct nt_err *err)
{
    size_t kept = 0;
    if (sort_jobs(e, err) < 0)
        return -1;
    if (e->entries > 0)
        qsort(e->entry, e->entries, sizeof *e->entry, compare_entries);
    for (size_t k = 0; k < e->entries; k++) {
        struct nt_evidence_entry *last = kept > 0 ? &e->entry[kept - 1] : NULL;
        const struct nt_evidence_entry *one = &e->entry[k];
        if (last != NULL && last->a == one->a && last->b == one->b && last->job == one->job)
            fold(last, one);
        else
            e->entry[kept++] = *one;
    }
    e->entries = kept;
    return 0;
}

size_t nt_evidence_next_pair(const struct nt_evidence *e, size_t from)
{
    size_t k = from + 1;
    while (k < e->entries && e->entry[k].a == e->entry[from].a && e->entry[k].b == e->entry[from].b)
        k++;
    return k;
}
