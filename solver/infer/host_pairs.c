/* SPDX-License-Identifier: Apache-2.0 */
#include "host_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "near_class.h"
#include "next_reading.h"
#include "rooted_tree.h"
#include "stats.h"

enum {
    ROUNDS = 12, /* of expectation and maximisation */
    SWEEPS = 4,  /* of messages in each */
    BRANCHES = 4 /* of a switch that has a pair: both hosts, and what parts it from a longer link */
};

/* Readings that are no nearer than so many sd are in no pair; under half of the gap none are. */
static const double NEAR = 1.5;
/* Before its readings are known a switch has as many pairs as others have, as if so many hosts had
 * been seen; where there are no others, as many as PAIRED says, as if of one switch. */
static const double HOSTS_BEFORE = 4, PAIRED = 0.05;
/* Readings that are far too low, at the least: one in a network of thirty; in sweeps of a few
 * readings a pair one in ten (tests/bench faults had two in one of a hundred and two in others, and
 * did not see those that make no pair). */
static const double EARLY_EVER = 1.0 / 30, EARLY_SWEPT = 1.0 / 10, EARLY_LEAST = 1e-5;
/* Share of the pairs that are of another depth, any alike, as if of one pair that was seen. */
static const double OTHER_DEPTH = 0.1;
/* So many pairs each of a depth of its own are there in a network of few hosts; of the others half
 * are readings that are wrong. */
static const double LONELY = 3;
/* Probabilities under this are not listed. */
static const double LISTED = 0.01;

/* A host at the switch where it would be if it were in no pair. */
struct seat {
    uint32_t at;
    double us; /* from there */
    bool paired;
};

struct edge {
    uint32_t a, b;
    double near, ratio;        /* sd; of likelihoods as a pair and as none */
    double next;               /* see nt_next_reading_ln() */
    double weight;             /* see weight_of() */
    double from_a, from_b, in; /* messages; the probability */
};

struct matching {
    const struct nt_work *w;
    const struct nt_model *m;
    struct nt_rooted_tree *tree;
    uint32_t *place; /* model->hosts: index in w, or UINT32_MAX */
    struct seat *seat;
    uint32_t *start, *host; /* by switch, as in seat */
    size_t *branches;       /* of a switch, no pair behind its own */
    double *part;           /* of a switch: see set_parts() */
    double *pairs, *usual;  /* of a switch: expected; share of hosts in pairs that others have */
    double *sum;            /* of the messages to a host */
    float *near;            /* of all candidates */
    size_t candidates, edges;
    struct edge *edge;
    double unit;  /* sd of what the fit leaves over, in those of a reading */
    double early; /* share of readings that are far too low, whatever the pairs say */
    double other; /* share of the pairs that are of another depth */
    struct nt_near_class class;
};

/* ---- candidates ---- */

/* Where the pair behind switch s would be without it; NT_NO_VERTEX: there is no pair. *link: there.
 */
static uint32_t above_pair(const struct matching *x, uint32_t s, uint32_t *link)
{
    const struct nt_graph *g = &x->tree->graph;
    uint32_t above = NT_NO_VERTEX, hosts = 0;
    if (nt_graph_degree(g, s) != 3)
        return NT_NO_VERTEX;
    for (uint32_t k = g->start[s]; k < g->start[s + 1]; k++) {
        hosts += g->to[k] < x->m->hosts;
        if (g->to[k] >= x->m->hosts) {
            above = g->to[k];
            *link = g->link[k];
        }
    }
    return hosts == 2 ? above : NT_NO_VERTEX;
}

static void seat_hosts(struct matching *x)
{
    const struct nt_model *m = x->m;
    const struct nt_graph *g = &x->tree->graph;
    for (uint32_t s = (uint32_t)m->hosts; s < m->hosts + m->switches; s++) {
        uint32_t up = 0, above = above_pair(x, s, &up);
        bool paired = above != NT_NO_VERTEX;
        uint32_t at = paired ? above : s;
        x->branches[at] += paired;
        x->branches[s] += nt_graph_degree(g, s);
        for (uint32_t k = g->start[s]; k < g->start[s + 1]; k++) {
            if (g->to[k] >= m->hosts || x->place[g->to[k]] == UINT32_MAX)
                continue;
            double us = m->link[g->link[k]].latency_us + (paired ? m->link[up].latency_us : 0);
            x->seat[x->place[g->to[k]]] = (struct seat){at, us, paired};
            x->start[at + 2]++;
        }
    }
    for (size_t v = 0; v < m->hosts + m->switches; v++)
        x->start[v + 2] += x->start[v + 1];
    for (uint32_t i = 0; i < x->w->n; i++)
        x->host[x->start[x->seat[i].at + 1]++] = i;
}

/* The part that a reading has in what is fitted to it (its leverage): of both hosts' links, each
 * from the readings to all others, and of the link from their switch to the largest branch, from
 * those between the other branches. */
static void set_parts(struct matching *x)
{
    const struct nt_rooted_tree *t = x->tree;
    double n = (double)x->w->n;
    for (uint32_t v = (uint32_t)x->m->hosts; v < t->vertices; v++) {
        double largest = 0, squares = 0;
        for (uint32_t k = t->graph.start[v]; k < t->graph.start[v + 1]; k++) {
            uint32_t b = t->graph.to[k];
            double hosts =
                b == t->parent[v] ? n - nt_rooted_tree_count(t, v) : nt_rooted_tree_count(t, b);
            largest = fmax(largest, hosts);
            squares += hosts * hosts;
        }
        double readings = 0.5 * ((n - largest) * (n - largest) - squares + largest * largest);
        x->part[v] = fmin(2 / (n - 1) + 1 / fmax(readings, 1), 0.75);
    }
}

/* us, of what the fit leaves over of a reading that has no part in it. */
static double sd_of(const struct matching *x, uint32_t i, uint32_t j)
{
    double fitted = x->seat[i].us + x->seat[j].us, part = x->part[x->seat[i].at];
    return x->unit * nt_noise_sd(&x->w->noise, fitted) / sqrt(1 - part);
}

/* How many sd nearer two hosts are than by way of their switch. The reading of a pair that the
 * model does not have has part in the fit: what that leaves over is smaller than its error (deleted
 * residuals, Belsley, Kuh and Welsch 1980). */
static double near_of(const struct matching *x, uint32_t i, uint32_t j)
{
    double fitted = x->seat[i].us + x->seat[j].us, part = x->part[x->seat[i].at];
    double left = (fitted - (double)x->w->d[i * x->w->n + j]) / sd_of(x, i, j);
    return x->seat[i].paired && x->seat[j].paired ? left : left / (1 - part);
}

/* Calls of f for each two hosts that have a switch in common and were measured. */
typedef void candidate_fn(struct matching *x, uint32_t i, uint32_t j, double near);

static void each_candidate(struct matching *x, candidate_fn *f)
{
    size_t vertices = x->m->hosts + x->m->switches;
    for (size_t v = x->m->hosts; v < vertices; v++)
        for (uint32_t p = x->start[v]; p < x->start[v + 1] && x->branches[v] >= BRANCHES; p++)
            for (uint32_t q = x->start[v]; q < p; q++) {
                double near = near_of(x, x->host[p], x->host[q]);
                if (near == near)
                    f(x, x->host[p], x->host[q], near);
            }
}

static void add_near(struct matching *x, uint32_t i, uint32_t j, double near)
{
    (void)i, (void)j;
    x->near[x->candidates++] = (float)near;
}

/* The noise as these readings show it: of their middle, and of so many, hardly one in a hundred of
 * which is a pair's, of their near side where more are there than normal ones would be. What is
 * known of it before counts as so many readings; the middle of absolutes is worth a third of them
 * (Huber 1981, efficiency 0.37). */
static int judge_noise(struct matching *x, struct nt_err *err)
{
    enum { MANY = 5000 };
    const double BEFORE = 8, WORTH = 0.37, FAR_SIDE = 0.975;
    double worth = WORTH * (double)x->candidates, shown = 1, side = 0;
    float *values = malloc((x->candidates + 1) * sizeof *values);
    if (values == NULL)
        return nt_err_memory(err);
    memcpy(values, x->near, x->candidates * sizeof *values);
    if (x->candidates >= MANY)
        side = (double)nt_stats_quantile(values, x->candidates, FAR_SIDE) /
               nt_normal_quantile(FAR_SIDE);
    if (x->candidates > 0)
        shown = fmax((double)nt_stats_mad(values, x->candidates), side);
    x->unit = sqrt((BEFORE + worth * shown * shown) / (BEFORE + worth));
    x->unit = fmax(x->unit, x->w->noise.least / x->w->noise.scale);
    for (size_t k = 0; k < x->candidates; k++)
        x->near[k] /= (float)x->unit;
    free(values);
    return 0;
}

static bool may_be_pair(const struct matching *x, double near)
{
    return near > fmin(NEAR, 0.5 * x->class.gap);
}

static void count_edge(struct matching *x, uint32_t i, uint32_t j, double near)
{
    (void)i, (void)j;
    x->edges += may_be_pair(x, near);
}

static void add_edge(struct matching *x, uint32_t i, uint32_t j, double near)
{
    const uint32_t *host = x->w->host;
    if (!may_be_pair(x, near))
        return;
    struct edge *e = &x->edge[x->edges++];
    double sd = sd_of(x, i, j);
    *e = (struct edge){.a = i, .b = j, .near = near, .from_a = 1, .from_b = 1};
    e->next = nt_next_reading_ln(x->w, host[i], host[j], near * sd, sd);
}

/* ---- all matchings ---- */

/* Share of the hosts of a switch that are in a pair. */
static double share_paired(const struct matching *x, size_t v)
{
    double hosts = x->start[v + 1] - x->start[v];
    return x->branches[v] < BRANCHES || hosts < 2 ? 0 : fmin(2 * x->pairs[v] / hosts, 1);
}

/* Before its readings are known a switch has as many pairs as the others: switches have some or
 * have none, so that each counts as much as another. */
static void set_usual(struct matching *x)
{
    double shares = PAIRED, switches = 0;
    for (size_t v = x->m->hosts; v < x->m->hosts + x->m->switches; v++) {
        shares += share_paired(x, v);
        switches += x->branches[v] >= BRANCHES && x->start[v + 1] - x->start[v] >= 2;
    }
    for (size_t v = x->m->hosts; v < x->m->hosts + x->m->switches; v++)
        x->usual[v] = (shares - share_paired(x, v)) / fmax(switches, 1);
}

/* The weight of two hosts as a pair: the odds that they are one, not both alone, before their
 * reading is known, times its ratio. Other pairs of the switch tell how common these are, itself
 * does not. */
static double weight_of(const struct matching *x, const struct edge *e)
{
    size_t v = x->seat[e->a].at;
    double hosts = x->start[v + 1] - x->start[v], others = fmax(x->pairs[v] - e->in, 0);
    double paired = (2 * others + HOSTS_BEFORE * x->usual[v]) / (hosts - 2 + HOSTS_BEFORE);
    double alone = fmax(1 - paired, 0.5 / (hosts + 1));
    return paired / ((hosts - 1) * alone * alone) * e->ratio;
}

static double normal_density(double z)
{
    return 0.3989422804014327 * exp(-0.5 * z * z);
}

/* The density of a reading as one of a pair over that as one of none, which may be wrong; next: see
 * nt_next_reading_ln(). A pair whose reading is late is not told from none. */
static double ratio_of(const struct matching *x, double near, double next)
{
    const struct nt_near_class *c = &x->class;
    double in = (1 - x->other) * normal_density(near - c->gap);
    double wrong = (near > 0 ? c->early * exp(-next) : c->late) / c->range;
    return (in + (near > 0 ? x->other / c->range : 0)) / (normal_density(near) + wrong);
}

static void set_weights(struct matching *x)
{
    for (size_t k = 0; k < x->edges; k++) {
        struct edge *e = &x->edge[k];
        e->ratio = ratio_of(x, e->near, e->next);
        e->weight = weight_of(x, e);
    }
}

static void sweep_messages(struct matching *x)
{
    memset(x->sum, 0, x->w->n * sizeof *x->sum);
    for (size_t k = 0; k < x->edges; k++) {
        struct edge *e = &x->edge[k];
        x->sum[e->a] += e->weight * e->from_b;
        x->sum[e->b] += e->weight * e->from_a;
    }
    for (size_t k = 0; k < x->edges; k++) {
        struct edge *e = &x->edge[k];
        double a = 1 / (1 + fmax(x->sum[e->a] - e->weight * e->from_b, 0));
        double b = 1 / (1 + fmax(x->sum[e->b] - e->weight * e->from_a, 0));
        e->from_a = sqrt(e->from_a * a); /* damped */
        e->from_b = sqrt(e->from_b * b);
        double odds = e->weight * e->from_a * e->from_b;
        e->in = odds / (1 + odds);
    }
}

/* Expected pairs of each switch; moves the gap to where they are. */
static void expect_pairs(struct matching *x)
{
    double sum = 0, weight = 0, other = OTHER_DEPTH, all = 1;
    memset(x->pairs, 0, (x->m->hosts + x->m->switches + 1) * sizeof *x->pairs);
    for (size_t k = 0; k < x->edges; k++) {
        const struct edge *e = &x->edge[k];
        double of_class = (1 - x->other) * normal_density(e->near - x->class.gap);
        double of_other = x->other / x->class.range;
        x->pairs[x->seat[e->a].at] += e->in;
        other += e->in * of_other / (of_class + of_other);
        all += e->in;
        if (fabs(e->near - x->class.gap) < 4) {
            sum += e->in * e->near;
            weight += e->in;
        }
    }
    if (weight > 0.5)
        x->class.gap = sum / weight;
    x->other = other / all;
    x->class.early = fmax(x->early, 0.5 * (other - LONELY) / (double)x->w->pairs);
}

static void match(struct matching *x)
{
    size_t vertices = x->m->hosts + x->m->switches;
    for (size_t v = x->m->hosts; v < vertices; v++) {
        double hosts = x->start[v + 1] - x->start[v];
        x->pairs[v] = fmin(x->class.share * 0.5 * hosts * (hosts - 1), 0.25 * hosts);
    }
    for (int round = 0; round < ROUNDS; round++) {
        set_usual(x);
        set_weights(x);
        for (int sweep = 0; sweep < SWEEPS; sweep++)
            sweep_messages(x);
        expect_pairs(x);
    }
}

/* ---- the answer ---- */

/* The density of a reading as one of a group, which may be late, over that as one of none. */
static double ratio_in_group(const struct matching *x, double near)
{
    const struct nt_near_class *c = &x->class;
    double none = normal_density(near) + (near > 0 ? c->early : c->late) / c->range;
    return ratio_of(x, near, 0) + (near < c->gap ? c->late / c->range / none : 0);
}

static double alone(const struct matching *x, uint32_t host)
{
    return 1 / (1 + fmax(x->sum[host], 0));
}

/* The odds that a third host stands behind the same switch, to none, were there as many groups of
 * three as of two: its readings to both are then as near, and it is in no pair. Of n hosts each
 * three are a group 3 / (n - 2) times as often as each two then. */
static double third_odds(const struct matching *x, const struct edge *e)
{
    uint32_t v = x->seat[e->a].at;
    double odds = 0, hosts = 0;
    for (uint32_t p = x->start[v]; p < x->start[v + 1]; p++) {
        uint32_t c = x->host[p];
        double a = near_of(x, e->a, c), b = near_of(x, e->b, c), single = alone(x, c);
        if (c == e->a || c == e->b)
            continue;
        hosts += single;
        odds += single * (a == a ? ratio_in_group(x, a) : 1) * (b == b ? ratio_in_group(x, b) : 1);
    }
    return 3 * odds / fmax(hosts, 1);
}

/* Groups of three to one of two, those too of which two hosts were found: by expectation and
 * maximisation. Before anything is seen there are so many of two, and two thirds of three. */
static double usual_triples(const struct matching *x, const double *third)
{
    const double BEFORE = 1;
    const struct nt_rooted_tree *t = x->tree;
    double stated = 0, share = 2.0 / 3;
    for (uint32_t v = (uint32_t)t->hosts; v < t->vertices; v++) {
        uint32_t hosts = 0;
        for (uint32_t k = t->graph.start[v]; k < t->graph.start[v + 1]; k++)
            hosts += t->graph.to[k] < t->hosts;
        stated += hosts == 3 && nt_graph_degree(&t->graph, v) == 4;
    }
    for (int round = 0; round < ROUNDS; round++) {
        double pairs = BEFORE, triples = 2 * BEFORE / 3 + stated;
        for (size_t k = 0; k < x->edges; k++) {
            double in = x->edge[k].in, odds = in * share * third[k];
            pairs += in / (1 + odds);
            triples += in * odds / (1 + odds);
        }
        share = triples / pairs;
    }
    return share;
}

static int by_hosts(const void *x, const void *y)
{
    const struct nt_host_pair *a = x, *b = y;
    return a->a != b->a ? (a->a > b->a) - (a->a < b->a) : (a->b > b->b) - (a->b < b->b);
}

static int list_pairs(const struct matching *x, struct nt_host_pairs *out, struct nt_arena *memory,
                      struct nt_err *err)
{
    double there = 1 / (1 + exp(-x->class.ln_odds));
    double *third = nt_arena_array(memory, x->edges + 1, sizeof *third);
    if (nt_arena_check(memory, err) < 0)
        return -1;
    for (size_t k = 0; k < x->edges; k++)
        third[k] = there * x->edge[k].in < LISTED ? 0 : third_odds(x, &x->edge[k]);
    double triples = usual_triples(x, third);
    out->pair = malloc((x->edges + 1) * sizeof *out->pair);
    if (out->pair == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < x->edges; k++) {
        const struct edge *e = &x->edge[k];
        out->expected += there * e->in;
        if (there * e->in < LISTED)
            continue;
        out->pair[out->count++] =
            (struct nt_host_pair){.at = x->seat[e->a].at,
                                  .a = e->a > e->b ? e->a : e->b,
                                  .b = e->a > e->b ? e->b : e->a,
                                  .us = 0.5 * e->near * sd_of(x, e->a, e->b),
                                  .probability = there * e->in / (1 + e->in * triples * third[k])};
    }
    qsort(out->pair, out->count, sizeof *out->pair, by_hosts);
    return 0;
}

static int matching_init(struct matching *x, struct nt_arena *memory, struct nt_err *err)
{
    size_t n = x->w->n, vertices = x->m->hosts + x->m->switches;
    x->place = nt_arena_array(memory, x->m->hosts + 1, sizeof *x->place);
    x->seat = nt_arena_array(memory, n + 1, sizeof *x->seat);
    x->start = nt_arena_array(memory, vertices + 3, sizeof *x->start);
    x->host = nt_arena_array(memory, n + 1, sizeof *x->host);
    x->branches = nt_arena_array(memory, vertices + 1, sizeof *x->branches);
    x->pairs = nt_arena_array(memory, vertices + 1, sizeof *x->pairs);
    x->usual = nt_arena_array(memory, vertices + 1, sizeof *x->usual);
    x->sum = nt_arena_array(memory, n + 1, sizeof *x->sum);
    x->near = nt_arena_array(memory, n * n / 2 + 1, sizeof *x->near);
    x->part = nt_arena_array(memory, vertices + 1, sizeof *x->part);
    if (nt_arena_check(memory, err) < 0)
        return -1;
    memset(x->place, 0xff, (x->m->hosts + 1) * sizeof *x->place);
    for (uint32_t i = 0; i < n; i++)
        x->place[x->w->host[i]] = i;
    seat_hosts(x);
    set_parts(x);
    return 0;
}

/* Readings lie in so many sd, the wrong ones too. */
static double range_of(const struct matching *x)
{
    double level = 0, least = 10;
    for (size_t i = 0; i < x->w->n; i++)
        level += 2 * (double)x->w->offset[i] / (double)x->w->n;
    double sd = x->unit * nt_noise_sd(&x->w->noise, level);
    return fmax(least, level / fmax(sd, 1e-9 * level));
}

static int find_pairs(struct matching *x, double early, struct nt_host_pairs *out,
                      struct nt_arena *memory, struct nt_err *err)
{
    if (matching_init(x, memory, err) < 0)
        return -1;
    each_candidate(x, add_near);
    double ever = x->w->error != NULL ? EARLY_SWEPT : EARLY_EVER;
    x->early = early >= 0 ? fmax(early, EARLY_LEAST) : ever / (double)x->w->pairs;
    if (judge_noise(x, err) < 0 ||
        nt_near_class(x->near, x->candidates, range_of(x), x->early, &x->class, err) < 0)
        return -1;
    if (!(x->class.ln_odds > -INFINITY))
        return 0;
    each_candidate(x, count_edge);
    x->edge = nt_arena_array(memory, x->edges + 1, sizeof *x->edge);
    if (nt_arena_check(memory, err) < 0)
        return -1;
    x->edges = 0;
    each_candidate(x, add_edge);
    match(x);
    return list_pairs(x, out, memory, err);
}

int nt_host_pairs(const struct nt_work *w, const struct nt_model *model, double early,
                  struct nt_host_pairs *out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct matching x = {.w = w, .m = model, .unit = 1, .other = OTHER_DEPTH};
    *out = (struct nt_host_pairs){0};
    if (nt_rooted_tree_create(model, &x.tree, err) < 0)
        return -1;
    int status = x.tree->tree ? find_pairs(&x, early, out, &memory, err) : 0;
    nt_rooted_tree_destroy(x.tree);
    return status;
}

void nt_host_pairs_fini(struct nt_host_pairs *pairs)
{
    free(pairs->pair);
}

double nt_host_pairs_probability(const struct nt_host_pairs *pairs, uint32_t a, uint32_t b)
{
    const struct nt_host_pair key = {.a = a > b ? a : b, .b = a > b ? b : a}, *found = NULL;
    if (pairs->count > 0)
        found = bsearch(&key, pairs->pair, pairs->count, sizeof key, by_hosts);
    return found != NULL ? found->probability : 0;
}
