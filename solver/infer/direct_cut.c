/* SPDX-License-Identifier: Apache-2.0 */
/* Where readings of one hop may end: the valleys of their distribution. */
#include "direct_network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "stats.h"

enum { BINS = 400 };

/* Of a thousand readings two at each end may be wrong and would stretch the range; a margin keeps
 * the first and last bin empty. */
static const double EXTREME = 0.002, MARGIN = 0.02;

/* Smoothed counts of the readings over the range that they span without the extreme ones. */
struct histogram {
    double count[BINS];
    double low, step, total;
};

static void smooth_histogram(struct histogram *h, size_t reach)
{
    double out[BINS];
    for (size_t k = 0; k < BINS; k++) {
        double sum = 0, weight = 0;
        for (size_t l = k < reach ? 0 : k - reach; l <= k + reach && l < BINS; l++) {
            double x = (double)(reach + 1) - fabs((double)l - (double)k);
            sum += x * h->count[l];
            weight += x;
        }
        out[k] = sum / weight;
    }
    memcpy(h->count, out, sizeof out);
}

static void fill_histogram(struct histogram *h, float *v, size_t taken)
{
    *h = (struct histogram){.total = (double)taken};
    double low = (double)nt_stats_quantile(v, taken, EXTREME);
    double high = (double)nt_stats_quantile(v, taken, 1 - EXTREME);
    h->low = low - MARGIN * (high - low);
    h->step = (1 + 2 * MARGIN) * (high - low) / BINS;
    for (size_t k = 0; k < taken && h->step > 0; k++) {
        double bin = ((double)v[k] - h->low) / h->step;
        if (bin >= 0 && bin < BINS)
            h->count[(size_t)bin] += 1;
    }
    smooth_histogram(h, 4);
}

/* Keeps the deepest cuts in order. */
static size_t add_cut(struct nt_direct_cut *cut, size_t cuts, struct nt_direct_cut new)
{
    size_t p = cuts < NT_DIRECT_CUTS ? cuts : NT_DIRECT_CUTS - 1;
    if (cuts == NT_DIRECT_CUTS && !(new.depth < cut[p].depth))
        return cuts;
    for (; p > 0 && new.depth < cut[p - 1].depth; p--)
        cut[p] = cut[p - 1];
    cut[p] = new;
    return cuts < NT_DIRECT_CUTS ? cuts + 1 : NT_DIRECT_CUTS;
}

/* Valleys above enough readings to link all hosts, no deeper than half of the lower side. */
static size_t find_valleys(const struct histogram *h, size_t n, struct nt_direct_cut *cut,
                           size_t cuts)
{
    double below = 0, left = 0, right[BINS + 1] = {0};
    size_t bottom = 0;
    for (size_t k = BINS; k-- > 0;)
        right[k] = fmax(right[k + 1], h->count[k]);
    for (size_t k = 1; k + 1 < BINS; k++) {
        below += h->count[k - 1];
        left = fmax(left, h->count[k - 1]);
        if (h->count[k] != h->count[k - 1])
            bottom = k; /* a flat bottom is cut in its middle */
        bool rises = h->count[k + 1] > h->count[k];
        if (!rises || (bottom > 0 && h->count[bottom - 1] <= h->count[k]))
            continue;
        double depth = h->count[k] / fmin(left, right[k + 1]);
        if (depth < 0.5 && below > h->total / (double)n)
            cuts = add_cut(cut, cuts,
                           (struct nt_direct_cut){
                               h->low + h->step * (0.5 * (double)(bottom + k) + 0.5), depth});
    }
    return cuts;
}

/* With few readings a histogram has holes: the widest gaps of the sorted readings instead. */
static size_t find_gaps(float *v, size_t taken, size_t n, struct nt_direct_cut *cut, size_t cuts)
{
    qsort(v, taken, sizeof *v, nt_compare_floats);
    for (size_t k = n > 2 ? n - 2 : 0; k + 1 < taken; k++) {
        double gap = (double)(v[k + 1] - v[k]), at = 0.5 * (double)(v[k + 1] + v[k]);
        if (gap > 1e-3 * at)
            cuts = add_cut(cut, cuts, (struct nt_direct_cut){at, 1 / gap});
    }
    return cuts;
}

int nt_direct_cuts(const float *seen, const float *offset, size_t n, struct nt_direct_cut *cut,
                   size_t *cuts, struct nt_err *err)
{
    size_t skip = n > 256 ? n / 256 : 1, taken = 0;
    NT_SCOPED struct nt_arena memory = {0};
    float *v = nt_arena_array(&memory, n * n / 2 / skip + 2 * n + 1, sizeof *v);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t i = 1; i < n; i += skip)
        for (size_t j = 0; j < i; j++) {
            float x = seen[i * n + j] - offset[i] - offset[j];
            if (x == x)
                v[taken++] = x;
        }
    *cuts = 0;
    if (n <= 24 && taken > 2) {
        *cuts = find_gaps(v, taken, n, cut, 0);
    } else if (taken > 2) {
        struct histogram h;
        fill_histogram(&h, v, taken);
        *cuts = find_valleys(&h, n, cut, 0);
    }
    return 0;
}
