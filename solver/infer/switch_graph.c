/* SPDX-License-Identifier: Apache-2.0 */
/* Compares graphs of switches with the best hierarchy. The hosts of a leaf are one vertex, or each
 * host is one. direct.h searches graphs; the score decides (graph_score.h). */
#include <stdlib.h>
#include <string.h>

#include "direct.h"
#include "graph_score.h"
#include "infer_steps.h"
#include "memory.h"
#include "merges.h"
#include "rooted_tree.h"
#include "stats.h"
#include "switch_support.h"

enum {
    ALWAYS = 32,   /* units for which a search among graphs is fast */
    FEW_UNITS = 8, /* for which the search among graphs has too few readings */
    CUTS = 3,      /* of a linkage of all hosts, at its widest gaps */
    MOVES = 5,     /* times that hosts are moved to units which fit better, or a unit is split */
    STARTS = 2 * CUTS + 3,
    CANDIDATES = STARTS + MOVES,
    TABLE_UNITS = 64, /* of a table of hops: is_tree takes the cube of them */
};

/* Graphs that weigh less than e^-12 of all do not count, as chains (tiers.c). */
static const double NEGLIGIBLE = 12;

struct units {
    uint32_t *of; /* hosts of the input; UINT32_MAX: without readings */
    uint32_t count;
    double *end_us; /* hosts of the input: of their links, less the unit's middle */
};

struct candidate {
    struct units units;
    struct nt_work readings; /* between the units */
    double within_us;        /* between hosts of a unit, less their ends; NaN: each has one */
    struct nt_direct graph;
    double least;  /* lower scores are negligible */
    double score;  /* ln p(readings, graph); -INFINITY: there is none */
    double others; /* the same of all other graphs that were scored */
    bool any;      /* the graph is a table of hops */
};

/* Makes no units yet. The arrays are from memory, whose earlier allocations are checked, too. */
static int units_init(struct units *u, size_t hosts, struct nt_arena *memory, struct nt_err *err)
{
    *u = (struct units){.of = nt_arena_array(memory, hosts + 1, sizeof *u->of),
                        .end_us = nt_arena_array(memory, hosts + 1, sizeof *u->end_us)};
    if (nt_arena_check(memory, err) != 0)
        return -1;
    memset(u->of, 0xff, hosts * sizeof *u->of);
    return 0;
}

enum seats { OWN, LEAVES, SWITCHES };

/* Makes units: each host; or the hosts of each leaf, a switch with one link to another; or the
 * hosts of each switch. */
static int find_units(const struct nt_model *m, enum seats seats, struct nt_arena *memory,
                      struct units *u, struct nt_err *err)
{
    uint32_t *links = nt_arena_array(memory, m->switches + 1, sizeof *links);
    uint32_t *number = nt_arena_array(memory, m->switches + 1, sizeof *number);
    if (units_init(u, m->hosts, memory, err) < 0)
        return -1;
    memset(number, 0xff, m->switches * sizeof *number);
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a >= m->hosts && m->link[k].b >= m->hosts) {
            links[m->link[k].a - m->hosts]++;
            links[m->link[k].b - m->hosts]++;
        }
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        uint32_t host = l->a < l->b ? l->a : l->b, at = l->a < l->b ? l->b : l->a;
        if (host >= m->hosts)
            continue;
        at -= (uint32_t)m->hosts;
        bool shared = seats == SWITCHES || (seats == LEAVES && links[at] == 1);
        if (shared && number[at] == UINT32_MAX)
            number[at] = u->count++;
        u->of[host] = shared ? number[at] : u->count++;
    }
    return 0;
}

/* The clusters of a linkage after some merges. */
static int cut_units(const struct nt_work *w, const struct nt_merge *merge, size_t merges,
                     struct nt_arena *memory, struct units *u, struct nt_err *err)
{
    uint32_t *group = nt_arena_array(memory, w->n, sizeof *group);
    uint32_t *number = nt_arena_array(memory, w->n, sizeof *number);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    nt_merges_cut(merge, merges, (uint32_t)w->n, group);
    memset(number, 0xff, w->n * sizeof *number);
    for (size_t i = 0; i < w->n; i++) {
        if (number[group[i]] == UINT32_MAX)
            number[group[i]] = u->count++;
        u->of[w->host[i]] = number[group[i]];
    }
    return 0;
}

/* Units at the widest gaps of a linkage: between hosts of one switch and all others. */
static int cut_gaps(const struct nt_work *w, const struct nt_merge *merge, size_t merges,
                    struct candidate *c, struct nt_arena *memory, struct nt_err *err)
{
    size_t n = w->n, after[CUTS] = {0};
    double gap[CUTS] = {0};
    for (size_t k = 1; k < merges && n - k > 3; k++) { /* four units and more */
        double own = merge[k].height - merge[k - 1].height;
        size_t at = CUTS;
        for (; at > 0 && own > gap[at - 1]; at--)
            if (at < CUTS) {
                gap[at] = gap[at - 1];
                after[at] = after[at - 1];
            }
        if (at < CUTS) {
            gap[at] = own;
            after[at] = k;
        }
    }
    int status = 0;
    for (size_t k = 0; k < CUTS && status == 0; k++)
        if (after[k] > 0)
            status = cut_units(w, merge, after[k], memory, &c[k].units, err);
    return status;
}

static int by_height(const void *x, const void *y)
{
    const struct nt_merge *a = x, *b = y;
    return NT_ORDER(a->height, b->height, 0);
}

/* The least spanning tree of the hosts (Prim, 1957): the linkage by nearest hosts, which readings
 * that are too high do not change. near, from: n of room. */
static size_t link_nearest(const struct nt_work *w, struct nt_merge *merge, double *near,
                           uint32_t *from)
{
    size_t n = w->n, merges = 0;
    for (size_t i = 0; i < n; i++)
        near[i] = i == 0 ? -1 : (double)INFINITY; /* below 0: in the tree */
    for (uint32_t last = 0, next = 1; next != 0; last = next) {
        next = 0;
        for (uint32_t i = 1; i < n; i++) {
            double v = (double)w->d[last * n + i];
            if (v < near[i]) {
                near[i] = v;
                from[i] = last;
            }
            if (near[i] >= 0 && isfinite(near[i]) && (next == 0 || near[i] < near[next]))
                next = i;
        }
        if (next != 0) {
            merge[merges++] = (struct nt_merge){from[next], next, near[next]};
            near[next] = -1;
        }
    }
    qsort(merge, merges, sizeof *merge, by_height);
    return merges;
}

/* Cuts of two linkages of the hosts: by the mean reading, and by the nearest hosts. */
static int find_cuts(const struct nt_work *w, size_t hosts, struct candidate *c,
                     struct nt_arena *memory, struct nt_err *err)
{
    size_t n = w->n;
    size_t pitch = nt_merges_pitch((uint32_t)n);
    struct nt_merge_entry *table = nt_arena_array(memory, n * pitch, sizeof *table);
    struct nt_merge *merge = nt_arena_array(memory, n, sizeof *merge);
    uint32_t *room = nt_arena_array(memory, 2 * n, sizeof *room);
    double *near = nt_arena_array(memory, n, sizeof *near);
    for (int k = 0; k < 2 * CUTS; k++)
        if (units_init(&c[k].units, hosts, memory, err) < 0)
            return -1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (!isnan(w->d[i * n + j]))
                table[i * pitch + j] = (struct nt_merge_entry){w->d[i * n + j], 1};
    size_t merges = nt_merges_find((uint32_t)n, table, NULL, merge, room);
    if (cut_gaps(w, merge, merges, c, memory, err) < 0)
        return -1;
    merges = link_nearest(w, merge, near, room);
    return cut_gaps(w, merge, merges, c + CUTS, memory, err);
}

/* The middle of the readings between two units, less their hosts' ends. start: units squared and
 * one of room; value: a place for each pair of hosts. */
static void find_middles(const struct nt_work *w, struct candidate *c, size_t *start, float *value)
{
    const struct units *u = &c->units;
    struct nt_work *q = &c->readings;
    size_t n = q->n;
    for (int put = 0; put < 2; put++) { /* how many there are, then the readings */
        memset(start, 0, put ? 0 : (n * n + 1) * sizeof *start);
        for (size_t i = 1; i < w->n; i++)
            for (size_t j = 0; j < i; j++) {
                uint32_t a = w->host[i], b = w->host[j];
                size_t x = u->of[a] > u->of[b] ? u->of[a] : u->of[b];
                size_t y = x == u->of[a] ? u->of[b] : u->of[a];
                float v = w->d[i * w->n + j] - (float)(u->end_us[a] + u->end_us[b]);
                if (v == v && x != y && put)
                    value[--start[x * n + y]] = v;
                else if (v == v && x != y)
                    start[x * n + y]++;
            }
        for (size_t p = 0; !put && p < n * n; p++)
            start[p + 1] += start[p];
    }
    q->pairs = 0;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b <= a; b++) {
            size_t at = a * n + b, count = start[at + 1] - start[at];
            float middle = count > 0 ? nt_stats_median(value + start[at], count) : NAN;
            q->d[at] = q->d[b * n + a] = middle;
            q->pairs += count > 0;
        }
    q->holes = 2 * q->pairs != n * (n - 1);
}

/* Ends of the hosts of a unit: by how much their readings to other units differ in the middle. */
static void find_ends(const struct nt_work *w, struct candidate *c, float *value)
{
    struct units *u = &c->units;
    for (size_t i = 0; i < w->n; i++) {
        size_t count = 0;
        for (size_t j = 0; j < w->n; j++) {
            uint32_t a = u->of[w->host[i]], b = u->of[w->host[j]];
            float rest = w->d[i * w->n + j] - c->readings.d[a * u->count + b];
            if (rest == rest)
                value[count++] = rest;
        }
        u->end_us[w->host[i]] = count > 0 ? (double)nt_stats_median(value, count) : 0;
    }
}

/* The middle of the readings within units, less their hosts' ends. */
static double middle_within(const struct nt_work *w, const struct units *u, float *value)
{
    size_t count = 0;
    for (size_t i = 1; i < w->n; i++)
        for (size_t j = 0; j < i; j++) {
            uint32_t a = w->host[i], b = w->host[j];
            float v = w->d[i * w->n + j] - (float)(u->end_us[a] + u->end_us[b]);
            if (u->of[a] == u->of[b] && v == v)
                value[count++] = v;
        }
    return count > 0 ? (double)nt_stats_median(value, count) : (double)NAN;
}

/* Readings between units. */
static int take_readings(const struct nt_work *w, struct candidate *c, struct nt_arena *memory,
                         struct nt_err *err)
{
    size_t n = c->units.count;
    struct nt_work *q = &c->readings;
    *q = (struct nt_work){.n = n, .noise = w->noise, .rng = w->rng};
    q->host = nt_arena_array(memory, n + 1, sizeof *q->host);
    q->d = nt_arena_array(memory, n * n + 1, sizeof *q->d);
    size_t *start = nt_arena_array(memory, n * n + 1, sizeof *start);
    float *value = nt_arena_array(memory, w->n * (w->n + 1) / 2, sizeof *value);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t a = 0; a < n; a++)
        q->host[a] = (uint32_t)a;
    find_middles(w, c, start, value);
    c->within_us = (double)NAN;
    if (n == w->n)
        return 0;
    find_ends(w, c, value);
    find_middles(w, c, start, value);
    c->within_us = middle_within(w, &c->units, value);
    return 0;
}

static struct nt_switch_graph graph_of(const struct units *u, const struct nt_direct *d, bool any)
{
    return (struct nt_switch_graph){.units = u->count,
                                    .unit = u->of,
                                    .hops = d->hops,
                                    .link_us = d->hop,
                                    .links = d->links,
                                    .regular = d->regular,
                                    .any = any};
}

/* Takes the graph if its score exceeds the candidate's; else frees it. */
static int keep_better(struct candidate *c, struct nt_direct *d, bool any,
                       const struct nt_pairs *readings, struct nt_err *err)
{
    struct nt_switch_graph g = graph_of(&c->units, d, any);
    double score = -(double)INFINITY;
    int status = 0;
    size_t hops = (size_t)c->units.count * c->units.count * sizeof *d->hops;
    bool again = isfinite(c->score) && memcmp(d->hops, c->graph.hops, hops) == 0;
    if (!again && isfinite(d->hop) && d->hop > 0) {
        if (isfinite(c->least))
            c->least = fmax(c->least, c->score - NEGLIGIBLE);
        status = nt_graph_score(&g, readings, c->least, &score, err);
    }
    if (status == 0)
        c->others = nt_log_sum(c->others, fmin(score, c->score));
    if (status == 0 && score > c->score) {
        struct nt_direct swap = c->graph;
        c->graph = *d;
        *d = swap;
        c->score = score;
        c->any = any;
    }
    nt_direct_fini(d);
    return status;
}

/* The graph of all pairs of units up to a reading. d->hop: NaN if it does not connect them. */
static int near_graph(const struct nt_work *q, float cut, struct nt_direct *d, struct nt_err *err)
{
    size_t n = q->n;
    float values[FEW_UNITS * 9];
    uint32_t queue[FEW_UNITS], neighbour[FEW_UNITS * FEW_UNITS];
    size_t start[FEW_UNITS + 1];
    if (nt_direct_init(d, n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            d->linked[i * n + j] = i != j && q->d[i * n + j] <= cut;
            d->links += j < i && d->linked[i * n + j];
        }
    d->hop = NAN;
    if (!nt_direct_count_hops(d, queue, neighbour, start))
        return 0;
    nt_direct_fit(q, d, values);
    struct nt_model *named;
    if (nt_model_create(n, 0, 0, &named, err) < 0) {
        nt_direct_fini(d);
        return -1;
    }
    int status = nt_direct_family(d, named, err);
    d->regular = status == 0 && named->family != NT_FAMILY_IRREGULAR;
    nt_model_destroy(named);
    return status;
}

/* Few units: the graphs of all pairs up to each reading. */
static int find_near_graphs(const struct nt_pairs *readings, struct candidate *c,
                            struct nt_err *err)
{
    const struct nt_work *q = &c->readings;
    int status = 0;
    for (size_t i = 1; i < q->n && status == 0; i++)
        for (size_t j = 0; j < i && status == 0; j++) {
            struct nt_direct d;
            float cut = q->d[i * q->n + j];
            if (cut == cut)
                status = near_graph(q, cut, &d, err);
            if (cut == cut && status == 0)
                status = keep_better(c, &d, false, readings, err);
        }
    return status;
}

/* The nearest number of hops for each pair of units; whether one changes. */
static bool set_hops(const struct nt_work *q, struct nt_direct *d)
{
    size_t n = q->n;
    bool changed = false;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double us = (double)nt_direct_reading(q, d, i, j),
                   hops = round((us - d->base) / d->hop);
            uint16_t now = us == us ? (uint16_t)fmax(1, fmin(hops, NT_GRAPH_HOPS_MAX)) : 0;
            changed = changed || now != d->hops[i * n + j];
            d->hops[i * n + j] = now;
        }
    return changed;
}

/* The largest number of hops by which a pair is farther apart than over a third unit, which is
 * impossible for paths. One pair and the expected number of outliers are ignored. */
static int longest_detour(const struct nt_direct *d)
{
    size_t n = d->n, over[NT_GRAPH_HOPS_MAX + 1] = {0}, longer = 0; /* pairs by how many hops */
    int more = NT_GRAPH_HOPS_MAX;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            int own = d->hops[i * n + j], excess = 0;
            for (size_t k = 0; k < n; k++) {
                int a = d->hops[i * n + k], b = d->hops[k * n + j];
                excess = a > 0 && b > 0 && own - a - b > excess ? own - a - b : excess;
            }
            over[excess]++;
        }
    for (double pairs = (double)n * (double)(n - 1) / 2; more > 0; more--) {
        longer += over[more];
        if (longer > 1 && (double)(longer - 1) * NT_TAIL_RATE_PRIOR > pairs)
            break;
    }
    return more;
}

/* The readings between units show differences of hops alone. Their number follows from the readings
 * within units, which have none; or it is the least with which paths are no detours. */
static void anchor_hops(struct nt_direct *d, double within_us)
{
    size_t count = d->n * d->n;
    int least = NT_GRAPH_HOPS_MAX, most = 0;
    for (size_t p = 0; p < count; p++) {
        least = d->hops[p] > 0 && d->hops[p] < least ? d->hops[p] : least;
        most = d->hops[p] > most ? d->hops[p] : most;
    }
    double more = isfinite(within_us) ? round((d->base - within_us) / d->hop) : longest_detour(d);
    more = fmin(more, fmin(NT_GRAPH_HOPS_MAX - most, floor(d->base / d->hop))); /* ends over 0 */
    more = fmax(more, 1 - least);
    for (size_t p = 0; p < count; p++)
        d->hops[p] = (uint16_t)(d->hops[p] + (d->hops[p] > 0 ? more : 0));
    d->base -= more * d->hop;
}

/* Links of a table of hops: pairs that have no unit between them. */
static void set_links(struct nt_direct *d)
{
    size_t n = d->n;
    d->links = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            unsigned hops = d->hops[i * n + j];
            bool linked = hops > 0;
            for (size_t k = 0; k < n && linked; k++) {
                unsigned a = d->hops[i * n + k], b = d->hops[k * n + j];
                linked = a == 0 || b == 0 || a + b > hops;
            }
            d->linked[i * n + j] = linked;
            d->links += linked && j < i;
        }
}

/* Whether a tree has exactly these hops: in a tree the two largest sums of each quartet are equal
 * (Buneman 1971). If the quartets with the first unit satisfy this, all do. The hops of a tree are
 * a hierarchy, not another network. */
static bool is_tree(const struct nt_direct *d)
{
    size_t n = d->n;
    const uint16_t *hops = d->hops;
    for (size_t i = 1; i < n; i++)
        for (size_t j = 1; j < i; j++)
            for (size_t k = 1; k < j; k++) {
                int a = hops[i] + hops[j * n + k], b = hops[j] + hops[i * n + k];
                int c = hops[k] + hops[i * n + j];
                int most = a > b ? a : b, least = a > b ? b : a;
                int middle = c < least ? least : c < most ? c : most;
                bool known = hops[i] > 0 && hops[j] > 0 && hops[k] > 0 && hops[j * n + k] > 0 &&
                             hops[i * n + k] > 0 && hops[i * n + j] > 0;
                most = c > most ? c : most;
                if (known && most > middle)
                    return false;
            }
    return true;
}

/* Odds, summed, of the tables that differ in one number. */
static double table_odds(const struct nt_work *q, const struct nt_direct *d)
{
    size_t n = q->n;
    double sum = 0;
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            double us = (double)nt_direct_reading(q, d, i, j), hops = d->hops[i * n + j];
            double off = fabs(us - d->base - d->hop * hops) / d->hop;
            double sd = fmax(NT_SD_OF_MEAN * d->residual * us / d->hop, 1e-6);
            if (us == us)
                sum += exp(fmin((2 * off - 1) / (2 * sd * sd), 0));
        }
    return sum;
}

/* A network of any shape whose units, those of the graph, are whole numbers of hops apart. */
static int find_table(const struct nt_pairs *readings, const struct candidate *graph,
                      struct candidate *c, struct nt_arena *memory, struct nt_err *err)
{
    enum { SPANS = 10, ROUNDS = 5 };
    const struct nt_work *q = &c->readings;
    *c = (struct candidate){.units = graph->units,
                            .readings = graph->readings,
                            .within_us = graph->within_us,
                            .least = graph->least,
                            .score = -(double)INFINITY};
    size_t n = q->n, count = 0;
    if (n > TABLE_UNITS)
        return 0;
    float *v = nt_arena_array(memory, n * n + 9 * n, sizeof *v);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++)
            if (q->d[i * n + j] == q->d[i * n + j])
                v[count++] = q->d[i * n + j];
    if (count < 3)
        return 0;
    bool within = isfinite(c->within_us); /* 0 hops; else the nearest units are one hop apart */
    double low = within ? c->within_us : (double)nt_stats_quantile(v, count, 0.05);
    double span = (double)nt_stats_quantile(v, count, 0.95) - low;
    for (int k = 1; k <= SPANS && span > 0; k++) {
        struct nt_direct d;
        if (nt_direct_init(&d, n, err) < 0)
            return -1;
        d.hop = span / k;
        d.base = within ? low : low - d.hop;
        for (int round = 0; d.hop > 0 && set_hops(q, &d) && round < ROUNDS; round++)
            nt_direct_fit(q, &d, v);
        if (!(d.hop > 0) || is_tree(&d)) {
            nt_direct_fini(&d);
            continue;
        }
        anchor_hops(&d, c->within_us);
        set_links(&d);
        d.error_odds = table_odds(q, &d);
        if (keep_better(c, &d, true, readings, err) < 0)
            return -1;
    }
    return 0;
}

/* The best graph of the units, and its score. */
static int find_graph(const struct nt_work *w, const struct nt_pairs *readings,
                      struct nt_direct_effort *effort, struct candidate *c, struct nt_arena *memory,
                      struct nt_err *err)
{
    struct nt_direct d;
    if (take_readings(w, c, memory, err) < 0 ||
        (c->units.count <= FEW_UNITS && find_near_graphs(readings, c, err) < 0) ||
        nt_direct_find(&c->readings, effort, &d, err) < 0)
        return -1;
    if (isfinite(d.score))
        return keep_better(c, &d, false, readings, err);
    nt_direct_fini(&d);
    return 0;
}

/* The mean distance between the readings of host i, less its own end, and the expected readings of
 * a host of the unit. One reading counts at most one hop. */
static double host_misfit(const struct nt_work *w, const struct candidate *c, size_t i,
                          uint32_t unit, float *rest, float *order)
{
    const struct nt_direct *d = &c->graph;
    size_t count = 0;
    double sum = 0;
    for (size_t j = 0; j < w->n; j++) {
        uint32_t h = w->host[j], b = c->units.of[h];
        double us = d->base + d->hop * d->hops[unit * d->n + b] + c->units.end_us[h];
        float v = w->d[i * w->n + j] - (float)us - d->offset[b];
        if (v == v && (b == unit || d->hops[unit * d->n + b] > 0))
            rest[count++] = v;
    }
    if (count == 0)
        return INFINITY;
    memcpy(order, rest, count * sizeof *rest);
    float end = nt_stats_median(order, count);
    for (size_t k = 0; k < count; k++)
        sum += fmin((double)fabsf(rest[k] - end), d->hop);
    return sum / (double)count;
}

/* The distance between the readings of two hosts with all others. */
static double rows_apart(const struct nt_work *w, size_t i, size_t j, double most)
{
    double sum = 0, count = 0;
    for (size_t k = 0; k < w->n; k++) {
        double off = fabs((double)(w->d[i * w->n + k] - w->d[j * w->n + k]));
        sum += off == off ? fmin(off, most) : 0;
        count += off == off;
    }
    return count > 0 ? sum / count : 0;
}

/* Splits the unit that fits worst: each host joins the seed whose readings are nearer to its own.
 * The seeds are the two hosts that differ most. misfit: per host in its unit. */
static void split_unit(const struct nt_work *w, const struct candidate *c, const double *misfit,
                       double *sum, struct units *next)
{
    uint32_t worst = UINT32_MAX, units = c->units.count;
    size_t seed[2] = {0, 0};
    double widest = 0;
    memset(sum, 0, 2 * (size_t)units * sizeof *sum);
    for (size_t i = 0; i < w->n; i++) {
        sum[c->units.of[w->host[i]]] += misfit[i];
        sum[units + c->units.of[w->host[i]]]++;
    }
    for (uint32_t a = 0; a < units; a++)
        if (sum[units + a] > 1 &&
            (worst == UINT32_MAX || sum[a] / sum[units + a] > sum[worst] / sum[units + worst]))
            worst = a;
    for (size_t i = 1; i < w->n && worst != UINT32_MAX; i++)
        for (size_t j = 0; j < i && c->units.of[w->host[i]] == worst; j++) {
            double apart = c->units.of[w->host[j]] == worst ? rows_apart(w, i, j, c->graph.hop) : 0;
            if (apart > widest) {
                widest = apart;
                seed[0] = i;
                seed[1] = j;
            }
        }
    for (size_t i = 0; i < w->n; i++) {
        uint32_t unit = c->units.of[w->host[i]];
        bool other = unit == worst && rows_apart(w, i, seed[1], c->graph.hop) <
                                          rows_apart(w, i, seed[0], c->graph.hop);
        next->of[w->host[i]] = other ? units : unit;
    }
    next->count = widest > 0 ? units + 1 : 0;
}

/* Moves each host to the unit that its readings fit best; if none moves, adds a unit; next->count
 * 0: impossible. */
static int move_hosts(const struct nt_work *w, const struct candidate *c, size_t hosts,
                      struct units *next, struct nt_arena *memory, struct nt_err *err)
{
    uint32_t *number = nt_arena_array(memory, c->units.count + 1, sizeof *number);
    float *rest = nt_arena_array(memory, 2 * w->n, sizeof *rest);
    double *own = nt_arena_array(memory, w->n + 2 * (size_t)c->units.count, sizeof *own);
    bool moved = false;
    if (units_init(next, hosts, memory, err) < 0)
        return -1;
    memset(number, 0xff, (c->units.count + 1) * sizeof *number);
    for (size_t i = 0; i < w->n; i++) {
        uint32_t best = c->units.of[w->host[i]];
        double least = own[i] = host_misfit(w, c, i, best, rest, rest + w->n);
        for (uint32_t a = 0; a < c->units.count; a++) {
            double misfit = host_misfit(w, c, i, a, rest, rest + w->n);
            if (misfit < least - 1e-9 * c->graph.hop) {
                least = misfit;
                best = a;
            }
        }
        moved = moved || best != c->units.of[w->host[i]];
        number[best] = number[best] == UINT32_MAX ? next->count++ : number[best];
        next->of[w->host[i]] = number[best];
    }
    if (!moved)
        split_unit(w, c, own, own + w->n, next);
    return 0;
}

/* Adds the hosts to the model of the units. */
static int attach_hosts(const struct nt_work *w, const struct candidate *c,
                        const struct nt_model *units, size_t hosts, struct nt_model **out,
                        struct nt_err *err)
{
    const struct nt_direct *d = &c->graph;
    const struct units *u = &c->units;
    struct nt_model *m;
    size_t k = 0;
    if (nt_model_create(hosts, u->count, w->n + units->links, &m, err) < 0)
        return -1;
    for (size_t i = 0; i < w->n; i++) {
        uint32_t h = w->host[i], a = u->of[h];
        double us = 0.5 * d->base + (double)d->offset[a] + u->end_us[h];
        m->link[k].a = h;
        m->link[k].b = (uint32_t)hosts + a;
        m->link[k++].latency_us = fmax(us, 1e-6);
    }
    for (size_t l = 0; l < units->links; l++, k++) {
        m->link[k] = units->link[l];
        m->link[k].a += (uint32_t)hosts;
        m->link[k].b += (uint32_t)hosts;
    }
    bool line = units->links + 1 == u->count; /* without a cycle: a tree */
    m->family = line ? NT_FAMILY_TREE : units->family;
    m->dimensions = line ? 0 : units->dimensions;
    memcpy(m->dimension, units->dimension, sizeof m->dimension);
    m->twist = units->twist;
    m->confidence = units->confidence;
    m->resolution_us = units->resolution_us;
    *out = m;
    return 0;
}

static int graph_model(const struct nt_work *w, const struct candidate *c, size_t hosts,
                       struct nt_model **out, struct nt_err *err)
{
    struct nt_model *units;
    if (c->units.count == w->n)
        return nt_direct_model(w, &c->graph, hosts, out, err);
    if (nt_direct_model(&c->readings, &c->graph, c->units.count, &units, err) < 0)
        return -1;
    int status = attach_hosts(w, c, units, hosts, out, err);
    nt_model_destroy(units);
    if (status == 0)
        status = nt_direct_quality(w, *out, err);
    return status;
}

static bool same_units(const struct units *a, const struct units *b, size_t hosts)
{
    return a->count == b->count && memcmp(a->of, b->of, hosts * sizeof *a->of) == 0;
}

/* A graph and a table that are one network. */
static bool same_network(const struct candidate *graph, const struct candidate *table, size_t hosts)
{
    size_t n = graph->units.count;
    return isfinite(graph->score) && isfinite(table->score) &&
           same_units(&graph->units, &table->units, hosts) &&
           memcmp(graph->graph.hops, table->graph.hops, n * n * sizeof *graph->graph.hops) == 0;
}

/* ---- groups of a tree in the graphs -----------------------------------------------------------*/

/* Units of a graph and a group of hosts. */
struct parted {
    const struct nt_direct *graph;
    uint32_t *hosts[2]; /* per unit: hosts outside and inside */
};

/* Two units of one side, one of them twice if it has two hosts, are nearer to each other than paths
 * to two of the other side are. */
static bool is_apart(const struct parted *p, size_t i, size_t j)
{
    const struct nt_direct *d = p->graph;
    size_t n = d->n;
    for (size_t u = 0; u < n; u++)
        for (size_t v = 0; v <= u && p->hosts[false][u] > 0; v++) {
            if (p->hosts[false][v] < (u == v ? 2 : 1))
                continue;
            unsigned iu = d->hops[i * n + u], iv = d->hops[i * n + v], ju = d->hops[j * n + u];
            unsigned jv = d->hops[j * n + v], one = iu + jv, other = iv + ju;
            bool known = iu > 0 && iv > 0 && ju > 0 && jv > 0;
            if (known &&
                (one < other ? one : other) <= (unsigned)d->hops[i * n + j] + d->hops[u * n + v])
                return false;
        }
    return true;
}

/* Whether a graph contains a group: the hosts of one unit, or the hosts on one side of all
 * paths. */
static bool has_group(const struct candidate *c, size_t hosts, const bool *in,
                      const struct parted *p)
{
    size_t n = c->units.count, sides[2] = {0, 0};
    for (size_t u = 0; u < n; u++)
        p->hosts[false][u] = p->hosts[true][u] = 0;
    for (size_t h = 0; h < hosts; h++)
        if (c->units.of[h] != UINT32_MAX)
            p->hosts[in[h]][c->units.of[h]]++;
    for (size_t u = 0; u < n; u++) {
        if (p->hosts[false][u] > 0 && p->hosts[true][u] > 0)
            return false;
        sides[p->hosts[true][u] > 0]++;
    }
    bool has = true;
    for (size_t i = 0; i < n && has && sides[false] > 1 && sides[true] > 1; i++)
        for (size_t j = 0; j <= i && has && p->hosts[true][i] > 0; j++)
            has = p->hosts[true][j] < (i == j ? 2 : 1) || is_apart(p, i, j);
    return has;
}

static bool is_between_switches(const struct nt_model *m, const struct nt_link *l)
{
    return l->a >= m->hosts && l->b >= m->hosts;
}

/* Marks the hosts on one side of a link. */
static void mark_side(const struct nt_rooted_tree *h, const struct nt_link *l, bool *in)
{
    uint32_t below = h->parent[l->a] == l->b ? l->a : l->b;
    memset(in, 0, h->hosts * sizeof *in);
    for (uint32_t k = h->head[below]; k < h->tail[below]; k++)
        in[h->host[k]] = true;
}

/* Adds the probability of a graph to the support of the tree's groups that the graph has. */
static int add_support(struct nt_model *m, const struct nt_rooted_tree *h,
                       const struct candidate *c, double probability, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct parted p = {.graph = &c->graph};
    bool *in = nt_arena_array(&memory, m->hosts, sizeof *in);
    p.hosts[false] = nt_arena_array(&memory, c->units.count + 1, sizeof *p.hosts[false]);
    p.hosts[true] = nt_arena_array(&memory, c->units.count + 1, sizeof *p.hosts[true]);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < m->links && h->tree; k++) {
        if (!is_between_switches(m, &m->link[k]))
            continue;
        mark_side(h, &m->link[k], in);
        if (has_group(c, m->hosts, in, &p))
            m->link[k].probability += probability;
    }
    return 0;
}

struct graphs {
    struct candidate c[CANDIDATES], t[CANDIDATES]; /* graphs, and tables of hops */
    const struct candidate *best, *table;          /* the likeliest of each */
    double tree, all; /* ln p(readings, hierarchy); sum over all networks that were scored */
    bool same;        /* best and table are one network */
};

/* Searches graphs of hosts, of leaves of the tree and of clusters, and near the most probable
 * graph. */
static int find_graphs(const struct nt_work *w, const struct nt_pairs *readings,
                       const struct nt_model *m, struct graphs *g, struct nt_arena *memory,
                       struct nt_err *err)
{
    struct nt_direct_effort effort = {.most = NT_DIRECT_STEPS_MAX};
    if (find_units(m, OWN, memory, &g->c[0].units, err) < 0 ||
        find_units(m, LEAVES, memory, &g->c[1].units, err) < 0 ||
        find_units(m, SWITCHES, memory, &g->c[2].units, err) < 0 ||
        find_cuts(w, m->hosts, g->c + 3, memory, err) < 0)
        return -1;
    bool sure = m->confidence >= NT_SUPPORT_USED; /* then most of the time would be lost */
    double last = -(double)INFINITY;              /* the best score before the last move of hosts */
    for (size_t k = 0; k < CANDIDATES; k++) {
        const struct candidate *likely = g->table->score > g->best->score ? g->table : g->best;
        struct candidate *c = &g->c[k], *t = &g->t[k];
        bool rises = likely->score > fmin(last, g->tree); /* or another try is worthwhile */
        last = k >= STARTS ? likely->score : last;
        if (k >= STARTS && rises && move_hosts(w, likely, m->hosts, &c->units, memory, err) < 0)
            return -1;
        bool skip = c->units.count < 4 || c->units.count > NT_DIRECT_HOSTS_MAX ||
                    (c->units.count > ALWAYS && sure);
        if (isfinite(c->least))
            c->least = fmax(c->least, likely->score - NEGLIGIBLE);
        for (size_t l = 0; l < k && !skip; l++)
            skip = same_units(&c->units, &g->c[l].units, m->hosts);
        if (!skip && (find_graph(w, readings, &effort, c, memory, err) < 0 ||
                      find_table(readings, c, t, memory, err) < 0))
            return -1;
        g->best = c->score > g->best->score ? c : g->best;
        g->table = t->score > g->table->score ? t : g->table;
    }
    return 0;
}

static void weigh(const struct nt_work *w, const struct nt_pairs *readings,
                  const struct nt_model *m, struct graphs *g)
{
    const struct candidate *table = g->table;
    if (isfinite(table->score) && table->units.count == w->n && m->switches == 1) {
        struct nt_switch_graph any = graph_of(&table->units, &table->graph, true);
        double sd_us = NT_SD_OF_MEAN * table->graph.residual * readings->scale_us;
        g->tree = nt_log_sum(g->tree, table->score + nt_graph_levels_odds(&any, readings, sd_us));
    }
    g->same = same_network(g->best, table, readings->all);
    g->all = g->tree;
    for (size_t k = 0; k < CANDIDATES; k++)
        g->all = nt_log_sum(g->all, nt_log_sum(g->c[k].score, g->c[k].others));
    g->all = g->same ? fmax(g->all, table->score) : nt_log_sum(g->all, table->score);
}

static int take_graph(const struct nt_work *w, const struct graphs *g, const struct candidate *c,
                      struct nt_model **model, struct nt_err *err)
{
    struct nt_model *m;
    if (graph_model(w, c, (*model)->hosts, &m, err) < 0)
        return -1;
    m->confidence *= exp(c->score - g->all);
    for (size_t k = 0; k < m->links; k++)
        if (is_between_switches(m, &m->link[k]))
            m->link[k].probability = m->confidence;
    nt_model_destroy(*model);
    *model = m;
    return 0;
}

/* The support of the tree's groups, by all networks. */
static int share_support(const struct graphs *g, struct nt_model *m, struct nt_err *err)
{
    struct nt_rooted_tree *h;
    double tree = exp(g->tree - g->all);
    int status = 0;
    if (nt_rooted_tree_create(m, &h, err) != 0)
        return -1;
    m->confidence *= tree;
    for (size_t k = 0; k < m->links; k++)
        if (is_between_switches(m, &m->link[k]))
            m->link[k].probability *= tree;
    for (size_t k = 0; k < CANDIDATES && status == 0; k++) {
        double score = nt_log_sum(g->c[k].score, g->c[k].others);
        if (score > g->all - NEGLIGIBLE)
            status = add_support(m, h, &g->c[k], exp(score - g->all), err);
    }
    if (status == 0 && g->table->score > g->all - NEGLIGIBLE && !g->same)
        status = add_support(m, h, g->table, exp(g->table->score - g->all), err);
    nt_rooted_tree_destroy(h);
    return status;
}

/* Removes the groups with a support below 1/2, and fits the other links again. */
static int remove_groups(const struct nt_work *w, struct nt_model **model, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    bool *gone = nt_arena_array(&memory, (*model)->links, sizeof *gone), any = false;
    if (nt_arena_check(&memory, err) != 0 || nt_model_canonicalise(*model, err) != 0)
        return -1;
    for (size_t k = 0; k < (*model)->links; k++) {
        const struct nt_link *l = &(*model)->link[k];
        gone[k] = is_between_switches(*model, l) && l->probability < NT_SUPPORT_REPORTED;
        any = any || gone[k];
    }
    if (!any)
        return 0;
    return nt_regroup_contract(model, gone, err) < 0 ? -1 : nt_links_fit(w, *model, err);
}

static int finish_tree(const struct nt_work *w, const struct graphs *g, struct nt_model **model,
                       struct nt_err *err)
{
    return share_support(g, *model, err) < 0 ? -1 : remove_groups(w, model, err);
}

int nt_switch_graph_judge(const struct nt_work *w, const struct nt_pairs *readings, double evidence,
                          struct nt_model **model, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct graphs g = {.best = &g.c[0], .table = &g.t[0], .tree = evidence};
    if (w->n < 4)
        return 0;
    for (size_t k = 0; k < CANDIDATES; k++) {
        g.c[k].score = g.t[k].score = g.c[k].others = g.t[k].others = -(double)INFINITY;
        /* weigh needs exact scores of tables if the tree is one switch */
        g.c[k].least = (*model)->switches > 1 ? evidence - NEGLIGIBLE : -(double)INFINITY;
    }
    int status = find_graphs(w, readings, *model, &g, &memory, err);
    if (status == 0) {
        weigh(w, readings, *model, &g);
        /* a graph's own table may be the likelier */
        const struct candidate *likely = g.best->score >= g.table->score ? g.best : g.table;
        status = likely->score > g.tree ? take_graph(w, &g, likely, model, err)
                                        : finish_tree(w, &g, model, err);
    }
    for (size_t k = 0; k < CANDIDATES; k++) {
        nt_direct_fini(&g.c[k].graph);
        nt_direct_fini(&g.t[k].graph);
    }
    return status;
}
