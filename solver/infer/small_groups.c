/* SPDX-License-Identifier: Apache-2.0 */
/* Branches that belong together, at every switch of a fitted tree.
 *
 * What the fit leaves over between two branches of a switch is nothing but noise, unless some of
 * them stand behind a switch of their own: then these are nearer, all by the same amount. Few
 * branches are solved exactly (tree_posterior.h). Among many a class of near pairs is looked for
 * (near_class.h), and branches are merged while their pairs together support it (correlation
 * clustering, Bansal et al. 2004, by greedy merging). */
#include "small_groups.h"

#include <stdlib.h>
#include <string.h>

#include "links.h"
#include "near_class.h"
#include "regroup.h"
#include "rooted_tree.h"
#include "stats.h"
#include "tree_posterior.h"

enum {
    ROUNDS = 6,
    ROUNDS_LARGE = 2,
    EXACT = 6,            /* branches of which all trees are tried */
    BRANCHES_MOST = 2048, /* more are left as they are */
    BLOCKS_HOSTS = 512,   /* beyond so many hosts only hosts are branches */
    ROBUST = 3,           /* readings of which a median is taken */
    KNOWN = 200           /* pairs that tell how many readings are wrong */
};

struct gather {
    struct nt_work *w;
    struct nt_model *m;
    struct nt_rooted_tree *h;
    uint32_t *place; /* model->hosts: index in w, or UINT32_MAX */
    double *us;      /* vertices: latency from the switch that is looked at */
    uint32_t *stack; /* vertices */
    /* branches of that switch */
    size_t k;
    uint32_t *link;          /* k */
    uint32_t *start, *hosts; /* k + 1; w->n: indices in w by branch */
    float *rest, *sd;        /* k*k, us: what the fit leaves over between two, NaN none */
    float *values;           /* room for n*n */
    double early;            /* share of readings that are far too low, or -1: not known */
    /* what is to be gathered */
    struct nt_gathered *gathered;
    double *support; /* of each */
    size_t count;
    uint32_t *to; /* links */
};

static void gather_fini(struct gather *g)
{
    void *all[] = {g->place, g->us,     g->stack,    g->link,    g->start, g->hosts,
                   g->rest,  g->values, g->gathered, g->support, g->to,    g->sd};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k]);
    nt_rooted_tree_destroy(g->h);
}

static int gather_init(struct gather *g, struct nt_work *w, struct nt_model *m, struct nt_err *err)
{
    size_t v = m->hosts + m->switches + 1, most = 0;
    *g = (struct gather){.w = w, .m = m};
    if (nt_rooted_tree_create(m, &g->h, err) < 0)
        return -1;
    for (size_t s = m->hosts; s < m->hosts + m->switches; s++)
        if (g->h->graph.start[s + 1] - g->h->graph.start[s] <= BRANCHES_MOST)
            most = most > g->h->graph.start[s + 1] - g->h->graph.start[s]
                       ? most
                       : g->h->graph.start[s + 1] - g->h->graph.start[s];
    g->place = malloc((m->hosts + 1) * sizeof *g->place);
    g->us = malloc(v * sizeof *g->us);
    g->stack = malloc(v * sizeof *g->stack);
    g->link = malloc((most + 1) * sizeof *g->link);
    g->start = malloc((most + 2) * sizeof *g->start);
    g->hosts = malloc((w->n + 1) * sizeof *g->hosts);
    g->rest = malloc((most * most + 1) * sizeof *g->rest);
    g->sd = malloc((most * most + 1) * sizeof *g->sd);
    size_t capacity = w->n <= BLOCKS_HOSTS ? w->n * w->n : most * most;
    g->values = malloc((capacity + most * most + 1) * sizeof *g->values);
    g->gathered = malloc((w->n + 1) * sizeof *g->gathered);
    g->support = malloc((w->n + 1) * sizeof *g->support);
    g->to = malloc((m->links + 1) * sizeof *g->to);
    if (!g->place || !g->us || !g->stack || !g->link || !g->start || !g->hosts || !g->rest ||
        !g->sd || !g->values || !g->gathered || !g->support || !g->to)
        return nt_err_memory(err);
    memset(g->place, 0xff, (m->hosts + 1) * sizeof *g->place);
    for (size_t i = 0; i < w->n; i++)
        g->place[w->host[i]] = (uint32_t)i;
    memset(g->to, 0xff, (m->links + 1) * sizeof *g->to);
    return 0;
}

/* ---- the branches of one switch ---- */

static uint32_t far_end(const struct gather *g, uint32_t link, uint32_t near)
{
    const uint32_t *ends = g->h->ends[link];
    return ends[ends[0] == near];
}

/* The hosts behind one link of a switch, with their latencies from the switch. */
static void walk_branch(struct gather *g, uint32_t v, uint32_t link, uint32_t *count)
{
    const struct nt_rooted_tree *h = g->h;
    size_t top = 0;
    uint32_t first = far_end(g, link, v);
    g->us[first] = g->m->link[link].latency_us;
    g->stack[top++] = first;
    while (top > 0) {
        uint32_t x = g->stack[--top];
        if (x < g->m->hosts) {
            if (g->place[x] != UINT32_MAX)
                g->hosts[(*count)++] = g->place[x];
            continue;
        }
        for (uint32_t i = h->graph.start[x]; i < h->graph.start[x + 1]; i++) {
            uint32_t y = far_end(g, h->graph.link[i], x);
            if (g->us[y] >= 0) /* the vertex before */
                continue;
            g->us[y] = g->us[x] + g->m->link[h->graph.link[i]].latency_us;
            g->stack[top++] = y;
        }
    }
}

/* false: nothing is looked for at this switch. */
static bool list_branches(struct gather *g, uint32_t v)
{
    const struct nt_rooted_tree *h = g->h;
    size_t vertices = g->m->hosts + g->m->switches;
    uint32_t count = 0;
    bool large = g->w->n > BLOCKS_HOSTS;
    g->k = 0;
    if (h->graph.start[v + 1] - h->graph.start[v] < NT_TREE_POSTERIOR_MIN + 1 ||
        h->graph.start[v + 1] - h->graph.start[v] > BRANCHES_MOST)
        return false;
    for (size_t x = 0; x < vertices && !large; x++)
        g->us[x] = -1;
    g->us[v] = 0;
    for (uint32_t i = h->graph.start[v]; i < h->graph.start[v + 1]; i++) {
        uint32_t link = h->graph.link[i], far = far_end(g, link, v);
        if (large && far >= g->m->hosts)
            continue;
        g->start[g->k] = count;
        if (far < g->m->hosts) {
            g->us[far] = g->m->link[link].latency_us;
            if (g->place[far] != UINT32_MAX)
                g->hosts[count++] = g->place[far];
        } else {
            walk_branch(g, v, link, &count);
        }
        if (count > g->start[g->k])
            g->link[g->k++] = link;
    }
    g->start[g->k] = count;
    return g->k > NT_TREE_POSTERIOR_MIN;
}

/* What the fit leaves over between two branches: of several readings their middle. */
static void measure_block(struct gather *g, size_t a, size_t b)
{
    const struct nt_work *w = g->w;
    size_t count = 0;
    double level = 0;
    for (uint32_t p = g->start[a]; p < g->start[a + 1]; p++)
        for (uint32_t q = g->start[b]; q < g->start[b + 1]; q++) {
            uint32_t i = g->hosts[p], j = g->hosts[q];
            float v = w->d[i * w->n + j];
            double fitted = g->us[w->host[i]] + g->us[w->host[j]];
            if (v != v)
                continue;
            g->values[count++] = v - (float)fitted;
            level += fitted;
        }
    double sd = nt_noise_sd(&w->noise, level / fmax((double)count, 1));
    double n = 2.0 / 3.14159265358979 * (double)count;
    float rest = nt_stats_median(g->values, count);
    if (count < ROBUST) {
        float apart = count == 2 ? fabsf(g->values[0] - g->values[1]) : 0;
        n = (double)count;
        if ((double)apart > 5 * sd) { /* the later one was late */
            rest -= 0.5f * apart;
            n = 1;
        }
    }
    g->rest[a * g->k + b] = g->rest[b * g->k + a] = rest;
    g->sd[a * g->k + b] = g->sd[b * g->k + a] = (float)(sd / sqrt(fmax(n, 1)));
}

/* With few hosts the near pairs have shortened the fitted lengths of their branches: this removes
 * that. Where most hosts are in one branch the others' lengths are known from their readings to it.
 */
static void centre_distances(struct gather *g)
{
    enum { FEW = 64 };
    float shift[FEW], values[FEW];
    size_t k = g->k, largest = 0;
    for (size_t a = 0; a < k; a++)
        largest = largest > g->start[a + 1] - g->start[a] ? largest : g->start[a + 1] - g->start[a];
    if (k > FEW || 2 * largest > g->w->n)
        return;
    for (size_t a = 0; a < k; a++) {
        size_t count = 0;
        for (size_t b = 0; b < k; b++)
            if (b != a && g->rest[a * k + b] == g->rest[a * k + b])
                values[count++] = g->rest[a * k + b];
        shift[a] = count > 2 ? nt_stats_median(values, count) : 0;
    }
    for (size_t a = 0; a < k; a++)
        values[a] = shift[a];
    float middle = 0.5f * nt_stats_median(values, k);
    /* both shifts have an error of their own: medians of k - 1 values */
    float wider = (float)sqrt(1 + 3.14159265358979 / ((double)k - 1));
    for (size_t a = 0; a < k; a++)
        for (size_t b = 0; b < k; b++) {
            g->rest[a * k + b] -= shift[a] - middle + (shift[b] - middle);
            g->sd[a * k + b] *= wider;
        }
}

static void measure_branches(struct gather *g)
{
    for (size_t a = 0; a < g->k; a++) {
        g->rest[a * g->k + a] = NAN;
        for (size_t b = 0; b < a; b++)
            measure_block(g, a, b);
    }
}

/* ---- which branches form a group  */

/* Notes that these branches of v are to move behind a new switch. */
static void note_group(struct gather *g, uint32_t v, const uint32_t *branch, size_t count,
                       double us, double support)
{
    g->gathered[g->count] = (struct nt_gathered){v, us};
    g->support[g->count] = support;
    for (size_t i = 0; i < count; i++)
        g->to[g->link[branch[i]]] = (uint32_t)g->count;
    g->count++;
}

/* Few branches: the splits of the likeliest tree, the outermost ones now. */
/* The share of switches of few branches without another one among them: nearly all in a network
 * without small groups, half where small groups are common. */
static double share_of_none(const struct gather *g)
{
    const struct nt_rooted_tree *h = g->h;
    double small = 0;
    for (size_t v = g->m->hosts; v < g->m->hosts + g->m->switches; v++)
        small += h->parent[v] != NT_NO_VERTEX && nt_rooted_tree_count(h, (uint32_t)v) <= 4;
    return 1 - fmin(0.25, fmax(0.02, small / (0.5 * (double)g->w->n)));
}

static int gather_few(struct gather *g, uint32_t v, struct nt_err *err)
{
    struct nt_tree_posterior_input in = {.branches = g->k, .none = share_of_none(g)};
    struct nt_tree_posterior_result r;
    bool solved;
    size_t k = g->k;
    double level = 0, count = 0;
    for (size_t i = 0; i < g->w->n; i++) {
        level += 2 * (double)g->w->offset[i];
        count++;
    }
    level /= count;
    double unit = nt_noise_sd(&g->w->noise, level);
    for (size_t x = 0; x < k * k; x++) {
        in.d[x] = (double)g->rest[x];
        in.variance[x] = (double)(g->sd[x] * g->sd[x]) / (unit * unit);
    }
    in.level = level;
    in.noise = unit / level;
    in.noise_df = g->w->noise.df;
    if (nt_tree_posterior(&in, &solved, &r, err) < 0)
        return -1;
    for (size_t s = 0; solved && s < r.splits; s++) {
        uint32_t branch[NT_TREE_POSTERIOR_MAX];
        size_t inside = 0;
        bool outer = true;
        for (size_t t = 0; t < r.splits; t++)
            outer = outer && (t == s || (r.split[s] & r.split[t]) != r.split[s]);
        for (uint32_t b = 0; b < k && outer; b++)
            if (r.split[s] >> b & 1)
                branch[inside++] = b;
        if (inside > 0)
            note_group(g, v, branch, inside, r.split_us[s], r.support[s]);
    }
    return 0;
}

struct seed {
    float evidence;
    uint32_t a, b;
};

static int by_evidence(const void *x, const void *y)
{
    const struct seed *a = x, *b = y;
    if (a->evidence != b->evidence)
        return a->evidence > b->evidence ? -1 : 1;
    return a->a != b->a ? (a->a > b->a) - (a->a < b->a) : (a->b > b->b) - (a->b < b->b);
}

/* Clusters of branches: rings of their members. */
struct clusters {
    uint32_t *of, *next, *size; /* k; size: by the cluster's name */
    double *evidence;           /* by the cluster's name: of all its pairs */
    struct seed *seed;
};

static double near_of(const struct gather *g, size_t a, size_t b)
{
    return -(double)(g->rest[a * g->k + b] / g->sd[a * g->k + b]);
}

/* The evidence of all pairs between two clusters that they are one. */
static double between_branches(const struct gather *g, const struct nt_near_class *c,
                               const struct clusters *x, uint32_t a, uint32_t b)
{
    double sum = 0;
    uint32_t i = a;
    do {
        uint32_t j = b;
        do {
            double near = near_of(g, i, j);
            sum += near == near ? nt_near_evidence(c, near) : 0;
            j = x->next[j];
        } while (j != b);
        i = x->next[i];
    } while (i != a);
    return sum;
}

static void merge_clusters(struct clusters *x, uint32_t a, uint32_t b, double evidence)
{
    uint32_t from = x->of[b], to = x->of[a], i = b;
    do {
        x->of[i] = to;
        i = x->next[i];
    } while (i != b);
    uint32_t swap = x->next[a];
    x->next[a] = x->next[b];
    x->next[b] = swap;
    x->size[to] += x->size[from];
    x->evidence[to] += x->evidence[from] + evidence;
}

/* Merges greedily; prior: ln of the odds that two branches belong together. */
static void cluster_branches(const struct gather *g, const struct nt_near_class *c, double prior,
                             struct clusters *x)
{
    size_t seeds = 0, k = g->k;
    for (uint32_t a = 0; a < k; a++) {
        x->of[a] = x->next[a] = a;
        x->size[a] = 1;
        x->evidence[a] = 0;
        for (uint32_t b = 0; b < a; b++) {
            double near = near_of(g, a, b);
            double evidence = near > 1 ? nt_near_evidence(c, near) : 0;
            if (evidence > 0)
                x->seed[seeds++] = (struct seed){(float)evidence, b, a};
        }
    }
    qsort(x->seed, seeds, sizeof *x->seed, by_evidence);
    for (int pass = 0; pass < 2; pass++)
        for (size_t s = 0; s < seeds; s++) {
            uint32_t a = x->seed[s].a, b = x->seed[s].b;
            if (x->of[a] == x->of[b])
                continue;
            double evidence = between_branches(g, c, x, a, b) + prior;
            if (evidence > 0)
                merge_clusters(x, a, b, evidence);
        }
}

/* The clusters that are likelier than not, and leave the switch two branches at least. */
static void note_clusters(struct gather *g, uint32_t v, const struct nt_near_class *c,
                          const struct clusters *x, uint32_t *branch)
{
    size_t left = g->h->graph.start[v + 1] - g->h->graph.start[v];
    for (uint32_t a = 0; a < g->k; a++) {
        size_t count = 0;
        double sum = 0, weight = 0;
        if (x->of[a] != a || x->size[a] < 2 || x->size[a] + 2 > left)
            continue;
        uint32_t i = a;
        do {
            branch[count++] = i;
            for (uint32_t j = x->next[i]; j != a; j = x->next[j]) {
                float rest = g->rest[i * g->k + j], sd = g->sd[i * g->k + j];
                if (rest == rest && fabs(near_of(g, i, j) - c->gap) < 4) {
                    sum -= (double)(rest / (sd * sd));
                    weight += (double)(1 / (sd * sd));
                }
            }
            i = x->next[i];
        } while (i != a);
        double odds = exp(fmin(x->evidence[a], 30)) * exp(fmin(c->ln_odds, 30));
        if (!(weight > 0) || !(sum > 0) || odds < 1)
            continue;
        note_group(g, v, branch, count, 0.5 * sum / weight, odds / (1 + odds));
        left -= count - 1;
    }
}

static int gather_many(struct gather *g, uint32_t v, struct nt_err *err)
{
    size_t k = g->k, count = 0;
    struct nt_near_class c;
    for (size_t a = 0; a < k; a++)
        for (size_t b = 0; b < a; b++) {
            double near = near_of(g, a, b);
            if (near == near)
                g->values[count++] = (float)near;
        }
    double range = 1 / (nt_noise_sd(&g->w->noise, 2 * (double)g->w->offset[0]) /
                        (2 * (double)g->w->offset[0] + 1e-9));
    if (nt_near_class(g->values, count, fmax(range, 10), g->early, &c, err) < 0)
        return -1;
    if (!(c.ln_odds > 0))
        return 0;
    struct clusters x = {malloc(k * sizeof *x.of), malloc(k * sizeof *x.next),
                         malloc(k * sizeof *x.size), malloc(k * sizeof *x.evidence),
                         malloc((k * k / 2 + 1) * sizeof *x.seed)};
    uint32_t *branch = malloc(k * sizeof *branch);
    int status = 0;
    if (x.of && x.next && x.size && x.evidence && x.seed && branch) {
        cluster_branches(g, &c, log(c.share / (1 - fmin(c.share, 0.9))), &x);
        note_clusters(g, v, &c, &x, branch);
    } else {
        status = nt_err_memory(err);
    }
    free(x.of);
    free(x.next);
    free(x.size);
    free(x.evidence);
    free(x.seed);
    free(branch);
    return status;
}

/* ---- the whole tree ---- */

static int gather_round(struct nt_work *w, struct nt_model **model, size_t *gathered,
                        struct nt_err *err)
{
    struct gather g;
    int status = gather_init(&g, w, *model, err);
    double pairs = 0, early = nt_false_low_share(w, &pairs);
    g.early = pairs >= KNOWN ? early : -1;
    for (uint32_t v = (uint32_t)(*model)->hosts;
         v < (*model)->hosts + (*model)->switches && status == 0 && g.h->tree; v++) {
        if (!list_branches(&g, v))
            continue;
        measure_branches(&g);
        if (g.k <= EXACT) {
            status = gather_few(&g, v, err);
        } else {
            centre_distances(&g);
            status = gather_many(&g, v, err);
        }
    }
    if (status == 0 && g.count > 0)
        status = nt_regroup_gather(model, g.gathered, g.count, g.to, err);
    for (size_t k = 0; k < g.count && status == 0; k++)
        (*model)->link[(*model)->links - g.count + k].probability = g.support[k];
    *gathered = g.count;
    gather_fini(&g);
    return status;
}

int nt_small_groups(struct nt_work *w, struct nt_model **model, struct nt_err *err)
{
    size_t gathered = 1;
    double noise = w->noise.scale; /* what is not gathered yet adds to what a fit leaves over */
    int rounds = w->n <= BLOCKS_HOSTS ? ROUNDS : ROUNDS_LARGE;
    for (int round = 0; round < rounds && gathered > 0; round++) {
        if (gather_round(w, model, &gathered, err) < 0)
            return -1;
        if (gathered > 0 &&
            (nt_model_groups(*model, w, err) < 0 || nt_links_fit(w, *model, err) < 0))
            return -1;
        w->noise.scale = fmin(w->noise.scale, noise);
    }
    return 0;
}
