/* SPDX-License-Identifier: Apache-2.0 */
/* What one would believe of a known network, right or wrong. Include it behind cmocka.h. */
#ifndef NT_MADE_BELIEF_H
#define NT_MADE_BELIEF_H

#include <stdlib.h>

#include "belief.h"
#include "model.h"
#include "rng.h"

/* As the model of a tree says; stands[h] (may be NULL): the place that host h is believed to be at.
 */
static inline struct nt_belief *belief_of(const struct nt_model *m, const uint32_t *stands)
{
    struct nt_belief *c;
    struct nt_err err = {0};
    uint32_t tiers = 0;
    uint32_t *parent = calloc(m->hosts + m->switches + 1, sizeof *parent);
    for (size_t k = 0; k < m->links; k++)
        parent[m->link[k].a] = m->link[k].b;
    for (size_t s = 0; s < m->switches; s++)
        tiers = m->tier[s] > tiers ? m->tier[s] : tiers;
    if (nt_belief_create(m->hosts, tiers, &c, &err) < 0)
        fail_msg("%s", err.text);
    for (uint32_t h = 0; h < m->hosts; h++) {
        uint32_t path[NT_BELIEF_LEVELS_MAX], v = stands != NULL ? stands[h] : h;
        for (uint32_t l = 0; l + 1 < tiers; l++) {
            while (parent[v] != 0 && nt_model_tier(m, parent[v]) <= l + 1)
                v = parent[v];
            path[l] = v < m->hosts ? h : v - (uint32_t)m->hosts;
        }
        if (nt_belief_set(c, h, path, &err) < 0)
            fail_msg("%s", err.text);
    }
    free(parent);
    nt_belief_reduce(c);
    return c;
}

#endif
