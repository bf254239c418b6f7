/* SPDX-License-Identifier: Apache-2.0 */
/* The working state of nt_links_fit, which links.h describes; private to links*.c.
 * Tests: test_infer_properties.c. */
#ifndef NT_INFER_LINKS_WORK_H
#define NT_INFER_LINKS_WORK_H

#include "work.h"

/* Switches that have hosts are sites. */
struct nt_link_sites {
    const struct nt_work *w;
    struct nt_model *model;
    size_t count, trunks;     /* sites; links between switches */
    uint32_t *site_of;        /* switches: site or UINT32_MAX */
    uint32_t *at;             /* w->n: site of each host */
    uint32_t *link;           /* w->n: link of each host */
    uint32_t *trunk;          /* trunks: link */
    uint32_t *start, *member; /* hosts by site: the host at each place */
    double *x;                /* w->n places: host links */
    double *by_host;          /* w->n: x by host, at last */
    float *row;               /* w->n: room for readings of one host */
    double *between;          /* count*count: modelled distance */
    double *sum, *weight;     /* count*count, a >= b: residuals kept, how many */
    double *pull, *kept;      /* w->n places: weighted residuals and weights of each host */
    double *matrix, *right;
    double rss, used, reach; /* of unit variance; pairs; readings farther off are left out */
};

/* Fills R2, rms, the resolution and the pairs that are off of the model; uses up the sums of the
 * passes, x stays. */
int nt_links_quality(struct nt_link_sites *s, struct nt_err *err);

#endif
