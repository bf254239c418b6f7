/* SPDX-License-Identifier: Apache-2.0 */
#include "segments.h"

#include <math.h>
#include <stdbool.h>

#include "memory.h"

/* ---- one line ---- */
struct sums {
    double w, x, y; /* weight, and the weighted means */
    double xx, xy, yy;
};

static struct sums add_up(const struct nt_point *p, size_t n, double at)
{
    struct sums s = {0};
    for (size_t i = 0; i < n; i++) {
        double w = 1 / (p[i].sd * p[i].sd);
        s.w += w;
        s.x += w * (p[i].x - at);
        s.y += w * p[i].y;
    }
    s.x /= s.w;
    s.y /= s.w;
    /* about the means: sizes span six orders of magnitude */
    for (size_t i = 0; i < n; i++) {
        double w = 1 / (p[i].sd * p[i].sd), dx = p[i].x - at - s.x, dy = p[i].y - s.y;
        s.xx += w * dx * dx;
        s.xy += w * dx * dy;
        s.yy += w * dy * dy;
    }
    return s;
}

void nt_line_fit(const struct nt_point *point, size_t count, double at, struct nt_line *out)
{
    struct sums s = add_up(point, count, at);
    bool flat = !(s.xx > 0) || s.xy <= 0;
    double slope = flat ? 0 : s.xy / s.xx, squares = 0;
    for (size_t i = 0; i < count; i++) {
        double off = (point[i].y - s.y - slope * (point[i].x - at - s.x)) / point[i].sd;
        squares += off * off;
    }
    size_t free = count > 2 ? count - 2 : 0;
    double scale = free > 0 ? fmax(1, squares / (double)free) : 1;
    double slope_var = s.xx > 0 ? scale / s.xx : 0;
    *out = (struct nt_line){.count = count,
                            .at = at,
                            .level = s.y - slope * s.x,
                            .slope = slope,
                            .level_se = sqrt(scale / s.w + (flat ? 0 : slope_var * s.x * s.x)),
                            .slope_se = sqrt(slope_var),
                            .r2 = s.yy > 0 ? fmax(0, 1 - squares / s.yy) : 1,
                            .squares = squares};
}

/* ---- several ---- */
struct search {
    const struct nt_point *point;
    size_t n, least, most;
    double at;
    double *cost;  /* n * n: squares of the line over i..j */
    double *best;  /* (most + 1) * (n + 1): of the first j points in k pieces */
    size_t *begin; /* as best: where the last of these pieces begins */
};

static double *segment_cost(const struct search *s, size_t i, size_t j)
{
    return &s->cost[i * s->n + j];
}

static void price_all_lines(const struct search *s)
{
    struct nt_line line;
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = i + s->least - 1; j < s->n; j++) {
            nt_line_fit(s->point + i, j - i + 1, s->at, &line);
            *segment_cost(s, i, j) = line.squares;
        }
}

static void divide_points(const struct search *s)
{
    size_t width = s->n + 1;
    for (size_t k = 0; k <= s->most; k++)
        for (size_t j = 0; j <= s->n; j++)
            s->best[k * width + j] = k == 0 && j == 0 ? 0 : INFINITY;
    for (size_t k = 1; k <= s->most; k++)
        for (size_t j = s->least; j <= s->n; j++)
            for (size_t i = 0; i + s->least <= j; i++) {
                double total = s->best[(k - 1) * width + i] + *segment_cost(s, i, j - 1);
                if (total < s->best[k * width + j]) {
                    s->best[k * width + j] = total;
                    s->begin[k * width + j] = i;
                }
            }
}

/* A piece has two figures and a place where it begins. */
static size_t choose_count(const struct search *s)
{
    double price = 3 * log((double)s->n) + 4, least = INFINITY;
    size_t chosen = 1;
    for (size_t k = 1; k <= s->most; k++) {
        double total = s->best[k * (s->n + 1) + s->n] + price * (double)k;
        if (total < least) {
            least = total;
            chosen = k;
        }
    }
    return chosen;
}

static void take_segments(const struct search *s, size_t count, struct nt_line *out)
{
    size_t end = s->n;
    for (size_t k = count; k > 0; k--) {
        size_t i = s->begin[k * (s->n + 1) + end];
        nt_line_fit(s->point + i, end - i, s->at, &out[k - 1]);
        out[k - 1].first = i;
        end = i;
    }
}

int nt_segments_fit(const struct nt_point *point, size_t n, const struct nt_segments_limits *limits,
                    struct nt_line *out, size_t *lines, struct nt_err *err)
{
    size_t least = limits->least, most = limits->most;
    if (n == 0 || n > NT_SEGMENTS_POINTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "a curve of %zu points: expected 1 to %d", n,
                          (int)NT_SEGMENTS_POINTS_MAX);
    NT_SCOPED struct nt_arena memory = {0};
    struct search s = {.point = point, .n = n, .at = limits->at};
    s.least = least < 1 ? 1 : least < n ? least : n;
    s.most = most < 1 ? 1 : most < NT_SEGMENTS_MAX ? most : NT_SEGMENTS_MAX;
    s.cost = nt_arena_array(&memory, n * n, sizeof *s.cost);
    s.best = nt_arena_array(&memory, (s.most + 1) * (n + 1), sizeof *s.best);
    s.begin = nt_arena_array(&memory, (s.most + 1) * (n + 1), sizeof *s.begin);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    price_all_lines(&s);
    divide_points(&s);
    *lines = choose_count(&s);
    take_segments(&s, *lines, out);
    return 0;
}
