/* SPDX-License-Identifier: Apache-2.0 */
/* The readings of a matrix, as the search for graphs and the fit of links use them; trees take them
 * as a list (tiers_model.h). Private to infer/.
 * Tests: test_infer_direct.c. */
#ifndef NT_INFER_WORK_H
#define NT_INFER_WORK_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix.h"
#include "model.h"
#include "rng.h"

struct nt_noise {
    double scale, power; /* sd(level) = scale * level^power, power 0..1 */
    double least;        /* relative: what a grid of readings hides */
    bool known;          /* from readings of the same pairs, or their standard errors */
};

static inline double nt_noise_sd(const struct nt_noise *noise, double level)
{
    return noise->scale * pow(level > 1e-12 ? level : 1e-12, noise->power);
}

struct nt_work {
    size_t n;                      /* hosts with at least one measurement */
    uint32_t *host;                /* n: their indices in the input */
    float *d;                      /* n*n symmetric, us; NaN: not measured, and on the diagonal */
    float *weight;                 /* n*n: of each reading, nt_work_weigh; NULL: all 1 */
    bool directions;               /* some pair has two different readings */
    bool holes;                    /* some pair is not measured */
    size_t pairs;                  /* measured */
    const struct nt_matrix *error; /* of hosts of the input, nt_min_latency_error; borrowed; NULL:
                                      not known */
    struct nt_noise noise;
    struct nt_rng rng;
};

/* ---- work_readings.c ---- */

/* Above 0, and no more than texts may bring. */
bool nt_work_usable(float v);
/* Symmetric values of m->n hosts: of both directions the smaller, for noise mostly adds. */
void nt_work_fill(struct nt_work *w, const struct nt_matrix *m);
/* Leaves those of n hosts of which anything was measured. */
void nt_work_drop_missing(struct nt_work *w, size_t n, bool *missing);
/* For figures both directions count: half a round trip is their mean. Where they differ by more
 * than noise explains, one of them is a bad reading, and the smaller stays. */
void nt_work_mean_of_directions(struct nt_work *w, const struct nt_matrix *m);
/* Fills weight: a pair's only reading that was disturbed by its own account, with a standard error
 * well above the noise, weighs less. Up to 64 hosts, and for what the links' figures say. */
int nt_work_weigh(struct nt_work *w, struct nt_err *err);

/* ---- noise.c ---- */

/* Noise from the four-point condition (Buneman 1971): of the three sums of a quartet the two
 * largest are equal in any tree with any host offsets. Hosts near in the order are near. */
void nt_noise_estimate(const float *d, size_t n, const struct nt_rng *rng, struct nt_noise *noise);

#endif
