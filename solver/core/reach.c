#include "reach.h"

#include <stdio.h>

#include "memory.h"

/* The links by vertex: those of v are list[start[v]]..list[start[v + 1] - 1]. */
struct around {
    uint32_t *start, *list;
};

static int around_init(struct around *a, const struct nt_model *m, size_t vertices,
                       struct nt_arena *memory, struct nt_err *err)
{
    a->start = nt_arena_array(memory, vertices + 2, sizeof *a->start);
    a->list = nt_arena_array(memory, 2 * m->links + 1, sizeof *a->list);
    if (nt_arena_check(memory, err) != 0)
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
    if (source >= n)
        return nt_err_set(err, NT_ERR_INPUT, "vertex %u: expected one below %zu", source, n);
    NT_SCOPED struct nt_arena memory = {0};
    struct around around;
    uint32_t *queue = nt_arena_array(&memory, n, sizeof *queue);
    if (around_init(&around, model, n, &memory, err) != 0)
        return -1;
    struct nt_reach *r = nt_object_create(sizeof *r, err);
    if (r == NULL)
        return -1;
    r->source = source;
    r->vertices = n;
    r->hops = nt_arena_array(&r->memory, n, sizeof *r->hops);
    r->switches = nt_arena_array(&r->memory, n, sizeof *r->switches);
    r->link = nt_arena_array(&r->memory, n, sizeof *r->link);
    r->from = nt_arena_array(&r->memory, n, sizeof *r->from);
    if (nt_arena_check(&r->memory, err) != 0) {
        nt_reach_destroy(r);
        return -1;
    }
    walk(model, &around, r, queue);
    *out = r;
    return 0;
}

void nt_reach_destroy(struct nt_reach *reach)
{
    nt_object_destroy(reach);
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
