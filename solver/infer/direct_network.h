/* SPDX-License-Identifier: Apache-2.0 */
/* A direct network and the steps of the search for it (direct.h): none of them knows the search.
 * Toggling calls the fit and the family; the others call nothing of each other.
 * Tests: test_infer_direct.c. */
#ifndef NT_INFER_DIRECT_NETWORK_H
#define NT_INFER_DIRECT_NETWORK_H

#include "work.h"

/* More links a host, and more cuts, are not tried. */
enum { NT_DIRECT_DEGREE_MAX = 24, NT_DIRECT_CUTS = 8 };

/* What a search costs, in readings evaluated, and when it ends: a count and no time, so that the
 * same readings always give the same result. */
struct nt_direct_effort {
    uint64_t steps, most;
};

/* Of all pairs of 2,048 hosts each is read more than a hundred times before that. A fit reads them
 * in order, which is as fast as NT_DIRECT_FIT_STEPS random accesses. */
enum { NT_DIRECT_STEPS_MAX = 250000000, NT_DIRECT_FIT_STEPS = 8 };

static inline bool nt_direct_is_spent(const struct nt_direct_effort *effort)
{
    return effort->steps > effort->most;
}

struct nt_direct {
    size_t n, links;
    uint8_t *linked;  /* n*n */
    uint16_t *hops;   /* n*n */
    float *offset;    /* n, us: own deviation of a host's overhead */
    double base, hop; /* us: both overheads together, one link */
    bool offsets;     /* offset is not all zero */
    double score;     /* as nt_score; INFINITY: none was found */
    double residual;  /* mean relative size of what the fit leaves over */
    /* set by nt_direct_toggle: */
    bool regular;      /* a name fits: nt_direct_family */
    double error_odds; /* odds, summed, of the networks that differ in one link */
    double cost;       /* minus ln of the likelihood of readings and graph; less is better */
};

/* A pair's reading without both hosts' own overheads. */
static inline float nt_direct_reading(const struct nt_work *w, const struct nt_direct *d, size_t i,
                                      size_t j)
{
    return w->d[i * w->n + j] - d->offset[i] - d->offset[j];
}

/* ---- direct_cut.c ---- */

struct nt_direct_cut {
    double at, depth; /* us; less is deeper */
};

/* Where the readings seen (n*n, NaN: none) less the offsets leave gaps, deepest first; at most
 * NT_DIRECT_CUTS. */
int nt_direct_cuts(const float *seen, const float *offset, size_t n, struct nt_direct_cut *cut,
                   size_t *cuts, struct nt_err *err);

/* ---- denoise.c ---- */

enum { NT_DENOISE_HOSTS_MAX = 512 };

/* The part of the readings that noise does not explain: hop counts of regular networks have few
 * large eigenvalues, so that those above the noise's (Gavish and Donoho 2014, median rule) hold
 * nearly all of them. Readings that are missing or far off are replaced by that part in turn
 * (Mazumder, Hastie, Tibshirani 2010). out: n*n, filled everywhere but on the diagonal. */
int nt_denoise(const struct nt_work *w, float *out, struct nt_err *err);

/* ---- direct_fit.c ---- */

/* What a grid of readings leaves over in the mean, of its step as the noise's least has it (the sd
 * of a step, 1 / sqrt(12) of it): a score is of no smaller residuals. */
#define NT_GRID_RESIDUAL 0.3

/* Penalised likelihood of a fit with mean relative residual `mean` over `pairs` with `unknowns`
 * fitted values; less is better (Laplace errors, Schwarz 1978, degrees of freedom corrected). */
double nt_score(double mean, double pairs, double unknowns);

/* Figures of the present hops: base, hop, offset where they are worth it, residual and score.
 * values: n of scratch. */
void nt_direct_fit(const struct nt_work *w, struct nt_direct *d, float *values);

/* ---- direct_toggle.c ---- */

/* Adds and removes single links while that makes the readings likelier by more than the link costs,
 * all pairs counted; then the least certain ones where that makes a regular network. Sets regular,
 * error_odds and cost, which mean nothing once the effort is spent. */
int nt_direct_toggle(const struct nt_work *w, struct nt_direct *d, struct nt_direct_effort *effort,
                     struct nt_err *err);

/* ---- direct_family.c ---- */

/* Ring, mesh, torus (twisted too), hypercube or full mesh by the shape of the graph alone, else
 * irregular. */
int nt_direct_family(const struct nt_direct *d, struct nt_model *model, struct nt_err *err);

#endif
