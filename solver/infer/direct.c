/* Finds a direct network: where the readings leave a gap above those of one hop, the pairs below
 * it are links. Single readings are not trusted: two hosts of one link are nearly as far from
 * every third host, and two that are not linked differ by two hops from some. */
#include "direct.h"

#include <stdlib.h>
#include <string.h>

#include "stats.h"

enum { BINS = 400, CUTS = 8, ROUNDS = 3 };

double nt_score(double mean, double pairs, double unknowns)
{
    if (unknowns >= pairs - 1)
        return INFINITY;
    return 2 * pairs * log(mean * pairs / (pairs - unknowns) + 1e-9) + unknowns * log(pairs);
}

void nt_direct_fini(struct nt_direct *d)
{
    free(d->linked);
    free(d->hops);
    free(d->offset);
    *d = (struct nt_direct){.score = INFINITY};
}

static int direct_init(struct nt_direct *d, size_t n, struct nt_err *err)
{
    *d = (struct nt_direct){.n = n, .score = INFINITY};
    d->linked = calloc(n * n + 1, 1);
    d->hops = malloc((n * n + 1) * sizeof *d->hops);
    d->offset = calloc(n + 1, sizeof *d->offset);
    if (d->linked && d->hops && d->offset)
        return 0;
    nt_direct_fini(d);
    return nt_err_set(err, NT_ERR_SYSTEM, "no memory for links among %zu hosts", n);
}

static float reading(const struct nt_work *w, const struct nt_direct *d, size_t i, size_t j)
{
    return w->d[i * w->n + j] - d->offset[i] - d->offset[j];
}

/* ---- where to cut ---- */

/* Smoothed counts of the readings over the range that they span without the extreme ones. */
struct histogram {
    double count[BINS];
    double low, step, total;
};

struct cut {
    double at, depth; /* us; less is deeper */
};

static void smooth(struct histogram *h, size_t reach)
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
    double low = (double)nt_stats_quantile(v, taken, 0.002);
    double high = (double)nt_stats_quantile(v, taken, 0.998);
    h->low = low - 0.02 * (high - low);
    h->step = 1.04 * (high - low) / BINS;
    for (size_t k = 0; k < taken && h->step > 0; k++) {
        double bin = ((double)v[k] - h->low) / h->step;
        if (bin >= 0 && bin < BINS)
            h->count[(size_t)bin] += 1;
    }
    smooth(h, 4);
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

static int float_compare(const void *x, const void *y)
{
    float a = *(const float *)x, b = *(const float *)y;
    return (a > b) - (a < b);
}

/* With few readings a histogram has holes: the widest gaps of the sorted readings instead. */
static size_t find_gaps(float *v, size_t taken, size_t n, struct cut *cut, size_t cuts)
{
    qsort(v, taken, sizeof *v, float_compare);
    for (size_t k = n > 2 ? n - 2 : 0; k + 1 < taken; k++) {
        double gap = (double)(v[k + 1] - v[k]), at = 0.5 * (double)(v[k + 1] + v[k]);
        if (gap > 1e-3 * at)
            cuts = add_cut(cut, cuts, (struct cut){at, 1 / gap});
    }
    return cuts;
}

static int find_cuts(const struct nt_work *w, const struct nt_direct *d, struct cut *cut,
                     size_t *cuts, struct nt_err *err)
{
    size_t n = w->n, skip = n > 256 ? n / 256 : 1, taken = 0;
    float *v = malloc((n * n / 2 / skip + 2 * n + 1) * sizeof *v);
    if (v == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for readings of %zu hosts", n);
    for (size_t i = 1; i < n; i += skip)
        for (size_t j = 0; j < i; j++) {
            float x = reading(w, d, i, j);
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
    free(v);
    return 0;
}

/* ---- the graph of a cut ---- */

/* Share of third hosts from which a and b differ by more than reach. */
static double disagreement(const struct nt_work *w, const struct nt_direct *d, size_t a, size_t b,
                           float reach)
{
    const float *x = w->d + a * w->n, *y = w->d + b * w->n;
    float shift = d->offset[a] - d->offset[b];
    size_t known = 0, apart = 0;
    for (size_t k = 0; k < w->n; k++) {
        float difference = x[k] - y[k] - shift;
        known += difference == difference;
        apart += fabsf(difference) > reach;
    }
    return known < 3 ? 1 : (double)apart / (double)known;
}

/* Sorted readings of linked and unlinked pairs give one hop and two. */
static double hop_guess(const struct nt_work *w, const struct nt_direct *d, double cut,
                        float *values)
{
    size_t n = w->n, one = 0, two = 0;
    for (size_t i = 1; i < n && one < n * 8; i++)
        for (size_t j = 0; j < i; j++)
            if ((double)reading(w, d, i, j) < cut)
                values[one++] = reading(w, d, i, j);
    if (one == 0)
        return 0;
    double first = (double)nt_stats_median(values, one);
    for (size_t i = 1; i < n && two < n * 8; i++)
        for (size_t j = 0; j < i && two < n * 8; j++) {
            double v = (double)reading(w, d, i, j);
            if (v >= cut && v < cut + 2 * (cut - first))
                values[two++] = (float)v;
        }
    return two == 0 ? 2 * (cut - first) : (double)nt_stats_median(values, two) - first;
}

static uint32_t root_of(uint32_t *up, uint32_t v)
{
    while (up[v] != v)
        v = up[v] = up[up[v]];
    return v;
}

/* Links by reading, then each judged by all third hosts; pairs without a reading, or with one
 * that cannot be, become links when third hosts say so. false: not a sparse network. */
static bool take_links(const struct nt_work *w, struct nt_direct *d, double cut, double hop,
                       uint32_t *up)
{
    size_t n = w->n, most = n * (n - 1) / 2, parts = n;
    float reach = (float)(1.5 * hop);
    d->links = 0;
    memset(d->linked, 0, n * n);
    size_t limit = n * NT_DIRECT_DEGREE_MAX / 2 < most ? n * NT_DIRECT_DEGREE_MAX / 2 : most;
    for (uint32_t i = 0; i < n; i++)
        up[i] = i;
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = 0; j < i; j++)
            if ((double)reading(w, d, i, j) < cut) {
                d->linked[i * n + j] = d->linked[j * n + i] = 1;
                uint32_t a = root_of(up, i), b = root_of(up, j);
                parts -= a != b;
                up[a] = b;
                if (++d->links > limit)
                    return false;
            }
    /* groups of hosts behind switches: near each other, and far from all others */
    if (!w->holes && parts > 1 + n / 20)
        return false;
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            float v = reading(w, d, i, j);
            bool near = d->linked[i * n + j], is = near;
            if (near)
                is = n < 6 || disagreement(w, d, i, j, reach) < 0.2;
            else if (v != v || (double)v > cut + 40 * hop)
                is = n >= 6 && disagreement(w, d, i, j, reach) < 0.04;
            if (is != near) {
                d->linked[i * n + j] = d->linked[j * n + i] = is;
                d->links += is ? 1 : (size_t)-1;
            }
        }
    return d->links + 1 >= n && d->links <= limit;
}

/* Hops from every host, breadth first; false when some host cannot be reached. */
static bool count_hops(struct nt_direct *d, uint32_t *queue, uint32_t *neighbour, size_t *start)
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

/* ---- fit ---- */

/* base + hop * hops by least squares, residuals clipped at three times their mean. */
static void fit_line(const struct nt_work *w, struct nt_direct *d)
{
    double reach = INFINITY;
    for (int round = 0; round < 4; round++) {
        double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, size = 0;
        for (size_t i = 1; i < w->n; i++)
            for (size_t j = 0; j < i; j++) {
                double y = (double)reading(w, d, i, j), x = d->hops[i * w->n + j];
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
            d->offset[i] = 0.5f * (d->offset[i] + nt_stats_median(values, count));
    }
}

static double mean_residual(const struct nt_work *w, const struct nt_direct *d)
{
    double sum = 0, count = 0;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            double v = (double)w->d[i * w->n + j];
            double r = (double)reading(w, d, i, j) - d->base - d->hop * d->hops[i * w->n + j];
            if (v == v) {
                sum += fabs(r) / v;
                count++;
            }
        }
    /* a perfect fit on a grid of readings is worth no more than the grid's step */
    return count > 0 ? sum / count + 0.3 * nt_noise_least(w) : INFINITY;
}

/* With and without own overheads, whichever is worth its unknowns. The graph is described by its
 * links, and each may be any of the pairs; equal link latencies cost one unknown. */
static void fit_direct(const struct nt_work *w, struct nt_direct *d, float *values)
{
    double pairs = (double)w->pairs, n = (double)w->n;
    memset(d->offset, 0, w->n * sizeof *d->offset);
    fit_line(w, d);
    d->score = nt_score(mean_residual(w, d), pairs, (double)d->links + 2);
    if (!(d->hop > 0))
        d->score = INFINITY;
    double base = d->base, hop = d->hop;
    for (int round = 0; round < 6; round++) {
        fit_offsets(w, d, values);
        fit_line(w, d);
    }
    double score = nt_score(mean_residual(w, d), pairs, (double)d->links + 2 + n);
    d->offsets = d->hop > 0 && score < d->score;
    if (d->offsets) {
        d->score = score;
        return;
    }
    memset(d->offset, 0, w->n * sizeof *d->offset);
    d->base = base;
    d->hop = hop;
}

static void keep(struct nt_direct *best, const struct nt_direct *d)
{
    size_t n = d->n;
    memcpy(best->linked, d->linked, n * n);
    memcpy(best->hops, d->hops, n * n * sizeof *d->hops);
    memcpy(best->offset, d->offset, n * sizeof *d->offset);
    best->links = d->links;
    best->base = d->base;
    best->hop = d->hop;
    best->offsets = d->offsets;
    best->score = d->score;
}

struct room {
    uint32_t *queue, *neighbour;
    size_t *start;
    float *values, *offset;
};

static int room_init(struct room *r, size_t n, struct nt_err *err)
{
    r->queue = malloc((n + 1) * sizeof *r->queue);
    r->neighbour = malloc((n * NT_DIRECT_DEGREE_MAX * 2 + 1) * sizeof *r->neighbour);
    r->start = malloc((n + 1) * sizeof *r->start);
    r->values = malloc((9 * n + 1) * sizeof *r->values);
    r->offset = calloc(n + 1, sizeof *r->offset);
    if (r->queue && r->neighbour && r->start && r->values && r->offset)
        return 0;
    return nt_err_set(err, NT_ERR_SYSTEM, "no memory for paths among %zu hosts", n);
}

static void room_fini(struct room *r)
{
    free(r->queue);
    free(r->neighbour);
    free(r->start);
    free(r->values);
    free(r->offset);
}

/* All cuts of one histogram; improved: some network is better than best. */
static void try_cuts(const struct nt_work *w, struct nt_direct *d, struct nt_direct *best,
                     const struct cut *cut, size_t cuts, struct room *r)
{
    for (size_t c = 0; c < cuts; c++) {
        memcpy(d->offset, r->offset, w->n * sizeof *d->offset);
        double hop = hop_guess(w, d, cut[c].at, r->values);
        if (!(hop > 0) || !take_links(w, d, cut[c].at, hop, r->queue) ||
            !count_hops(d, r->queue, r->neighbour, r->start))
            continue;
        fit_direct(w, d, r->values);
        if (d->score < best->score)
            keep(best, d);
    }
}

int nt_direct_find(const struct nt_work *w, struct nt_direct *out, struct nt_err *err)
{
    struct nt_direct d, best;
    struct room r = {0};
    *out = (struct nt_direct){.score = INFINITY};
    if (w->n < 4 || w->n > NT_DIRECT_HOSTS_MAX)
        return 0;
    if (direct_init(&d, w->n, err) < 0)
        return -1;
    if (direct_init(&best, w->n, err) < 0) {
        nt_direct_fini(&d);
        return -1;
    }
    int status = room_init(&r, w->n, err);
    for (int round = 0; round < ROUNDS && status == 0; round++) {
        struct cut cut[CUTS];
        size_t cuts;
        double before = best.score;
        memcpy(d.offset, r.offset, w->n * sizeof *d.offset);
        status = find_cuts(w, &d, cut, &cuts, err);
        if (status < 0)
            break;
        try_cuts(w, &d, &best, cut, cuts, &r);
        if (!(best.score < before) || !best.offsets)
            break;
        /* own overheads blur the readings: cut again without them */
        memcpy(r.offset, best.offset, w->n * sizeof *r.offset);
    }
    room_fini(&r);
    nt_direct_fini(&d);
    if (status == 0)
        *out = best;
    else
        nt_direct_fini(&best);
    return status;
}

/* Errors of the two figures from the spread of the residuals. */
static double hop_error(const struct nt_work *w, const struct nt_direct *d, double *rms)
{
    double s = 0, sx = 0, sxx = 0, square = 0, reach = 4 * 1.2533 * mean_residual(w, d);
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            double v = (double)w->d[i * w->n + j], x = d->hops[i * w->n + j];
            double r = (double)reading(w, d, i, j) - d->base - d->hop * x;
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

static int quality(const struct nt_work *w, const struct nt_direct *d, struct nt_model *m,
                   double rms, struct nt_err *err)
{
    double sum = 0, square = 0, rest = 0, count = (double)w->pairs;
    double off = -nt_normal_quantile(0.005 / (count > 1 ? count : 1)) * rms;
    uint32_t(*pair)[2] = malloc((w->n * 16 + 1) * sizeof *pair);
    if (pair == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for pairs of %zu hosts", w->n);
    free(m->pair_off);
    m->pair_off = pair;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            double v = (double)w->d[i * w->n + j];
            double r = (double)reading(w, d, i, j) - d->base - d->hop * d->hops[i * w->n + j];
            if (v != v)
                continue;
            sum += v;
            square += v * v;
            rest += r * r;
            if (fabs(r) > off && m->pairs_off < w->n * 16) {
                pair[m->pairs_off][0] = w->host[i];
                pair[m->pairs_off++][1] = w->host[j];
            }
        }
    double spread = square - sum * sum / count;
    m->rms_us = sqrt(rest / count);
    m->r2 = spread > 1e-9 * square ? 1 - rest / spread : NAN;
    m->resolution_us = 1.95996 * sqrt(2) * rms;
    return 0;
}

/* Mistaken links hardly ever leave a regular network; without such a witness each pair of one hop
 * or two is a choice that noise of more than half a hop turns over, and wrong or missing readings
 * leave some choices to chance. */
static double confidence(const struct nt_work *w, const struct nt_direct *d,
                         const struct nt_model *m, double rms)
{
    const double REGULAR = 0.97, IRREGULAR = 0.8, DOUBTFUL = 0.3;
    double risk = 0;
    if (m->family != NT_FAMILY_IRREGULAR)
        return REGULAR;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++)
            if (d->hops[i * w->n + j] <= 2)
                risk += nt_normal_cdf(-0.5 * d->hop / (rms > 0 ? rms : 1e-9));
    return IRREGULAR * exp(-risk) * (w->holes || m->pairs_off > 0 ? DOUBTFUL : 1);
}

int nt_direct_model(const struct nt_work *w, const struct nt_direct *d, size_t hosts,
                    struct nt_model **out, struct nt_err *err)
{
    struct nt_model *m;
    double rms, error = hop_error(w, d, &rms);
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
            m->link[k].latency_us = d->hop;
            m->link[k++].latency_se_us = error;
        }
    }
    if (quality(w, d, m, rms, err) < 0 || nt_family_recognise(d, m, err) < 0) {
        nt_model_destroy(m);
        return -1;
    }
    m->confidence = confidence(w, d, m, rms);
    *out = m;
    return 0;
}
