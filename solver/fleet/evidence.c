/* SPDX-License-Identifier: Apache-2.0 */
#include "evidence.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "matrix.h"
#include "memory.h"
#include "stats.h"

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

/* Makes room for one more element of that many bytes. */
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

/* ---- order ---- */

static int compare_jobs(const void *x, const void *y, void *jobs)
{
    const struct nt_evidence_job *all = jobs;
    const uint32_t *m = x, *n = y;
    const struct nt_evidence_job *p = &all[*m], *q = &all[*n];
    return NT_ORDER(p->time_s, q->time_s, NT_ORDER(p->id, q->id, NT_ORDER(*m, *n, 0)));
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
    const int by_latency =
        NT_ORDER(p->lowest_us, q->lowest_us, NT_ORDER(p->mean_us, q->mean_us, 0));
    /* by latency, so that the result does not depend on the order of adding */
    return NT_ORDER(p->a, q->a, NT_ORDER(p->b, q->b, NT_ORDER(p->job, q->job, by_latency)));
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

/* ---- values of users ---- */

static int compare_values(const void *x, const void *y)
{
    const struct nt_user_value *p = x, *q = y;
    return NT_ORDER(p->user, q->user, NT_ORDER(p->value, q->value, 0));
}

size_t nt_user_medians(struct nt_user_value *v, size_t n, float *median)
{
    size_t users = 0;
    if (n > 1)
        qsort(v, n, sizeof *v, compare_values);
    for (size_t k = 0, end; k < n; k = end) {
        for (end = k; end < n && v[end].user == v[k].user; end++)
            ;
        median[users++] = (v[(k + end - 1) / 2].value + v[(k + end) / 2].value) / 2;
    }
    return users;
}

/* ---- offsets of jobs by the pairs that they share ---- */

/* The offsets of jobs: alternating medians over pairs and jobs (Tukey's median polish, Exploratory
 * Data Analysis 1977, chapter 11, for a table with few filled cells). A few shared pairs do not
 * align two groups of jobs, because their median may be that of one disturbed pair. Each group is
 * aligned by itself, and the offsets of its jobs are around 0. */

enum { TURNS_MAX = 60, TWICE = 2 };

static const float STILL = 1e-5F; /* stop if no offset changes by more */

/* Entries of pairs that several jobs measured, by job as well as by pair. */
struct shared {
    size_t entries;
    uint32_t *entry;  /* by pair: their indices in the evidence */
    uint32_t *by_job; /* the same entries by job */
    size_t *job_from; /* jobs + 1 indices in by_job */
    float *pair_ln;   /* by entry of the evidence: the median of its pair without offsets */
    float *offset;    /* jobs of them */
    uint32_t *order;  /* jobs that share pairs, in the order of estimation */
    size_t ordered;
    float *scratch;
    struct nt_user_value *values; /* scratch, by entry or job, as weighted */
    struct nt_weighted *weighted;
};

static int shared_init(const struct nt_evidence *e, struct shared *s, struct nt_arena *memory,
                       struct nt_err *err)
{
    size_t most = e->entries > e->jobs ? e->entries : e->jobs;
    s->entry = nt_arena_array(memory, e->entries + 1, sizeof *s->entry);
    s->by_job = nt_arena_array(memory, e->entries + 1, sizeof *s->by_job);
    s->job_from = nt_arena_array(memory, e->jobs + 2, sizeof *s->job_from);
    s->pair_ln = nt_arena_array(memory, e->entries + 1, sizeof *s->pair_ln);
    s->offset = nt_arena_array(memory, e->jobs + 1, sizeof *s->offset);
    s->order = nt_arena_array(memory, e->jobs + 1, sizeof *s->order);
    s->scratch = nt_arena_array(memory, most + 1, sizeof *s->scratch);
    s->values = nt_arena_array(memory, most + 1, sizeof *s->values);
    s->weighted = nt_arena_array(memory, e->entries + 1, sizeof *s->weighted);
    if (nt_arena_check(memory, err) < 0)
        return -1;
    for (size_t k = 0, end; k < e->entries; k = end) {
        end = nt_evidence_next_pair(e, k);
        for (size_t i = k; end - k > 1 && i < end; i++) {
            s->entry[s->entries++] = (uint32_t)i;
            s->job_from[e->entry[i].job + 1]++;
        }
    }
    for (size_t j = 0; j < e->jobs; j++)
        s->job_from[j + 1] += s->job_from[j];
    size_t *next = nt_arena_array(memory, e->jobs + 1, sizeof *next);
    if (nt_arena_check(memory, err) < 0)
        return -1;
    memcpy(next, s->job_from, e->jobs * sizeof *next);
    for (size_t i = 0; i < s->entries; i++)
        s->by_job[next[e->entry[s->entry[i]].job]++] = s->entry[i];
    return 0;
}

/* ---- a first estimate ------------------------------------------------------------------------
 *
 * Jobs one after another, each from the pairs that it shares with those before it: turns alone take
 * as many as the square of the longest chain of jobs. */

enum { SURE = 5 }; /* number of known pairs whose median does not depend on one disturbed pair */

struct queue {
    uint32_t *known; /* by job: number of pairs that it shares with estimated jobs */
    bool *waits;     /* by job: waits, or was estimated */
};

/* Error of the offset between two jobs from one pair of hosts with readings of 2 %. A group needs
 * no such pair if the spread of its jobs determines its median with a smaller error. */
static const double TIE_ERROR = 0.025, MEDIAN = 1.2533;
enum { GROUP_LEAST = 4 };

static size_t shared_of(const struct shared *s, size_t job)
{
    return s->job_from[job + 1] - s->job_from[job];
}

static void enqueue(struct shared *s, struct queue *q, size_t job)
{
    q->waits[job] = true;
    s->order[s->ordered++] = (uint32_t)job;
}

/* Returns whether the jobs of a group differ so little that their median is that of all jobs. */
static bool is_group(const struct shared *s, size_t from, size_t to)
{
    double n = (double)(to - from), sum = 0, squares = 0;
    for (size_t k = from; k < to; k++) {
        double offset = (double)s->offset[s->order[k]];
        sum += offset;
        squares += offset * offset;
    }
    return to - from >= GROUP_LEAST &&
           MEDIAN * sqrt(fmax(squares - sum * sum / n, 0) / (n - 1) / n) <= TIE_ERROR;
}

/* Subtracts the common offset of the jobs s->order[from..to), which belongs to the cluster. */
static void centre(const struct nt_evidence *e, struct shared *s, size_t from, size_t to)
{
    for (size_t k = from; k < to; k++)
        s->values[k - from] =
            (struct nt_user_value){e->job[s->order[k]].user, s->offset[s->order[k]]};
    size_t users = nt_user_medians(s->values, to - from, s->scratch);
    float middle = users > 0 ? nt_stats_median(s->scratch, users) : 0;
    for (size_t k = from; k < to; k++)
        s->offset[s->order[k]] -= middle;
}

/* Estimates a job by the median of its known pairs, and marks its other pairs as known. */
static void estimate_job(const struct nt_evidence *e, struct shared *s, struct queue *q,
                         uint32_t job)
{
    size_t n = 0;
    for (size_t i = s->job_from[job]; i < s->job_from[job + 1]; i++)
        if (!isnan(s->pair_ln[s->by_job[i]]))
            s->scratch[n++] = logf(e->entry[s->by_job[i]].lowest_us) - s->pair_ln[s->by_job[i]];
    s->offset[job] = n > 0 ? nt_stats_median(s->scratch, n) : 0;
    for (size_t i = s->job_from[job]; i < s->job_from[job + 1]; i++) {
        uint32_t one = s->by_job[i];
        if (!isnan(s->pair_ln[one]))
            continue;
        float ln = logf(e->entry[one].lowest_us) - s->offset[job];
        size_t from = one;
        while (from > 0 && e->entry[from - 1].a == e->entry[one].a &&
               e->entry[from - 1].b == e->entry[one].b)
            from--;
        for (size_t k = from, end = nt_evidence_next_pair(e, from); k < end; k++) {
            uint32_t other = e->entry[k].job;
            s->pair_ln[k] = ln;
            q->known[other]++;
            if (!q->waits[other] && q->known[other] >= SURE)
                enqueue(s, q, other);
        }
    }
}

/* Returns the remaining job with the most known pairs; among equal ones, the one that shares most
 * pairs. */
static size_t next_best(const struct nt_evidence *e, const struct shared *s, const struct queue *q)
{
    size_t best = SIZE_MAX;
    for (size_t j = 0; j < e->jobs; j++)
        if (!q->waits[j] && shared_of(s, j) > 0 &&
            (best == SIZE_MAX || q->known[j] > q->known[best] ||
             (q->known[j] == q->known[best] && shared_of(s, j) > shared_of(s, best))))
            best = j;
    return best;
}

static int estimate_jobs(const struct nt_evidence *e, struct shared *s, struct nt_arena *memory,
                         struct nt_err *err)
{
    struct queue q = {.known = nt_arena_array(memory, e->jobs + 1, sizeof *q.known),
                      .waits = nt_arena_array(memory, e->jobs + 1, sizeof *q.waits)};
    if (nt_arena_check(memory, err) < 0)
        return -1;
    for (size_t k = 0; k < e->entries; k++)
        s->pair_ln[k] = NAN;
    for (size_t done = 0, group = 0;;) {
        if (done == s->ordered) {
            size_t best = next_best(e, s, &q);
            if (is_group(s, group, done))
                centre(e, s, group, done);
            if (best == SIZE_MAX)
                return 0;
            group = done;
            enqueue(s, &q, best);
        }
        estimate_job(e, s, &q, s->order[done++]);
    }
}

/* ---- turns ---- */

/* Returns the median of values[n], in which the readings of one user weigh no more than two: few
 * readings keep their median, and many of one user do not outvote two others. Reorders. */
static float median_of_pair(struct shared *s, size_t n)
{
    struct nt_user_value *v = s->values;
    if (n > TWICE)
        qsort(v, n, sizeof *v, compare_values);
    for (size_t k = 0, end; k < n; k = end) {
        for (end = k; end < n && v[end].user == v[k].user; end++)
            s->weighted[end].value = v[end].value;
        for (size_t i = k; i < end; i++)
            s->weighted[i].weight = end - k > TWICE ? (float)TWICE / (float)(end - k) : 1;
    }
    return nt_stats_weighted_median(s->weighted, n);
}

static void settle_pairs(const struct nt_evidence *e, struct shared *s)
{
    for (size_t i = 0, end; i < s->entries; i = end) {
        size_t n = 0;
        end = i + nt_evidence_next_pair(e, s->entry[i]) - s->entry[i];
        for (size_t k = i; k < end; k++) {
            const struct nt_evidence_entry *one = &e->entry[s->entry[k]];
            s->values[n++] = (struct nt_user_value){e->job[one->job].user,
                                                    logf(one->lowest_us) - s->offset[one->job]};
        }
        float middle = median_of_pair(s, n);
        for (size_t k = i; k < end; k++)
            s->pair_ln[s->entry[k]] = middle;
    }
}

/* Updates all offsets and returns the largest change. */
static float settle_jobs(const struct nt_evidence *e, struct shared *s)
{
    float most = 0;
    for (size_t j = 0; j < e->jobs; j++) {
        size_t n = 0;
        for (size_t i = s->job_from[j]; i < s->job_from[j + 1]; i++)
            s->scratch[n++] = logf(e->entry[s->by_job[i]].lowest_us) - s->pair_ln[s->by_job[i]];
        if (n == 0)
            continue;
        float offset = nt_stats_median(s->scratch, n);
        most = fmaxf(most, fabsf(offset - s->offset[j]));
        s->offset[j] = offset;
    }
    return most;
}

int nt_evidence_align(struct nt_evidence *e, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct shared s = {0};
    if (nt_evidence_sort(e, err) < 0)
        return -1;
    if (shared_init(e, &s, &memory, err) < 0 || estimate_jobs(e, &s, &memory, err) < 0)
        return -1;
    for (unsigned turn = 0; turn < TURNS_MAX; turn++) {
        settle_pairs(e, &s);
        if (settle_jobs(e, &s) < STILL)
            break;
    }
    centre(e, &s, 0, s.ordered);
    for (size_t j = 0; j < e->jobs; j++)
        e->job[j].offset_ln = s.job_from[j + 1] > s.job_from[j] ? s.offset[j] : NAN;
    for (size_t k = 0; k < e->entries; k++)
        e->entry[k].ln = logf(e->entry[k].lowest_us) - s.offset[e->entry[k].job];
    return 0;
}

/* ---- and by the classes of latencies ---- */

enum { ENTRIES_MOST = 256, ENTRIES_LEAST = 4, STEPS = 24 };

/* SHIFT_MOST: largest shift considered. SHARING_SD, ALONE_SD: prior sd of the shift of a job that
 * shares pairs, and of one that does not. READING_MOST: largest evidence of one reading. */
static const double SHIFT_MOST = 0.12, SHARING_SD = 0.02, ALONE_SD = 0.05, READING_MOST = 12;

/* Returns how near n values are to classes after a shift; higher is nearer. */
static double nearness(const struct nt_classes *c, const float *ln, size_t n, double shift)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
        double off;
        nt_classes_nearest(c, (double)ln[k] - shift, &off);
        sum -= fmin(off * off / 2, READING_MOST);
    }
    return sum;
}

static double best_shift(const struct nt_classes *c, const float *ln, size_t n, double sd)
{
    double best = 0, most = -INFINITY;
    for (int step = -STEPS; step <= STEPS; step++) {
        double shift = SHIFT_MOST * step / STEPS;
        double score = nearness(c, ln, n, shift) - shift * shift / (2 * sd * sd);
        if (score > most) {
            most = score;
            best = shift;
        }
    }
    return best;
}

int nt_class_align(struct nt_evidence *e, const struct nt_classes *c, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t *from = nt_arena_array(&memory, e->jobs + 2, sizeof *from);
    uint32_t *entry = nt_arena_array(&memory, e->entries + 1, sizeof *entry);
    float ln[ENTRIES_MOST];
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    for (size_t k = 0; k < e->entries; k++)
        from[e->entry[k].job + 2]++;
    for (size_t j = 0; j < e->jobs; j++)
        from[j + 2] += from[j + 1];
    for (size_t k = 0; k < e->entries; k++) /* from[j + 1] becomes the end of the entries of j */
        entry[from[e->entry[k].job + 1]++] = (uint32_t)k;
    for (size_t j = 0; j < e->jobs; j++) {
        size_t count = from[j + 1] - from[j], step = count / ENTRIES_MOST + 1, n = 0;
        for (size_t k = from[j]; k < from[j + 1] && n < ENTRIES_MOST; k += step)
            ln[n++] = e->entry[entry[k]].ln;
        if (n < ENTRIES_LEAST)
            continue;
        bool alone = isnan(e->job[j].offset_ln);
        double shift = best_shift(c, ln, n, alone ? ALONE_SD : SHARING_SD);
        for (size_t k = from[j]; k < from[j + 1]; k++)
            e->entry[entry[k]].ln -= (float)shift;
        e->job[j].offset_ln = (float)shift + (alone ? 0 : e->job[j].offset_ln);
    }
    return 0;
}
