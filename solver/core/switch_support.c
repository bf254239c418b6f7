/* SPDX-License-Identifier: Apache-2.0 */
#include "switch_support.h"

#include <math.h>
#include <stdlib.h>

#include "rooted_tree.h"

static double root_support(const struct nt_rooted_tree *h, const struct nt_model *m)
{
    size_t switches = 0;
    double below = 1;
    for (uint32_t i = h->first[h->root]; i < h->first[h->root + 1]; i++) {
        if (h->child[i] < h->hosts)
            continue;
        switches++;
        below = m->link[h->up[h->child[i]] / 2].probability;
    }
    return switches == 1 ? below : 1;
}

int nt_support_create(const struct nt_model *m, double **out, struct nt_err *err)
{
    struct nt_rooted_tree *h = NULL;
    double *support = malloc((m->switches + 1) * sizeof *support);
    if (support == NULL)
        return nt_err_memory(err);
    for (size_t s = 0; s < m->switches; s++)
        support[s] = (double)NAN;
    if (isfinite(m->confidence) && nt_rooted_tree_create(m, &h, err) != 0) {
        free(support);
        return -1;
    }
    if (h != NULL && h->tree) {
        for (size_t k = 1; k < h->reached; k++)
            if (h->order[k] >= m->hosts)
                support[h->order[k] - m->hosts] = m->link[h->up[h->order[k]] / 2].probability;
        support[h->root - m->hosts] = root_support(h, m);
    }
    nt_rooted_tree_destroy(h);
    *out = support;
    return 0;
}

void nt_resolution_lower(struct nt_model *m)
{
    if (!isfinite(m->resolution_us))
        return;
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a >= m->hosts && m->link[k].b >= m->hosts)
            m->resolution_us = fmin(m->resolution_us, m->link[k].latency_us);
}

void nt_confidence_limit(struct nt_model *m)
{
    for (size_t k = 0; k < m->links && isfinite(m->confidence); k++)
        if (m->link[k].a >= m->hosts && m->link[k].b >= m->hosts)
            m->confidence = fmin(m->confidence, m->link[k].probability);
}
