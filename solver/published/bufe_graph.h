/* SPDX-License-Identifier: Apache-2.0 */
/* Private to bufe*.c: a dense undirected weighted graph that grows by switches.
 * Tests: test_bufe.c. */
#ifndef NT_BUFE_GRAPH_H
#define NT_BUFE_GRAPH_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bufe.h"

struct bufe_graph {
    struct nt_arena memory; /* of the arrays */
    size_t hosts, vertices, cap;
    float *weight; /* cap*cap; INFINITY: no edge */
    bool *alive;   /* cap; a rejoined switch is dead */
    double epsilon;
};

int bufe_graph_init(struct bufe_graph *g, size_t hosts, double epsilon, struct nt_err *err);
void bufe_graph_fini(struct bufe_graph *g);
int bufe_graph_add_switch(struct bufe_graph *g, uint32_t *vertex, struct nt_err *err);

static inline float bufe_edge(const struct bufe_graph *g, size_t a, size_t b)
{
    return g->weight[a * g->cap + b];
}

static inline void bufe_edge_set(struct bufe_graph *g, size_t a, size_t b, float w)
{
    g->weight[a * g->cap + b] = w;
    g->weight[b * g->cap + a] = w;
}

static inline bool bufe_is_switch(const struct bufe_graph *g, size_t v)
{
    return v >= g->hosts;
}

/* Equation 1.9: equal within the relative tolerance. Infinity equals nothing. */
static inline bool bufe_equal(double a, double b, double epsilon)
{
    if (!isfinite(a) || !isfinite(b))
        return false;
    return 2 * fabs(b - a) <= epsilon * (a + b);
}

/* The largest clique among the vertices of one kind (hosts, or switches below until) whose edges
 * all have roughly this latency; ties: the one found first. members must hold g->vertices entries.
 * Counts its visits in *work; NT_ERR_INPUT over work_max. */
struct bufe_search;
int bufe_search_create(struct bufe_search **out, struct nt_err *err);
void bufe_search_destroy(struct bufe_search *s);
int bufe_search_run(struct bufe_search *s, const struct bufe_graph *g, bool switches, size_t until,
                    double latency, uint64_t work_max, uint64_t *work, uint32_t *members,
                    size_t *size, struct nt_err *err);

/* Algorithms 2 and 3 and the rules of 2.2.5, in place. */
int bufe_find_switches(struct bufe_graph *g, const struct nt_bufe_options *o,
                       struct nt_bufe_result *r, struct nt_err *err);

/* Section 2.4: latencies and throughputs of r->model's links. symmetric: n*n latencies. */
int bufe_fit(const float *symmetric, const struct nt_matrix *bandwidth, struct nt_bufe_result *r,
             struct nt_err *err);

#endif
