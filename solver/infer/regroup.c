/* SPDX-License-Identifier: Apache-2.0 */
#include "regroup.h"
#include "graph.h"

#include <stdlib.h>
#include <string.h>

/* What does not change with the links. */
static void copy_properties(struct nt_model *from, struct nt_model *m)
{
    uint32_t(*decides)[2] = m->decides;
    memcpy(m->missing, from->missing, from->hosts * sizeof *m->missing);
    memcpy(m->overhead_us, from->overhead_us, from->hosts * sizeof *m->overhead_us);
    m->family = m->switches <= 1 ? NT_FAMILY_STAR : NT_FAMILY_TREE;
    m->confidence = from->confidence;
    m->shortcuts = from->shortcuts;
    m->decides = from->decides;
    m->deciding = from->deciding;
    from->decides = decides;
}

/* What hangs on the lower end gets longer by what is taken out above it. */
static void lengthen_links(struct nt_model *m, const bool *gone, size_t k)
{
    uint32_t a = m->link[k].a, b = m->link[k].b;
    uint32_t lower = nt_model_tier(m, a) <= nt_model_tier(m, b) ? a : b;
    for (size_t l = 0; l < m->links; l++)
        if (l != k && !gone[l] && (m->link[l].a == lower || m->link[l].b == lower))
            m->link[l].latency_us += m->link[k].latency_us;
}

int nt_regroup_contract(struct nt_model **model, const bool *gone, struct nt_err *err)
{
    struct nt_model *from = *model, *m = NULL;
    size_t vertices = from->hosts + from->switches, switches = 0, links = 0;
    uint32_t *one = malloc((2 * vertices + 1) * sizeof *one);
    if (one == NULL)
        return nt_err_memory(err);
    uint32_t *number = one + vertices;
    nt_sets_init(one, vertices);
    for (size_t k = 0; k < from->links; k++) {
        links += !gone[k];
        if (!gone[k])
            continue;
        lengthen_links(from, gone, k);
        one[nt_sets_find(one, from->link[k].a)] = nt_sets_find(one, from->link[k].b);
    }
    for (uint32_t v = 0; v < vertices; v++)
        number[v] = v < from->hosts || one[v] != v ? v : (uint32_t)(from->hosts + switches++);
    int status = nt_model_create(from->hosts, switches, links, &m, err);
    for (size_t k = 0, next = 0; k < from->links && status == 0; k++) {
        if (gone[k])
            continue;
        struct nt_link *l = &m->link[next++];
        *l = from->link[k];
        l->a = number[nt_sets_find(one, l->a)];
        l->b = number[nt_sets_find(one, l->b)];
    }
    free(one);
    if (status < 0)
        return -1;
    copy_properties(from, m);
    nt_model_destroy(*model);
    *model = m;
    return 0;
}
