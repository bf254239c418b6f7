/* SPDX-License-Identifier: Apache-2.0 */
#include "next_reading.h"

#include <math.h>

#include "infer.h"
#include "stats.h"

/* Above the lowest of the two hosts, us; NaN: there is none. */
static float next_of(const struct nt_work *w, uint32_t a, uint32_t b)
{
    float there = nt_matrix_get(w->error, a, b), back = nt_matrix_get(w->error, b, a);
    return there >= 0 && back >= 0 ? fminf(there, back) : there >= 0 ? there : back;
}

/* The mean of that for other pairs of both hosts, from the middle, which one that was disturbed
 * does not move; 0: of too few. */
static double usual_of(const struct nt_work *w, uint32_t a, uint32_t b)
{
    enum { LEAST = 4 };
    float next[2 * NT_INFER_ERRORS_HOSTS];
    size_t count = 0;
    for (size_t k = 0; k < w->n; k++) {
        uint32_t other = w->host[k];
        float x = next_of(w, a, other), y = next_of(w, b, other);
        if (other == a || other == b)
            continue;
        if (x >= 0)
            next[count++] = x;
        if (y >= 0)
            next[count++] = y;
    }
    return count < LEAST ? 0 : (double)nt_stats_median(next, count) / log(2);
}

double nt_next_reading_ln(const struct nt_work *w, uint32_t a, uint32_t b, double near_us,
                          double sd_us)
{
    const double MOST = 2;
    if (w->error == NULL || w->n > NT_INFER_ERRORS_HOSTS)
        return 0;
    double next = (double)next_of(w, a, b), usual = usual_of(w, a, b);
    if (!(next >= 0) || !(usual > 0))
        return 0;
    double sd = hypot(sd_us, usual), z = (next - near_us) / sd;
    double group = -next / usual - log(usual);
    double wrong = -0.5 * z * z - log(sd * sqrt(2 * acos(-1)));
    return fmin(group - wrong, MOST);
}

/* The usual relative noise is that of repeats, and what paths differ by. One difference is little
 * to know a variance from: the usual one counts as two more. */
double nt_next_reading_variance(const struct nt_work *w, uint32_t a, uint32_t b, double us)
{
    const double PATHS = 0.004, USUAL = 2;
    double usual = w->noise.repeats;
    if (w->error == NULL || !(usual > 0) || !(us > 0))
        return 1;
    double own = (double)next_of(w, a, b) / us;
    if (!(own > usual))
        return 1;
    double square = (USUAL * usual * usual + own * own) / (USUAL + 1);
    return (PATHS * PATHS + square) / (PATHS * PATHS + usual * usual);
}
