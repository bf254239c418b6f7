/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts of the dendrogram where its contrast is above the limit for noise alone. */
#include "work.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "stats.h"

/* How many readings are behind each value: one or none; those of none become INFINITY. */
static void count_known(float *d, size_t n, size_t stride, uint16_t *counts)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i * stride; k < i * stride + n; k++) {
            counts[k] = d[k] == d[k];
            d[k] = d[k] == d[k] ? d[k] : INFINITY;
        }
}

/* The finest parts below a node that tests of their own size would make. */
struct parts {
    double sum, count; /* values inside the parts */
    double ln_orders;  /* sum of ln(size!) */
    bool cut;          /* more than one part */
};

struct split {
    struct nt_linkage_step *merges;
    struct nt_node *nodes;
    uint32_t *order;
    bool *cut;
    struct parts *parts;
};

static int split_init(struct split *s, size_t n, struct nt_arena *memory, struct nt_err *err)
{
    s->merges = nt_arena_array(memory, n + 1, sizeof *s->merges);
    s->nodes = nt_arena_array(memory, 2 * n + 1, sizeof *s->nodes);
    s->order = nt_arena_array(memory, n + 1, sizeof *s->order);
    s->cut = nt_arena_array(memory, 2 * n + 1, 1);
    s->parts = nt_arena_array(memory, 2 * n + 1, sizeof *s->parts);
    return nt_arena_check(memory, err);
}

/* Links d (destroyed) and leaves the dendrogram in s. */
static int link_hosts(struct split *s, float *d, size_t n, size_t stride, bool holes,
                      struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint16_t *counts = holes ? nt_arena_array(&memory, n * stride, sizeof *counts) : NULL;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    if (holes)
        count_known(d, n, stride, counts);
    if (nt_linkage(n, d, stride, counts, s->merges, err) < 0)
        return -1;
    nt_dendrogram(n, s->merges, s->nodes, s->order);
    return 0;
}

static struct nt_inside within_sums(const struct nt_node *x)
{
    return (struct nt_inside){x->within, x->within_count};
}

static bool stands_out(const struct split *s, const struct nt_work *w, size_t v)
{
    const struct nt_node *x = &s->nodes[v], *a = &s->nodes[x->a], *b = &s->nodes[x->b];
    struct nt_inside between = {x->between, x->between_count};
    double z = nt_contrast(&w->noise, between, within_sums(a), within_sums(b));
    return z > nt_null_distribution_limit(nt_ln_choose(x->size, a->size), w->noise.df);
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

/* All parts below v together against one switch: a far stronger test than any single cut. */
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
    return z > nt_null_distribution_limit(ln_ways, w->noise.df);
}

/* From the top: a node is cut when it is significant, by itself or with all the parts below it. */
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

static void gather_rows(const float *from, size_t stride, const uint32_t *order, size_t n,
                        float *to)
{
    for (size_t i = 0; i < n; i++) {
        const float *row = from + order[i] * stride;
        for (size_t j = 0; j < n; j++)
            to[i * n + j] = row[order[j]];
    }
}

/* Cuts, fits, and cuts again while the residuals show less noise, or noise of other levels, than
 * the cuts assumed, and that makes a difference. before: room for n. */
static int cut_all(struct nt_work *w, struct split *s, uint32_t *before, struct nt_err *err)
{
    enum { ROUNDS = 4 };
    const double OTHER_POWER = 0.1, LESS_NOISE = 0.93; /* less changes no cut to speak of */
    for (int round = 0; round < ROUNDS; round++) {
        double scale = w->noise.scale, power = w->noise.power;
        if (nt_dendrogram_sums(w->n, w->d, w->n, &w->noise, s->nodes, err) < 0)
            return -1;
        memcpy(before, w->group, w->n * sizeof *before);
        mark_cuts(s, w, w->n);
        memset(w->group, 0xff, w->n * sizeof *w->group);
        label_clusters(s, w->n, w->group);
        nt_groups_index(w);
        if (round > 0 && memcmp(before, w->group, w->n * sizeof *before) == 0)
            break;
        if (nt_groups_fit(w, nt_work_passes(w), err) < 0 || nt_groups_noise(w, true, err) < 0)
            return -1;
        if (fabs(w->noise.power - power) < OTHER_POWER && !(w->noise.scale < LESS_NOISE * scale))
            break;
    }
    return 0;
}

int nt_split_all(struct nt_work *w, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t n = w->n, stride = nt_linkage_stride(n);
    struct split s;
    float *copy = malloc((n * stride + 1) * sizeof *copy);
    uint32_t *hosts = nt_arena_array(&memory, n + 1, sizeof *hosts);
    int status = split_init(&s, n, &memory, err);
    if (status == 0 && copy == NULL)
        status = nt_err_memory(err);
    if (status == 0) {
        for (size_t i = 0; i < n; i++)
            memcpy(copy + i * stride, w->d + i * n, n * sizeof *copy);
        nt_noise_estimate(w->d, n, &w->rng, &w->noise);
        status = nt_impute(w, copy, stride, err);
    }
    if (status == 0)
        status = link_hosts(&s, copy, n, stride, w->holes, err);
    if (status == 0) {
        gather_rows(w->d, n, s.order, n, copy);
        float *t = w->d;
        w->d = copy;
        copy = t;
        for (size_t i = 0; i < n; i++)
            hosts[i] = w->host[s.order[i]];
        memcpy(w->host, hosts, n * sizeof *hosts);
        nt_noise_estimate(w->d, n, &w->rng, &w->noise);
        status = cut_all(w, &s, hosts, err);
    }
    free(copy);
    return status;
}

/* Readings among m hosts, without their offsets but at their level, not under least. */
static void take_block(const struct nt_work *w, const uint32_t *hosts, size_t m, float least,
                       float *block)
{
    double base = 0;
    for (size_t i = 0; i < m; i++)
        base += 2 * (double)w->offset[hosts[i]] / (double)m;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++) {
            float v = w->d[hosts[i] * w->n + hosts[j]] - w->offset[hosts[i]] - w->offset[hosts[j]] +
                      (float)base;
            block[i * m + j] = v < least ? least : v;
        }
}

/* Splits m hosts; label: the part of each, *parts: how many. */
static int split_hosts(const struct nt_work *w, const uint32_t *hosts, size_t m, float least,
                       uint32_t *label, size_t *parts, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    float *block = nt_arena_array(&memory, 2 * m * m + 1, sizeof *block);
    float *ordered = NULL;
    uint32_t *by_order = nt_arena_array(&memory, m + 1, sizeof *by_order);
    struct split s;
    int status = split_init(&s, m, &memory, err);
    if (status == 0) {
        ordered = block + m * m;
        take_block(w, hosts, m, least, block);
        memcpy(ordered, block, m * m * sizeof *block);
        status = link_hosts(&s, ordered, m, m, w->holes, err);
    }
    if (status == 0) {
        gather_rows(block, m, s.order, m, ordered);
        status = nt_dendrogram_sums(m, ordered, m, &w->noise, s.nodes, err);
    }
    if (status == 0) {
        mark_cuts(&s, w, m);
        memset(by_order, 0xff, m * sizeof *by_order);
        *parts = label_clusters(&s, m, by_order);
        if (*parts == 1 && m <= NT_REFINE_HOSTS_MAX)
            status = nt_refine(&w->noise, ordered, m, s.nodes, by_order, parts, err);
        for (size_t k = 0; k < m; k++)
            label[s.order[k]] = *parts > 1 ? by_order[k] : 0;
    }
    return status;
}

/* At least two parts that outliers could not make. members: m of them. */
static bool split_believed(const struct nt_work *w, const uint32_t *hosts, const uint32_t *label,
                           size_t m, size_t parts, uint32_t *members)
{
    size_t strong = 0, by_size[NT_WEAK_SIZES] = {0};
    for (size_t p = 0; p < parts; p++) {
        size_t count = 0;
        for (size_t k = 0; k < m; k++)
            if (label[k] == p)
                members[count++] = hosts[k];
        if (count >= NT_WEAK_SIZES)
            strong++;
        if (count < 2 || count >= NT_WEAK_SIZES)
            continue;
        size_t agreeing = nt_agreeing_pairs(w, members, count);
        strong += !nt_false_groups_explain(nt_false_groups_expected(w, count, agreeing),
                                           ++by_size[count]);
    }
    return strong >= 2;
}

int nt_split_groups(struct nt_work *w, bool *changed, struct nt_err *err)
{
    size_t before = w->groups;
    uint32_t next = 0;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *label = nt_arena_array(&memory, w->n + 1, sizeof *label);
    uint32_t *count = nt_arena_array(&memory, w->n + 1, sizeof *count);
    int status = nt_arena_check(&memory, err);
    if (status == 0)
        status = nt_false_groups_mark(w, err);
    for (size_t g = 0; g < before && status == 0; g++) {
        const uint32_t *hosts = w->member + w->start[g];
        size_t m = nt_work_size(w, g), parts = 1;
        if (m >= 4)
            status = split_hosts(w, hosts, m, -INFINITY, label, &parts, err);
        if (parts > 1 && !split_believed(w, hosts, label, m, parts, count))
            parts = 1;
        for (size_t k = 0; k < m && status == 0; k++)
            w->group[hosts[k]] = next + (parts > 1 ? label[k] : 0);
        next += (uint32_t)parts;
    }
    if (status == 0)
        nt_groups_index(w);
    *changed = w->groups != before;
    return status;
}

/* The usual distance of two hosts behind one switch, from the groups that are accepted. */
static float one_switch_distance(const struct nt_work *w, float *values)
{
    size_t count = 0;
    for (size_t g = 0; g < w->groups; g++)
        for (size_t k = w->start[g]; k < w->start[g + 1] && !w->weak[g]; k++)
            values[count++] = 2 * w->offset[w->member[k]];
    return nt_stats_median(values, count);
}

int nt_split_weak(struct nt_work *w, bool *changed, struct nt_err *err)
{
    size_t n = w->n, m = 0, weak = 0, parts = 0;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *hosts = nt_arena_array(&memory, n + 1, sizeof *hosts);
    uint32_t *label = nt_arena_array(&memory, n + 1, sizeof *label);
    float *values = nt_arena_array(&memory, n + 1, sizeof *values);
    *changed = false;
    if (nt_arena_check(&memory, err) != 0 || nt_false_groups_mark(w, err) < 0)
        return -1;
    for (size_t g = 0; g < w->groups; g++) {
        if (!w->weak[g])
            continue;
        weak++;
        for (size_t k = w->start[g]; k < w->start[g + 1]; k++)
            hosts[m++] = w->member[k];
    }
    float least = one_switch_distance(w, values);
    if (m < 4 || least != least)
        return 0;
    if (split_hosts(w, hosts, m, least, label, &parts, err) < 0)
        return -1;
    if (parts < weak) {
        for (size_t k = 0; k < m; k++)
            w->group[hosts[k]] = (uint32_t)(w->groups + label[k]);
        nt_groups_index(w);
        *changed = true;
    }
    return 0;
}
