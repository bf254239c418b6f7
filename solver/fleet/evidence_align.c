/* SPDX-License-Identifier: Apache-2.0 */
/* The offsets of jobs: alternating medians over pairs and jobs (Tukey's median polish, Exploratory
 * Data Analysis 1977, chapter 11, of a table with few cells filled).
 *
 * Few shared pairs do not align two groups of jobs: their median is that of one disturbed pair.
 * Each group is aligned by itself, and has the offsets of its jobs about 0. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "evidence.h"
#include "memory.h"
#include "stats.h"

enum { TURNS_MAX = 60 };

static const float STILL = 1e-5F; /* no offset moves by more: none matters */

/* Entries of pairs that several jobs measured, by job as well as by pair. */
struct shared {
    size_t entries;
    uint32_t *entry;  /* by pair: their numbers in the evidence */
    uint32_t *by_job; /* the same by job */
    size_t *job_from; /* jobs + 1 of them: places in by_job */
    float *pair_ln;   /* of each entry in the evidence: the median of its pair, offsets taken off */
    float *offset;    /* jobs of them */
    float *values;    /* scratch, of jobs */
    uint32_t *order;  /* jobs that share pairs, in the order in which they are estimated */
    size_t ordered;
    float *scratch;
};

static int shared_init(const struct nt_evidence *e, struct shared *s, struct nt_arena *memory,
                       struct nt_err *err)
{
    s->entry = nt_arena_array(memory, e->entries + 1, sizeof *s->entry);
    s->by_job = nt_arena_array(memory, e->entries + 1, sizeof *s->by_job);
    s->job_from = nt_arena_array(memory, e->jobs + 2, sizeof *s->job_from);
    s->pair_ln = nt_arena_array(memory, e->entries + 1, sizeof *s->pair_ln);
    s->offset = nt_arena_array(memory, e->jobs + 1, sizeof *s->offset);
    s->values = nt_arena_array(memory, e->jobs + 1, sizeof *s->values);
    s->order = nt_arena_array(memory, e->jobs + 1, sizeof *s->order);
    s->scratch = nt_arena_array(memory, e->entries + 1, sizeof *s->scratch);
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

enum { SURE = 5 }; /* known pairs: their median is not that of one disturbed pair */

struct queue {
    uint32_t *known; /* of each job: pairs that it shares with estimated ones */
    bool *waits;     /* or was estimated */
};

/* Error of the offset between two jobs from one pair of hosts, with readings of 2 %. A group needs
 * no such pair if the spread of its jobs gives its middle with a smaller error. */
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

/* Whether the jobs of a group differ so little that their middle is that of all jobs. */
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

/* What these jobs, s->order[from..to), have in common is of the cluster. */
static void centre(struct shared *s, size_t from, size_t to)
{
    for (size_t k = from; k < to; k++)
        s->values[k - from] = s->offset[s->order[k]];
    float middle = to > from ? nt_stats_quantile(s->values, to - from, 0.5) : 0;
    for (size_t k = from; k < to; k++)
        s->offset[s->order[k]] -= middle;
}

/* The median of the pairs of a job that are known; and makes the others known. */
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

/* The job that is not estimated and knows most pairs, of those the one that shares most. */
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
                centre(s, group, done);
            if (best == SIZE_MAX)
                return 0;
            group = done;
            enqueue(s, &q, best);
        }
        estimate_job(e, s, &q, s->order[done++]);
    }
}

/* ---- turns ------------------------------------------------------------------------------------
 */

static void settle_pairs(const struct nt_evidence *e, struct shared *s)
{
    for (size_t i = 0, end; i < s->entries; i = end) {
        size_t n = 0;
        end = i + nt_evidence_next_pair(e, s->entry[i]) - s->entry[i];
        for (size_t k = i; k < end; k++) {
            const struct nt_evidence_entry *one = &e->entry[s->entry[k]];
            s->scratch[n++] = logf(one->lowest_us) - s->offset[one->job];
        }
        float middle = nt_stats_median(s->scratch, n);
        for (size_t k = i; k < end; k++)
            s->pair_ln[s->entry[k]] = middle;
    }
}

/* By how much the offset moved that moved most. */
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
    centre(&s, 0, s.ordered);
    for (size_t j = 0; j < e->jobs; j++)
        e->job[j].offset_ln = s.job_from[j + 1] > s.job_from[j] ? s.offset[j] : NAN;
    for (size_t k = 0; k < e->entries; k++)
        e->entry[k].ln = logf(e->entry[k].lowest_us) - s.offset[e->entry[k].job];
    return 0;
}
