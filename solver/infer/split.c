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

/* The finest parts below a node that tests of their own size would make. */
struct parts {
    double sum, count; /* values inside the parts */
    double ln_orders;  /* sum of ln(size!) */
    bool cut;          /* more than one part */
};

struct split {
    struct nt_merge *merges;
    struct nt_node *nodes;
    uint32_t *order;
    bool *cut;
    struct parts *parts;
};

static void split_fini(struct split *s)
{
    free(s->merges);
    free(s->nodes);
    free(s->order);
    free(s->cut);
    free(s->parts);
}

static int split_init(struct split *s, size_t n, struct nt_err *err)
{
    s->merges = malloc((n + 1) * sizeof *s->merges);
    s->nodes = malloc((2 * n + 1) * sizeof *s->nodes);
    s->order = malloc((n + 1) * sizeof *s->order);
    s->cut = malloc(2 * n + 1);
    s->parts = malloc((2 * n + 1) * sizeof *s->parts);
    if (s->merges && s->nodes && s->order && s->cut && s->parts)
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

static struct nt_inside within(const struct nt_node *x)
{
    return (struct nt_inside){x->within, x->within_count};
}

static bool stands_out(const struct split *s, const struct nt_work *w, size_t v)
{
    const struct nt_node *x = &s->nodes[v], *a = &s->nodes[x->a], *b = &s->nodes[x->b];
    struct nt_inside between = {x->between, x->between_count};
    double z = nt_contrast(&w->noise, between, within(a), within(b));
    return z > nt_null_limit(nt_ways_two(x->size, a->size), w->noise.df);
}

static void find_parts(const struct split *s, const struct nt_work *w, size_t n,
                       struct parts *parts)
{
    for (size_t v = 0; v < 2 * n - 1; v++) {
        const struct nt_node *x = &s->nodes[v];
        struct parts *p = &parts[v];
        *p = (struct parts){0, 0, 0, false};
        if (v >= n) {
            const struct parts *a = &parts[x->a], *b = &parts[x->b];
            if (a->cut || b->cut || stands_out(s, w, v))
                *p = (struct parts){a->sum + b->sum, a->count + b->count,
                                    a->ln_orders + b->ln_orders, true};
        }
        if (!p->cut)
            *p = (struct parts){x->within, x->within_count, lgamma((double)x->size + 1), false};
    }
}

/* All parts below v together against one switch: far stronger than any one of the cuts. */
static bool parts_stand_out(const struct split *s, const struct nt_work *w, size_t v,
                            const struct parts *parts)
{
    const struct nt_node *x = &s->nodes[v];
    const struct parts *p = &parts[v];
    if (!p->cut)
        return false;
    struct nt_inside inside = {p->sum, p->count};
    struct nt_inside between = {x->within - p->sum, x->within_count - p->count};
    double ln_ways = lgamma((double)x->size + 1) - p->ln_orders;
    if (inside.count < 1 || between.count < 1)
        return false;
    double level = between.sum / between.count;
    double z = (level - inside.sum / inside.count) /
               (nt_noise_sd(&w->noise, level) * sqrt(1 / between.count + 1 / inside.count));
    return z > nt_null_limit(ln_ways, w->noise.df);
}

/* From the top: a node is cut when it stands out, by itself or with all the parts below it. */
static void mark_cuts(struct split *s, const struct nt_work *w, size_t n)
{
    memset(s->cut, 0, 2 * n);
    struct parts *parts = s->parts;
    find_parts(s, w, n, parts);
    for (size_t v = 2 * n - 1; v-- > n;) {
        bool above = v == 2 * n - 2 || s->cut[v];
        s->cut[v] = above && (stands_out(s, w, v) || parts_stand_out(s, w, v, parts));
        if (s->cut[v]) /* the nodes below are looked at */
            s->cut[s->nodes[v].a] = s->cut[s->nodes[v].b] = true;
    }
    for (size_t v = 0; v < n; v++)
        s->cut[v] = false;
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

/* Cuts, fits, and cuts again while the residuals show less noise than the cuts assumed. */
static int cut_all(struct nt_work *w, struct split *s, struct nt_err *err)
{
    enum { ROUNDS = 4 };
    for (int round = 0; round < ROUNDS; round++) {
        double before = w->noise.scale;
        if (nt_dendrogram_sums(w->n, w->d, w->n, &w->noise, s->nodes, err) < 0)
            return -1;
        mark_cuts(s, w, w->n);
        memset(w->group, 0xff, w->n * sizeof *w->group);
        label_clusters(s, w->n, w->group);
        nt_groups_index(w);
        if (nt_groups_fit(w, 3, err) < 0 || nt_groups_noise(w, true, err) < 0)
            return -1;
        if (!(w->noise.scale < 0.93 * before))
            break;
    }
    return 0;
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
        status = cut_all(w, &s, err);
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
