/* SPDX-License-Identifier: Apache-2.0 */
/* Lone readings that are far too low make linkage join hosts of different switches first, and what
 * is joined stays joined. Such a reading is alone: each of the two hosts is farther from the
 * other's neighbours than those neighbours are from each other. */
#include "work.h"

#include "lanes.h"
#include "memory.h"
#include "stats.h"

enum { NEAR = 8, NEAR_LEAST = 3 };

/* The nearest hosts of one, nearest first. */
struct near {
    uint32_t host[NEAR];
    float d[NEAR];
    size_t count;
};

static void near_add(struct near *near, uint32_t host, float d)
{
    size_t p = near->count < NEAR ? near->count++ : NEAR - 1;
    for (; p > 0 && near->d[p - 1] > d; p--) {
        near->d[p] = near->d[p - 1];
        near->host[p] = near->host[p - 1];
    }
    near->d[p] = d;
    near->host[p] = host;
}

static void find_near(const float *row, size_t n, struct near *near)
{
    float most = INFINITY;
    size_t k = 0;
    near->count = 0;
    for (; k < n; k++) {
        if (near->count == NEAR) /* few readings pass: look at several at a time */
            for (; k + NT_FLOATS <= n; k += NT_FLOATS) {
                nt_floats_are less = nt_floats_load(row + k) < most;
                if ((less[0] | less[1] | less[2] | less[3]) != 0)
                    break;
            }
        for (size_t end = k + NT_FLOATS < n ? k + NT_FLOATS : n; k < end; k++)
            if (row[k] < most || (near->count < NEAR && row[k] == row[k])) {
                near_add(near, (uint32_t)k, row[k]);
                most = near->count == NEAR ? near->d[NEAR - 1] : INFINITY;
            }
        k--;
    }
}

/* Middle distance from a host, whose readings are row, to the neighbours of another, without
 * `without`; NaN when too few are known. */
static float to_neighbours(const float *row, const struct near *near, uint32_t without)
{
    float values[NEAR];
    size_t count = 0;
    for (size_t k = 0; k < near->count; k++) {
        float v = row[near->host[k]];
        if (near->host[k] != without && v == v)
            values[count++] = v;
    }
    return count < NEAR_LEAST ? NAN : nt_stats_median(values, count);
}

/* The distance that the neighbours of i and j make expect, or NaN when v agrees with them. */
static float expected_reading(const struct nt_work *w, const struct near *near, uint32_t i,
                              uint32_t j, float v)
{
    const float *row_i = w->d + i * w->n, *row_j = w->d + j * w->n;
    float own_i = to_neighbours(row_i, &near[i], j), own_j = to_neighbours(row_j, &near[j], i);
    if (!(v < own_i) && !(v < own_j))
        return NAN;
    float far_i = to_neighbours(row_i, &near[j], j), far_j = to_neighbours(row_j, &near[i], i);
    float sd = (float)nt_noise_sd(&w->noise, (double)(0.5f * (far_i + far_j)));
    float least = far_i < far_j ? far_i : far_j;
    bool apart = far_i - own_i + (far_j - own_j) > 5 * sd;
    return apart && v < least - 4 * sd ? least : NAN;
}

int nt_impute(const struct nt_work *w, float *d, size_t stride, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct near *near = nt_arena_array(&memory, w->n + 1, sizeof *near);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t i = 0; i < w->n; i++)
        find_near(w->d + i * w->n, w->n, &near[i]);
    for (uint32_t i = 0; i < w->n; i++)
        for (size_t k = 0; k < near[i].count; k++) {
            uint32_t j = near[i].host[k];
            float v = expected_reading(w, near, i, j, near[i].d[k]);
            if (v == v)
                d[i * stride + j] = d[j * stride + i] = v;
        }
    return 0;
}
