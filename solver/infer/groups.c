/* Offsets and distances of groups, by alternating medians.
 *
 * Offsets relative to each other come from the pairs with every group, the common level of a
 * group's offsets from the pairs inside it. Centring rows and columns first would mix the two
 * wherever groups differ in size. */
#include "work.h"

#include <stdlib.h>
#include <string.h>

#include "stats.h"

void nt_groups_index(struct nt_work *w)
{
    size_t n = w->n, groups = 0;
    uint32_t *rename = w->member;      /* free until it is filled below */
    for (size_t i = 0; i < 2 * n; i++) /* numbers may reach 2n before they are made dense */
        rename[i] = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        if (rename[w->group[i]] == UINT32_MAX)
            rename[w->group[i]] = (uint32_t)groups++;
        w->group[i] = rename[w->group[i]];
    }
    w->groups = groups;
    memset(w->start, 0, (n + 1) * sizeof *w->start);
    for (size_t i = 0; i < n; i++)
        w->start[w->group[i] + 1]++;
    for (size_t g = 0; g < groups; g++)
        w->start[g + 1] += w->start[g];
    for (size_t i = 0; i < n; i++)
        w->member[w->start[w->group[i]]++] = (uint32_t)i;
    for (size_t g = groups; g > 0; g--)
        w->start[g] = w->start[g - 1];
    w->start[0] = 0;
}

struct scratch {
    float *values; /* as many as pairs are taken of one block */
    float *reference;
    float *relative;
    float *mean; /* 2*groups: offsets before and after */
    struct nt_weighted *weighted;
};

enum { BLOCK_VALUES = 8192 };

static int scratch_init(struct scratch *s, const struct nt_work *w, struct nt_err *err)
{
    s->values = malloc((2 * BLOCK_VALUES + 4 * w->n) * sizeof *s->values);
    s->reference = malloc((w->groups + 1) * sizeof *s->reference);
    s->relative = malloc((w->n + 1) * sizeof *s->relative);
    s->mean = malloc((2 * w->groups + 1) * sizeof *s->mean);
    s->weighted = malloc((w->groups + 1) * sizeof *s->weighted);
    if (s->values && s->reference && s->relative && s->mean && s->weighted)
        return 0;
    return nt_err_set(err, NT_ERR_SYSTEM, "no memory to fit %zu groups", w->groups);
}

static void scratch_fini(struct scratch *s)
{
    free(s->values);
    free(s->reference);
    free(s->relative);
    free(s->mean);
    free(s->weighted);
}

/* Values d(i,k)-offset(k) of a row over the members of a group. */
struct cell {
    const float *row, *offset;
    const uint32_t *member;
    size_t size;
};

/* Middle of a few of the values, or of all when a few are not known. */
static float rough_middle(const struct cell *c, float *values)
{
    enum { FEW = 9 };
    size_t skip = (c->size + FEW - 1) / FEW, count = 0;
    for (size_t k = 0; k < c->size; k += skip) {
        float v = c->row[c->member[k]] - c->offset[c->member[k]];
        if (v == v)
            values[count++] = v;
    }
    if (skip > 1 && count < FEW / 2) {
        count = 0;
        for (size_t k = 0; k < c->size; k++) {
            float v = c->row[c->member[k]] - c->offset[c->member[k]];
            if (v == v)
                values[count++] = v;
        }
    }
    return nt_stats_median(values, count);
}

/* Mean distance of the values from middle, each pulled in to reach. */
static float clipped_shift(const struct cell *c, float middle, float reach)
{
    float low = middle - reach, high = middle + reach, sum = 0;
    unsigned count = 0;
    for (size_t k = 0; k < c->size; k++) {
        float v = c->row[c->member[k]] - c->offset[c->member[k]];
        bool known = v == v;
        v = v < low ? low : v;
        v = v > high ? high : v;
        sum += known ? v - middle : 0;
        count += known;
    }
    return sum / (float)count;
}

/* Mean of the values, each pulled in to 2.5 sd around a rough middle: nearly as robust as a
 * median, nearly as precise as a mean, and much cheaper than a median of all. before: the value
 * of the pass before, or NaN; it serves as middle unless the values have moved away from it. */
static float robust_mean(const struct cell *c, float before, const struct nt_noise *noise,
                         float *values)
{
    bool small = c->size < 5, again = before == before && !small;
    float middle = again ? before : rough_middle(c, values);
    if (middle != middle || small)
        return middle;
    double level = (double)(middle + c->offset[c->member[0]]);
    float reach =
        (float)(2.5 * (noise->power == 1 ? noise->scale * level : nt_noise_sd(noise, level)));
    float shift = clipped_shift(c, middle, reach);
    if (again && !(fabsf(shift) < 0.3f * reach)) {
        middle = rough_middle(c, values);
        shift = clipped_shift(c, middle, reach);
    }
    return middle + shift;
}

static void fit_profiles(struct nt_work *w, bool again, float *values)
{
    size_t n = w->n;
    for (size_t i = 0; i < n; i++)
        for (size_t g = 0; g < w->groups; g++) {
            struct cell c = {w->d + i * n, w->offset, w->member + w->start[g], nt_work_size(w, g)};
            float *profile = &w->profile[i * w->groups + g];
            *profile = robust_mean(&c, again ? *profile : NAN, &w->noise, values);
        }
}

/* Offsets of the members of g relative to each other. */
static void fit_relative(struct nt_work *w, size_t g, struct scratch *s)
{
    size_t groups = w->groups, size = nt_work_size(w, g);
    const uint32_t *member = w->member + w->start[g];
    for (size_t q = 0; q < groups; q++) {
        size_t count = 0;
        for (size_t k = 0; k < size; k++) {
            float v = w->profile[member[k] * groups + q];
            if (v == v)
                s->values[count++] = v;
        }
        s->reference[q] = nt_stats_median(s->values, count);
    }
    for (size_t k = 0; k < size; k++) {
        size_t count = 0;
        for (size_t q = 0; q < groups; q++) {
            float v = w->profile[member[k] * groups + q] - s->reference[q];
            /* a pair of hosts says nothing about which of the two is longer */
            if (v != v || (q == g && size == 2))
                continue;
            float weight = (float)(nt_work_size(w, q) - (q == g));
            s->weighted[count++] = (struct nt_weighted){v, weight};
        }
        s->relative[k] = count > 0 ? nt_stats_weighted_median(s->weighted, count) : 0;
    }
}

static void fit_offsets(struct nt_work *w, size_t g, bool first, struct scratch *s)
{
    size_t size = nt_work_size(w, g), count = 0, taken = 0;
    const uint32_t *member = w->member + w->start[g];
    if (size == 1) {
        w->offset[member[0]] = 0;
        return;
    }
    fit_relative(w, g, s);
    size_t skip = size * (size - 1) / 2 / BLOCK_VALUES + 1;
    for (size_t k = 0; k < size; k++) {
        const float *row = w->d + member[k] * w->n;
        for (size_t l = 0; l < k; l++, taken++) {
            float v = row[member[l]] - s->relative[k] - s->relative[l];
            if (taken % skip == 0 && v == v)
                s->values[count++] = v;
        }
    }
    float level = count > 0 ? 0.5f * nt_stats_median(s->values, count) : 0;
    for (size_t k = 0; k < size; k++) {
        float *offset = &w->offset[member[k]];
        float now = level + s->relative[k];
        *offset = first ? now : 0.5f * (*offset + now); /* damped: values swing otherwise */
    }
}

/* Distance of two groups: the middle over the hosts of the larger, whose profiles are means over
 * the smaller. */
static float fit_pair(const struct nt_work *w, size_t a, size_t b, float *values)
{
    size_t count = 0;
    if (nt_work_size(w, a) < nt_work_size(w, b)) {
        size_t swap = a;
        a = b;
        b = swap;
    }
    bool few = nt_work_size(w, b) < 5; /* a mean over so few would not be robust */
    for (size_t k = w->start[a]; k < w->start[a + 1]; k++) {
        uint32_t i = w->member[k];
        float v = w->profile[i * w->groups + b] - w->offset[i];
        if (v == v && !few)
            values[count++] = v;
        for (size_t l = w->start[b]; l < w->start[b + 1] && few; l++) {
            v = w->d[i * w->n + w->member[l]] - w->offset[i] - w->offset[w->member[l]];
            if (v == v)
                values[count++] = v;
        }
    }
    return nt_stats_median(values, count);
}

static int resize(struct nt_work *w, struct nt_err *err)
{
    float *t = realloc(w->t, (w->groups * w->groups + 1) * sizeof *t);
    if (t != NULL)
        w->t = t;
    float *sd = realloc(w->sd, (w->groups * w->groups + 1) * sizeof *sd);
    if (sd != NULL)
        w->sd = sd;
    bool *weak = realloc(w->weak, w->groups + 1);
    if (weak != NULL)
        w->weak = weak;
    float *profile = realloc(w->profile, (w->n * w->groups + 1) * sizeof *profile);
    if (profile != NULL)
        w->profile = profile;
    if (t != NULL && sd != NULL && weak != NULL && profile != NULL)
        return 0;
    return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu groups", w->groups);
}

/* The noise of one pair of each two groups, for the tests that follow. */
static void fit_noise(struct nt_work *w)
{
    for (size_t a = 0; a < w->groups; a++)
        for (size_t b = 0; b <= a; b++) {
            float level = w->t[a * w->groups + b] + w->offset[w->member[w->start[a]]] +
                          w->offset[w->member[w->start[b]]];
            float sd = (float)nt_noise_sd(&w->noise, (double)level);
            w->sd[a * w->groups + b] = w->sd[b * w->groups + a] = sd;
        }
}

static void mean_offsets(const struct nt_work *w, float *mean)
{
    for (size_t g = 0; g < w->groups; g++) {
        float sum = 0;
        for (size_t k = w->start[g]; k < w->start[g + 1]; k++)
            sum += w->offset[w->member[k]];
        mean[g] = sum / (float)nt_work_size(w, g);
    }
}

int nt_groups_fit(struct nt_work *w, int passes, struct nt_err *err)
{
    struct scratch s;
    if (resize(w, err) < 0)
        return -1;
    if (scratch_init(&s, w, err) < 0) {
        scratch_fini(&s);
        return -1;
    }
    for (int pass = 0; pass < passes; pass++) {
        fit_profiles(w, pass > 0, s.values);
        mean_offsets(w, s.mean);
        for (size_t g = 0; g < w->groups; g++)
            fit_offsets(w, g, pass == 0, &s);
        mean_offsets(w, s.mean + w->groups);
        for (size_t i = 0; i < w->n; i++) /* where the next pass will find them */
            for (size_t g = 0; g < w->groups; g++)
                w->profile[i * w->groups + g] -= s.mean[w->groups + g] - s.mean[g];
    }
    fit_profiles(w, passes > 0, s.values);
    for (size_t a = 0; a < w->groups; a++) {
        w->t[a * w->groups + a] = 0;
        for (size_t b = 0; b < a; b++) {
            float t = fit_pair(w, a, b, s.values);
            w->t[a * w->groups + b] = w->t[b * w->groups + a] = t;
        }
    }
    scratch_fini(&s);
    fit_noise(w);
    return 0;
}

/* Residuals of the pairs inside groups, or of those between: their sd, and their mean level. */
struct spread {
    double sd, level, count;
};

static struct spread spread_of(const struct nt_work *w, bool inside, float *values, size_t room)
{
    struct spread s = {0, 0, 0};
    size_t count = 0, groups = 0;
    for (size_t g = 0; g < w->groups; g++)
        groups += nt_work_size(w, g) > 2;
    for (size_t i = 1; i < w->n && count < room; i++)
        for (size_t j = 0; j < i && count < room; j++) {
            bool same = w->group[i] == w->group[j];
            float p = nt_work_predict(w, i, j), r = fabsf(w->d[i * w->n + j] - p);
            if (same != inside || r != r || (same && nt_work_size(w, w->group[i]) < 3))
                continue;
            values[count++] = r;
            s.level += (double)p;
        }
    s.count = (double)count;
    s.level /= s.count;
    /* inside a group one level is fitted, and its hosts' offsets in part */
    double fitted = inside ? (double)groups + 0.3 * (double)w->n : 0;
    double left = fmax(s.count - fitted, 0.25 * s.count);
    s.sd = 1.4826 * (double)nt_stats_median(values, count) * sqrt(s.count / left);
    return s;
}

/* How noise grows with the level: quartets hardly tell, for their two largest sums hold the long
 * pairs; residuals inside groups and between them do. */
static int fit_power(struct nt_work *w, struct nt_err *err)
{
    enum { VALUES = 40000 };
    float *values = malloc((VALUES + 1) * sizeof *values);
    if (values == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %d residuals", (int)VALUES);
    struct spread in = spread_of(w, true, values, VALUES);
    struct spread out = spread_of(w, false, values, VALUES);
    free(values);
    if (in.count < 10 || out.count < 10 || !(in.sd > 0) || !(out.sd > 0) ||
        !(out.level > 1.15 * in.level))
        return 0;
    double power = log(out.sd / in.sd) / log(out.level / in.level);
    double level = sqrt(in.level * out.level), sd = nt_noise_sd(&w->noise, level);
    double least = w->noise.least * pow(level, w->noise.power);
    power = power < 0 ? 0 : power > 1 ? 1 : power;
    w->noise.power = power;
    w->noise.scale = sd / pow(level, power);
    w->noise.least = least / pow(level, power);
    fit_noise(w);
    return 0;
}

int nt_groups_noise(struct nt_work *w, bool sharpen, struct nt_err *err)
{
    enum { RESIDUALS = 60000 };
    size_t pairs = w->n * (w->n - 1) / 2, skip = pairs / RESIDUALS + 1, taken = 0, count = 0;
    float *r = malloc((RESIDUALS + 2) * sizeof *r);
    if (r == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for the residuals of %zu pairs", pairs);
    if (fit_power(w, err) < 0) {
        free(r);
        return -1;
    }
    for (size_t i = 1; i < w->n; i++) {
        size_t j = (skip - taken % skip) % skip;
        for (; j < i && count < RESIDUALS; j += skip) {
            float p = nt_work_predict(w, i, j), v = w->d[i * w->n + j];
            float x = fabsf(v - p) / w->sd[w->group[i] * w->groups + w->group[j]];
            if (x == x)
                r[count++] = x;
        }
        taken += i;
    }
    double known = (double)w->pairs;
    double free_values = (double)w->n + (double)w->groups * ((double)w->groups - 1) / 2;
    if (count > 10 && known > 1.5 * free_values) {
        double ratio = 1.4826 * (double)nt_stats_median(r, count);
        double square = ratio * ratio * known / (known - free_values);
        /* a median of absolutes is worth 0.37 of the values; few of them only shift what was
         * known before */
        double df = 0.37 * (known - free_values), before = 8;
        double scale = sqrt((df * square + before) / (df + before));
        if (scale > 1 || sharpen)
            w->noise.scale = fmax(w->noise.scale * fmax(scale, 0.05), w->noise.least);
        fit_noise(w);
    }
    free(r);
    return 0;
}
