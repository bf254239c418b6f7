/* SPDX-License-Identifier: Apache-2.0 */
#include "infer.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "infer_steps.h"
#include "memory.h"
#include "rooted_tree.h"
#include "stats.h"
#include "switch_support.h"
#include "tiers.h"

/* ---- from a matrix of readings to symmetric readings for the search of structure ---- */

/* The range that the importers accept; sums of squares of larger values exceed a float. */
static const float LATENCY_MAX_US = 1e15f;

/* Above 0, and no more than texts may bring. */
static bool is_reading(float v)
{
    return v > 0 && v <= LATENCY_MAX_US;
}

/* Both directions of a pair: for structure the smaller, for noise mostly adds. */
static float smaller_reading(float there, float back)
{
    if (!is_reading(there))
        return is_reading(back) ? back : NAN;
    return is_reading(back) && back < there ? back : there;
}

enum { TILE = 32 };

/* Several values at a time, for the loops over all pairs: 16 bytes are in a register of every
 * machine that has such registers, and the compiler makes plain code of it elsewhere. A comparison
 * gives all ones or zero a lane, and is false for NaN. */
enum { LANES = 4 };

typedef float floats __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t floats_are __attribute__((vector_size(LANES * sizeof(float))));

static floats load_floats(const float *at)
{
    floats v;
    memcpy(&v, at, sizeof v);
    return v;
}

/* a where it is so, b elsewhere. */
static floats choose_floats(floats_are is, floats a, floats b)
{
    return (floats)(((floats_are)a & is) | ((floats_are)b & ~is));
}

/* Puts the smaller of both into back, as smaller_reading does; true when some differ. */
static bool take_smaller(const float *there, float *back, size_t count)
{
    const floats none = {0}, most = none + LATENCY_MAX_US, far = none + INFINITY;
    floats_are differ = {0};
    size_t k = 0;
    for (; k + LANES <= count; k += LANES) {
        floats a = load_floats(there + k), b = load_floats(back + k);
        differ |= (a < b) | (a > b);
        a = choose_floats((a > none) & (a <= most), a, far);
        b = choose_floats((b > none) & (b <= most), b, far);
        a = choose_floats(a < b, a, b);
        a = choose_floats(a == far, none + NAN, a);
        memcpy(back + k, &a, sizeof a);
    }
    bool some = (differ[0] | differ[1] | differ[2] | differ[3]) != 0;
    for (; k < count; k++) {
        some |= there[k] < back[k] || there[k] > back[k];
        back[k] = smaller_reading(there[k], back[k]);
    }
    return some;
}

/* Both directions of the pairs in one tile; there: readings of its rows, back: of its columns. */
static bool fill_tile(struct nt_work *w, const float *there, const float *back, size_t n,
                      size_t first_row, size_t first_column)
{
    float turned[TILE][TILE + 1]; /* one more: rows of a power of two share their cache lines */
    size_t rows = n - first_row < TILE ? n - first_row : TILE;
    size_t columns = n - first_column < TILE ? n - first_column : TILE;
    bool differ = false;
    for (size_t c = 0; c < columns; c++)
        for (size_t r = 0; r < rows; r++)
            turned[r][c] = back[c * n + r];
    for (size_t r = 0; r < rows; r++)
        differ |= take_smaller(there + r * n, turned[r], columns);
    for (size_t r = 0; r < rows; r++)
        memcpy(w->d + (first_row + r) * n + first_column, turned[r], columns * sizeof(float));
    for (size_t c = 0; c < columns && first_row != first_column; c++)
        for (size_t r = 0; r < rows; r++)
            w->d[(first_column + c) * n + first_row + r] = turned[r][c];
    return differ;
}

/* Symmetric values of the hosts that answered. A tile at a time: a column of a large matrix is
 * one cache line a value. */
void nt_work_fill(struct nt_work *w, const struct nt_matrix *m)
{
    size_t n = m->n;
    for (size_t i = 0; i < n; i += TILE)
        for (size_t j = 0; j <= i; j += TILE)
            w->directions |= fill_tile(w, m->at + i * n + j, m->at + j * n + i, n, i, j);
    for (size_t i = 0; i < n; i++)
        w->d[i * n + i] = NAN;
}

static size_t known_of(const float *row, size_t n)
{
    unsigned known[8] = {0};
    size_t sum = 0, k = 0;
    for (; k + 8 <= n; k += 8)
        for (size_t l = 0; l < 8; l++)
            known[l] += row[k + l] == row[k + l];
    for (; k < n; k++)
        sum += row[k] == row[k];
    for (size_t l = 0; l < 8; l++)
        sum += known[l];
    return sum;
}

void nt_work_drop_missing(struct nt_work *w, size_t n, bool *missing)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        size_t known = known_of(w->d + i * n, n);
        missing[i] = known == 0;
        w->pairs += known;
        if (known > 0)
            w->host[kept++] = (uint32_t)i;
    }
    w->pairs /= 2;
    w->n = kept;
    w->holes = 2 * w->pairs != kept * (kept > 0 ? kept - 1 : 0);
    for (size_t a = 0; a < kept && kept < n; a++)
        for (size_t b = 0; b < kept; b++)
            w->d[a * kept + b] = w->d[(size_t)w->host[a] * n + w->host[b]];
}

/* For the latencies of links both directions are used: half a round trip is their mean. If they
 * differ by more than noise explains, one of them is an outlier, and the smaller is used. */
static void mean_of_directions(struct nt_work *w, const struct nt_matrix *m)
{
    const double APART_SDS = 6.4; /* 4.5 of a reading, sqrt(2) of a difference */
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            float there = nt_matrix_get(m, w->host[i], w->host[j]);
            float back = nt_matrix_get(m, w->host[j], w->host[i]);
            if (there == back || !is_reading(there) || !is_reading(back))
                continue;
            float apart = fabsf(there - back), mean = 0.5f * (there + back);
            if ((double)apart < APART_SDS * nt_noise_sd(&w->noise, (double)mean))
                w->d[i * w->n + j] = w->d[j * w->n + i] = mean;
        }
}

/* The standard error of a pair's only reading from its own repetitions; NaN: several readings, or
 * unknown. For one reading per direction the smaller error. */
static float own_error(const struct nt_work *w, size_t i, size_t j)
{
    float there = nt_matrix_get(w->error, w->host[i], w->host[j]);
    float back = nt_matrix_get(w->error, w->host[j], w->host[i]);
    return there >= 0 || back >= 0 ? NAN : fminf(-there, -back);
}

/* The weight of a reading relative to a reading with only the noise. */
static float weight_of(const struct nt_work *w, size_t i, size_t j)
{
    const double FAR_SDS = 2; /* smaller errors are part of the noise */
    double sd = nt_noise_sd(&w->noise, (double)w->d[i * w->n + j]), se = (double)own_error(w, i, j);
    return sd > 0 && se > FAR_SDS * sd ? (float)(sd * sd / (sd * sd + se * se)) : 1;
}

static int weigh_readings(struct nt_work *w, struct nt_err *err)
{
    size_t n = w->n, lighter = 0;
    if (w->error == NULL || n > NT_INFER_ERRORS_HOSTS)
        return 0;
    float *weight = nt_arena_array(&w->memory, n * n + 1, sizeof *weight);
    if (nt_arena_check(&w->memory, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            weight[i * n + j] = weight_of(w, i, j);
            lighter += weight[i * n + j] < 1;
        }
    w->weight = lighter > 0 ? weight : NULL;
    return 0;
}

/* ---- noise ---- */

/* Noise from the four-point condition. */

enum { QUARTETS = 8000, ENUMERATE_HOSTS = 16 };

struct gaps {
    float gap[QUARTETS], level[QUARTETS], scratch[QUARTETS];
    size_t count;
};

static void add_quartet(struct gaps *g, const float *d, size_t n, const size_t x[4])
{
    float s0 = d[x[0] * n + x[1]] + d[x[2] * n + x[3]];
    float s1 = d[x[0] * n + x[2]] + d[x[1] * n + x[3]];
    float s2 = d[x[0] * n + x[3]] + d[x[1] * n + x[2]];
    float sum = s0 + s1 + s2;
    if (sum != sum || g->count == QUARTETS)
        return;
    float high = fmaxf(s0, fmaxf(s1, s2)), low = fminf(s0, fminf(s1, s2));
    float middle = sum - high - low;
    g->gap[g->count] = high - middle;
    g->level[g->count++] = 0.25f * (high + middle);
}

static void all_quartets(struct gaps *g, const float *d, size_t n)
{
    for (size_t a = 3; a < n; a++)
        for (size_t b = 2; b < a; b++)
            for (size_t c = 1; c < b; c++)
                for (size_t e = 0; e < c; e++)
                    add_quartet(g, d, n, (size_t[]){a, b, c, e});
}

/* Half of the quartets anywhere, half inside windows of the order, where hosts are near. */
static void some_quartets(struct gaps *g, const float *d, size_t n, struct nt_rng *rng)
{
    for (size_t q = 0; q < QUARTETS; q++) {
        size_t width = n;
        if (q % 2 == 1)
            while (width > 16 && nt_rng_below(rng, 2) == 0)
                width /= 2;
        size_t first = nt_rng_below(rng, n - width + 1), x[4];
        for (size_t k = 0; k < 4; k++)
            x[k] = first + nt_rng_below(rng, width);
        bool distinct = x[0] != x[1] && x[0] != x[2] && x[0] != x[3] && x[1] != x[2] &&
                        x[1] != x[3] && x[2] != x[3];
        if (distinct)
            add_quartet(g, d, n, x);
    }
}

/* Exponent from the middle gaps of the lower and the upper half of the levels. */
static double noise_exponent(struct gaps *g)
{
    size_t m = g->count, low = 0, high = 0;
    double level[2] = {0, 0};
    memcpy(g->scratch, g->level, m * sizeof *g->scratch);
    float split = nt_stats_median(g->scratch, m);
    for (size_t k = 0; k < m; k++) {
        if (g->level[k] <= split) {
            g->scratch[low++] = g->gap[k];
            level[0] += (double)g->level[k];
        } else {
            g->scratch[m - ++high] = g->gap[k];
            level[1] += (double)g->level[k];
        }
    }
    if (high < 50 || low < 50)
        return 1;
    level[0] /= (double)low;
    level[1] /= (double)high;
    float a = nt_stats_median(g->scratch, low), b = nt_stats_median(g->scratch + low, high);
    if (!(level[1] > 1.15 * level[0]) || !(a > 0) || !(b > 0))
        return 1;
    double p = log((double)(b / a)) / log(level[1] / level[0]);
    return p < 0 ? 0 : p > 1 ? 1 : p;
}

/* For quantised readings, gaps below one step are invisible. */
static double grid_floor(struct gaps *g, double level)
{
    size_t zero = 0, some = 0;
    for (size_t k = 0; k < g->count; k++) {
        if ((double)g->gap[k] < 1e-5 * level)
            zero++;
        else
            g->scratch[some++] = g->gap[k];
    }
    if (zero * 20 < g->count || some == 0)
        return 0;
    /* medians snap to the grid and leave residuals of zero: nearly a step, not q/sqrt(12) */
    double step = (double)nt_stats_quantile(g->scratch, some, 0.1);
    /* a step of an eighth of the readings is not a timer: the readings are exact, with few
     * levels */
    return fmin(0.8 * step, 0.1 * level);
}

/* All values are multiples of the step. */
static bool is_grid(const float *value, size_t count, double step)
{
    for (size_t k = 0; k < count; k++) {
        double steps = (double)value[k] / step;
        if (fabs(steps - round(steps)) > 1e-3 + 1e-5 * steps)
            return false;
    }
    return true;
}

/* Readings of a few values near each other have a step too coarse for any gap to show: single
 * readings one step lower fit a tree as well as a switch of two hosts. The step, or 0; values that
 * are an eighth apart, or not multiples of a step, are exact readings with few levels. */
static double coarse_step(const float *d, size_t n)
{
    enum { DISTINCT = 8, READINGS = 100000 };
    float seen[DISTINCT];
    size_t distinct = 0, readings = 0;
    double step = INFINITY, level = 0;
    for (size_t i = 1; i < n && readings < READINGS; i++)
        for (size_t j = 0; j < i; j++) {
            float v = d[i * n + j];
            size_t k = 0;
            while (k < distinct && fabsf(v - seen[k]) > 1e-5f * v)
                k++;
            readings += v == v;
            if (v != v || k < distinct)
                continue;
            if (distinct == DISTINCT)
                return 0;
            for (size_t l = 0; l < distinct; l++)
                step = fmin(step, (double)fabsf(v - seen[l]));
            level = fmax(level, (double)v);
            seen[distinct++] = v;
        }
    return step < level / 8 && is_grid(seen, distinct, step) ? step : 0;
}

void nt_noise_estimate(const float *d, size_t n, const struct nt_rng *rng, struct nt_noise *noise)
{
    struct gaps g = {.count = 0};
    struct nt_rng own = *rng;
    const double prior = 0.03;
    *noise = (struct nt_noise){.power = 1, .scale = prior, .least = 1e-4};
    if (n < 4)
        return;
    if (n <= ENUMERATE_HOSTS)
        all_quartets(&g, d, n);
    else
        some_quartets(&g, d, n, &own);
    if (g.count == 0)
        return;
    double p = noise->power = noise_exponent(&g);
    memcpy(g.scratch, g.level, g.count * sizeof *g.scratch);
    double level = (double)nt_stats_median(g.scratch, g.count);
    double floor_us = fmax(1e-4 * level, grid_floor(&g, level));
    floor_us = fmax(floor_us, 0.3 * coarse_step(d, n)); /* rounding alone: 1/sqrt(12) */
    for (size_t k = 0; k < g.count; k++)
        g.scratch[k] = (float)((double)g.gap[k] / pow((double)g.level[k], p));
    /* middle of the gap in units of the sd of a pair: 0.98 behind one switch, where the three sums
     * are equal, 1.35 if one is separate; the smaller one never takes noise for structure. A
     * quartet or five hosts need the other one: the prior and their few degrees of freedom protect
     * them */
    double scale = (double)nt_stats_median(g.scratch, g.count) / (n < 6 ? 1.3 : 0.98);
    double least = floor_us / pow(level, p), guess = prior * pow(level, 1 - p);
    noise->least = floor_us / level;
    scale = scale > least ? scale : least;
    /* few hosts determine their noise poorly: the prior counts as 3 more pairs */
    double df = 0.8 * (double)n * ((double)n - 3) / 2;
    noise->scale = sqrt((df * scale * scale + 3 * guess * guess) / (df + 3));
}

/* ---- the tree of the tier model ---- */

struct cells { /* of a matrix: both directions of a pair */
    const struct nt_matrix *latency, *se;
    size_t i, j;
    bool back;
};

static void rewind_cells(void *of)
{
    struct cells *c = of;
    c->i = 0;
    c->j = 1;
    c->back = false;
}

enum { AHEAD = 16 };

static bool next_cell(void *of, struct nt_pair_value *value)
{
    struct cells *c = of;
    while (c->i + 1 < c->latency->n) {
        size_t i = c->i, j = c->j, a = c->back ? j : i, b = c->back ? i : j;
        if (c->back && j + AHEAD < c->latency->n) /* each cell back is in another row */
            __builtin_prefetch(c->latency->at + (j + AHEAD) * c->latency->n + i);
        if (c->back && ++c->j == c->latency->n)
            c->j = ++c->i + 1;
        c->back = !c->back;
        float us = nt_matrix_get(c->latency, a, b);
        if (!is_reading(us))
            continue;
        *value = (struct nt_pair_value){.a = (uint32_t)i, .b = (uint32_t)j, .us = (double)us};
        if (c->se != NULL)
            value->se_us = fabs((double)nt_matrix_get(c->se, a, b));
        return true;
    }
    return false;
}

/* Makes pairs of all readings of a matrix and their standard errors (NULL: unknown). The caller
 * frees *out with nt_pairs_destroy. */
static int tiers_readings(const struct nt_matrix *latency, const struct nt_matrix *se,
                          struct nt_pairs **out, struct nt_err *err)
{
    struct cells cells = {.latency = latency, .se = se};
    struct nt_pair_source source = {&cells, rewind_cells, next_cell, latency->n * latency->n,
                                    se != NULL};
    return nt_pairs_read((uint32_t)latency->n, &source, out, err);
}

/* The vertices of the groups. The root is a switch unless it has two links and no host: then the
 * links of the two groups below it are one. */
struct vertices {
    uint32_t root;
    uint32_t join, into; /* groups that one link connects; NT_TIERS_NONE: the root is a switch */
};

static struct vertices choose_root(const struct nt_tiers *t)
{
    uint32_t hosts = t->hosts, tops = 0, top[2] = {0};
    struct vertices v = {hosts + (uint32_t)t->groups, NT_TIERS_NONE, NT_TIERS_NONE};
    for (uint32_t g = 0; g < t->groups; g++)
        if (t->group[g].parent == NT_TIERS_NONE) {
            top[tops < 2 ? tops : 1] = g;
            tops++;
        }
    for (uint32_t h = 0; h < hosts; h++)
        tops += t->group_of[h] == NT_TIERS_NONE && !isnan(t->end_us[h]);
    if (tops == 2 && t->groups >= 2 && t->group[top[1]].parent == NT_TIERS_NONE &&
        top[0] != top[1]) {
        v.join = top[0];
        v.into = top[1];
    }
    return v;
}

static void add_link(struct nt_model *m, size_t *k, uint32_t a, uint32_t b,
                     const struct nt_tiers_group *up)
{
    struct nt_link *l = &m->link[(*k)++];
    l->a = a;
    l->b = b;
    l->latency_us = fmax(up->length_us, 1e-6);
    l->latency_se_us = up->error_us;
    l->probability = up->support;
}

static void add_links(struct nt_model *m, const struct nt_tiers *t, const struct vertices *v)
{
    uint32_t hosts = t->hosts;
    size_t k = 0;
    for (uint32_t h = 0; h < hosts; h++) {
        uint32_t g = t->group_of[h];
        struct nt_tiers_group own = {
            .length_us = t->end_us[h], .error_us = t->end_error_us[h], .support = 1};
        if (!isnan(t->end_us[h]))
            add_link(m, &k, h, g == NT_TIERS_NONE ? v->root : hosts + g, &own);
    }
    for (uint32_t g = 0; g < t->groups; g++) {
        struct nt_tiers_group own = t->group[g];
        uint32_t above = own.parent == NT_TIERS_NONE ? v->root : hosts + own.parent;
        if (g == v->into)
            continue;
        if (g == v->join) {
            above = hosts + v->into;
            own.length_us += t->group[v->into].length_us;
            own.support = fmin(own.support, t->group[v->into].support);
        }
        add_link(m, &k, hosts + g, above, &own);
    }
}

static void set_noise(struct nt_noise *noise, const struct nt_tiers *t)
{
    const double digits = 1e-4, rounding = 0.3; /* 1 / sqrt(12) */
    if (!(t->scale_us > 0))
        return;
    noise->power = t->power;
    noise->scale = t->noise_us / pow(t->scale_us, t->power);
    noise->least = fmax(digits, rounding * t->quantum_us / t->scale_us);
    noise->known = t->noise_known;
}

static int set_deciding(struct nt_model *m, const struct nt_tiers *t, struct nt_err *err)
{
    free(m->deciding_pair);
    m->deciding_pair = calloc(t->deciding + 1, sizeof *m->deciding_pair);
    if (m->deciding_pair == NULL)
        return nt_err_memory(err);
    for (; m->deciding < t->deciding; m->deciding++) {
        m->deciding_pair[m->deciding][0] = t->deciding_pair[m->deciding].a;
        m->deciding_pair[m->deciding][1] = t->deciding_pair[m->deciding].b;
    }
    return 0;
}

int nt_tiers_model(struct nt_pairs *readings, struct nt_model **out, struct nt_noise *noise,
                   double *evidence, struct nt_err *err)
{
    size_t links = 0;
    struct nt_tiers *t = NULL;
    if (nt_tiers_solve(readings, &t, err) != 0)
        return -1;
    struct vertices v = choose_root(t);
    bool joined = v.join != NT_TIERS_NONE;
    for (size_t h = 0; h < t->hosts; h++)
        links += isnan(t->end_us[h]) ? 0 : 1;
    int status =
        nt_model_create(t->hosts, t->groups + !joined, links + t->groups - joined, out, err);
    if (status == 0 && t->deciding > 0)
        status = set_deciding(*out, t, err);
    if (status == 0) {
        add_links(*out, t, &v);
        (*out)->family = t->groups == 0 ? NT_FAMILY_STAR : NT_FAMILY_TREE;
        (*out)->confidence = t->confidence;
        (*out)->shortcuts = t->hierarchy < 0.5;
        set_noise(noise, t);
        *evidence = t->evidence;
    }
    nt_tiers_destroy(t);
    return status;
}

/* ---- links that work in one direction only ---- */

/* The slower of two directions by more than this does not count (PARUS: 1 + eps_d). */
static const double SLOWER = 1.5;

/* Share of the pairs across a simplex link that are one-way; the others are outliers. */
static const double ONE_WAY = 0.8;

/* Chance that some link of a network is called simplex for pairs that are one way at random. */
static const double CHANCE = 0.02;

enum { SIMPLEX_MAX = 64 }; /* more are not explained by links */

struct across {
    size_t pairs, one_way[2]; /* link a to b, b to a */
};

struct search {
    const struct nt_matrix *latency;
    struct nt_model *model;
    struct nt_rooted_tree *rooted;
    uint32_t *channel;     /* room for a path */
    struct across *across; /* links */
    bool *turned;          /* links: the working direction is b to a */
    size_t ways, pairs;    /* not explained yet: one way, and all */
};

static bool is_usable(float v)
{
    return v > 0 && v < INFINITY;
}

/* -1, 1: only that way; 0: both ways. */
static int pair_direction(float there, float back)
{
    if (is_usable(there) != is_usable(back))
        return is_usable(there) ? 1 : -1;
    if ((double)back > SLOWER * (double)there)
        return 1;
    return (double)there > SLOWER * (double)back ? -1 : 0;
}

/* Pairs that are one way, and all; most pairs of one triangle, or with holes, are. */
static bool has_one_way_pairs(const struct nt_matrix *m)
{
    size_t ways = 0, pairs = 0;
    for (uint32_t i = 1; i < m->n; i++)
        for (uint32_t j = 0; j < i; j++) {
            float there = nt_matrix_get(m, i, j), back = nt_matrix_get(m, j, i);
            pairs += is_usable(there) || is_usable(back);
            ways += (is_usable(there) || is_usable(back)) && pair_direction(there, back) != 0;
        }
    return ways > 0 && 2 * ways < pairs;
}

/* A pair that only a known simplex link joins is explained. */
static bool is_explained(const struct search *h, size_t path)
{
    for (size_t k = 0; k < path; k++)
        if (h->model->link[h->channel[k] / 2].simplex)
            return true;
    return false;
}

/* Counts the pairs that are not explained yet, over the links that they cross. */
static void count_across(struct search *h)
{
    const struct nt_matrix *m = h->latency;
    memset(h->across, 0, h->model->links * sizeof *h->across);
    h->pairs = h->ways = 0;
    for (uint32_t i = 1; i < m->n; i++)
        for (uint32_t j = 0; j < i; j++) {
            float there = nt_matrix_get(m, i, j), back = nt_matrix_get(m, j, i);
            size_t path = is_usable(there) || is_usable(back)
                              ? nt_rooted_tree_path(h->rooted, i, j, h->channel)
                              : 0;
            if (path == 0 || is_explained(h, path))
                continue;
            int d = pair_direction(there, back);
            h->pairs++;
            h->ways += d != 0;
            for (size_t k = 0; k < path; k++) {
                struct across *x = &h->across[h->channel[k] / 2];
                x->pairs++;
                if (d != 0)
                    x->one_way[h->channel[k] % 2 ^ (d < 0)]++;
            }
        }
}

/* How much more than chance: ln of the chance that all pairs one way across the link are so by
 * themselves, at the rate of all other pairs. */
static double ln_chance(const struct search *h, const struct across *x, size_t one_way)
{
    const double SEEN = 0.5; /* of each kind, before anything is (Jeffreys 1946) */
    double others = (double)(h->pairs - x->pairs);
    double rate = ((double)(h->ways - x->one_way[0] - x->one_way[1]) + SEEN) / (others + 2 * SEEN);
    return rate < 1 ? (double)one_way * log(rate) + log(2 * (double)h->model->links) : 0;
}

/* The channel that explains most one-way pairs; UINT32_MAX: none does. */
static uint32_t worst_link(const struct search *h)
{
    uint32_t found = UINT32_MAX;
    size_t most = 0;
    for (uint32_t c = 0; c < 2 * h->model->links; c++) {
        const struct across *x = &h->across[c / 2];
        size_t n = x->one_way[c % 2];
        if (n > most && (double)n >= ONE_WAY * (double)x->pairs &&
            ln_chance(h, x, n) < log(CHANCE)) {
            found = c;
            most = n;
        }
    }
    return found;
}

/* From now on a to b is the direction that works. */
static void turn_link(struct nt_link *l)
{
    uint32_t v = l->a;
    l->a = l->b;
    l->b = v;
}

static int search_init(struct search *h, const struct nt_matrix *latency, struct nt_model *m,
                       struct nt_arena *memory, struct nt_err *err)
{
    *h = (struct search){.latency = latency, .model = m};
    if (nt_rooted_tree_create(m, &h->rooted, err) < 0)
        return -1;
    h->channel = nt_arena_array(memory, nt_rooted_tree_room(h->rooted), sizeof *h->channel);
    h->across = nt_arena_array(memory, m->links + 1, sizeof *h->across);
    h->turned = nt_arena_array(memory, m->links + 1, sizeof *h->turned);
    return nt_arena_check(memory, err);
}

/* Marks the links of a tree that are simplex in the measurements, and turns them so that a to b is
 * the working direction. A pair is one-way if the other direction was not measured, or took more
 * than 1.5 times as long and more than noise explains (PARUS, Salnikov et al.: of a channel whose
 * directions differ by more than eps_d the slower arc is removed; 0.5 as there). A link is simplex
 * if the pairs across it are one-way in the same direction and links with more pairs do not explain
 * it. It is not if hardly more of them are one-way than of all other pairs, as after the
 * measurement of one triangle of the matrix, or of random pairs. Pairs that only a simplex link
 * joins are not evidence for others.
 *
 * latency: of model->hosts. The model must be canonical; networks that are not trees are unchanged,
 * because the links that a pair crosses are uncertain. */
static int mark_simplex(const struct nt_matrix *latency, struct nt_model *model, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct search h;
    if (model->switches == 0 || !has_one_way_pairs(latency))
        return 0;
    int status = search_init(&h, latency, model, &memory, err);
    for (int k = 0; k < SIMPLEX_MAX && status == 0 && h.rooted->tree; k++) {
        count_across(&h);
        uint32_t c = worst_link(&h);
        if (c == UINT32_MAX)
            break;
        model->link[c / 2].simplex = true;
        h.turned[c / 2] = c % 2 == 1;
    }
    for (size_t k = 0; k < model->links && status == 0; k++)
        if (h.turned[k])
            turn_link(&model->link[k]);
    nt_rooted_tree_destroy(h.rooted);
    return status == 0 ? nt_model_canonicalise(model, err) : -1; /* links in their order */
}

/* ---- one path from a matrix to a model ---- */

/* The method: one path from a matrix to a model, without options. */

/* *missing: hosts, without any measurement. */
static int work_init(struct nt_work *w, const struct nt_matrix *latency, uint64_t seed,
                     bool **missing, struct nt_err *err)
{
    size_t n = latency->n;
    *w = (struct nt_work){0};
    w->host = nt_arena_array(&w->memory, n + 1, sizeof *w->host);
    w->d = nt_arena_array(&w->memory, n * n + 1, sizeof *w->d);
    *missing = nt_arena_array(&w->memory, n + 1, sizeof **missing);
    if (nt_arena_check(&w->memory, err) != 0)
        return -1;
    nt_rng_init(&w->rng, seed);
    nt_work_fill(w, latency);
    nt_work_drop_missing(w, n, *missing);
    return 0;
}

/* One host: a switch without measurements. */
static int infer_one(struct nt_model **out, struct nt_err *err)
{
    if (nt_model_create(1, 1, 1, out, err) < 0)
        return -1;
    (*out)->link[0].a = 0;
    (*out)->link[0].b = 1;
    (*out)->family = NT_FAMILY_STAR;
    (*out)->confidence = 1;
    return nt_model_canonicalise(*out, err);
}

/* Less than a quarter of the pairs fit one switch always. */
static bool is_sparse(const struct nt_work *w)
{
    return 8 * (double)w->pairs < (double)w->n * ((double)w->n - 1);
}

/* One switch, with confidence_least stated about it. Few readings of many hosts determine
 * confidence_least, and a search would take long. (sparse.h plans few readings that determine a
 * network.) */
static int infer_nothing(struct nt_work *w, size_t hosts, struct nt_model **out, struct nt_err *err)
{
    if (nt_model_create(hosts, 1, w->n, out, err) < 0)
        return -1;
    for (size_t i = 0; i < w->n; i++) {
        (*out)->link[i].a = w->host[i];
        (*out)->link[i].b = (uint32_t)hosts;
        (*out)->link[i].latency_us = 0;
    }
    (*out)->family = NT_FAMILY_UNDETERMINED;
    (*out)->confidence = 0;
    nt_noise_estimate(w->d, w->n, &w->rng, &w->noise);
    return nt_links_fit(w, *out, err);
}

/* Fits the latencies of a network with a known shape. */
static int infer_figures(struct nt_work *w, struct nt_model *model, struct nt_err *err)
{
    nt_noise_estimate(w->d, w->n, &w->rng, &w->noise);
    if (nt_links_fit(w, model, err) < 0)
        return -1;
    nt_resolution_lower(model);
    nt_confidence_limit(model);
    return 0;
}

/* Few readings of more hosts are not searched, because that takes over a second. */
enum { SEARCHED = 128 };

/* Lower confidence means undetermined, as for graphs (direct.c). */
static const double confidence_least = 0.05;

/* Tries a dragonfly if the model does not fit the readings. */
static int try_dragonfly(const struct nt_matrix *latency, struct nt_model **model,
                         struct nt_err *err)
{
    enum nt_family family = (*model)->family;
    if (family != NT_FAMILY_IRREGULAR && !(*model)->shortcuts)
        return 0;
    (*model)->family = NT_FAMILY_UNDETERMINED;
    if (nt_dragonfly_try(latency, model, err) < 0)
        return -1;
    if ((*model)->family == NT_FAMILY_UNDETERMINED)
        (*model)->family = family;
    return 0;
}

static int infer_tree(struct nt_work *w, const struct nt_matrix *latency, struct nt_pairs *readings,
                      struct nt_model **out, struct nt_err *err)
{
    double evidence;
    if (nt_tiers_model(readings, out, &w->noise, &evidence, err) < 0)
        return -1;
    if (w->directions)
        mean_of_directions(w, latency);
    if (weigh_readings(w, err) < 0 || nt_links_fit(w, *out, err) < 0)
        return -1;
    return nt_switch_graph_judge(w, readings, evidence, out, err);
}

static int infer_model(struct nt_work *w, const struct nt_matrix *latency, struct nt_model **out,
                       struct nt_err *err)
{
    struct nt_pairs *readings;
    if (is_sparse(w) && w->n > SEARCHED)
        return infer_nothing(w, latency->n, out, err);
    if (nt_additive_find(w, latency->n, out, err) < 0)
        return -1;
    if (*out != NULL)
        return infer_figures(w, *out, err);
    if (tiers_readings(latency, w->error, &readings, err) < 0)
        return -1;
    int status = infer_tree(w, latency, readings, out, err);
    nt_pairs_destroy(readings);
    if (status < 0 || try_dragonfly(latency, out, err) < 0)
        return -1;
    if (is_sparse(w) && ((*out)->switches == 1 || (*out)->confidence < confidence_least))
        (*out)->family = NT_FAMILY_UNDETERMINED;
    nt_resolution_lower(*out);
    nt_confidence_limit(*out);
    return 0;
}

int nt_infer_latency(const struct nt_matrix *latency, const struct nt_matrix *se, uint64_t seed,
                     struct nt_model **out, struct nt_err *err)
{
    size_t n = latency->n;
    if (n == 0)
        return nt_model_create(0, 0, 0, out, err);
    if (n == 1)
        return infer_one(out, err);
    struct nt_work w;
    struct nt_model *model = NULL;
    bool *missing;
    int status = work_init(&w, latency, seed, &missing, err);
    if (status == 0) {
        w.error = se != NULL && se->n == n ? se : NULL;
        status = w.n == 0 ? nt_model_create(n, 0, 0, &model, err)
                          : infer_model(&w, latency, &model, err);
    }
    if (status == 0) {
        memcpy(model->missing, missing, n * sizeof *missing);
        status = nt_model_canonicalise(model, err);
    }
    if (status == 0)
        status = mark_simplex(latency, model, err);
    if (status == 0)
        *out = model;
    else
        nt_model_destroy(model);
    nt_arena_fini(&w.memory);
    return status;
}

int nt_infer_figures(const struct nt_matrix *latency, uint64_t seed, struct nt_model *model,
                     struct nt_err *err)
{
    struct nt_work w;
    bool *missing;
    int status = work_init(&w, latency, seed, &missing, err);
    if (status == 0) {
        nt_noise_estimate(w.d, w.n, &w.rng, &w.noise);
        if (w.directions)
            mean_of_directions(&w, latency);
        status = nt_links_fit(&w, model, err);
    }
    if (status == 0)
        status = mark_simplex(latency, model, err);
    nt_arena_fini(&w.memory);
    return status;
}
