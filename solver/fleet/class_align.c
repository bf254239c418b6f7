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
    for (size_t k = 0; k < e->entries; k++) /* from[j + 1] ends where those of j end */
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
