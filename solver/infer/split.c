/* Cuts of the dendrogram where it stands out of what noise alone would show. */
#include "work.h"

#include <stdlib.h>
#include <string.h>

/* counts: NULL when every pair is known */
static uint16_t *count_known(const float *d, size_t n)
{
    uint16_t *counts = malloc((n * n + 1) * sizeof *counts);
    if (counts != NULL)
        for (size_t k = 0; k < n * n; k++)
            counts[k] = d[k] == d[k];
    return counts;
}

struct split {
    struct nt_merge *merges;
    struct nt_node *nodes;
    uint32_t *order;
    bool *cut;
};

static void split_fini(struct split *s)
{
    free(s->merges);
    free(s->nodes);
    free(s->order);
    free(s->cut);
}

static int split_init(struct split *s, size_t n, struct nt_err *err)
{
    s->merges = malloc((n + 1) * sizeof *s->merges);
    s->nodes = malloc((2 * n + 1) * sizeof *s->nodes);
    s->order = malloc((n + 1) * sizeof *s->order);
    s->cut = malloc(2 * n + 1);
    if (s->merges && s->nodes && s->order && s->cut)
        return 0;
    return nt_err_set(err, NT_ERR_SYSTEM, "no memory to split %zu hosts", n);
}

/* Links d (destroyed) and leaves the dendrogram in s. */
static int link_hosts(struct split *s, float *d, size_t n, bool holes, struct nt_err *err)
{
    uint16_t *counts = NULL;
    if (holes) {
        counts = count_known(d, n);
        if (counts == NULL)
            return nt_err_set(err, NT_ERR_SYSTEM, "no memory to count %zu hosts", n);
        for (size_t k = 0; k < n * n; k++)
            if (d[k] != d[k])
                d[k] = INFINITY;
    }
    int status = nt_linkage(n, d, counts, s->merges, err);
    free(counts);
    if (status == 0)
        nt_dendrogram(n, s->merges, s->nodes, s->order);
    return status;
}

/* A node that stands out is cut, and with it all above it. */
static void mark_cuts(struct split *s, const struct nt_work *w, size_t n)
{
    memset(s->cut, 0, 2 * n);
    for (size_t v = n; v < 2 * n - 1; v++) {
        double z;
        size_t smaller;
        s->cut[v] = s->cut[s->nodes[v].a] || s->cut[s->nodes[v].b];
        if (nt_contrast(s->nodes, v, &w->noise, &z, &smaller) && z > nt_null_limit(w->n, smaller))
            s->cut[v] = true;
    }
}

/* Numbers the uncut clusters in dendrogram order; label is by place in the order. */
static size_t label_clusters(const struct split *s, size_t n, uint32_t *label)
{
    size_t clusters = 0;
    for (size_t v = 2 * n - 1; v-- > 0;) {
        const struct nt_node *x = &s->nodes[v];
        if (s->cut[v])
            continue;
        /* a cut above everything: only the topmost uncut nodes label their hosts */
        if (label[x->first] != UINT32_MAX)
            continue;
        for (size_t k = 0; k < x->size; k++)
            label[x->first + k] = (uint32_t)clusters;
        clusters++;
    }
    return clusters;
}

static void gather(const float *from, size_t stride, const uint32_t *order, size_t n, float *to)
{
    for (size_t i = 0; i < n; i++) {
        const float *row = from + order[i] * stride;
        for (size_t j = 0; j < n; j++)
            to[i * n + j] = row[order[j]];
    }
}

int nt_split_all(struct nt_work *w, struct nt_err *err)
{
    size_t n = w->n;
    struct split s;
    float *copy = malloc((n * n + 1) * sizeof *copy);
    uint32_t *hosts = malloc((n + 1) * sizeof *hosts);
    int status = split_init(&s, n, err);
    if (status == 0 && (copy == NULL || hosts == NULL))
        status = nt_err_set(err, NT_ERR_SYSTEM, "no memory for a copy of %zu hosts", n);
    if (status == 0) {
        memcpy(copy, w->d, n * n * sizeof *copy);
        status = link_hosts(&s, copy, n, w->holes, err);
    }
    if (status == 0) {
        gather(w->d, n, s.order, n, copy);
        float *t = w->d;
        w->d = copy;
        copy = t;
        for (size_t i = 0; i < n; i++)
            hosts[i] = w->host[s.order[i]];
        memcpy(w->host, hosts, n * sizeof *hosts);
        nt_noise_estimate(w->d, n, &w->rng, &w->noise);
        status = nt_dendrogram_sums(n, w->d, n, &w->noise, s.nodes, err);
    }
    if (status == 0) {
        mark_cuts(&s, w, n);
        memset(w->group, 0xff, n * sizeof *w->group);
        label_clusters(&s, n, w->group);
        nt_groups_index(w);
    }
    split_fini(&s);
    free(copy);
    free(hosts);
    return status;
}

/* Splits group g; the new groups get numbers from next on. *next grows by them. */
static int split_one(struct nt_work *w, size_t g, float *block, float *ordered, uint32_t *label,
                     uint32_t *next, struct nt_err *err)
{
    size_t m = nt_work_size(w, g);
    const uint32_t *member = w->member + w->start[g];
    struct split s;
    double base = 0;
    if (split_init(&s, m, err) < 0) {
        split_fini(&s);
        return -1;
    }
    for (size_t i = 0; i < m; i++)
        base += 2 * (double)w->offset[member[i]] / (double)m;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++)
            block[i * m + j] = w->d[member[i] * w->n + member[j]] - w->offset[member[i]] -
                               w->offset[member[j]] + (float)base;
    memcpy(ordered, block, m * m * sizeof *block);
    int status = link_hosts(&s, ordered, m, w->holes, err);
    if (status == 0) {
        gather(block, m, s.order, m, ordered);
        status = nt_dendrogram_sums(m, ordered, m, &w->noise, s.nodes, err);
    }
    if (status == 0) {
        mark_cuts(&s, w, m);
        memset(label, 0xff, m * sizeof *label);
        size_t made = label_clusters(&s, m, label);
        for (size_t k = 0; k < m; k++)
            w->group[member[s.order[k]]] = *next + label[k];
        *next += (uint32_t)made;
    }
    split_fini(&s);
    return status;
}

int nt_split_groups(struct nt_work *w, bool *changed, struct nt_err *err)
{
    size_t largest = 0, before = w->groups;
    for (size_t g = 0; g < w->groups; g++)
        largest = nt_work_size(w, g) > largest ? nt_work_size(w, g) : largest;
    float *block = malloc((2 * largest * largest + 1) * sizeof *block);
    uint32_t *label = malloc((largest + 1) * sizeof *label);
    int status = 0;
    if (block == NULL || label == NULL)
        status = nt_err_set(err, NT_ERR_SYSTEM, "no memory to split %zu hosts", largest);
    uint32_t next = 0;
    for (size_t g = 0; g < before && status == 0; g++) {
        if (nt_work_size(w, g) >= 4) {
            status = split_one(w, g, block, block + largest * largest, label, &next, err);
            continue;
        }
        for (size_t k = w->start[g]; k < w->start[g + 1]; k++)
            w->group[w->member[k]] = next;
        next++;
    }
    if (status == 0)
        nt_groups_index(w);
    *changed = w->groups != before;
    free(block);
    free(label);
    return status;
}
