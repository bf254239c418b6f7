/* SPDX-License-Identifier: Apache-2.0 */
#include "parus.h"

#include <math.h>

#include "parus_local.h"

/* The arcs of all local topologies, merged by their vertices. */
struct merged {
    uint32_t *seen; /* n*n: in how many of them */
    float *weight;  /* n*n */
};

void nt_parus_default(struct nt_parus_options *options)
{
    *options = (struct nt_parus_options){.eps_shared = 0.1, .eps_duplex = 0.5};
}

static int check_matrix(const struct nt_matrix *m, size_t n, struct nt_err *err)
{
    if (m->kind != NT_MATRIX_LATENCY_US || m->n != n)
        return nt_err_set(err, NT_ERR_INPUT,
                          "parus: the matrices must all hold latencies of %zu hosts", n);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            float v = nt_matrix_get(m, i, j);
            if (i != j && (v < 0 || isinf(v)))
                return nt_err_set(err, NT_ERR_INPUT,
                                  "parus: latency of hosts %zu and %zu is %g, expected at least 0",
                                  i, j, (double)v);
        }
    }
    return 0;
}

static int check_matrices(const struct nt_matrix *const *m, size_t count,
                          const struct nt_parus_options *o, struct nt_err *err)
{
    if (count == 0 || count > NT_PARUS_MATRICES_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "parus: %zu matrices, expected 1 to %d", count,
                          (int)NT_PARUS_MATRICES_MAX);
    if (m[0]->n > NT_PARUS_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "parus: %zu hosts, the method takes at most %d",
                          m[0]->n, (int)NT_PARUS_HOSTS_MAX);
    if (!(o->eps_shared >= 0 && o->eps_shared <= 100 && o->eps_duplex >= 0 && o->eps_duplex <= 100))
        return nt_err_set(err, NT_ERR_INPUT,
                          "parus: eps-shared %g and eps-duplex %g, expected 0 to 100",
                          o->eps_shared, o->eps_duplex);
    for (size_t k = 0; k < count; k++)
        if (check_matrix(m[k], m[0]->n, err) != 0)
            return -1;
    return 0;
}

static void add_local(struct merged *all, const struct parus_local *p, const struct nt_matrix *m,
                      const struct nt_matrix *first)
{
    for (size_t k = 0; k < p->n * p->n; k++) {
        if (p->mark[k] < PARUS_ARC)
            continue;
        if (all->seen[k]++ > 0)
            continue;
        float w = parus_weight(first, k / p->n, k % p->n);
        all->weight[k] = isnan(w) ? parus_weight(m, k / p->n, k % p->n) : w;
    }
}

static int list_arcs(const struct merged *all, size_t n, size_t matrices, struct nt_parus_result *r,
                     struct nt_err *err)
{
    size_t arcs = 0;
    for (size_t k = 0; k < n * n; k++)
        arcs += all->seen[k] > 0 ? 1 : 0;
    r->arc = nt_arena_array(&r->memory, arcs, sizeof *r->arc);
    if (nt_arena_check(&r->memory, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            size_t k = i * n + j;
            if (all->seen[k] > 0)
                r->arc[r->arcs++] =
                    (struct nt_parus_arc){(uint32_t)i, (uint32_t)j, (double)all->weight[k],
                                          (double)all->seen[k] / (double)matrices};
        }
    }
    return 0;
}

/* One link for the arcs i->j and j->i, at least one of which is there. Formula 2: their weights
 * in proportion to their probabilities. */
static void set_link(struct nt_link *link, const struct merged *all, size_t n, size_t i, size_t j,
                     size_t matrices)
{
    double there = (double)all->seen[i * n + j], back = (double)all->seen[j * n + i];
    bool turned = !(there > 0);
    link->a = (uint32_t)(turned ? j : i);
    link->b = (uint32_t)(turned ? i : j);
    link->latency_us = ((there > 0 ? there * (double)all->weight[i * n + j] : 0) +
                        (back > 0 ? back * (double)all->weight[j * n + i] : 0)) /
                       (there + back);
    link->probability = fmax(there, back) / (double)matrices;
    link->simplex = !(there > 0 && back > 0);
}

static int make_model(const struct merged *all, size_t n, size_t matrices, struct nt_model **out,
                      struct nt_err *err)
{
    size_t links = 0, k = 0;
    struct nt_model *m;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            links += all->seen[i * n + j] > 0 || all->seen[j * n + i] > 0 ? 1 : 0;
    if (nt_model_create(n, 0, links, &m, err) != 0)
        return -1;
    for (size_t h = 0; h < n; h++)
        m->missing[h] = n > 1;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = i + 1; j < n; j++) {
            if (all->seen[i * n + j] == 0 && all->seen[j * n + i] == 0)
                continue;
            m->missing[i] = m->missing[j] = false;
            set_link(&m->link[k++], all, n, i, j, matrices);
        }
    }
    m->confidence = NAN;
    m->family = n > 1 && links == n * (n - 1) / 2 ? NT_FAMILY_FULL_MESH : NT_FAMILY_IRREGULAR;
    *out = m;
    return 0;
}

static int run_method(const struct nt_matrix *const *m, size_t count,
                      const struct nt_parus_options *o, struct nt_parus_result *r,
                      struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct parus_local p;
    size_t n = m[0]->n;
    struct merged all = {.seen = nt_arena_array(&memory, n * n, sizeof *all.seen),
                         .weight = nt_arena_array(&memory, n * n, sizeof *all.weight)};
    if (parus_local_init(&p, n, o, &memory, err) != 0)
        return -1;
    for (size_t k = 0; k < count; k++) {
        parus_local_find(&p, m[k]);
        add_local(&all, &p, m[k], m[0]);
        if (k == 0)
            r->groups = p.groups;
    }
    r->operations = p.operations;
    if (list_arcs(&all, n, count, r, err) != 0)
        return -1;
    return make_model(&all, n, count, &r->model, err);
}

int nt_parus_infer(const struct nt_matrix *const *latencies, size_t n_matrices,
                   const struct nt_parus_options *options, struct nt_parus_result **out,
                   struct nt_err *err)
{
    struct nt_parus_options o;
    nt_parus_default(&o);
    if (options != NULL)
        o = *options;
    if (check_matrices(latencies, n_matrices, &o, err) != 0)
        return -1;
    struct nt_parus_result *r = nt_object_create(sizeof *r, err);
    if (r == NULL)
        return -1;
    int rc = run_method(latencies, n_matrices, &o, r, err);
    if (rc == 0)
        *out = r;
    else
        nt_parus_destroy(r);
    return rc;
}

void nt_parus_destroy(struct nt_parus_result *result)
{
    if (result == NULL)
        return;
    nt_model_destroy(result->model);
    nt_object_destroy(result);
}
