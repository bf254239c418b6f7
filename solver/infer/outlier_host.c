/* SPDX-License-Identifier: Apache-2.0 */
/* Single hosts that linkage left in a group because nothing is nearer to them: a host at the
 * switch above a leaf has the leaf's distance to all others, and differs only inside. */
#include "work.h"

#include "memory.h"
#include "stats.h"

/* One network in ten thousand of pure noise may have a host separated by this; medians are 1.25
 * times as wide as means, and both sides of the difference are medians. */
static const double FALSE_ALARM = 1e-4, WIDER = 1.3;
enum { SMALLEST = 3, OUTSIDE_LEAST = 2 };

struct scratch {
    float *value;               /* n */
    float *excess, *sd;         /* n: of the group's members */
    struct nt_weighted *weight; /* groups */
};

/* How much farther the members are from host i than its distance to everyone else makes expect:
 * its offset as seen from inside its group, less as seen from outside. NaN: too little is known.
 * *sd: the noise of that. */
static float excess_of(const struct nt_work *w, size_t i, struct scratch *scratch, double *sd)
{
    size_t groups = w->groups, own = w->group[i], inside = 0, seen = 0, count = 0;
    for (size_t k = w->start[own]; k < w->start[own + 1]; k++) {
        size_t j = w->member[k];
        float v = w->d[i * w->n + j];
        if (j != i && v == v)
            scratch->value[inside++] = v - w->offset[j];
    }
    double level = 0;
    for (size_t g = 0; g < groups; g++) {
        float v = w->profile[i * groups + g] - w->t[own * groups + g];
        if (g == own || v != v)
            continue;
        scratch->weight[count++] = (struct nt_weighted){v, (float)nt_work_size(w, g)};
        seen += nt_work_size(w, g);
        level += (double)w->sd[own * groups + g] * (double)nt_work_size(w, g);
    }
    if (inside == 0 || seen < OUTSIDE_LEAST)
        return NAN;
    double near = (double)w->sd[own * groups + own], far = level / (double)seen;
    *sd = sqrt(near * near / (double)inside + far * far / (double)seen);
    return nt_stats_median(scratch->value, inside) -
           nt_stats_weighted_median(scratch->weight, count);
}

/* The member that stands out most, or SIZE_MAX. */
static size_t outlier_of(const struct nt_work *w, size_t g, double limit, struct scratch *scratch)
{
    size_t size = nt_work_size(w, g), worst = SIZE_MAX;
    double most = limit;
    for (size_t k = 0; k < size; k++) {
        double sd = 0;
        scratch->excess[k] = excess_of(w, w->member[w->start[g] + k], scratch, &sd);
        scratch->sd[k] = (float)sd;
    }
    for (size_t k = 0; k < size; k++) {
        size_t others = 0, i = w->member[w->start[g] + k];
        if (scratch->excess[k] != scratch->excess[k])
            continue; /* not known */
        for (size_t j = 0; j < size; j++)
            if (j != k && scratch->excess[j] == scratch->excess[j])
                scratch->value[others++] = scratch->excess[j];
        if (others + 1 < SMALLEST)
            continue;
        double over = (double)(scratch->excess[k] - nt_stats_median(scratch->value, others));
        double z = over / ((double)scratch->sd[k] * sqrt(1 + 1 / (double)others));
        if (z > most) {
            most = z;
            worst = i;
        }
    }
    return worst;
}

int nt_outlier_hosts_separate(struct nt_work *w, size_t *parted, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct scratch scratch = {nt_arena_array(&memory, w->n, sizeof *scratch.value),
                              nt_arena_array(&memory, w->n, sizeof *scratch.excess),
                              nt_arena_array(&memory, w->n, sizeof *scratch.sd),
                              nt_arena_array(&memory, w->groups, sizeof *scratch.weight)};
    *parted = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (w->groups > 1) {
        double limit = WIDER * nt_normal_quantile(1 - FALSE_ALARM / (double)w->n);
        size_t before = w->groups;
        for (size_t g = 0; g < before; g++) {
            size_t i =
                nt_work_size(w, g) >= SMALLEST ? outlier_of(w, g, limit, &scratch) : SIZE_MAX;
            if (i != SIZE_MAX)
                w->group[i] = (uint32_t)(before + (*parted)++);
        }
        if (*parted > 0)
            nt_groups_index(w);
    }
    return 0;
}
