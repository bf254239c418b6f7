/* SPDX-License-Identifier: Apache-2.0 */
/* From a matrix of readings to the symmetric ones that structure is looked for in. */
#include "work.h"

#include <stdlib.h>
#include <string.h>

#include "infer.h"
#include "lanes.h"

/* The range that the importers accept; sums of squares of larger ones pass what a float holds. */
static const float MOST_US = 1e15f;

bool nt_work_usable(float v)
{
    return v > 0 && v <= MOST_US;
}

/* Both directions of a pair: for structure the smaller, for noise mostly adds. */
static float smaller_reading(float there, float back)
{
    if (!nt_work_usable(there))
        return nt_work_usable(back) ? back : NAN;
    return nt_work_usable(back) && back < there ? back : there;
}

enum { TILE = 32 };

/* Puts the smaller of both into back, as smaller() does; true when some differ. */
static bool take_smaller(const float *there, float *back, size_t count)
{
    const nt_floats none = {0}, most = none + MOST_US, far = none + INFINITY;
    nt_floats_are differ = {0};
    size_t k = 0;
    for (; k + NT_FLOATS <= count; k += NT_FLOATS) {
        nt_floats a = nt_floats_load(there + k), b = nt_floats_load(back + k);
        differ |= (a < b) | (a > b);
        a = nt_floats_choose((a > none) & (a <= most), a, far);
        b = nt_floats_choose((b > none) & (b <= most), b, far);
        a = nt_floats_choose(a < b, a, b);
        nt_floats_store(back + k, nt_floats_choose(a == far, none + NAN, a));
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

/* For figures both directions count: half a round trip is their mean. Where they differ by more
 * than noise explains, one of them is a bad reading, and the smaller stays. */
void nt_work_mean_of_directions(struct nt_work *w, const struct nt_matrix *m)
{
    const double APART_SDS = 6.4; /* 4.5 of a reading, sqrt(2) of a difference */
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            float there = nt_matrix_get(m, w->host[i], w->host[j]);
            float back = nt_matrix_get(m, w->host[j], w->host[i]);
            if (there == back || !nt_work_usable(there) || !nt_work_usable(back))
                continue;
            float apart = fabsf(there - back), mean = 0.5f * (there + back);
            if ((double)apart < APART_SDS * nt_noise_sd(&w->noise, (double)mean))
                w->d[i * w->n + j] = w->d[j * w->n + i] = mean;
        }
}

/* The standard error of a pair's only reading, by its own repeats; NaN: it has several, or none
 * says. Of a reading in each direction the smaller. */
static float own_error(const struct nt_work *w, size_t i, size_t j)
{
    float there = nt_matrix_get(w->error, w->host[i], w->host[j]);
    float back = nt_matrix_get(w->error, w->host[j], w->host[i]);
    return there >= 0 || back >= 0 ? NAN : fminf(-there, -back);
}

/* How much a reading weighs against one that has the noise only. */
static float weight_of(const struct nt_work *w, size_t i, size_t j)
{
    const double FAR_SDS = 2; /* what is less is in the noise of all */
    double sd = nt_noise_sd(&w->noise, (double)w->d[i * w->n + j]), se = (double)own_error(w, i, j);
    return sd > 0 && se > FAR_SDS * sd ? (float)(sd * sd / (sd * sd + se * se)) : 1;
}

int nt_work_weigh(struct nt_work *w, struct nt_err *err)
{
    size_t n = w->n, lighter = 0;
    if (w->error == NULL || n > NT_INFER_ERRORS_HOSTS)
        return 0;
    float *weight = malloc((n * n + 1) * sizeof *weight);
    if (weight == NULL)
        return nt_err_memory(err);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            weight[i * n + j] = weight_of(w, i, j);
            lighter += weight[i * n + j] < 1;
        }
    free(w->weight);
    w->weight = lighter > 0 ? weight : NULL;
    if (lighter == 0)
        free(weight);
    return 0;
}
