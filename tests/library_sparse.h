/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse normal equations of core/normal against CHOLMOD, for bench_libraries. Both factor, and
 * give the variances (the diagonal of the inverse) and the whole inverse. The selected inverse is
 * no part of CHOLMOD: beside ours, which knows the dense block, stand Takahashi's equations over
 * CHOLMOD's factor. */
#ifndef LIBRARY_SPARSE_H
#define LIBRARY_SPARSE_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library_place.h"
#include "normal.h"
#include "plan_routes.h"
#include "routes_of.h"
#include "unknowns.h"

#if __has_include(<suitesparse/cholmod.h>)
#include <suitesparse/cholmod.h>

struct times {
    double factor, variances, inverse;
};

static inline struct times solve_ours(const struct nt_rows *rows, double *variance, double **z)
{
    struct times t;
    struct nt_normal *m;
    struct nt_err err = {0};
    double began = cpu_s();
    if (nt_normal_create(rows, &m, &err) != 0)
        stop(err.text);
    t.factor = cpu_s() - began;
    began = cpu_s();
    if (nt_normal_variances(m, variance, &err) != 0)
        stop(err.text);
    t.variances = cpu_s() - began;
    nt_normal_destroy(m);
    if (nt_normal_create(rows, &m, &err) != 0)
        stop(err.text);
    began = cpu_s();
    if (nt_normal_inverse(m, z, &err) != 0)
        stop(err.text);
    t.inverse = cpu_s() - began;
    nt_normal_destroy(m);
    return t;
}

/* The transpose of the rows: CHOLMOD factors F F' of a matrix by columns. */
static inline cholmod_sparse *columns_of(const struct nt_rows *rows, cholmod_common *c)
{
    size_t entries = rows->start[rows->rows];
    cholmod_sparse *a = cholmod_allocate_sparse(rows->columns, rows->rows, entries, false, true, 0,
                                                CHOLMOD_REAL, c);
    if (a == NULL)
        stop("CHOLMOD: no memory");
    for (size_t r = 0; r <= rows->rows; r++)
        ((int *)a->p)[r] = (int)rows->start[r];
    for (size_t k = 0; k < entries; k++) {
        ((int *)a->i)[k] = (int)rows->column[k];
        ((double *)a->x)[k] = rows->value[k];
    }
    return a;
}

/* Erisman and Tinney (1975) over a factor L L' by columns, the diagonal first in each. */
static inline void select_inverse(const cholmod_factor *f, double *variance)
{
    const int *p = f->p, *row = f->i, *perm = f->Perm;
    const double *x = f->x;
    double *z = malloc((size_t)p[f->n] * sizeof *z), *work = calloc(f->n, sizeof *work);
    bool *here = calloc(f->n, sizeof *here);
    if (z == NULL || work == NULL || here == NULL)
        stop("no memory");
    for (size_t j = f->n; j-- > 0;) {
        int first = p[j] + 1, end = p[j + 1];
        for (int e = first; e < end; e++)
            here[row[e]] = true;
        for (int e = first; e < end; e++) {
            int k = row[e];
            double sum = x[e] * z[p[k]];
            for (int g = p[k] + 1, own = e + 1; g < p[k + 1] && own < end; g++) {
                if (!here[row[g]])
                    continue;
                work[row[g]] += x[e] * z[g];
                sum += x[own++] * z[g];
            }
            work[k] += sum;
        }
        double diagonal = 1 / x[p[j]];
        for (int e = first; e < end; e++) {
            z[e] = -work[row[e]] / x[p[j]];
            work[row[e]] = 0;
            here[row[e]] = false;
            diagonal -= x[e] * z[e];
        }
        variance[perm[j]] = z[p[j]] = diagonal / x[p[j]];
    }
    free(z);
    free(work);
    free(here);
}

static inline struct times solve_cholmod(const struct nt_rows *rows, double *variance, double **z)
{
    struct times t;
    cholmod_common c;
    cholmod_start(&c);
    c.supernodal = CHOLMOD_AUTO;
    cholmod_sparse *a = columns_of(rows, &c);
    double began = cpu_s();
    cholmod_factor *f = cholmod_analyze(a, &c);
    if (f == NULL || !cholmod_factorize(a, f, &c) || f->minor < f->n)
        stop("CHOLMOD: no factor");
    t.factor = cpu_s() - began;
    began = cpu_s();
    cholmod_dense *one = cholmod_eye(f->n, f->n, CHOLMOD_REAL, &c);
    cholmod_dense *inverse = cholmod_solve(CHOLMOD_A, f, one, &c);
    if (inverse == NULL)
        stop("CHOLMOD: no inverse");
    t.inverse = cpu_s() - began;
    *z = malloc(f->n * f->n * sizeof **z);
    if (*z == NULL)
        stop("no memory");
    memcpy(*z, inverse->x, f->n * f->n * sizeof **z);
    began = cpu_s();
    if (!cholmod_change_factor(CHOLMOD_REAL, true, false, true, true, f, &c))
        stop("CHOLMOD: no simplicial factor");
    select_inverse(f, variance);
    t.variances = cpu_s() - began;
    cholmod_free_dense(&one, &c);
    cholmod_free_dense(&inverse, &c);
    cholmod_free_sparse(&a, &c);
    cholmod_free_factor(&f, &c);
    cholmod_finish(&c);
    return t;
}

/* The largest relative difference between two lists of figures over 0. */
static inline double apart(const double *a, const double *b, size_t n)
{
    double most = 0;
    for (size_t k = 0; k < n; k++)
        most = fmax(most, fabs(a[k] / b[k] - 1));
    return most;
}

static inline void compare_rows(const char *what, const struct nt_rows *rows)
{
    size_t n = rows->columns;
    double *ours = malloc(n * sizeof *ours), *theirs = malloc(n * sizeof *theirs), *z, *y;
    if (ours == NULL || theirs == NULL)
        stop("no memory");
    struct times a = solve_ours(rows, ours, &z), b = solve_cholmod(rows, theirs, &y);
    printf("%-24s %8zu %8zu | %8.4f %8.4f %6.2f | %8.4f %8.4f %6.2f | %8.4f %8.4f %6.2f | %8.1e\n",
           what, rows->rows, n, a.factor, b.factor, a.factor / b.factor, a.variances, b.variances,
           a.variances / b.variances, a.inverse, b.inverse, a.inverse / b.inverse,
           apart(ours, theirs, n));
    fflush(stdout);
    free(ours);
    free(theirs);
    free(z);
    free(y);
}

/* As plan/condition and infer/robust ask: a minimal plan of a fat tree, twice as many pairs, all.
 */
static inline void compare_fattree(unsigned ports, unsigned levels, double redundancy)
{
    struct nt_routes *r = fattree_routes(ports, levels, 1);
    struct nt_plan *plan = NULL;
    struct nt_unknowns *u;
    struct nt_err err = {0};
    char name[64];
    size_t n = r->pairs;
    uint32_t *pair = malloc(r->pairs * sizeof *pair);
    struct nt_pair_index *index;
    if (pair == NULL || nt_pair_index_create(r, &index, &err) != 0)
        stop("no memory");
    if (redundancy > 0) {
        if (nt_plan_routes(r, redundancy, 1, &plan, &err) != 0)
            stop(err.text);
        n = plan->pairs;
    }
    for (size_t k = 0; k < n; k++)
        pair[k] = plan == NULL ? (uint32_t)k
                               : nt_pair_index_find(index, plan->pair[k][0], plan->pair[k][1]);
    if (nt_unknowns_create(r, pair, n, &u, &err) != 0)
        stop(err.text);
    snprintf(name, sizeof name, redundancy > 0 ? "%u-port %u-tree, R %g" : "%u-port %u-tree, all",
             ports, levels, redundancy);
    compare_rows(name, u->rows);
    nt_unknowns_destroy(u);
    nt_pair_index_destroy(index);
    nt_plan_destroy(plan);
    free(pair);
    nt_routes_destroy(r);
}

static inline void compare_sparse(void)
{
    printf("\nsparse normal equations: CPU s of ours, of CHOLMOD, ours/CHOLMOD; and how far the\n"
           "variances are apart\n%-24s %8s %8s | %24s | %24s | %24s |\n",
           "network", "pairs", "unknowns", "factor", "variances", "inverse");
    compare_fattree(4, 3, 1);
    compare_fattree(6, 3, 1);
    compare_fattree(8, 3, 1);
    compare_fattree(8, 3, 2);
    compare_fattree(8, 3, 0);
    compare_fattree(12, 3, 1);
    compare_fattree(12, 3, 2);
    compare_fattree(12, 3, 0);
}
#else
static inline void compare_sparse(void)
{
    printf(
        "\nCHOLMOD: no suitesparse/cholmod.h when this was built (libsuitesparse-dev): left out\n");
}
#endif

#endif
