/* SPDX-License-Identifier: Apache-2.0 */
#include "named_faults.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

enum { JOBS_ALWAYS = 2, JOBS_SINCE = 3, USERS = 2 };

struct nt_named_sight {
    struct nt_named_part part;
    bool named, crossed;
    struct nt_changes_job job;
    float found, expected, confidence;
    float value; /* as in nt_named_crossing */
};

static int compare_parts(const struct nt_named_part *p, const struct nt_named_part *q)
{
    if (p->part != q->part)
        return p->part < q->part ? -1 : 1;
    if (p->tier != q->tier)
        return p->tier < q->tier ? -1 : 1;
    return (p->kind > q->kind) - (p->kind < q->kind);
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

static bool are_alike(const struct nt_named_crossing *p, const struct nt_named_crossing *q)
{
    return p->part.tier == q->part.tier && p->part.kind == q->part.kind;
}

static int order_alike(const void *x, const void *y)
{
    const struct nt_named_crossing *p = x, *q = y;
    int kind = (p->part.tier * NT_FIGURE_KINDS + p->part.kind) -
               (q->part.tier * NT_FIGURE_KINDS + q->part.kind);
    if (kind != 0)
        return kind;
    if (p->among != q->among)
        return p->among < q->among ? -1 : 1;
    return compare_parts(&p->part, &q->part);
}

static size_t count_parts(const struct nt_named_crossing *crossing, size_t n)
{
    size_t parts = 0;
    for (size_t k = 0; k < n; k++)
        parts += k == 0 || order_alike(&crossing[k - 1], &crossing[k]) != 0;
    return parts;
}

/* Of one tier and kind. */
static int cross_alike(struct nt_named *named, struct nt_changes_job job,
                       const struct nt_named_crossing *crossing, size_t n, struct nt_err *err)
{
    if (count_parts(crossing, n) < NT_NAMED_LIKE)
        return 0;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from; to < n && crossing[to].among == crossing[from].among; to++)
            ;
        bool near = count_parts(crossing + from, to - from) >= NT_NAMED_NEAR;
        for (size_t k = from; near && k < to; k++) {
            struct nt_named_sight sight = {
                .part = crossing[k].part, .crossed = true, .job = job, .value = crossing[k].value};
            if (is_named(named, &sight.part) && add_sight(named, sight, err) != 0)
                return -1;
        }
    }
    return 0;
}

int nt_named_cross(struct nt_named *named, struct nt_changes_job job,
                   struct nt_named_crossing *crossing, size_t count, struct nt_err *err)
{
    if (named->named == 0) {
        named->named = named->sights;
        if (named->named > 0)
            qsort(named->sight, named->named, sizeof *named->sight, compare_sights);
    }
    if (named->named == 0 || count == 0)
        return 0;
    qsort(crossing, count, sizeof *crossing, order_alike);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && are_alike(&crossing[from], &crossing[to]); to++)
            ;
        if (cross_alike(named, job, crossing + from, to - from, err) != 0)
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

/* Users among those that name the part; an unknown user may be one of the others. */
static uint32_t count_users(const struct nt_named_sight *sight, size_t n, uint32_t *user)
{
    uint32_t users = 0;
    size_t known = 0;
    for (size_t k = 0; k < n; k++)
        if (sight[k].named && sight[k].job.user != NT_NO_USER)
            user[known++] = sight[k].job.user;
    qsort(user, known, sizeof *user, nt_compare_u32);
    for (size_t k = 0; k < known; k++)
        users += k == 0 || user[k] != user[k - 1];
    return users;
}

enum figure { FIGURE_FOUND, FIGURE_EXPECTED };

static double median_of(const struct nt_named_sight *sight, size_t n, enum figure which,
                        float *some)
{
    size_t named = 0;
    for (size_t k = 0; k < n; k++)
        if (sight[k].named)
            some[named++] = which == FIGURE_FOUND ? sight[k].found : sight[k].expected;
    return (double)nt_stats_median(some, named);
}

/* Takes away jobs that do not name the part, but find it as those that do: of a few hosts no map
 * says which is worse. */
static size_t drop_agreeing(struct nt_named_sight *sight, size_t n, float *some)
{
    double found = log(median_of(sight, n, FIGURE_FOUND, some));
    double expected = log(median_of(sight, n, FIGURE_EXPECTED, some));
    size_t kept = 0;
    for (size_t k = 0; k < n; k++) {
        double value = log((double)sight[k].value);
        if (sight[k].named || !(fabs(value - found) < fabs(value - expected)))
            sight[kept++] = sight[k];
    }
    return kept;
}

/* Two different users, as far as they have been seen. */
struct two {
    uint32_t user;
    unsigned count;
};

static void see_user(struct two *t, uint32_t user)
{
    if (user == NT_NO_USER || (t->count > 0 && user == t->user) || t->count == USERS)
        return;
    t->user = user;
    t->count++;
}

/* Whether jobs of two users have not named the part since jobs of two users last did: one user
 * alone clears nothing, and one user alone keeps nothing from being cleared. */
static bool is_cleared(const struct nt_named_sight *sight, size_t n)
{
    struct two without = {0}, with = {0};
    for (size_t k = n; k-- > 0 && with.count < USERS && without.count < USERS;)
        see_user(sight[k].named ? &with : &without, sight[k].job.user);
    return without.count == USERS;
}

/* The sights of one part, one per job, from the first one of the statement on. */
struct run {
    size_t first, jobs_to_sure;
    bool stated;
};

static struct run find_run(const struct nt_named_sight *sight, size_t n)
{
    struct run r = {0};
    struct two users = {0};
    for (size_t k = 0; k < n; k++) {
        if (sight[k].named && !r.stated) {
            see_user(&users, sight[k].job.user);
            r.jobs_to_sure = k + 1 - r.first;
            r.stated =
                users.count == USERS && r.jobs_to_sure >= (r.first == 0 ? JOBS_ALWAYS : JOBS_SINCE);
        } else if (!sight[k].named && (!r.stated || is_cleared(sight + r.first, k + 1 - r.first))) {
            r = (struct run){.first = k + 1};
            users = (struct two){0};
        }
    }
    return r;
}

static bool state_run(const struct nt_named_sight *sight, size_t n, float *some, uint32_t *user,
                      struct nt_fleet_change *out)
{
    struct run r = find_run(sight, n);
    const struct nt_named_sight *run = sight + r.first;
    uint32_t jobs = 0;
    double confidence = 0;
    if (!r.stated)
        return false;
    for (size_t k = r.first; k < n; k++)
        if (sight[k].named) {
            confidence += (double)sight[k].confidence;
            jobs++;
        }
    *out = (struct nt_fleet_change){.part = sight->part.part,
                                    .tier = sight->part.tier,
                                    .kind = sight->part.kind,
                                    .worse = true,
                                    .current = true,
                                    .named = true,
                                    .from = median_of(run, n - r.first, FIGURE_EXPECTED, some),
                                    .to = median_of(run, n - r.first, FIGURE_FOUND, some),
                                    .since_s = run->job.time_s,
                                    .before_s = r.first > 0 ? sight[r.first - 1].job.time_s : 0,
                                    .first_job = run->job.job,
                                    .jobs = jobs,
                                    .users = count_users(run, n - r.first, user),
                                    .jobs_to_sure = (uint32_t)r.jobs_to_sure,
                                    .confidence = confidence / jobs};
    return true;
}

static bool is_same_job(const struct nt_named_sight *p, const struct nt_named_sight *q)
{
    return compare_parts(&p->part, &q->part) == 0 && p->job.job == q->job.job &&
           p->job.time_s == q->job.time_s;
}

/* One sight a job: what it names, if that counts. */
static size_t fold_jobs(struct nt_named_sight *sight, size_t n)
{
    size_t kept = 0;
    for (size_t k = 0, end; k < n; k = end) {
        struct nt_named_sight one = sight[k];
        for (end = k; end < n && is_same_job(&sight[k], &sight[end]); end++)
            one.crossed |= sight[end].crossed;
        if (one.crossed || one.part.tier == 0 || one.part.kind != NT_FIGURE_LATENCY)
            sight[kept++] = one;
    }
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
        struct nt_named_sight *sight = n->sight + from;
        struct nt_fleet_change change;
        for (to = from;
             to < n->sights && compare_parts(&n->sight[from].part, &n->sight[to].part) == 0; to++)
            ;
        if (is_known(*out, known, &n->sight[from].part) ||
            !state_run(sight, drop_agreeing(sight, to - from, some), some, user, &change))
            continue;
        struct nt_fleet_change *grown = realloc(*out, (*count + 1) * sizeof *grown);
        if (grown == NULL)
            return nt_err_memory(err);
        *out = grown;
        grown[(*count)++] = change;
    }
    return 0;
}
