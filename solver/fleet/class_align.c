/* SPDX-License-Identifier: Apache-2.0 */
#include "class_align.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "memory.h"

enum { ENTRIES_MOST = 256, ENTRIES_LEAST = 4, STEPS = 24 };

/* Shifts up to that are looked at; how far one is expected to be, of a job that shares pairs and of
 * one that does not; and the most that one reading says. */
static const double SHIFT_MOST = 0.12, SHARING_SD = 0.02, ALONE_SD = 0.05, READING_MOST = 12;

/* How near so many values are to classes, with a shift taken off; higher is nearer. */
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

/* Entries of jobs that are shifted together. */
struct group {
    size_t entries, from; /* in entry, below */
    double sd;            /* how far it is expected to be off; 0: it stays */
    float shift;
};

static double shift_of(const struct nt_evidence *e, const struct nt_classes *c,
                       const struct group *g, const uint32_t *entry)
{
    float ln[ENTRIES_MOST];
    size_t step = g->entries / ENTRIES_MOST + 1, n = 0;
    for (size_t k = 0; k < g->entries && n < ENTRIES_MOST; k += step)
        ln[n++] = e->entry[entry[g->from + k]].ln;
    return n < ENTRIES_LEAST || g->sd <= 0 ? 0 : best_shift(c, ln, n, g->sd);
}

/* of: the group of each job. */
static int shift_groups(struct nt_evidence *e, const struct nt_classes *c, struct group *group,
                        size_t groups, const uint32_t *of, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *entry = nt_arena_array(&memory, e->entries + 1, sizeof *entry);
    size_t from = 0;
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    for (size_t k = 0; k < e->entries; k++)
        group[of[e->entry[k].job]].entries++;
    for (size_t g = 0; g < groups; g++) {
        group[g].from = from;
        from += group[g].entries;
        group[g].entries = 0;
    }
    for (size_t k = 0; k < e->entries; k++) {
        struct group *own = &group[of[e->entry[k].job]];
        entry[own->from + own->entries++] = (uint32_t)k;
    }
    for (size_t g = 0; g < groups; g++)
        group[g].shift = (float)shift_of(e, c, &group[g], entry);
    for (size_t k = 0; k < e->entries; k++)
        e->entry[k].ln -= group[of[e->entry[k].job]].shift;
    return 0;
}

/* Each part but 0 as a whole: what its jobs are among themselves their pairs have said. */
static int shift_parts(struct nt_evidence *e, const struct nt_classes *c, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t parts = 1;
    for (size_t j = 0; j < e->jobs; j++)
        parts = e->job[j].part < parts ? parts : (size_t)e->job[j].part + 1;
    struct group *group = nt_arena_array(&memory, parts, sizeof *group);
    uint32_t *of = nt_arena_array(&memory, e->jobs + 1, sizeof *of);
    if (nt_arena_check(&memory, err) < 0)
        return -1;
    for (size_t p = 1; p < parts; p++)
        group[p].sd = ALONE_SD;
    for (size_t j = 0; j < e->jobs; j++)
        of[j] = e->job[j].part;
    if (shift_groups(e, c, group, parts, of, err) < 0)
        return -1;
    for (size_t j = 0; j < e->jobs; j++) {
        e->job[j].offset_ln += group[of[j]].shift;
        e->job[j].part = 0;
    }
    return 0;
}

int nt_class_align(struct nt_evidence *e, const struct nt_classes *c, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct group *group = nt_arena_array(&memory, e->jobs + 1, sizeof *group);
    uint32_t *of = nt_arena_array(&memory, e->jobs + 1, sizeof *of);
    if (nt_arena_check(&memory, err) < 0 || shift_parts(e, c, err) < 0)
        return -1;
    for (uint32_t j = 0; j < e->jobs; j++) {
        of[j] = j;
        group[j].sd = isnan(e->job[j].offset_ln) ? ALONE_SD : SHARING_SD;
    }
    if (shift_groups(e, c, group, e->jobs, of, err) < 0)
        return -1;
    for (size_t j = 0; j < e->jobs; j++) {
        bool unknown = isnan(e->job[j].offset_ln) && group[j].entries < ENTRIES_LEAST;
        float before = isnan(e->job[j].offset_ln) ? 0 : e->job[j].offset_ln;
        e->job[j].offset_ln = unknown ? NAN : before + group[j].shift;
    }
    return 0;
}
