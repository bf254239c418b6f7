/* SPDX-License-Identifier: Apache-2.0 */
#include "named_faults.h"

#include <stdlib.h>
#include <string.h>

#include "stats.h"

enum { JOBS_ALWAYS = 2, JOBS_SINCE = 3, USERS = 2 };

struct nt_named_sight {
    struct nt_named_part part;
    bool named;
    struct nt_changes_job job;
    float found, expected, confidence;
};

static int compare_parts(const struct nt_named_part *p, const struct nt_named_part *q)
{
    if (p->part != q->part)
        return p->part < q->part ? -1 : 1;
    if (p->tier != q->tier)
        return p->tier < q->tier ? -1 : 1;
    return (p->kind > q->kind) - (p->kind < q->kind);
}

static int order_parts(const void *x, const void *y)
{
    return compare_parts(x, y);
}

/* By part and time; of one job what it names first. */
static int compare_sights(const void *x, const void *y)
{
    const struct nt_named_sight *p = x, *q = y;
    int parts = compare_parts(&p->part, &q->part);
    if (parts != 0)
        return parts;
    if (p->job.time_s != q->job.time_s)
        return p->job.time_s < q->job.time_s ? -1 : 1;
    if (p->job.job != q->job.job)
        return p->job.job < q->job.job ? -1 : 1;
    return q->named - p->named;
}

static int add_sight(struct nt_named *n, struct nt_named_sight sight, struct nt_err *err)
{
    struct nt_named_sight *grown =
        nt_arena_grow(&n->memory, n->sight, &n->room, n->sights + 1, sizeof *grown);
    if (grown == NULL)
        return nt_arena_check(&n->memory, err);
    n->sight = grown;
    n->sight[n->sights++] = sight;
    return 0;
}

int nt_named_add(struct nt_named *n, struct nt_named_part part, struct nt_changes_job job,
                 double found, double expected, double confidence, struct nt_err *err)
{
    return add_sight(n,
                     (struct nt_named_sight){.part = part,
                                             .named = true,
                                             .job = job,
                                             .found = (float)found,
                                             .expected = (float)expected,
                                             .confidence = (float)confidence},
                     err);
}

static bool is_named(const struct nt_named *n, const struct nt_named_part *part)
{
    size_t low = 0, high = n->named;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_parts(&n->sight[middle].part, part) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n->named && compare_parts(&n->sight[low].part, part) == 0;
}

static bool are_alike(const struct nt_named_part *p, const struct nt_named_part *q)
{
    return p->tier == q->tier && p->kind == q->kind;
}

static int order_kinds(const void *x, const void *y)
{
    const struct nt_named_part *p = x, *q = y;
    if (!are_alike(p, q))
        return (p->tier * NT_FIGURE_KINDS + p->kind) - (q->tier * NT_FIGURE_KINDS + q->kind);
    return compare_parts(p, q);
}

int nt_named_cross(struct nt_named *named, struct nt_changes_job job, struct nt_named_part *part,
                   size_t count, struct nt_err *err)
{
    if (named->named == 0) {
        named->named = named->sights;
        if (named->named > 0)
            qsort(named->sight, named->named, sizeof *named->sight, compare_sights);
    }
    if (named->named == 0 || count == 0)
        return 0;
    qsort(part, count, sizeof *part, order_kinds);
    for (size_t from = 0, to; from < count; from = to) {
        size_t like = 0;
        for (to = from; to < count && are_alike(&part[from], &part[to]); to++)
            like += to == from || order_parts(&part[to - 1], &part[to]) != 0;
        for (size_t k = from; like >= NT_NAMED_LIKE && k < to; k++)
            if (is_named(named, &part[k]) &&
                add_sight(named, (struct nt_named_sight){.part = part[k], .job = job}, err) != 0)
                return -1;
    }
    return 0;
}

void nt_named_fini(struct nt_named *n)
{
    nt_arena_fini(&n->memory);
    *n = (struct nt_named){0};
}

static bool is_known(const struct nt_fleet_change *c, size_t count,
                     const struct nt_named_part *part)
{
    for (size_t k = 0; k < count; k++)
        if (c[k].part == part->part && c[k].tier == part->tier && c[k].kind == part->kind &&
            c[k].current)
            return true;
    return false;
}

static int compare_users(const void *x, const void *y)
{
    const uint32_t *p = x, *q = y;
    return (*p > *q) - (*p < *q);
}

static uint32_t count_users(const struct nt_named_sight *sight, size_t n, uint32_t *user)
{
    uint32_t users = 0;
    for (size_t k = 0; k < n; k++)
        user[k] = sight[k].job.user;
    qsort(user, n, sizeof *user, compare_users);
    for (size_t k = 0; k < n; k++)
        users += k == 0 || user[k] != user[k - 1];
    return users;
}

/* The last ones of the sights of one part that all name it, one a job. */
static bool state_run(const struct nt_named_sight *sight, size_t n, float *some, uint32_t *user,
                      struct nt_fleet_change *out)
{
    size_t first = n;
    while (first > 0 && sight[first - 1].named)
        first--;
    size_t jobs = n - first;
    if (jobs < (first == 0 ? JOBS_ALWAYS : JOBS_SINCE))
        return false;
    uint32_t users = count_users(sight + first, jobs, user);
    if (users < USERS)
        return false;
    double confidence = 0;
    for (size_t k = first; k < n; k++)
        confidence += (double)sight[k].confidence / (double)jobs;
    *out = (struct nt_fleet_change){.part = sight->part.part,
                                    .tier = sight->part.tier,
                                    .kind = sight->part.kind,
                                    .worse = true,
                                    .current = true,
                                    .named = true,
                                    .since_s = sight[first].job.time_s,
                                    .before_s = first > 0 ? sight[first - 1].job.time_s : 0,
                                    .first_job = sight[first].job.job,
                                    .jobs = (uint32_t)jobs,
                                    .users = users,
                                    .jobs_to_sure = (uint32_t)jobs,
                                    .confidence = confidence};
    for (size_t k = 0; k < jobs; k++)
        some[k] = sight[first + k].expected;
    out->from = (double)nt_stats_median(some, jobs);
    for (size_t k = 0; k < jobs; k++)
        some[k] = sight[first + k].found;
    out->to = (double)nt_stats_median(some, jobs);
    return true;
}

/* One sight a job: what it names. */
static size_t fold_jobs(struct nt_named_sight *sight, size_t n)
{
    size_t kept = 0;
    for (size_t k = 0; k < n; k++)
        if (kept == 0 || compare_parts(&sight[kept - 1].part, &sight[k].part) != 0 ||
            sight[kept - 1].job.job != sight[k].job.job ||
            sight[kept - 1].job.time_s != sight[k].job.time_s)
            sight[kept++] = sight[k];
    return kept;
}

int nt_named_find(struct nt_named *n, struct nt_fleet_change **out, size_t *count,
                  struct nt_err *err)
{
    size_t known = *count;
    if (n->sights == 0)
        return 0;
    float *some = nt_arena_array(&n->memory, n->sights, sizeof *some);
    uint32_t *user = nt_arena_array(&n->memory, n->sights, sizeof *user);
    if (nt_arena_check(&n->memory, err) != 0)
        return -1;
    qsort(n->sight, n->sights, sizeof *n->sight, compare_sights);
    n->sights = fold_jobs(n->sight, n->sights);
    for (size_t from = 0, to; from < n->sights; from = to) {
        struct nt_fleet_change change;
        for (to = from;
             to < n->sights && compare_parts(&n->sight[from].part, &n->sight[to].part) == 0; to++)
            ;
        if (is_known(*out, known, &n->sight[from].part) ||
            !state_run(n->sight + from, to - from, some, user, &change))
            continue;
        struct nt_fleet_change *grown = realloc(*out, (*count + 1) * sizeof *grown);
        if (grown == NULL)
            return nt_err_memory(err);
        *out = grown;
        grown[(*count)++] = change;
    }
    return 0;
}
