/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets and distances of groups, by alternating medians.
 *
 * Offsets relative to each other come from the pairs with every group, the common level of a
 * group's offsets from the pairs inside it. Centring rows and columns first would mix the two
 * wherever groups differ in size. */
#include "work.h"

#include <stdlib.h>
#include <string.h>

#include "lanes.h"
#include "memory.h"
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
    float *cell;   /* n */
    float *reference;
    float *relative;
    float *mean; /* 2*groups: offsets before and after */
    struct nt_weighted *weighted;
    uint32_t *was; /* groups: the same group at the last fit, or NEW */
};

#define NEW UINT32_MAX

enum { BLOCK_VALUES = 8192 };

static int scratch_init(struct scratch *s, const struct nt_work *w, struct nt_arena *memory,
                        struct nt_err *err)
{
    s->values = nt_arena_array(memory, (size_t)2 * BLOCK_VALUES + 4 * w->n, sizeof *s->values);
    s->cell = nt_arena_array(memory, w->n + 1, sizeof *s->cell);
    s->reference = nt_arena_array(memory, w->groups + 1, sizeof *s->reference);
    s->relative = nt_arena_array(memory, w->n + 1, sizeof *s->relative);
    s->mean = nt_arena_array(memory, 2 * w->groups + 1, sizeof *s->mean);
    s->weighted = nt_arena_array(memory, w->groups + 1, sizeof *s->weighted);
    s->was = nt_arena_array(memory, w->groups + 1, sizeof *s->was);
    return nt_arena_check(memory, err);
}

/* The known ones of d(i,k)-offset(k) of a row over the members of a group. Returns how many. */
static size_t take_cell(const float *row, const float *offset, const uint32_t *member, size_t size,
                        bool all, float *out)
{
    size_t first = member[0], count = 0, k = 0;
    if (all && member[size - 1] - first + 1 == size) { /* one after the other, as in linkage */
        for (; k + NT_FLOATS <= size; k += NT_FLOATS)
            nt_floats_store(out + k,
                            nt_floats_load(row + first + k) - nt_floats_load(offset + first + k));
        count = k;
    }
    for (; k < size; k++) {
        float v = row[member[k]] - offset[member[k]];
        out[count] = v;
        count += v == v;
    }
    return count;
}

/* Middle of a few of the values. */
static float rough_middle(const float *cell, size_t count, float *values)
{
    enum { FEW = 9 };
    size_t skip = (count + FEW - 1) / FEW, taken = 0;
    for (size_t k = 0; k < count; k += skip)
        values[taken++] = cell[k];
    return nt_stats_median(values, taken);
}

/* Mean distance of the values from middle, each clipped to reach. */
static float clipped_shift(const float *cell, size_t count, float middle, float reach)
{
    const nt_floats low = {-reach, -reach, -reach, -reach}, high = -low;
    nt_floats sum = {0};
    size_t k = 0;
    for (; k + NT_FLOATS <= count; k += NT_FLOATS)
        sum += nt_floats_clip(nt_floats_load(cell + k) - middle, low, high);
    float total = nt_floats_sum(sum);
    for (; k < count; k++) {
        float v = cell[k] - middle;
        total += v > reach ? reach : v < -reach ? -reach : v;
    }
    return total / (float)count;
}

/* Mean of the values, each clipped to 2.5 sd around a rough middle: nearly as robust as a median,
 * nearly as precise as a mean, and much cheaper than a median of all. guess: serves as middle
 * unless the values are elsewhere, or NaN. offset: of the far end, for the level of the noise. */
static float robust_mean(const float *cell, size_t count, float guess, float offset,
                         const struct nt_noise *noise, float *values)
{
    enum { ROBUST_LEAST = 5 };
    bool guessed = guess == guess;
    if (count < ROBUST_LEAST)
        return rough_middle(cell, count, values);
    float middle = guessed ? guess : rough_middle(cell, count, values);
    float level = middle + offset, power = (float)noise->power;
    float reach = 2.5f * (float)noise->scale *
                  (power == 1 || !(level > 0) ? fabsf(level) : powf(level, power));
    float shift = clipped_shift(cell, count, middle, reach);
    if (guessed && !(fabsf(shift) < 0.3f * reach)) {
        middle = rough_middle(cell, count, values);
        shift = clipped_shift(cell, count, middle, reach);
    }
    return middle + shift;
}

/* First guesses are the profiles of a host of the same group, then those of the pass before. */
static void fit_profiles(struct nt_work *w, bool again, struct scratch *s)
{
    size_t n = w->n, groups = w->groups;
    for (size_t at = 0; at < n; at++) {
        size_t i = w->member[at], own = w->group[i];
        float *profile = w->profile + i * groups;
        const float *guess = again                ? profile
                             : at > w->start[own] ? w->profile + w->member[at - 1] * groups
                                                  : NULL;
        for (size_t g = 0; g < groups; g++) {
            const uint32_t *member = w->member + w->start[g];
            if (s->was[g] != NEW)
                continue;
            size_t count = take_cell(w->d + i * n, w->offset, member, nt_work_size(w, g),
                                     g != own && !w->holes, s->cell);
            profile[g] = robust_mean(s->cell, count, guess != NULL ? guess[g] : NAN,
                                     w->offset[member[0]], &w->noise, s->values);
        }
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

/* Which groups have the same members as at the last fit. */
static void find_kept(const struct nt_work *w, struct scratch *s, uint32_t *size)
{
    memset(size, 0, (w->fitted_groups + 1) * sizeof *size);
    for (size_t i = 0; i < w->n && w->fitted_groups > 0; i++)
        size[w->fitted[i]]++;
    for (size_t g = 0; g < w->groups; g++) {
        s->was[g] = NEW;
        if (w->fitted_groups == 0 || w->n <= NT_WORK_FEW)
            continue;
        uint32_t was = w->fitted[w->member[w->start[g]]];
        bool same = size[was] == nt_work_size(w, g);
        for (size_t k = w->start[g]; k < w->start[g + 1]; k++)
            same = same && w->fitted[w->member[k]] == was;
        s->was[g] = same ? was : NEW;
    }
}

/* Room for the present groups, with what is known of those that are the same. */
static int resize_tables(struct nt_work *w, const struct scratch *s, struct nt_err *err)
{
    size_t groups = w->groups, before = w->fitted_groups;
    float *t = malloc((groups * groups + 1) * sizeof *t);
    float *profile = malloc((w->n * groups + 1) * sizeof *profile);
    float *sd = realloc(w->sd, (groups * groups + 1) * sizeof *sd);
    w->sd = sd != NULL ? sd : w->sd;
    bool *weak = realloc(w->weak, groups + 1);
    w->weak = weak != NULL ? weak : w->weak;
    if (t == NULL || profile == NULL || sd == NULL || weak == NULL) {
        free(t);
        free(profile);
        return nt_err_memory(err);
    }
    for (size_t a = 0; a < groups; a++)
        for (size_t b = 0; b < groups; b++)
            if (s->was[a] != NEW && s->was[b] != NEW)
                t[a * groups + b] = w->t[s->was[a] * before + s->was[b]];
    for (size_t i = 0; i < w->n; i++)
        for (size_t g = 0; g < groups; g++)
            if (s->was[g] != NEW)
                profile[i * groups + g] = w->profile[i * before + s->was[g]];
    free(w->t);
    free(w->profile);
    w->t = t;
    w->profile = profile;
    w->fitted_groups = groups;
    memcpy(w->fitted, w->group, w->n * sizeof *w->fitted);
    return 0;
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

/* Values of groups that are the same are left as they are. */
static void fit_groups(struct nt_work *w, int passes, struct scratch *s)
{
    size_t groups = w->groups;
    for (int pass = 0; pass < passes; pass++) {
        fit_profiles(w, pass > 0, s);
        mean_offsets(w, s->mean);
        for (size_t g = 0; g < groups; g++)
            if (s->was[g] == NEW)
                fit_offsets(w, g, pass == 0, s);
        mean_offsets(w, s->mean + groups);
        for (size_t g = 0; g < groups; g++)
            s->mean[g] = s->was[g] == NEW ? s->mean[groups + g] - s->mean[g] : 0;
        for (size_t i = 0; i < w->n; i++) /* where the next pass will find them */
            for (size_t g = 0; g < groups; g++)
                w->profile[i * groups + g] -= s->mean[g];
    }
    fit_profiles(w, passes > 0, s);
    for (size_t a = 0; a < groups; a++) {
        w->t[a * groups + a] = 0;
        for (size_t b = 0; b < a; b++)
            if (s->was[a] == NEW || s->was[b] == NEW)
                w->t[a * groups + b] = w->t[b * groups + a] = fit_pair(w, a, b, s->values);
    }
    fit_noise(w);
}

int nt_groups_fit(struct nt_work *w, int passes, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct scratch s;
    uint32_t *size = nt_arena_array(&memory, w->n + 1, sizeof *size);
    if (scratch_init(&s, w, &memory, err) < 0)
        return -1;
    find_kept(w, &s, size);
    if (resize_tables(w, &s, err) < 0)
        return -1;
    fit_groups(w, passes, &s);
    return 0;
}

/* Residuals of the pairs inside groups, or of those between: their sd, and their mean level. */
struct spread {
    double sd, level, count;
};

/* Adds a pair; values that are not known compare false. */
static void spread_add(struct spread *s, const struct nt_work *w, size_t i, size_t j, float *values)
{
    float p = nt_work_predict(w, i, j), r = fabsf(w->d[i * w->n + j] - p);
    if (r != r)
        return;
    values[(size_t)s->count] = r;
    s->level += (double)p;
    s->count++;
}

static struct spread spread_of(const struct nt_work *w, bool inside, float *values, size_t capacity)
{
    struct spread s = {0, 0, 0};
    size_t groups = 0, pairs = 0;
    for (size_t g = 0; g < w->groups; g++) {
        groups += nt_work_size(w, g) > 2;
        pairs += nt_work_size(w, g) * (nt_work_size(w, g) - 1) / 2;
    }
    if (!inside)
        pairs = w->n * (w->n - 1) / 2 - pairs;
    for (size_t i = 1; i < w->n && s.count < (double)capacity; i += pairs / capacity + 1) {
        size_t own = w->group[i];
        if (inside && nt_work_size(w, own) < 3)
            continue;
        if (inside)
            for (size_t k = w->start[own]; w->member[k] < i && s.count < (double)capacity; k++)
                spread_add(&s, w, i, w->member[k], values);
        else
            for (size_t j = 0; j < i && s.count < (double)capacity; j++)
                if (w->group[j] != own)
                    spread_add(&s, w, i, j, values);
    }
    s.level /= s.count;
    /* inside a group one level is fitted, and its hosts' offsets in part */
    double fitted = inside ? (double)groups + 0.3 * (double)w->n : 0;
    double left = fmax(s.count - fitted, 0.25 * s.count);
    s.sd =
        NT_SD_OF_MEDIAN * (double)nt_stats_median(values, (size_t)s.count) * sqrt(s.count / left);
    return s;
}

/* How noise grows with the level: quartets hardly tell, for their two largest sums hold the long
 * pairs; residuals inside groups and between them do. */
static int fit_power(struct nt_work *w, struct nt_err *err)
{
    enum { VALUES = 15000 };
    NT_SCOPED struct nt_arena memory = {0};
    float *values = nt_arena_array(&memory, VALUES + 1, sizeof *values);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    struct spread in = spread_of(w, true, values, VALUES);
    struct spread out = spread_of(w, false, values, VALUES);
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
    enum { RESIDUALS = 20000 };
    size_t pairs = w->n * (w->n - 1) / 2, skip = pairs / RESIDUALS + 1, taken = 0, count = 0;
    NT_SCOPED struct nt_arena memory = {0};
    float *r = nt_arena_array(&memory, RESIDUALS + 2, sizeof *r);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (fit_power(w, err) < 0)
        return -1;
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
        double ratio = NT_SD_OF_MEDIAN * (double)nt_stats_median(r, count);
        double square = ratio * ratio * known / (known - free_values);
        /* a median of absolutes is worth 0.37 of the values; few of them only shift what was
         * known before */
        double df = 0.37 * (known - free_values), before = 8;
        double scale = sqrt((df * square + before) / (df + before));
        if (scale > 1 || sharpen)
            w->noise.scale = fmax(w->noise.scale * fmax(scale, 0.05), w->noise.least);
        fit_noise(w);
    }
    return 0;
}
