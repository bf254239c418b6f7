/* SPDX-License-Identifier: Apache-2.0 */
#include "direct.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "memory.h"
#include "stats.h"

/* ---- where readings of one hop may end: the valleys of their distribution ---- */

enum { BINS = 400, CUTS = 8 };

struct cut {
    double at, depth; /* us; less is deeper */
};

/* Per thousand readings two at each end may be outliers and would stretch the range; a margin keeps
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
static size_t add_cut(struct cut *cut, size_t cuts, struct cut new)
{
    size_t p = cuts < CUTS ? cuts : CUTS - 1;
    if (cuts == CUTS && !(new.depth < cut[p].depth))
        return cuts;
    for (; p > 0 && new.depth < cut[p - 1].depth; p--)
        cut[p] = cut[p - 1];
    cut[p] = new;
    return cuts < CUTS ? cuts + 1 : CUTS;
}

/* Valleys above enough readings to link all hosts, no deeper than half of the lower side. */
static size_t find_valleys(const struct histogram *h, size_t n, struct cut *cut, size_t cuts)
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
            cuts =
                add_cut(cut, cuts,
                        (struct cut){h->low + h->step * (0.5 * (double)(bottom + k) + 0.5), depth});
    }
    return cuts;
}

/* With few readings a histogram has holes: the widest gaps of the sorted readings instead. */
static size_t find_gaps(float *v, size_t taken, size_t n, struct cut *cut, size_t cuts)
{
    qsort(v, taken, sizeof *v, nt_compare_floats);
    for (size_t k = n > 2 ? n - 2 : 0; k + 1 < taken; k++) {
        double gap = (double)(v[k + 1] - v[k]), at = 0.5 * (double)(v[k + 1] + v[k]);
        if (gap > 1e-3 * at)
            cuts = add_cut(cut, cuts, (struct cut){at, 1 / gap});
    }
    return cuts;
}

/* Where the readings seen (n*n, NaN: none) less the offsets leave gaps, deepest first; at most
 * CUTS. */
static int find_cuts(const float *seen, const float *offset, size_t n, struct cut *cut,
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

/* ---- readings without noise ---- */

/* The part of a matrix of readings that noise does not explain. */

enum { DENOISE_ROUNDS = 8, ROUNDS_LARGE = 4, LARGE = 128, DENOISED_MOST = 512 };

/* Threshold for a spectrum of unknown noise, in units of its median (Gavish and Donoho 2014,
 * table IV for square matrices). */
static const double ABOVE_MEDIAN = 2.858;

struct spectrum {
    double *full;  /* n*n: readings with the gaps filled, then eigenvectors */
    double *value; /* n */
    float *size;   /* n*n/2 */
    double *work;  /* LAPACK's: work_size of them, 3 + 5 n of the others */
    lapack_int *whole, work_size;
};

/* Missing pairs start with the medians of their rows. */
static void first_guess(const struct nt_work *w, struct spectrum *r, float *out)
{
    size_t n = w->n;
    for (size_t i = 0; i < n; i++) {
        size_t known = 0;
        for (size_t j = 0; j < n; j++)
            if (w->d[i * n + j] == w->d[i * n + j])
                r->size[known++] = w->d[i * n + j];
        r->value[i] = known > 0 ? (double)nt_stats_median(r->size, known) : 0;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            out[i * n + j] = (float)(0.5 * (r->value[i] + r->value[j]));
}

/* Relative residuals beyond this number of sd are outliers. */
static const double OUTLIER_SDS = 4;

static float find_reach(const struct nt_work *w, const float *out, struct spectrum *r)
{
    size_t count = 0;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            float v = w->d[i * w->n + j];
            if (v == v)
                r->size[count++] = fabsf(v - out[i * w->n + j]) / v;
        }
    return count > 0 ? (float)OUTLIER_SDS * (float)NT_SD_OF_MEDIAN * nt_stats_median(r->size, count)
                     : 0;
}

static void fill_missing(const struct nt_work *w, const float *out, float reach, struct spectrum *r)
{
    for (size_t k = 0; k < w->n * w->n; k++) {
        float v = w->d[k];
        bool good = v == v && fabsf(v - out[k]) <= reach * v;
        r->full[k] = (double)(good ? v : out[k]);
    }
}

/* Sums the parts above the threshold. */
static int project_spectrum(size_t n, struct spectrum *r, float *out, struct nt_err *err)
{
    const lapack_int m = (lapack_int)n, whole_size = 3 + 5 * m;
    lapack_int info;
    LAPACK_dsyevd("V", "L", &m, r->full, &m, r->value, r->work, &r->work_size, r->whole,
                  &whole_size, &info);
    if (info != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "cannot compute eigenvalues for %zu hosts", n);
    for (size_t k = 0; k < n; k++)
        r->size[k] = (float)fabs(r->value[k]);
    double limit = ABOVE_MEDIAN * (double)nt_stats_median(r->size, n);
    memset(out, 0, n * n * sizeof *out);
    for (size_t k = 0; k < n; k++) {
        const double *x = r->full + k * n;
        if (fabs(r->value[k]) <= limit)
            continue;
        for (size_t i = 0; i < n; i++) {
            float f = (float)(r->value[k] * x[i]);
            for (size_t j = 0; j < n; j++)
                out[i * n + j] += f * (float)x[j];
        }
    }
    return 0;
}

/* The part of the readings that noise does not explain. Hop counts of regular networks have few
 * large eigenvalues, so that the eigenvalues above the noise (Gavish and Donoho 2014, median rule)
 * contain nearly all of them. Missing readings and outliers are replaced by this part, iteratively
 * (Mazumder, Hastie, Tibshirani 2010). out: n*n, filled except for the diagonal. */
static int denoise(const struct nt_work *w, float *out, struct nt_err *err)
{
    size_t n = w->n, work = 1 + 6 * n + 2 * n * n; /* the least that dsyevd takes */
    int rounds = n > LARGE ? ROUNDS_LARGE : DENOISE_ROUNDS, status = 0;
    NT_SCOPED struct nt_arena memory = {0};
    struct spectrum r = {.full = nt_arena_array(&memory, n * n, sizeof *r.full),
                         .value = nt_arena_array(&memory, n, sizeof *r.value),
                         .size = nt_arena_array(&memory, n * n, sizeof *r.size),
                         .work = nt_arena_array(&memory, work, sizeof *r.work),
                         .whole = nt_arena_array(&memory, 3 + 5 * n, sizeof *r.whole),
                         .work_size = (lapack_int)work};
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    first_guess(w, &r, out);
    for (int round = 0; round < rounds && status == 0; round++) {
        /* at first every reading counts: the start has no structure to judge them by */
        fill_missing(w, out, round < 2 ? INFINITY : find_reach(w, out, &r), &r);
        status = project_spectrum(n, &r, out, err);
    }
    for (size_t i = 0; i < n && status == 0; i++)
        out[i * n + i] = NAN;
    return status;
}

/* ---- figures of given links ---- */

/* Fits the latencies of a graph with given links. */

/* Mean residual of quantised readings, as a share of the step in noise->least (the sd of a step, 1
 * / sqrt(12) of it): a score assumes no smaller residuals. */
#define GRID_RESIDUAL 0.3

/* base + hop * hops by least squares, residuals clipped at three times their mean. */
static void fit_line(const struct nt_work *w, struct nt_direct *d)
{
    double reach = INFINITY;
    for (int round = 0; round < 4; round++) {
        double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, size = 0;
        for (size_t i = 1; i < w->n; i++)
            for (size_t j = 0; j < i; j++) {
                double y = (double)nt_direct_reading(w, d, i, j), x = d->hops[i * w->n + j];
                if (y != y)
                    continue;
                double r = round == 0 ? 0 : y - d->base - d->hop * x;
                if (fabs(r) > reach)
                    y -= r - copysign(reach, r);
                size += fabs(r);
                s += 1;
                sx += x;
                sy += y;
                sxx += x * x;
                sxy += x * y;
            }
        double spread = s * sxx - sx * sx;
        d->hop = spread > 1e-9 * s * sxx ? (s * sxy - sx * sy) / spread : 0;
        d->base = (sy - d->hop * sx) / s;
        reach = round == 0 ? INFINITY : 3 * size / s;
    }
}

static void fit_offsets(const struct nt_work *w, struct nt_direct *d, float *values)
{
    for (size_t i = 0; i < w->n; i++) {
        size_t count = 0;
        for (size_t j = 0; j < w->n; j++) {
            float r = w->d[i * w->n + j] - d->offset[j] -
                      (float)(d->base + d->hop * d->hops[i * w->n + j]);
            if (r == r)
                values[count++] = r;
        }
        if (count > 0)
            d->offset[i] = nt_stats_median(values, count);
    }
}

static double mean_residual(const struct nt_work *w, const struct nt_direct *d)
{
    double sum = 0, count = 0;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            double v = (double)w->d[i * w->n + j];
            double r =
                (double)nt_direct_reading(w, d, i, j) - d->base - d->hop * d->hops[i * w->n + j];
            if (v == v) {
                sum += fabs(r) / v;
                count++;
            }
        }
    /* a perfect fit of quantised readings has the residual of the step */
    return count > 0 ? sum / count + GRID_RESIDUAL * w->noise.least : INFINITY;
}

/* Penalised likelihood of a fit with mean relative residual `mean` over `pairs` with `unknowns`
 * fitted values; less is better (Laplace errors, Schwarz 1978, degrees of freedom corrected). */
static double penalised_score(double mean, double pairs, double unknowns)
{
    if (unknowns >= pairs - 1)
        return INFINITY;
    return 2 * pairs * log(mean * pairs / (pairs - unknowns) + 1e-9) + unknowns * log(pairs);
}

/* Fits with and without own overheads, and keeps the better score. The description of the graph are
 * its links, each any of the pairs; equal link latencies cost one unknown. */
void nt_direct_fit(const struct nt_work *w, struct nt_direct *d, float *values)
{
    double pairs = (double)w->pairs, n = (double)w->n;
    memset(d->offset, 0, w->n * sizeof *d->offset);
    fit_line(w, d);
    d->residual = mean_residual(w, d);
    d->score = penalised_score(d->residual, pairs, (double)d->links + 2);
    if (!(d->hop > 0))
        d->score = INFINITY;
    double base = d->base, hop = d->hop;
    for (int round = 0; round < 3; round++) {
        fit_offsets(w, d, values);
        fit_line(w, d);
    }
    double residual = mean_residual(w, d);
    double score = penalised_score(residual, pairs, (double)d->links + 2 + n);
    d->offsets = d->hop > 0 && score < d->score;
    if (d->offsets) {
        d->score = score;
        d->residual = residual;
        return;
    }
    memset(d->offset, 0, w->n * sizeof *d->offset);
    d->base = base;
    d->hop = hop;
}

/* ---- the search ---- */

/* Finds a graph: if there is a gap above the readings of one hop, the pairs below the gap are
 * links. Single readings are not sufficient: two linked hosts are at nearly equal distances from
 * every third host, and two that are not linked differ by two hops for some. */

/* SMALL: with fewer hosts a spectrum means little. ALWAYS: with fewer, all starts are tried. */
enum { ROUNDS = 3, SMALL = 8, STARTS = 3, ALWAYS = 24 };

/* A regular network with smaller error odds needs no second try. */
static const double SURE = 0.05;

/* The distances of two linked hosts to any third host differ by at most one hop; differences of
 * more than REACH_HOPS are two hops. Outliers may contradict in a share CONTRADICTING of the third
 * hosts. A link without a reading needs nearly all, because otherwise any two hosts with few
 * readings would count as linked. */
static const double REACH_HOPS = 1.5, CONTRADICTING = 0.2, CONTRADICTING_UNREAD = 0.04;
/* Readings this number of hops above the cut are outliers in such a network. */
enum { OUTLIER_HOPS = 40 };

void nt_direct_fini(struct nt_direct *d)
{
    free(d->linked);
    free(d->hops);
    free(d->offset);
    *d = (struct nt_direct){.score = INFINITY};
}

int nt_direct_init(struct nt_direct *d, size_t n, struct nt_err *err)
{
    *d = (struct nt_direct){.n = n, .score = INFINITY, .cost = INFINITY};
    d->linked = calloc(n * n + 1, 1);
    d->hops = calloc(n * n + 1, sizeof *d->hops);
    d->offset = calloc(n + 1, sizeof *d->offset);
    if (d->linked && d->hops && d->offset)
        return 0;
    nt_direct_fini(d);
    return nt_err_memory(err);
}

/* The source of the guessed links: readings, or their part without noise. */
struct readings_view {
    const float *seen; /* n*n */
    /* Complete and without outliers: an unconnected graph is connected at its nearest hosts */
    bool whole;
    uint16_t *partner; /* hosts with which host i has a reading: from first[i] to first[i+1] */
    uint32_t *first;   /* n+1 */
};

/* Borrows clean, the readings of w without noise (n*n), or w's own readings if clean is NULL. */
static int readings_view_init(struct readings_view *s, const struct nt_work *w, const float *clean,
                              struct nt_arena *memory, struct nt_err *err)
{
    const float *seen = clean != NULL ? clean : w->d;
    size_t n = w->n, readings = clean != NULL ? n * n : 2 * w->pairs; /* both directions counted */
    uint32_t count = 0;
    *s = (struct readings_view){.seen = seen, .whole = clean != NULL};
    s->partner = nt_arena_array(memory, readings + 1, sizeof *s->partner);
    s->first = nt_arena_array(memory, n + 1, sizeof *s->first);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        s->first[i] = count;
        for (size_t j = 0; j < n; j++)
            if (seen[i * n + j] == seen[i * n + j])
                s->partner[count++] = (uint16_t)j;
    }
    s->first[n] = count;
    return 0;
}

/* ---- the graph of a cut ---- */

/* Whether the distances of a and b differ by more than reach for less than a share (CONTRADICTING
 * if d links them, otherwise CONTRADICTING_UNREAD) of the third hosts, of which there must be
 * three. Time: the readings of the host with fewer; it ends once too many differ, because otherwise
 * a few readings per host would cost n*n*n steps. */
static bool hops_agree(const struct readings_view *readings_view, const struct nt_direct *d,
                       size_t a, size_t b, float reach, struct nt_direct_effort *effort)
{
    double share = d->linked[a * d->n + b] ? CONTRADICTING : CONTRADICTING_UNREAD;
    const uint32_t *first = readings_view->first;
    size_t fewer = first[a + 1] - first[a] <= first[b + 1] - first[b] ? a : b;
    const uint16_t *begin = readings_view->partner + first[fewer], *k = begin;
    const uint16_t *end = readings_view->partner + first[fewer + 1];
    const float *x = readings_view->seen + a * d->n, *y = readings_view->seen + b * d->n;
    float shift = d->offset[a] - d->offset[b];
    double most = share * (double)(end - k);
    size_t known = 0, apart = 0;
    for (; k < end && (double)apart <= most; k++) {
        float difference = x[*k] - y[*k] - shift;
        known += difference == difference;
        apart += fabsf(difference) > reach;
    }
    effort->steps += (uint64_t)(k - begin);
    return known >= 3 && (double)apart / (double)known < share;
}

static float reading_at(const struct readings_view *readings_view, const struct nt_direct *d,
                        size_t i, size_t j)
{
    return readings_view->seen[i * d->n + j] - d->offset[i] - d->offset[j];
}

/* The middles of the readings of linked and unlinked pairs give one hop and two. */
static double hop_guess(const struct readings_view *readings_view, const struct nt_direct *d,
                        double cut, float *values)
{
    size_t n = d->n, one = 0, two = 0;
    for (size_t i = 1; i < n && one < n * 8; i++)
        for (size_t j = 0; j < i; j++)
            if ((double)reading_at(readings_view, d, i, j) < cut)
                values[one++] = reading_at(readings_view, d, i, j);
    if (one == 0)
        return 0;
    double first = (double)nt_stats_median(values, one);
    for (size_t i = 1; i < n && two < n * 8; i++)
        for (size_t j = 0; j < i && two < n * 8; j++) {
            double v = (double)reading_at(readings_view, d, i, j);
            if (v >= cut && v < cut + 2 * (cut - first))
                values[two++] = (float)v;
        }
    return two == 0 ? 2 * (cut - first) : (double)nt_stats_median(values, two) - first;
}

static void set_link(struct nt_direct *d, size_t i, size_t j, bool is)
{
    d->linked[i * d->n + j] = d->linked[j * d->n + i] = is;
    d->links += is ? 1 : (size_t)-1;
}

/* Links by reading; false: too many. *parts: how many the graph is in. */
static bool link_near(const struct readings_view *readings_view, struct nt_direct *d, double cut,
                      size_t limit, uint32_t *up, size_t *parts)
{
    uint32_t n = (uint32_t)d->n;
    d->links = 0;
    *parts = n;
    memset(d->linked, 0, d->n * d->n);
    nt_sets_init(up, n);
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = 0; j < i; j++)
            if ((double)reading_at(readings_view, d, i, j) < cut) {
                set_link(d, i, j, true);
                *parts -= nt_sets_join(up, i, j);
                if (d->links > limit)
                    return false;
            }
    return true;
}

/* Joins the parts at their nearest hosts. */
static void join_parts(const struct readings_view *readings_view, struct nt_direct *d, uint32_t *up)
{
    uint32_t n = (uint32_t)d->n;
    nt_sets_init(up, n);
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = 0; j < i; j++)
            if (d->linked[(size_t)i * n + j])
                nt_sets_join(up, i, j);
    for (;;) {
        float least = INFINITY;
        uint32_t a = 0, b = 0;
        for (uint32_t i = 1; i < n; i++)
            for (uint32_t j = 0; j < i; j++)
                if (reading_at(readings_view, d, i, j) < least &&
                    nt_sets_find(up, i) != nt_sets_find(up, j)) {
                    least = reading_at(readings_view, d, i, j);
                    a = i;
                    b = j;
                }
        if (a == b)
            return;
        set_link(d, a, b, true);
        nt_sets_join(up, a, b);
    }
}

/* Links by reading, then each judged by all third hosts; pairs without a reading, or with an
 * impossible one, become links when third hosts show it. false: not a sparse network. */
static bool take_links(const struct readings_view *readings_view, struct nt_direct *d, double cut,
                       double hop, uint32_t *up, struct nt_direct_effort *effort)
{
    size_t n = d->n, most = n * (n - 1) / 2, parts;
    float reach = (float)(REACH_HOPS * hop);
    size_t limit = n * NT_DIRECT_DEGREE_MAX / 2 < most ? n * NT_DIRECT_DEGREE_MAX / 2 : most;
    if (!link_near(readings_view, d, cut, limit, up, &parts))
        return false;
    /* groups of hosts behind switches: near each other, and far from all others */
    if (parts > 1 + n / (readings_view->whole ? 4 : 20))
        return false;
    for (size_t i = 1; i < n && !nt_direct_is_spent(effort); i++)
        for (size_t j = 0; j < i; j++) {
            float v = reading_at(readings_view, d, i, j);
            bool near = d->linked[i * n + j], is = near;
            if (near)
                is = n < 6 || hops_agree(readings_view, d, i, j, reach, effort);
            else if (v != v || (double)v > cut + OUTLIER_HOPS * hop)
                is = n >= 6 && hops_agree(readings_view, d, i, j, reach, effort);
            if (is != near)
                set_link(d, i, j, is);
        }
    if (readings_view->whole && parts > 1)
        join_parts(readings_view, d, up);
    return d->links + 1 >= n && d->links <= limit;
}

/* Hops from every host, breadth first; false when some host cannot be reached. */
bool nt_direct_count_hops(struct nt_direct *d, uint32_t *queue, uint32_t *neighbour, size_t *start)
{
    size_t n = d->n, p = 0;
    for (size_t i = 0; i < n; i++) {
        start[i] = p;
        for (size_t j = 0; j < n; j++)
            if (d->linked[i * n + j])
                neighbour[p++] = (uint32_t)j;
    }
    start[n] = p;
    for (size_t i = 0; i < n; i++) {
        uint16_t *hops = d->hops + i * n;
        size_t head = 0, tail = 0;
        for (size_t j = 0; j < n; j++)
            hops[j] = UINT16_MAX;
        hops[i] = 0;
        queue[tail++] = (uint32_t)i;
        while (head < tail) {
            uint32_t v = queue[head++];
            for (size_t k = start[v]; k < start[v + 1]; k++)
                if (hops[neighbour[k]] == UINT16_MAX) {
                    hops[neighbour[k]] = (uint16_t)(hops[v] + 1);
                    queue[tail++] = neighbour[k];
                }
        }
        if (tail < n)
            return false;
    }
    return true;
}

struct scratch {
    struct nt_direct try, start[STARTS]; /* starts: the best first */
    size_t starts;
    uint32_t *queue, *neighbour;
    size_t *first;
    float *values, *offset, *clean;
    struct nt_direct_effort *effort;
};

static size_t starts_for(size_t n)
{
    return n <= 64 ? STARTS : n <= 256 ? 3 : 2;
}

static int scratch_init(struct scratch *r, size_t n, struct nt_direct_effort *effort,
                        struct nt_arena *memory, struct nt_err *err)
{
    *r = (struct scratch){.effort = effort};
    if (nt_direct_init(&r->try, n, err) < 0)
        return -1;
    for (; r->starts < starts_for(n); r->starts++)
        if (nt_direct_init(&r->start[r->starts], n, err) < 0)
            return -1;
    r->queue = nt_arena_array(memory, n + 1, sizeof *r->queue);
    r->neighbour = nt_arena_array(memory, n * NT_DIRECT_DEGREE_MAX * 2 + 1, sizeof *r->neighbour);
    r->first = nt_arena_array(memory, n + 1, sizeof *r->first);
    r->values = nt_arena_array(memory, 9 * n + 1, sizeof *r->values);
    r->offset = nt_arena_array(memory, n + 1, sizeof *r->offset);
    r->clean = nt_arena_array(memory, n * n + 1, sizeof *r->clean);
    return nt_arena_check(memory, err);
}

static void scratch_fini(struct scratch *r)
{
    nt_direct_fini(&r->try);
    for (size_t k = 0; k < r->starts; k++)
        nt_direct_fini(&r->start[k]);
}

/* Keeps the graph if it is new and among the best. */
static void keep_best(struct scratch *r, const struct nt_direct *d)
{
    size_t n = d->n, k = r->starts - 1;
    if (!(d->score < r->start[k].score))
        return;
    for (size_t p = 0; p < r->starts; p++)
        if (r->start[p].links == d->links && memcmp(r->start[p].linked, d->linked, n * n) == 0)
            return;
    struct nt_direct own = r->start[k];
    for (; k > 0 && d->score < r->start[k - 1].score; k--)
        r->start[k] = r->start[k - 1];
    memcpy(own.linked, d->linked, n * n);
    memcpy(own.hops, d->hops, n * n * sizeof *d->hops);
    memcpy(own.offset, d->offset, n * sizeof *d->offset);
    r->start[k] = *d;
    r->start[k].linked = own.linked;
    r->start[k].hops = own.hops;
    r->start[k].offset = own.offset;
}

static void try_cut(const struct nt_work *w, const struct readings_view *readings_view, double cut,
                    struct scratch *r)
{
    struct nt_direct *d = &r->try;
    memcpy(d->offset, r->offset, w->n * sizeof *d->offset);
    double hop = hop_guess(readings_view, d, cut, r->values);
    if (!(hop > 0) || !take_links(readings_view, d, cut, hop, r->queue, r->effort) ||
        nt_direct_is_spent(r->effort) || !nt_direct_count_hops(d, r->queue, r->neighbour, r->first))
        return;
    nt_direct_fit(w, d, r->values);
    r->effort->steps += NT_DIRECT_FIT_STEPS * w->pairs;
    d->cost = INFINITY;
    keep_best(r, d);
}

static int try_cuts(const struct nt_work *w, const struct readings_view *readings_view,
                    struct scratch *r, struct nt_err *err)
{
    const struct nt_direct *best = &r->start[0];
    memset(r->offset, 0, w->n * sizeof *r->offset);
    for (int round = 0; round < ROUNDS; round++) {
        struct cut cut[CUTS];
        size_t cuts;
        double before = best->score;
        if (find_cuts(readings_view->seen, r->offset, w->n, cut, &cuts, err) < 0)
            return -1;
        for (size_t c = 0; c < cuts; c++)
            try_cut(w, readings_view, cut[c].at, r);
        if (!(best->score < before) || !best->offsets)
            break;
        /* overheads of the hosts widen the distribution: cut again without them */
        memcpy(r->offset, best->offset, w->n * sizeof *r->offset);
    }
    return 0;
}

/* Noise may fill all valleys: cuts that give the hosts two links, three, ... in the mean. */
static int try_degrees(const struct nt_work *w, const struct readings_view *readings_view,
                       struct scratch *r, struct nt_err *err)
{
    const double degrees[] = {2, 3, 4, 5, 6, 8};
    size_t n = w->n, count = 0;
    NT_SCOPED struct nt_arena memory = {0};
    float *v = nt_arena_array(&memory, n * n / 2 + 1, sizeof *v);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    memset(r->offset, 0, n * sizeof *r->offset);
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++)
            v[count++] = readings_view->seen[i * n + j];
    for (size_t k = 0; k < sizeof degrees / sizeof *degrees; k++)
        if (degrees[k] < (double)n - 1)
            try_cut(w, readings_view,
                    (double)nt_stats_quantile(v, count, degrees[k] / ((double)n - 1)), r);
    return 0;
}

/* The same without noise. */
static int try_denoised(const struct nt_work *w, struct scratch *r, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct readings_view clean;
    if (w->n > DENOISED_MOST || w->n < SMALL)
        return 0;
    if (denoise(w, r->clean, err) < 0 || readings_view_init(&clean, w, r->clean, &memory, err) < 0)
        return -1;
    int status = try_cuts(w, &clean, r, err);
    if (status == 0)
        status = try_degrees(w, &clean, r, err);
    return status;
}

/* Whether no other start needs to be tried. */
static bool is_conclusive(const struct nt_work *w, const struct nt_direct *d)
{
    return d->regular && d->error_odds < SURE && w->n >= ALWAYS;
}

/* It is none when after toggling a hop has no latency. */
static int toggle_start(const struct nt_work *w, struct nt_direct *d, struct scratch *r, bool *sure,
                        struct nt_err *err)
{
    if (nt_direct_toggle(w, d, r->effort, err) < 0)
        return -1;
    if (!isfinite(d->score))
        d->cost = INFINITY;
    *sure = is_conclusive(w, d);
    return 0;
}

/* Toggles the starts until one is regular with certainty: noise does not make a torus. */
static int toggle_all(const struct nt_work *w, struct scratch *r, size_t *best, bool *sure,
                      struct nt_err *err)
{
    for (size_t k = 0; k < r->starts && !*sure && !nt_direct_is_spent(r->effort); k++) {
        struct nt_direct *d = &r->start[k];
        bool toggled = isfinite(d->cost);
        if (!isfinite(d->score)) /* no start, or toggling made it none */
            continue;
        if (!toggled && toggle_start(w, d, r, sure, err) < 0)
            return -1;
        if (d->cost < r->start[*best].cost)
            *best = k;
    }
    return 0;
}

int nt_direct_find(const struct nt_work *w, struct nt_direct_effort *effort, struct nt_direct *out,
                   struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct readings_view raw;
    struct scratch r;
    size_t best = 0;
    bool sure = false;
    *out = (struct nt_direct){.score = INFINITY};
    if (w->n < 4 || w->n > NT_DIRECT_HOSTS_MAX)
        return 0;
    if (readings_view_init(&raw, w, NULL, &memory, err) < 0)
        return -1;
    int status = scratch_init(&r, w->n, effort, &memory, err);
    if (status == 0)
        status = try_cuts(w, &raw, &r, err);
    if (status == 0 && isfinite(r.start[0].score))
        status = toggle_start(w, &r.start[0], &r, &sure, err);
    if (status == 0 && !sure)
        status = try_denoised(w, &r, err);
    if (status == 0 && !sure)
        status = toggle_all(w, &r, &best, &sure, err);
    if (status == 0 && nt_direct_is_spent(effort))
        r.start[best].score = INFINITY;
    if (status == 0) {
        *out = r.start[best];
        r.start[best] = (struct nt_direct){0};
    }
    scratch_fini(&r);
    return status;
}

/* ---- a model ---- */

/* From a graph to a model: latencies, pairs that do not fit, confidence. */

/* Lower confidence means undetermined. */
static const double CONFIDENCE_LEAST = 0.05;

/* Probability that a network that fits has any pair marked as off. */
static const double ANY_OFF = 0.01;

/* Errors of the two figures from the spread of the residuals. */
static double hop_error(const struct nt_work *w, const struct nt_direct *d, double *rms)
{
    double s = 0, sx = 0, sxx = 0, square = 0, reach = OUTLIER_SDS * NT_SD_OF_MEAN * d->residual;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            double v = (double)w->d[i * w->n + j], x = d->hops[i * w->n + j];
            double r = (double)nt_direct_reading(w, d, i, j) - d->base - d->hop * x;
            if (v != v || fabs(r) > reach * v)
                continue;
            s += 1;
            sx += x;
            sxx += x * x;
            square += r * r;
        }
    *rms = sqrt(square / fmax(1, s - 2));
    return *rms / sqrt(fmax(sxx - sx * sx / fmax(1, s), 1e-9));
}

/* The robust sd of the residuals of the model, relative to the latency. */
static int relative_sd(const struct nt_work *w, const struct nt_matrix *p, double *sd,
                       struct nt_err *err)
{
    size_t count = 0;
    float *size = malloc((w->pairs + 1) * sizeof *size);
    if (size == NULL)
        return nt_err_memory(err);
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            float v = w->d[i * w->n + j], modelled = nt_matrix_get(p, w->host[i], w->host[j]);
            if (v == v)
                size[count++] = fabsf(v - modelled) / modelled;
        }
    *sd = count > 0 ? NT_SD_OF_MEDIAN * (double)nt_stats_median(size, count) : 0;
    free(size);
    return 0;
}

/* off: relative, from which a pair is off. */
static int set_quality(const struct nt_work *w, const struct nt_matrix *p, double off,
                       struct nt_model *m, struct nt_err *err)
{
    double sum = 0, square = 0, rest = 0, fits = 0, left = 0, count = (double)w->pairs;
    size_t most = w->n * 16;
    uint32_t(*pair)[2] = malloc((most + 1) * sizeof *pair);
    if (pair == NULL)
        return nt_err_memory(err);
    free(m->pair_off);
    m->pair_off = pair;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            double v = (double)w->d[i * w->n + j];
            double modelled = (double)nt_matrix_get(p, w->host[i], w->host[j]), r = v - modelled;
            if (v != v)
                continue;
            sum += v;
            square += v * v;
            rest += r * r;
            if (fabs(r) > off * modelled && m->pairs_off < most) {
                pair[m->pairs_off][0] = w->host[i];
                pair[m->pairs_off++][1] = w->host[j];
            } else {
                left += r * r;
                fits++;
            }
        }
    double spread = square - sum * sum / count;
    m->rms_us = sqrt(left / fmax(fits, 1));
    m->r2 = spread > 1e-9 * square ? 1 - rest / spread : (double)NAN;
    return 0;
}

/* The normal equations of a fit in which each host's link and one factor of all links between
 * switches are unknown. As in links.c, hosts of one switch differ only in their own links, so that
 * the means of the switches are a small system. */
struct ends {
    size_t switches;
    uint32_t *at, *link;    /* per host of w: its switch and its link */
    double *kept, *inside;  /* per host: weight of its readings; of those in its switch */
    double *hosts, *matrix; /* per switch; (switches + 1)^2, the factor last, one half */
};

static int ends_init(struct ends *e, const struct nt_work *w, const struct nt_model *m,
                     struct nt_arena *memory, struct nt_err *err)
{
    size_t unknowns = m->switches + 1;
    *e = (struct ends){.switches = m->switches};
    uint32_t *place = nt_arena_array(memory, m->hosts + 1, sizeof *place);
    e->at = nt_arena_array(memory, w->n + 1, sizeof *e->at);
    e->link = nt_arena_array(memory, w->n + 1, sizeof *e->link);
    e->kept = nt_arena_array(memory, w->n + 1, sizeof *e->kept);
    e->inside = nt_arena_array(memory, w->n + 1, sizeof *e->inside);
    e->hosts = nt_arena_array(memory, unknowns, sizeof *e->hosts);
    e->matrix = nt_arena_array(memory, unknowns * unknowns, sizeof *e->matrix);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t i = 0; i < w->n; i++)
        place[w->host[i]] = (uint32_t)i;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        uint32_t host = l->a < l->b ? l->a : l->b, at = l->a < l->b ? l->b : l->a;
        if (host >= m->hosts)
            continue;
        e->at[place[host]] = at - (uint32_t)m->hosts;
        e->link[place[host]] = (uint32_t)k;
        e->hosts[at - m->hosts]++;
    }
    return 0;
}

/* Adds a reading of hosts i and j; trunks_us: the length of the links between their switches. */
static void add_reading(struct ends *e, size_t i, size_t j, double weight, double trunks_us)
{
    size_t size = e->switches + 1, last = e->switches;
    size_t a = e->at[i] < e->at[j] ? e->at[i] : e->at[j], b = e->at[i] + e->at[j] - a;
    double own = a == b ? weight : 0;
    e->kept[i] += weight;
    e->kept[j] += weight;
    e->inside[i] += own;
    e->inside[j] += own;
    e->matrix[a * size + a] += weight + own;
    e->matrix[b * size + b] += weight + own;
    e->matrix[b * size + a] += a == b ? 0 : weight;
    e->matrix[last * size + a] += weight * trunks_us;
    e->matrix[last * size + b] += weight * trunks_us;
    e->matrix[last * size + last] += weight * trunks_us * trunks_us;
}

/* From the diagonal of the inverse. The links are medians of readings, which are less exact than
 * means; sd is the middle residual of a fit, which has fewer degrees of freedom than readings. */
static void set_errors(const struct ends *e, const struct nt_work *w, double sd, double used,
                       struct nt_model *m)
{
    double df = used - (double)w->n - 1;
    if (!(df >= 1))
        return;
    double unit = NT_SD_OF_MEAN * sd * sqrt(used / df);
    unit *= nt_student_quantile(0.975, df) / NT_SDS_95;
    for (size_t i = 0; i < w->n; i++) {
        size_t a = e->at[i];
        double hosts = e->hosts[a], variance = e->matrix[a * (e->switches + 1) + a];
        if (hosts > 1)
            variance += (1 - 1 / hosts) / (e->kept[i] - e->inside[i] / (hosts - 1));
        double se = unit * sqrt(variance), us = m->link[e->link[i]].latency_us;
        m->link[e->link[i]].latency_se_us = se < us ? se : (double)NAN; /* else it shows nothing */
    }
}

/* Standard errors of hosts' links from the covariance of the fit. p: its latencies; sd: relative,
 * of a reading; off: relative, from which readings are left out. */
static int find_errors(const struct nt_work *w, const struct nt_matrix *p, double sd, double off,
                       struct nt_model *m, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct ends e;
    double used = 0;
    if (m->switches == 0 || m->switches >= NT_UNKNOWNS_MAX)
        return 0;
    if (ends_init(&e, w, m, &memory, err) < 0)
        return -1;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            double v = (double)w->d[i * w->n + j];
            double us = (double)nt_matrix_get(p, w->host[i], w->host[j]);
            double ends = m->link[e.link[i]].latency_us + m->link[e.link[j]].latency_us;
            if (!(fabs(v - us) <= off * us))
                continue;
            add_reading(&e, i, j, 1 / (us * us), us - ends);
            used++;
        }
    for (size_t s = 0; s < m->switches; s++) /* not an unknown without hosts */
        e.matrix[s * (m->switches + 2)] += e.hosts[s] == 0 ? 1 : 0;
    lapack_int size = (lapack_int)(m->switches + 1), info;
    LAPACK_dpotrf("U", &size, e.matrix, &size, &info);
    if (info == 0)
        LAPACK_dpotri("U", &size, e.matrix, &size, &info);
    if (info == 0)
        set_errors(&e, w, sd, used, m);
    return 0;
}

int nt_direct_quality(const struct nt_work *w, struct nt_model *m, struct nt_err *err)
{
    struct nt_matrix *p;
    double sd = 0;
    if (nt_model_latencies(m, &p, err) < 0)
        return -1;
    int status = relative_sd(w, p, &sd, err);
    if (status == 0) {
        double most = fmax(sd, w->noise.least);
        double off = -nt_normal_quantile(ANY_OFF / 2 / fmax((double)w->pairs, 1)) * most;
        status = set_quality(w, p, off, m, err);
        if (status == 0)
            status = find_errors(w, p, most, off, m, err);
    }
    nt_matrix_destroy(p);
    return status;
}

int nt_direct_model(const struct nt_work *w, const struct nt_direct *d, size_t hosts,
                    struct nt_model **out, struct nt_err *err)
{
    struct nt_model *m;
    double rms, error = hop_error(w, d, &rms);
    bool whole = true; /* links are one hop each */
    size_t k = 0;
    if (nt_model_create(hosts, 0, d->links, &m, err) < 0)
        return -1;
    for (size_t i = 0; i < d->n; i++) {
        m->overhead_us[w->host[i]] = fmax(0, 0.5 * d->base + (double)d->offset[i]);
        for (size_t j = 0; j < i; j++) {
            if (!d->linked[i * d->n + j])
                continue;
            m->link[k].a = w->host[i];
            m->link[k].b = w->host[j];
            m->link[k].latency_us = d->hop * d->hops[i * d->n + j];
            whole = whole && d->hops[i * d->n + j] == 1;
            m->link[k++].latency_se_us = error;
        }
    }
    m->family = NT_FAMILY_IRREGULAR;
    m->resolution_us = NT_SDS_95 * sqrt(2) * rms;
    if (nt_direct_quality(w, m, err) < 0 || (whole && nt_direct_family(d, m, err) < 0)) {
        nt_model_destroy(m);
        return -1;
    }
    /* against the graphs that differ in one link; against all others: switch_graph.c */
    m->confidence = 1 / (1 + d->error_odds);
    if (m->confidence <
        CONFIDENCE_LEAST) /* one of many that are as near, and perhaps none of them */
        m->family = NT_FAMILY_UNDETERMINED;
    *out = m;
    return 0;
}
