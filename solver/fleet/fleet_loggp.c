/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet_loggp.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "loggp_time.h"
#include "memory.h"
#include "prior.h"
#include "utc.h"

/* The share of 64 jobs that agree has an sd of at most 1/16. PATHS_MAX: maximum number of paths
 * that sweeps measure (plan/loggp.h: classes, and devices with all together). */
enum { JOBS_MAX = 64, PATHS_MAX = 8 * 9 };

static const double SUPPORT_LEAST = 0.5; /* more likely than not */

/* The LogGP of a class and device in one job: count entries from first on. */
struct set {
    uint64_t job;
    uint32_t user;
    int64_t time_s;
    size_t first, count;
    bool done; /* its class and device have been handled */
};

struct jobs {
    struct nt_arena memory;
    struct nt_loggp *entry;
    struct set *set;
    size_t entries, entries_room, sets, sets_room;
};

static bool same_path(const struct nt_loggp *a, const struct nt_loggp *b)
{
    return strcmp(a->class_name, b->class_name) == 0 && strcmp(a->rail, b->rail) == 0;
}

static int note(void *context, uint64_t job, uint32_t user, int64_t time_s,
                const struct nt_loggp *g, struct nt_err *err)
{
    struct jobs *j = context;
    j->entry =
        nt_arena_grow(&j->memory, j->entry, &j->entries_room, j->entries + 1, sizeof *j->entry);
    j->set = nt_arena_grow(&j->memory, j->set, &j->sets_room, j->sets + 1, sizeof *j->set);
    if (nt_arena_check(&j->memory, err) != 0)
        return -1;
    size_t of_job = 0;
    const struct set *same = NULL;
    for (size_t k = j->sets; k > 0 && j->set[k - 1].job == job; k--, of_job++)
        same = same_path(&j->entry[j->set[k - 1].first], g) ? &j->set[k - 1] : same;
    if ((same != NULL && same != &j->set[j->sets - 1]) || (same == NULL && of_job == PATHS_MAX))
        return 0;
    if (same == NULL)
        j->set[j->sets++] = (struct set){job, user, time_s, j->entries, 0, false};
    j->set[j->sets - 1].count++;
    j->entry[j->entries++] = *g;
    return 0;
}

static bool is_near(double a, double b)
{
    return isnan(a) || isnan(b) || fmax(a, b) < NT_FAULT_SLOWER * fmin(a, b);
}

static bool agree(const struct jobs *j, const struct set *a, const struct set *b)
{
    static const double size[] = {8, 512, 32768, 2097152};
    const struct nt_loggp *x = &j->entry[a->first], *y = &j->entry[b->first];
    size_t common = 0;
    for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
        if (!nt_loggp_is_measured(x, a->count, size[k]) ||
            !nt_loggp_is_measured(y, b->count, size[k]))
            continue;
        common++;
        if (!is_near(nt_loggp_time_us(x, a->count, size[k]),
                     nt_loggp_time_us(y, b->count, size[k])) ||
            !is_near(nt_loggp_gap_us(x, a->count, size[k]), nt_loggp_gap_us(y, b->count, size[k])))
            return false;
    }
    return common > 0;
}

struct agreeing {
    size_t jobs;
    bool two_users;
    int64_t last_s;
};

static struct agreeing count_agreeing(const struct jobs *j, const struct set *with)
{
    struct agreeing found = {0};
    uint32_t first = NT_NO_USER;
    for (size_t k = 0; k < j->sets; k++) {
        const struct set *s = &j->set[k];
        if (!same_path(&j->entry[s->first], &j->entry[with->first]) || !agree(j, s, with))
            continue;
        found.jobs++;
        found.last_s = s->time_s > found.last_s ? s->time_s : found.last_s;
        found.two_users |= s->user != NT_NO_USER && first != NT_NO_USER && s->user != first;
        first = first == NT_NO_USER ? s->user : first;
    }
    return found;
}

static bool has_gap(const struct jobs *j, const struct set *s)
{
    return !isnan(nt_loggp_gap_us(&j->entry[s->first], s->count, 8));
}

/* Selects the best set for the class and device of one, with the sets that agree with it; of all:
 * number of sets. */
static const struct set *choose(struct jobs *j, const struct set *of, struct agreeing *best,
                                size_t *all)
{
    const struct set *chosen = NULL;
    *all = 0;
    for (size_t k = 0; k < j->sets; k++) {
        struct set *s = &j->set[k];
        if (!same_path(&j->entry[s->first], &j->entry[of->first]))
            continue;
        struct agreeing found = count_agreeing(j, s);
        s->done = true;
        (*all)++;
        if (chosen != NULL && (found.jobs < best->jobs || (found.jobs == best->jobs &&
                                                           (has_gap(j, chosen) || !has_gap(j, s)))))
            continue;
        chosen = s;
        *best = found;
    }
    return chosen;
}

static int state(struct jobs *j, const struct set *of, struct nt_loggp **out, size_t *n,
                 struct nt_err *err)
{
    struct agreeing best = {0};
    size_t all;
    const struct set *s = choose(j, of, &best, &all);
    double support = ((double)best.jobs + 1) / ((double)all + 2);
    if (s == NULL || !best.two_users || support < SUPPORT_LEAST || *n + s->count > NT_LOGGPS_MAX)
        return 0;
    for (size_t k = 0; k < s->count; k++) {
        struct nt_loggp g = j->entry[s->first + k];
        nt_prior_day_write((int32_t)(best.last_s / NT_DAY_S), g.seen);
        g.support = support;
        if (nt_loggps_add(out, n, &g, err) != 0)
            return -1;
    }
    return 0;
}

int nt_fleet_loggp(struct nt_store *store, int64_t since_s, struct nt_loggp **out, size_t *n,
                   struct nt_err *err)
{
    struct jobs j = {0};
    *out = NULL;
    *n = 0;
    int rc = nt_store_visit_loggp(store, since_s, JOBS_MAX, note, &j, err);
    for (size_t k = 0; rc == 0 && k < j.sets; k++)
        if (!j.set[k].done)
            rc = state(&j, &j.set[k], out, n, err);
    if (rc != 0) {
        free(*out);
        *out = NULL;
        *n = 0;
    }
    nt_arena_fini(&j.memory);
    return rc;
}
