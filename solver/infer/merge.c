/* Probabilities of links from the models of several message sizes (after PARUS, Salnikov et al.:
 * a link's probability is the share of sizes in which it appears; here weighted by confidence). */
#include "infer.h"

#include <stdlib.h>
#include <string.h>

/* A link of a tree is known by the hosts on its two sides: the sum of a random number a host. */
struct sides {
    uint64_t *mark; /* links: the smaller of both sides' sums */
    uint64_t *sum;  /* vertices */
    uint32_t *degree;
};

static void sides_fini(struct sides *s)
{
    free(s->mark);
    free(s->sum);
    free(s->degree);
}

static uint64_t host_mark(uint64_t host)
{
    uint64_t z = (host + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* Takes off outermost vertices one by one; the link of each parts what hangs on it from the rest.
 * Links on a cycle, of direct networks, are known by their two ends. */
static void mark_links(const struct nt_model *m, struct sides *s)
{
    size_t vertices = m->hosts + m->switches;
    uint64_t all = 0;
    memset(s->degree, 0, vertices * sizeof *s->degree);
    for (size_t v = 0; v < vertices; v++)
        s->sum[v] = v < m->hosts && !m->missing[v] ? host_mark(v) : 0;
    for (size_t v = 0; v < m->hosts; v++)
        all += s->sum[v];
    for (size_t k = 0; k < m->links; k++) {
        s->mark[k] = 0;
        s->degree[m->link[k].a]++;
        s->degree[m->link[k].b]++;
    }
    for (bool more = true; more;) {
        more = false;
        for (size_t k = 0; k < m->links; k++) {
            uint32_t a = m->link[k].a, b = m->link[k].b;
            if (s->mark[k] != 0 || (s->degree[a] != 1 && s->degree[b] != 1))
                continue;
            uint32_t off = s->degree[a] == 1 ? a : b, rest = off == a ? b : a;
            uint64_t other = all - s->sum[off];
            s->mark[k] = (s->sum[off] < other ? s->sum[off] : other) | 1;
            s->sum[rest] += s->sum[off];
            s->degree[off]--;
            s->degree[rest]--;
            more = true;
        }
    }
    for (size_t k = 0; k < m->links; k++)
        if (s->mark[k] == 0)
            s->mark[k] = host_mark(m->link[k].a) * 3 + host_mark(m->link[k].b) * 5;
}

static int sides_init(struct sides *s, const struct nt_model *m, struct nt_err *err)
{
    size_t vertices = m->hosts + m->switches;
    s->mark = malloc((m->links + 1) * sizeof *s->mark);
    s->sum = malloc((vertices + 1) * sizeof *s->sum);
    s->degree = malloc((vertices + 1) * sizeof *s->degree);
    if (s->mark && s->sum && s->degree) {
        mark_links(m, s);
        return 0;
    }
    sides_fini(s);
    return nt_err_set(err, NT_ERR_SYSTEM, "no memory to compare %zu links", m->links);
}

static int mark_compare(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

int nt_infer_merge(struct nt_model *model, const struct nt_model *const *others, size_t count,
                   struct nt_err *err)
{
    struct sides own, other;
    double total = model->confidence;
    if (sides_init(&own, model, err) < 0)
        return -1;
    double *weight = malloc((model->links + 1) * sizeof *weight);
    int status = weight == NULL
                     ? nt_err_set(err, NT_ERR_SYSTEM, "no memory to merge %zu links", model->links)
                     : 0;
    for (size_t k = 0; k < model->links && status == 0; k++)
        weight[k] = model->confidence * model->link[k].probability;
    for (size_t o = 0; o < count && status == 0; o++) {
        if (others[o]->hosts != model->hosts)
            status = nt_err_set(err, NT_ERR_INPUT, "a model of %zu hosts among those of %zu",
                                others[o]->hosts, model->hosts);
        else
            status = sides_init(&other, others[o], err);
        if (status < 0)
            break;
        qsort(other.mark, others[o]->links, sizeof *other.mark, mark_compare);
        total += others[o]->confidence;
        for (size_t k = 0; k < model->links; k++)
            if (bsearch(&own.mark[k], other.mark, others[o]->links, sizeof *other.mark,
                        mark_compare) != NULL)
                weight[k] += others[o]->confidence;
        sides_fini(&other);
    }
    for (size_t k = 0; k < model->links && status == 0 && total > 0; k++)
        model->link[k].probability = weight[k] / total;
    free(weight);
    sides_fini(&own);
    return status;
}
