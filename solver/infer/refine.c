/* SPDX-License-Identifier: Apache-2.0 */
/* Parts among few hosts by moving single hosts, where linkage went wrong because of noise.
 *
 * Two levels are supposed: pairs inside parts, and pairs between them. With a threshold half-way,
 * pairs inside should lie under it, so the sum of (threshold - reading) over the pairs inside is
 * the gain of a partition: the log-likelihood ratio of independent normal errors but for a factor.
 * The best cut of the dendrogram starts, then each host goes where the gain is largest, and the
 * threshold follows. The result is the best of many partitions, and is tested as such. */
#include "work.h"

#include <string.h>

#include "memory.h"
#include "stats.h"

enum { SWEEPS = 12, ROUNDS = 8 };

struct refine {
    const float *d; /* m*m in dendrogram order; NaN not known */
    size_t m;
    float low, high;  /* readings are clipped to these */
    double threshold; /* us */
    uint32_t *label;  /* m: below m */
    uint32_t *size;   /* m: of each part */
    double *worth;    /* m: of one host in each part; 2m: of the nodes */
};

/* The parting of the dendrogram that has the largest gain. */
static void best_cut(struct refine *r, const struct nt_node *nodes)
{
    size_t m = r->m;
    uint32_t next = 0;
    for (size_t v = 0; v < 2 * m - 1; v++) {
        const struct nt_node *x = &nodes[v];
        double whole = r->threshold * x->within_count - x->within;
        double parted = v >= m ? r->worth[x->a] + r->worth[x->b] : -INFINITY;
        r->worth[v] = whole > parted ? whole : parted;
    }
    memset(r->label, 0xff, m * sizeof *r->label);
    for (size_t v = 2 * m - 1; v-- > 0;) {
        const struct nt_node *x = &nodes[v];
        double whole = r->threshold * x->within_count - x->within;
        if (r->label[x->first] != UINT32_MAX || whole < r->worth[v])
            continue;
        for (size_t k = 0; k < x->size; k++)
            r->label[x->first + k] = next;
        next++;
    }
    memset(r->size, 0, m * sizeof *r->size);
    for (size_t i = 0; i < m; i++)
        r->size[r->label[i]]++;
}

static float reading_at(const struct refine *r, size_t i, size_t j)
{
    float v = r->d[i * r->m + j];
    return v < r->low ? r->low : v > r->high ? r->high : v;
}

/* Moves each host to the part where the gain is largest, or to one of its own. Returns how many. */
static size_t move_sweep(struct refine *r)
{
    size_t moved = 0;
    for (size_t i = 0; i < r->m; i++) {
        memset(r->worth, 0, r->m * sizeof *r->worth);
        for (size_t j = 0; j < r->m; j++) {
            float v = reading_at(r, i, j);
            if (j != i && v == v)
                r->worth[r->label[j]] += r->threshold - (double)v;
        }
        uint32_t best = r->label[i];
        r->size[best]--;
        for (uint32_t p = 0; p < r->m; p++)
            if (r->worth[p] > r->worth[best]) /* an empty part gains 0 */
                best = p;
        moved += best != r->label[i];
        r->label[i] = best;
        r->size[best]++;
    }
    return moved;
}

/* Mean readings inside the parts and between them. */
static void mean_levels(const struct refine *r, struct nt_inside *in, struct nt_inside *out)
{
    *in = *out = (struct nt_inside){0, 0};
    for (size_t i = 1; i < r->m; i++)
        for (size_t j = 0; j < i; j++) {
            float v = reading_at(r, i, j);
            struct nt_inside *x = r->label[i] == r->label[j] ? in : out;
            x->sum += v == v ? (double)v : 0;
            x->count += v == v;
        }
}

/* ln of the number of ways to make parts of these sizes, and to choose the sizes. */
static double ln_ways(const struct refine *r)
{
    double ways = lgamma((double)r->m + 1) + 2 * log((double)r->m);
    double *times = r->worth; /* parts of each size: none is before the other */
    memset(times, 0, (r->m + 1) * sizeof *times);
    for (size_t p = 0; p < r->m; p++) {
        ways -= lgamma((double)r->size[p] + 1);
        times[r->size[p]]++;
    }
    for (size_t k = 1; k <= r->m; k++)
        ways -= lgamma(times[k] + 1);
    return ways;
}

/* The contrast of the parts over the limit for noise alone, were they the best of all partitions:
 * above 1 they are real. */
static double stands_out(const struct refine *r, const struct nt_noise *noise, struct nt_inside in,
                         struct nt_inside out)
{
    if (in.count < 1 || out.count < 1)
        return 0;
    double level = out.sum / out.count;
    double z = (level - in.sum / in.count) /
               (nt_noise_sd(noise, level) * sqrt(1 / out.count + 1 / in.count));
    return z / nt_null_distribution_limit(ln_ways(r), noise->df);
}

/* Numbers the parts by their first host. */
static size_t number_parts(struct refine *r)
{
    size_t parts = 0;
    memset(r->size, 0xff, r->m * sizeof *r->size);
    for (size_t i = 0; i < r->m; i++) {
        uint32_t *number = &r->size[r->label[i]];
        if (*number == UINT32_MAX)
            *number = (uint32_t)parts++;
        r->label[i] = *number;
    }
    return parts;
}

/* From one threshold on; returns how far the parts stand out. */
static double search_cuts(struct refine *r, double threshold, const struct nt_node *nodes,
                          const struct nt_noise *noise)
{
    struct nt_inside in = {0, 0}, out = {0, 0};
    double reach = 3 * nt_noise_sd(noise, (double)nodes[2 * r->m - 2].middle);
    r->threshold = threshold;
    best_cut(r, nodes);
    for (int round = 0; round < ROUNDS; round++) {
        size_t moved = 0, now = 1;
        r->low = (float)(r->threshold - reach);
        r->high = (float)(r->threshold + reach);
        for (int k = 0; k < SWEEPS && now > 0; k++)
            moved += now = move_sweep(r);
        mean_levels(r, &in, &out);
        if (in.count < 1 || out.count < 1 || (moved == 0 && round > 0))
            break;
        r->threshold = 0.5 * (in.sum / in.count + out.sum / out.count);
    }
    return stands_out(r, noise, in, out);
}

/* Thresholds that leave each host one, three, seven, ... others in its part; and the mean. */
static double search_all(struct refine *r, const struct nt_node *nodes,
                         const struct nt_noise *noise, uint32_t *best, float *values)
{
    const struct nt_node *root = &nodes[2 * r->m - 2];
    size_t count = 0;
    double most = 0;
    for (size_t i = 1; i < r->m; i++)
        for (size_t j = 0; j < i; j++)
            if (r->d[i * r->m + j] == r->d[i * r->m + j])
                values[count++] = r->d[i * r->m + j];
    for (size_t others = 0; 2 * others < r->m; others = 2 * others + 1) {
        double share = (double)others / (double)(r->m - 1);
        double threshold = others == 0 ? root->within / root->within_count
                                       : (double)nt_stats_quantile(values, count, share);
        double now = search_cuts(r, threshold, nodes, noise);
        if (now <= most)
            continue;
        most = now;
        memcpy(best, r->label, r->m * sizeof *best);
    }
    memcpy(r->label, best, r->m * sizeof *best);
    return most;
}

int nt_refine(const struct nt_noise *noise, const float *d, size_t m, const struct nt_node *nodes,
              uint32_t *label, size_t *parts, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct refine r = {.d = d, .m = m, .label = label};
    r.size = nt_arena_array(&memory, m, sizeof *r.size);
    r.worth = nt_arena_array(&memory, 2 * m, sizeof *r.worth);
    uint32_t *best = nt_arena_array(&memory, m, sizeof *best);
    float *values = nt_arena_array(&memory, m * m / 2, sizeof *values);
    *parts = 1;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (nodes[2 * m - 2].within_count >= 1 && search_all(&r, nodes, noise, best, values) > 1)
        *parts = number_parts(&r);
    return 0;
}
