/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: hosts are linked to each other, or switches with their hosts are. The latency of a pair
 * is the overhead of both ends plus one link latency per hop. This is the search for a graph. Each
 * host of the search can represent all hosts of one switch (switch_graph.c). The caller decides by
 * the score of graph_score.h.
 * Tests: test_infer_direct.c. */
#ifndef NT_INFER_DIRECT_H
#define NT_INFER_DIRECT_H

#include "infer_steps.h"

/* Limits of the search: hosts, and links per host. */
enum { NT_DIRECT_HOSTS_MAX = 2048, NT_DIRECT_DEGREE_MAX = 24 };

/* Cost of a search in readings evaluated, and its limit. A count, not a time, so that equal
 * readings always give equal results. */
struct nt_direct_effort {
    uint64_t steps, most;
};

/* NT_DIRECT_STEPS_MAX reads each pair of 2,048 hosts more than a hundred times. A fit reads them in
 * order, which is as fast as NT_DIRECT_FIT_STEPS random accesses. */
enum { NT_DIRECT_STEPS_MAX = 250000000, NT_DIRECT_FIT_STEPS = 8 };

static inline bool nt_direct_is_spent(const struct nt_direct_effort *effort)
{
    return effort->steps > effort->most;
}

struct nt_direct {
    size_t n, links;
    uint8_t *linked;  /* n*n */
    uint16_t *hops;   /* n*n */
    float *offset;    /* n, us: difference of a host's overhead from the usual one */
    double base, hop; /* us: both overheads together; one link */
    bool offsets;     /* offset is not all zero */
    double score;     /* as nt_score; INFINITY: no graph was found */
    double residual;  /* mean relative residual of the fit */
    /* Set by nt_direct_toggle: */
    bool regular;      /* nt_direct_family has a name for it */
    double error_odds; /* sum of the odds of all graphs that differ in one link */
    double cost;       /* minus ln of the likelihood of readings and graph */
};

/* The reading of a pair without the hosts' own overheads. */
static inline float nt_direct_reading(const struct nt_work *w, const struct nt_direct *d, size_t i,
                                      size_t j)
{
    return w->d[i * w->n + j] - d->offset[i] - d->offset[j];
}

/* Finds the best graph for w. out->score is INFINITY if there is none, or if the effort was spent
 * before the search ended. */
int nt_direct_find(const struct nt_work *w, struct nt_direct_effort *effort, struct nt_direct *out,
                   struct nt_err *err);
/* A graph without links; the caller frees it with nt_direct_fini. */
int nt_direct_init(struct nt_direct *d, size_t n, struct nt_err *err);
void nt_direct_fini(struct nt_direct *d);

/* Counts the hops between all hosts. false: some host cannot be reached. Working memory: queue n,
 * neighbour 2 * links, start n + 1. */
bool nt_direct_count_hops(struct nt_direct *d, uint32_t *queue, uint32_t *neighbour, size_t *start);

/* Fits base and hop, offset if the readings support it, residual and score, for the current hops.
 * values: n elements of working memory. */
void nt_direct_fit(const struct nt_work *w, struct nt_direct *d, float *values);

/* Makes the model of the graph with its family (nt_direct_family) and confidence. hosts: of the
 * input. The caller frees *out. */
int nt_direct_model(const struct nt_work *w, const struct nt_direct *d, size_t hosts,
                    struct nt_model **out, struct nt_err *err);

/* Sets r2, rms_us and pairs_off of a graph's model from all readings of w, and the standard errors
 * of hosts' links. A pair is off if its deviation occurs in at most 1 % of the networks without
 * outliers. */
int nt_direct_quality(const struct nt_work *w, struct nt_model *model, struct nt_err *err);

/* ---- direct_toggle.c ---- */

/* Adds and removes single links while the likelihood of all readings rises by more than the prior
 * of a link costs; then changes the least certain links if that makes a regular graph. Sets
 * regular, error_odds and cost, which are undefined if the effort was spent. */
int nt_direct_toggle(const struct nt_work *w, struct nt_direct *d, struct nt_direct_effort *effort,
                     struct nt_err *err);

/* Recognises ring, mesh, torus (also twisted), hypercube and full mesh by the shape of the graph
 * alone, else irregular. */
int nt_direct_family(const struct nt_direct *d, struct nt_model *model, struct nt_err *err);

#endif
