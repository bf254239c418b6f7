#include "reach.h"

#include <stdio.h>
#include <stdlib.h>

/* The links by vertex: those of v are list[start[v]]..list[start[v + 1] - 1]. */
struct around {
    uint32_t *start, *list;
};

static int around_init(struct around *a, const struct nt_model *m, size_t vertices)
{
    a->start = calloc(vertices + 2, sizeof *a->start);
    a->list = calloc(2 * m->links + 1, sizeof *a->list);
    if (a->start == NULL || a->list == NULL)
        return -1;
    for (size_t k = 0; k < m->links; k++) {
        a->start[m->link[k].a + 2]++;
        a->start[m->link[k].b + 2]++;
    }
    for (size_t v = 2; v < vertices + 2; v++)
        a->start[v] += a->start[v - 1];
    for (size_t k = 0; k < m->links; k++) {
        a->list[a->start[m->link[k].a + 1]++] = (uint32_t)k;
        a->list[a->start[m->link[k].b + 1]++] = (uint32_t)k;
    }
    return 0;
}

static void walk(const struct nt_model *m, const struct around *a, struct nt_reach *r,
                 uint32_t *queue)
{
    size_t head = 0, tail = 0;
    queue[tail++] = r->source;
    while (head < tail) {
        uint32_t v = queue[head++];
        for (uint32_t k = a->start[v]; k < a->start[v + 1]; k++) {
            const struct nt_link *link = &m->link[a->list[k]];
            uint32_t w = link->a == v ? link->b : link->a;
            if (w == r->source || r->hops[w] != NT_REACH_NOT)
                continue;
            r->hops[w] = r->hops[v] + 1;
            r->switches[w] = r->switches[v] + (v >= m->hosts);
            r->link[w] = a->list[k];
            r->from[w] = v;
            queue[tail++] = w;
        }
    }
}

int nt_reach_create(const struct nt_model *model, uint32_t source, struct nt_reach **out,
                    struct nt_err *err)
{
    size_t n = model->hosts + model->switches;
    struct around around = {0};
    struct nt_reach *r = calloc(1, sizeof *r);
    uint32_t *queue = calloc(n + 1, sizeof *queue);
    if (r != NULL)
        *r = (struct nt_reach){.source = source,
                               .vertices = n,
                               .hops = calloc(n + 1, sizeof *r->hops),
                               .switches = calloc(n + 1, sizeof *r->switches),
                               .link = calloc(n + 1, sizeof *r->link),
                               .from = calloc(n + 1, sizeof *r->from)};
    int rc = -1;
    if (source >= n)
        nt_err_set(err, NT_ERR_INPUT, "vertex %u: expected one below %zu", source, n);
    else if (r == NULL || queue == NULL || r->hops == NULL || r->switches == NULL ||
             r->link == NULL || r->from == NULL || around_init(&around, model, n) != 0)
        nt_err_set(err, NT_ERR_SYSTEM, "paths among %zu vertices: out of memory", n);
    else
        rc = 0;
    if (rc == 0) {
        walk(model, &around, r, queue);
        *out = r;
    } else {
        nt_reach_destroy(r);
    }
    free(around.start);
    free(around.list);
    free(queue);
    return rc;
}

void nt_reach_destroy(struct nt_reach *reach)
{
    if (reach == NULL)
        return;
    free(reach->hops);
    free(reach->switches);
    free(reach->link);
    free(reach->from);
    free(reach);
}

void nt_path_class_name(uint32_t hops, uint32_t switches, char name[NT_PATH_CLASS_BYTES])
{
    if (switches == 1)
        snprintf(name, NT_PATH_CLASS_BYTES, "same switch");
    else if (switches > 1)
        snprintf(name, NT_PATH_CLASS_BYTES, "through %u switches", switches);
    else if (hops == 1)
        snprintf(name, NT_PATH_CLASS_BYTES, "neighbours");
    else
        snprintf(name, NT_PATH_CLASS_BYTES, "%u hops", hops);
}
