/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: hosts are linked to each other, or switches are, each with its hosts. A pair's latency is
 * the overhead of both ends plus one link latency per hop. The search for one; what the caller has
 * for a host may stand for the hosts of one switch (switch_graph.c), and the caller decides by the
 * score of graph_score.h.
 * Tests: test_infer_direct.c. */
#ifndef NT_INFER_DIRECT_H
#define NT_INFER_DIRECT_H

#include "infer_steps.h"

/* More hosts are not searched for; more links a host are not tried. */
enum { NT_DIRECT_HOSTS_MAX = 2048, NT_DIRECT_DEGREE_MAX = 24 };

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

/* The best direct network for w, out->score INFINITY when there is none, or the effort is spent:
 * then there may be one. */
int nt_direct_find(const struct nt_work *w, struct nt_direct_effort *effort, struct nt_direct *out,
                   struct nt_err *err);
/* No links; for nt_direct_fini. */
int nt_direct_init(struct nt_direct *d, size_t n, struct nt_err *err);
void nt_direct_fini(struct nt_direct *d);

/* Hops of the links; false: some host cannot be reached. Room: n, 2 * links, n + 1. */
bool nt_direct_count_hops(struct nt_direct *d, uint32_t *queue, uint32_t *neighbour, size_t *start);

/* Figures of the present hops: base, hop, offset where they are worth it, residual and score.
 * values: n of scratch. */
void nt_direct_fit(const struct nt_work *w, struct nt_direct *d, float *values);

/* Its model, with the family that nt_direct_family recognises and the confidence in it. hosts: of
 * the input. */
int nt_direct_model(const struct nt_work *w, const struct nt_direct *d, size_t hosts,
                    struct nt_model **out, struct nt_err *err);

/* r2, rms_us and pairs_off of a graph's model, from all readings of w. A pair is off if one in a
 * hundred networks of good pairs has such a one. */
int nt_direct_quality(const struct nt_work *w, struct nt_model *model, struct nt_err *err);

/* ---- direct_toggle.c ---- */

/* Adds and removes single links while that makes the readings likelier by more than the link costs,
 * all pairs counted; then the least certain ones where that makes a regular network. Sets regular,
 * error_odds and cost, which mean nothing once the effort is spent. */
int nt_direct_toggle(const struct nt_work *w, struct nt_direct *d, struct nt_direct_effort *effort,
                     struct nt_err *err);

/* Ring, mesh, torus (twisted too), hypercube or full mesh by the shape of the graph alone, else
 * irregular. */
int nt_direct_family(const struct nt_direct *d, struct nt_model *model, struct nt_err *err);

#endif
