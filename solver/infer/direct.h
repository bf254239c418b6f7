/* Networks without switches: hosts are linked to each other, and a pair's latency is the overhead
 * of both ends plus one link latency a hop. */
#ifndef NT_INFER_DIRECT_H
#define NT_INFER_DIRECT_H

#include "work.h"

/* More hosts, or more links a host, are not looked for. */
enum { NT_DIRECT_HOSTS_MAX = 2048, NT_DIRECT_DEGREE_MAX = 24 };

struct nt_direct {
    size_t n, links;
    uint8_t *linked;  /* n*n */
    uint16_t *hops;   /* n*n */
    float *offset;    /* n, us: own deviation of a host's overhead */
    double base, hop; /* us: both overheads together, one link */
    bool offsets;     /* offset is not all zero */
    double score;     /* as nt_score; INFINITY: none was found */
};

/* Penalised likelihood of a fit with mean relative residual `mean` over `pairs` with `unknowns`
 * fitted values; less is better (Laplace errors, Schwarz 1978, degrees of freedom corrected). */
double nt_score(double mean, double pairs, double unknowns);

/* The best direct network for w, out->score INFINITY when there is none. */
int nt_direct_find(const struct nt_work *w, struct nt_direct *out, struct nt_err *err);
void nt_direct_fini(struct nt_direct *d);

/* Its model, with the family that family.c recognises and the confidence in it. hosts: of the
 * input. */
int nt_direct_model(const struct nt_work *w, const struct nt_direct *d, size_t hosts,
                    struct nt_model **out, struct nt_err *err);

/* ---- family.c ---- */

/* Ring, mesh, torus (twisted too), hypercube or full mesh by the shape of the graph alone, else
 * irregular. degree, neighbour (n * NT_DIRECT_DEGREE_MAX): as in the graph of d. */
int nt_family_recognise(const struct nt_direct *d, struct nt_model *model, struct nt_err *err);

#endif
