/* SPDX-License-Identifier: Apache-2.0 */
#include "supported_tree.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "memory.h"
#include "rooted_tree.h"
#include "switch_support.h"

static bool is_sure(const struct nt_model *m, const double *support, uint32_t v)
{
    return v < m->hosts || !(support[v - m->hosts] < NT_SUPPORT_ACTED);
}

/* The link of a vertex to its parent is joined with the parent's own link upwards. */
static void lengthen_link(struct nt_link *low, const struct nt_link *high, uint32_t middle)
{
    bool low_up = low->b == middle, high_up = high->a == middle;
    double up = high_up ? high->bandwidth_MBps : high->bandwidth_back_MBps;
    double down = high_up ? high->bandwidth_back_MBps : high->bandwidth_MBps;
    *(low_up ? &low->b : &low->a) = high_up ? high->b : high->a;
    low->latency_us += high->latency_us;
    low->bandwidth_MBps = fmin(low->bandwidth_MBps, low_up ? up : down);
    low->bandwidth_back_MBps = fmin(low->bandwidth_back_MBps, low_up ? down : up);
}

/* Parents come first: the link of a removed one has been lengthened already. */
static int dissolve_switches(const struct nt_rooted_tree *h, const double *support,
                             struct nt_model *m, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    bool *removed = nt_arena_array(&memory, m->links + 1, sizeof *removed);
    size_t kept = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 1; k < h->reached; k++) {
        uint32_t v = h->order[k], above = h->parent[v];
        if (above != h->top && !is_sure(m, support, above))
            lengthen_link(&m->link[h->up[v] / 2], &m->link[h->up[above] / 2], above);
        removed[h->up[v] / 2] = !is_sure(m, support, v);
    }
    for (size_t k = 0; k < m->links; k++)
        if (!removed[k])
            m->link[kept++] = m->link[k];
    m->links = kept;
    return 0;
}

int nt_supported_tree_create(const struct nt_model *model, struct nt_model **out,
                             struct nt_err *err)
{
    struct nt_rooted_tree *rooted = NULL;
    struct nt_model *sure = NULL;
    double *support;
    bool all = true;
    if (nt_support_create(model, &support, err) != 0)
        return -1;
    for (size_t s = 0; s < model->switches; s++)
        all = all && is_sure(model, support, (uint32_t)(model->hosts + s));
    int rc = all ? 0 : nt_rooted_tree_create(model, &rooted, err);
    if (rc == 0 && !all)
        rc = nt_model_copy(model, &sure, err);
    if (rc == 0 && !all)
        rc = dissolve_switches(rooted, support, sure, err);
    nt_rooted_tree_destroy(rooted);
    free(support);
    if (rc != 0) {
        nt_model_destroy(sure);
        return -1;
    }
    *out = sure;
    return 0;
}
