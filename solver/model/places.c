/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <math.h>

static const double ratio_least = 0.16;

double nt_score_ratio(double place)
{
    return ratio_least * pow(NT_RATIO_STEP, place);
}

struct grid {
    const struct nt_place_density *density;
    bool rough;
    double value[NT_RATIOS][NT_RATIOS];
    bool known[NT_RATIOS][NT_RATIOS];
};

static double at(struct grid *g, int ends, int links)
{
    const struct nt_place_density *d = g->density;
    if (ends < 0 || links < 0 || ends >= NT_RATIOS || links >= NT_RATIOS)
        return -(double)INFINITY;
    if (!g->known[ends][links]) {
        g->known[ends][links] = true;
        g->value[ends][links] = d->value(d->of, (struct nt_score_place){ends, links}, g->rough);
    }
    return g->value[ends][links];
}

static double climb(struct grid *g, bool links, int *e, int *l)
{
    double best = at(g, *e, *l);
    for (bool moved = true; moved;) {
        static const int step[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
        moved = false;
        for (int k = 0; k < (links ? 4 : 2); k++)
            while (at(g, *e + step[k][0], *l + step[k][1]) > best) {
                *e += step[k][0];
                *l += step[k][1];
                best = at(g, *e, *l);
                moved = true;
            }
    }
    return best;
}

/* Values of ln p along an axis, a width apart. */
struct three {
    double low, middle, high;
};

static struct three around(const struct grid *g, struct nt_score_place place, bool links,
                           double width)
{
    const struct nt_place_density *d = g->density;
    struct three t;
    double *at = links ? &place.links : &place.ends, middle = *at;
    *at = middle - width;
    t.low = d->value(d->of, place, g->rough);
    *at = middle + width;
    t.high = d->value(d->of, place, g->rough);
    *at = middle;
    t.middle = d->value(d->of, place, g->rough);
    return t;
}

/* The second derivative of ln p by the logarithm of the variance is at most twice the number of
 * lengths: the most per length, in steps of the grid. */
static double most_bend(void)
{
    return 2 * log(NT_RATIO_STEP) * log(NT_RATIO_STEP);
}

/* ln of the integral along an axis, in steps of the grid, relative to the value at the maximum.
 * Moves the place there. t: values on the grid. With many lengths the maximum is far narrower than
 * a step, so that the parabola through these misses it: others of the maximum's width follow, by
 * Laplace's method. Flat values are added up. */
static double axis(const struct grid *g, struct three t, bool links, struct nt_score_place *place)
{
    enum { ROUNDS = 5 };
    /* Points that are farther below the maximum are not on the parabola. */
    double most = g->density->lengths * most_bend();
    double down = fmin(t.middle - t.low, most), up = fmin(t.middle - t.high, most);
    double bend = down + up, width = 1, *at = links ? &place->links : &place->ends, from = *at;
    if (!(isfinite(t.low) && isfinite(t.high) && bend > 0))
        return log1p(exp(t.low - t.middle) + exp(t.high - t.middle));
    *at += (down - up) / (2 * bend);
    if (bend < 2)
        return log1p(exp(t.low - t.middle) + exp(t.high - t.middle)) -
               (down - up) * (down - up) / (8 * bend);
    for (int round = 0; round < ROUNDS; round++) {
        width /= sqrt(bend);
        t = around(g, *place, links, width);
        bend = 2 * t.middle - t.low - t.high;
        bend = bend > 0 ? bend : 1;
        double shift = width * (t.high - t.low) / (2 * bend);
        *at = fmin(fmax(*at + shift, from - 1), from + 1); /* the grid's value there is lower */
        if (fabs(shift) <= width)
            break;
    }
    return log(width) + 0.5 * log(2 * M_PI / bend);
}

static int index_of(double place)
{
    long k = lround(place);
    return k < 0 ? 0 : k >= NT_RATIOS ? NT_RATIOS - 1 : (int)k;
}

/* An index in the other half of the grid. */
static int opposite(int index)
{
    return index < NT_RATIOS / 2 ? 6 : 2;
}

/* Finds the maximum on the grid; the search starts from the place. */
static void find_maximum(struct grid *g, struct nt_score_place place, int *e, int *l)
{
    const struct nt_place_density *d = g->density;
    *e = index_of(place.ends);
    *l = index_of(place.links);
    double best = climb(g, d->links, e, l);
    /* a second maximum: different ends, or links, and little noise, or the reverse; links are few,
     * and their slopes gentle */
    static const double far[] = {30, 5};
    for (int k = 0; k <= (d->links ? 1 : 0); k++) {
        int e2 = k == 0 ? opposite(*e) : *e, l2 = k == 0 ? *l : opposite(*l);
        double other = at(g, e2, l2);
        if (other > best - far[k])
            other = climb(g, d->links, &e2, &l2);
        if (other > best) {
            best = other;
            *e = e2;
            *l = l2;
        }
    }
}

static void set_place(const struct nt_place_density *d, int e, int l, struct nt_score_place *place)
{
    place->ends = e;
    place->links = d->links ? l : place->links;
}

static double integrate(const struct nt_place_density *d, struct nt_score_place *place,
                        bool only_rough)
{
    struct grid rough = {.density = d, .rough = only_rough || d->has_rough};
    struct grid g = {.density = d, .rough = only_rough};
    int e, l;
    find_maximum(&rough, *place, &e, &l);
    if (rough.rough == g.rough)
        g = rough;
    double best = climb(&g, d->links, &e, &l);
    const struct three ends = {at(&g, e - 1, l), best, at(&g, e + 1, l)};
    const struct three links = {at(&g, e, l - 1), best, at(&g, e, l + 1)};
    set_place(d, e, l, place);
    double sum = axis(&g, ends, false, place);
    sum += d->links ? axis(&g, links, true, place) : 0;
    return sum + d->value(d->of, *place, only_rough);
}

double nt_places_integrate(const struct nt_place_density *density, struct nt_score_place *place)
{
    return integrate(density, place, false);
}

double nt_places_locate(const struct nt_place_density *d, struct nt_score_place *place, bool fine)
{
    struct grid g = {.density = d, .rough = true};
    int e, l;
    if (fine) {
        integrate(d, place, true);
        return 0;
    }
    find_maximum(&g, *place, &e, &l);
    set_place(d, e, l, place);
    return d->lengths * most_bend() / 8; /* half a step from the maximum */
}
