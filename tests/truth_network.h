/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of jobs with a known truth, for bench_truth: trees of switches with the hosts of a job
 * as schedulers place them, and graphs of switches. Noise-free latencies follow from the network,
 * never from the solver. All links of a tier are nearly equal, except in uneven trees.
 * Header only, so that each program stays one file. */
#ifndef TRUTH_NETWORK_H
#define TRUTH_NETWORK_H

#include "job_groups.h"
#include "rng.h"

struct truth_net {
    size_t hosts, switches;
    bool tree;
    bool lattice;     /* all switches have hosts: the whole network can be found */
    uint32_t *at;     /* hosts: the switch */
    double *end_us;   /* hosts: latency of the host's link */
    double *us;       /* switches x switches: between the switches, over the shortest path */
    uint8_t *hops;    /* the same in links */
    double hop_us;    /* the shortest link between switches */
    double median_us; /* of all pairs */
    struct job_groups groups; /* tree: latency_us is the length of the link or chain of links */
};

static inline void *truth_alloc(size_t count, size_t size)
{
    void *p = calloc(count + 1, size);
    if (p == NULL) {
        fprintf(stderr, "bench_truth: out of memory\n");
        exit(4);
    }
    return p;
}

static inline double truth_between(struct nt_rng *rng, double low, double high)
{
    return low + (high - low) * nt_rng_uniform(rng);
}

/* Log-uniform. */
static inline double truth_scale(struct nt_rng *rng, double low, double high)
{
    return exp(truth_between(rng, log(low), log(high)));
}

static inline size_t truth_count(struct nt_rng *rng, size_t low, size_t high)
{
    return low + nt_rng_below(rng, high - low + 1);
}

static inline void truth_net_init(struct truth_net *net, size_t hosts, size_t switches)
{
    *net = (struct truth_net){.hosts = hosts, .switches = switches};
    net->at = truth_alloc(hosts, sizeof *net->at);
    net->end_us = truth_alloc(hosts, sizeof *net->end_us);
    net->us = truth_alloc(switches * switches, sizeof *net->us);
    net->hops = truth_alloc(switches * switches, sizeof *net->hops);
    job_groups_init(&net->groups, hosts);
}

static inline void truth_net_fini(struct truth_net *net)
{
    free(net->at);
    free(net->end_us);
    free(net->us);
    free(net->hops);
    job_groups_fini(&net->groups);
}

/* Between the switches of two hosts. */
static inline double truth_apart(const struct truth_net *net, size_t i, size_t j)
{
    return net->us[net->at[i] * net->switches + net->at[j]];
}

static inline double truth_us(const struct truth_net *net, size_t i, size_t j)
{
    return net->end_us[i] + net->end_us[j] + truth_apart(net, i, j);
}

/* Whether the map's latencies are the network's, to a quarter of a link. */
static inline bool truth_same_latencies(const struct truth_net *net, const struct nt_model *m)
{
    struct nt_matrix *x;
    struct nt_err err;
    bool same = true;
    known_must(nt_model_latencies(m, &x, &err), &err);
    for (size_t i = 0; i < net->hosts; i++)
        for (size_t j = 0; j < i; j++)
            same &= fabs((double)nt_matrix_get(x, i, j) - truth_us(net, i, j)) < net->hop_us / 4;
    nt_matrix_destroy(x);
    return same;
}

static inline int truth_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double truth_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, truth_order);
    return count == 0 ? 0 : values[count / 2];
}

static inline void truth_net_median(struct truth_net *net)
{
    size_t count = 0, step = net->hosts / 64 + 1;
    double *all = truth_alloc(net->hosts * net->hosts / 2, sizeof *all);
    for (size_t i = 0; i < net->hosts; i += step)
        for (size_t j = 0; j < i; j += step)
            all[count++] = truth_us(net, i, j);
    net->median_us = truth_median(all, count);
    free(all);
}

/* Host links: nearly equal; with a share of older adapters, whose links are longer. */
static inline void truth_ends(struct truth_net *net, double host_us, double spread, double older,
                              struct nt_rng *rng)
{
    double longer = truth_between(rng, 1.1, 1.35);
    for (size_t h = 0; h < net->hosts; h++) {
        net->end_us[h] = host_us * exp(spread * nt_rng_normal(rng));
        if (nt_rng_uniform(rng) < older)
            net->end_us[h] *= longer;
    }
}

/* Renames the hosts: no method can use their order. */
static inline void truth_shuffle(struct truth_net *net, struct nt_rng *rng)
{
    nt_rng_shuffle(rng, net->at, net->hosts);
}

/* ---- trees -----------------------------------------------------------------------------------*/

enum { TRUTH_SWITCHES = 1400 };

/* Switch 0 is the root; each other one has a parent with a smaller number. */
struct truth_tree {
    size_t switches;
    uint32_t parent[TRUTH_SWITCHES];
    double up_us[TRUTH_SWITCHES];
};

static inline uint32_t truth_tree_add(struct truth_tree *t, uint32_t parent, double up_us)
{
    if (t->switches == TRUTH_SWITCHES) {
        fprintf(stderr, "bench_truth: more than %d switches\n", TRUTH_SWITCHES);
        exit(4);
    }
    t->parent[t->switches] = parent;
    t->up_us[t->switches] = up_us;
    return (uint32_t)t->switches++;
}

static inline void truth_tree_distances(const struct truth_tree *t, struct truth_net *net)
{
    size_t n = t->switches;
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++) { /* a > b: a is not above b */
            size_t up = t->parent[a];
            net->us[a * n + b] = net->us[b * n + a] = net->us[up * n + b] + t->up_us[a];
            net->hops[a * n + b] = net->hops[b * n + a] = (uint8_t)(net->hops[up * n + b] + 1);
        }
}

/* The true groups: hosts behind each link between switches. Several links in a row that no host
 * leaves are one link. */
static inline void truth_tree_groups(const struct truth_tree *t, struct truth_net *net)
{
    uint32_t *below = truth_alloc(net->hosts, sizeof *below);
    for (uint32_t s = 1; s < t->switches && net->hosts <= 1024; s++) {
        size_t count = 0;
        for (uint32_t h = 0; h < net->hosts; h++) {
            uint32_t at = net->at[h];
            while (at > s)
                at = t->parent[at];
            if (at == s)
                below[count++] = h;
        }
        job_groups_add(&net->groups, below, count, t->up_us[s], 1);
    }
    free(below);
}

/* at: the hosts' switches. host_us and older: see truth_ends. */
static inline void truth_tree_net(const struct truth_tree *t, const uint32_t *at, size_t hosts,
                                  double host_us, double spread, double older, struct nt_rng *rng,
                                  struct truth_net *net)
{
    truth_net_init(net, hosts, t->switches);
    memcpy(net->at, at, hosts * sizeof *at);
    net->tree = true;
    net->hop_us = INFINITY;
    for (size_t s = 1; s < t->switches; s++)
        net->hop_us = fmin(net->hop_us, t->up_us[s]);
    truth_shuffle(net, rng);
    truth_ends(net, host_us, spread, older, rng);
    truth_tree_distances(t, net);
    truth_tree_groups(t, net);
    truth_net_median(net);
}

/* How a scheduler chooses the hosts of a job among slots: leaves in a row, with on_leaf each. */
enum truth_placement {
    TRUTH_PACKED,
    TRUTH_FRAGMENTS,
    TRUTH_FEW_LEAVES,
    TRUTH_SCATTERED,
    TRUTH_PLACEMENTS
};

static inline enum truth_placement truth_placement_draw(struct nt_rng *rng)
{
    return (enum truth_placement)nt_rng_below(rng, TRUTH_PLACEMENTS);
}

static inline void truth_place(enum truth_placement how, size_t leaves, size_t on_leaf,
                               size_t hosts, uint32_t *leaf, struct nt_rng *rng)
{
    size_t slots = leaves * on_leaf, at = nt_rng_below(rng, slots), left = 0;
    bool *taken = truth_alloc(slots, sizeof *taken);
    for (size_t k = 0; k < hosts; k++) {
        bool jump = how == TRUTH_SCATTERED || (how != TRUTH_PACKED && left == 0);
        if (jump) {
            at = nt_rng_below(rng, slots);
            left = how == TRUTH_FRAGMENTS ? truth_count(rng, 1, 4) : truth_count(rng, 1, on_leaf);
            if (how == TRUTH_FEW_LEAVES)
                at = at / on_leaf * on_leaf;
        } else if (how == TRUTH_PACKED && nt_rng_below(rng, 16) == 0) {
            at = (at + 1) % slots;
        }
        while (taken[at])
            at = (at + 1) % slots;
        taken[at] = true;
        left -= left > 0;
        leaf[k] = (uint32_t)(at / on_leaf);
    }
    free(taken);
}

/* Leaves, pods of leaves and zones of pods, as many tiers as drawn: 2 to 4 with the hosts'. */
static inline void truth_nested(size_t hosts, enum truth_placement how, double older,
                                struct nt_rng *rng, struct truth_net *net)
{
    static const size_t capacities[] = {4, 8, 16, 18, 24, 32};
    static struct truth_tree t;
    double host_us = truth_between(rng, 0.4, 1), alike = 0.01;
    size_t on_leaf = capacities[nt_rng_below(rng, 6)], tiers = truth_count(rng, 2, 4);
    size_t cluster = hosts * truth_count(rng, 2, 12);
    size_t leaves = cluster / on_leaf < 4 ? 4 : cluster / on_leaf < 900 ? cluster / on_leaf : 900;
    size_t fan = truth_count(rng, 3, 10);
    double us[3];
    for (size_t k = 0; k < 3; k++)
        us[k] = host_us * truth_between(rng, 0.12, 0.5);
    t = (struct truth_tree){.switches = 1};
    size_t above[3] = {0}; /* first switch of a tier, from the top; how many there are */
    size_t wide[3] = {1};
    for (size_t k = 1; k + 1 < tiers; k++) {
        wide[k] = k + 2 == tiers ? (leaves + fan - 1) / fan : (leaves + fan * fan - 1) / fan / fan;
        above[k] = t.switches;
        for (size_t s = 0; s < wide[k]; s++)
            truth_tree_add(&t, (uint32_t)(above[k - 1] + s * wide[k - 1] / wide[k]),
                           us[tiers - 1 - k] * exp(alike * nt_rng_normal(rng)));
    }
    size_t first = t.switches;
    for (size_t l = 0; l < leaves; l++)
        truth_tree_add(&t, (uint32_t)(above[tiers - 2] + l * wide[tiers - 2] / leaves),
                       us[0] * exp(alike * nt_rng_normal(rng)));
    uint32_t *at = truth_alloc(hosts, sizeof *at);
    truth_place(how, leaves, leaves * on_leaf < hosts ? hosts / leaves + 1 : on_leaf, hosts, at,
                rng);
    for (size_t h = 0; h < hosts; h++)
        at[h] += (uint32_t)first;
    truth_tree_net(&t, at, hosts, host_us, 0.01, older, rng, net);
    free(at);
}

/* Switches at any depth with links between them of half to twice the usual length; hosts on
 * leaves of any size and on some of the switches above. */
static inline void truth_uneven(size_t hosts, double older, struct nt_rng *rng,
                                struct truth_net *net)
{
    static struct truth_tree t;
    double host_us = truth_between(rng, 0.4, 1), us = host_us * truth_between(rng, 0.2, 0.5);
    double share[TRUTH_SWITCHES], all = 0;
    bool inner[TRUTH_SWITCHES] = {false};
    uint32_t depth[TRUTH_SWITCHES] = {0};
    size_t switches = truth_count(rng, 3, 3 + (hosts < 80 ? hosts / 2 : 40));
    t = (struct truth_tree){.switches = 1};
    while (t.switches < switches) {
        uint32_t parent = (uint32_t)nt_rng_below(rng, t.switches);
        if (depth[parent] > 2)
            continue;
        inner[parent] = true;
        depth[t.switches] = depth[parent] + 1;
        truth_tree_add(&t, parent, us * truth_scale(rng, 0.5, 2));
    }
    for (size_t s = 0; s < switches; s++) {
        share[s] = -log(nt_rng_uniform(rng));
        if (inner[s])
            share[s] *= nt_rng_below(rng, 4) == 0 ? 0.3 : 0;
        all += share[s];
    }
    uint32_t *at = truth_alloc(hosts, sizeof *at);
    for (size_t h = 0; h < hosts; h++) {
        double x = all * nt_rng_uniform(rng);
        while (at[h] + 1 < switches && (x -= share[at[h]]) > 0)
            at[h]++;
    }
    truth_tree_net(&t, at, hosts, host_us, 0.01, older, rng, net);
    free(at);
}

/* Leaves in pods: pod[k] and leaf[k] of each host, leaves numbered within their pod. */
static inline void truth_pods(size_t hosts, const uint32_t *pod, const uint32_t *leaf,
                              const double us[3], double alike, struct nt_rng *rng,
                              struct truth_net *net)
{
    static struct truth_tree t;
    uint32_t *at = truth_alloc(hosts, sizeof *at), *of = truth_alloc(hosts, sizeof *of);
    uint32_t *in = truth_alloc(hosts, sizeof *in);
    t = (struct truth_tree){.switches = 1};
    for (size_t h = 0; h < hosts; h++) {
        size_t k = 0;
        while (k < h && pod[k] != pod[h])
            k++;
        of[h] = k < h ? of[k] : truth_tree_add(&t, 0, us[2] * exp(alike * nt_rng_normal(rng)));
    }
    for (size_t h = 0; h < hosts; h++) {
        size_t k = 0;
        while (k < h && (pod[k] != pod[h] || leaf[k] != leaf[h]))
            k++;
        in[h] = k < h ? in[k] : truth_tree_add(&t, of[h], us[1] * exp(alike * nt_rng_normal(rng)));
        at[h] = in[h];
    }
    truth_tree_net(&t, at, hosts, us[0], 2 * alike, 0, rng, net);
    free(at);
    free(of);
    free(in);
}

/* ---- every placement on a three-tier tree ----------------------------------------------------*/

enum { TRUTH_FEW = 11, TRUTH_POD_SHAPES = 256 };

/* One pod: its hosts' leaves, largest first. */
struct truth_pod_shape {
    uint8_t hosts, leaves, size[TRUTH_FEW];
};

/* All pods of 1 to most hosts (partitions of numbers); how many. */
static inline size_t truth_pod_shapes(size_t most, struct truth_pod_shape *shape)
{
    size_t count = 0;
    for (size_t n = 1; n <= most; n++) {
        struct truth_pod_shape p = {.hosts = (uint8_t)n, .leaves = 1, .size = {(uint8_t)n}};
        for (;;) {
            shape[count++] = p;
            size_t rest = 0; /* the next partition: lower the last part over 1, fill up again */
            while (p.leaves > 0 && p.size[p.leaves - 1] == 1)
                rest++, p.leaves--;
            if (p.leaves == 0)
                break;
            size_t part = --p.size[p.leaves - 1];
            for (rest++; rest > 0; rest -= part < rest ? part : rest)
                p.size[p.leaves++] = (uint8_t)(part < rest ? part : rest);
        }
    }
    return count;
}

struct truth_placement_shape {
    size_t pods;
    uint8_t pod[TRUTH_FEW]; /* indices of shapes */
};

/* All multisets of pods with so many hosts: 58, 111, 223, 424, 817 and 1,527 for 6 to 11. Returns
 * their number; out may be NULL. */
static inline size_t truth_placements(size_t hosts, const struct truth_pod_shape *shape,
                                      size_t from, struct truth_placement_shape *now,
                                      struct truth_placement_shape *out)
{
    size_t count = 0;
    if (hosts == 0) {
        if (out != NULL)
            *out = *now;
        return 1;
    }
    for (size_t s = from + 1; s-- > 0;) {
        if (shape[s].hosts > hosts)
            continue;
        now->pod[now->pods++] = (uint8_t)s;
        count += truth_placements(hosts - shape[s].hosts, shape, s, now,
                                  out == NULL ? NULL : out + count);
        now->pods--;
    }
    return count;
}

static inline void truth_placed(const struct truth_placement_shape *p,
                                const struct truth_pod_shape *shape, const double us[3],
                                double alike, struct nt_rng *rng, struct truth_net *net)
{
    uint32_t pod[TRUTH_FEW], leaf[TRUTH_FEW];
    size_t hosts = 0;
    for (uint32_t k = 0; k < p->pods; k++)
        for (uint32_t l = 0; l < shape[p->pod[k]].leaves; l++)
            for (size_t h = 0; h < shape[p->pod[k]].size[l]; h++, hosts++) {
                pod[hosts] = k;
                leaf[hosts] = l;
            }
    truth_pods(hosts, pod, leaf, us, alike, rng, net);
}

/* ---- graphs of switches ----------------------------------------------------------------------*/

enum { TRUTH_EDGES = 4096 };

struct truth_graph {
    size_t switches, edges;
    uint32_t edge[TRUTH_EDGES][2];
    double us[TRUTH_EDGES];
};

static inline void truth_edge(struct truth_graph *g, size_t a, size_t b, double us)
{
    if (g->edges == TRUTH_EDGES) {
        fprintf(stderr, "bench_truth: more than %d links\n", TRUTH_EDGES);
        exit(4);
    }
    g->edge[g->edges][0] = (uint32_t)a;
    g->edge[g->edges][1] = (uint32_t)b;
    g->us[g->edges++] = us;
}

/* A mesh, or with wraps a torus; dimensions of 2 have one link. A hypercube is a mesh of twos. */
static inline void truth_lattice(struct truth_graph *g, size_t dimensions, const size_t *size,
                                 bool wraps, double us)
{
    *g = (struct truth_graph){.switches = 1};
    for (size_t k = 0; k < dimensions; k++)
        g->switches *= size[k];
    for (size_t v = 0; v < g->switches; v++) {
        size_t stride = 1;
        for (size_t k = 0; k < dimensions; stride *= size[k], k++) {
            if (v / stride % size[k] + 1 < size[k])
                truth_edge(g, v, v + stride, us);
            else if (wraps && size[k] > 2)
                truth_edge(g, v, v - stride * (size[k] - 1), us);
        }
    }
}

/* Every switch is linked to all that differ in one coordinate. */
static inline void truth_hyperx(struct truth_graph *g, size_t dimensions, const size_t *size,
                                double us)
{
    *g = (struct truth_graph){.switches = 1};
    for (size_t k = 0; k < dimensions; k++)
        g->switches *= size[k];
    for (size_t v = 0; v < g->switches; v++) {
        size_t stride = 1;
        for (size_t k = 0; k < dimensions; stride *= size[k], k++)
            for (size_t c = v / stride % size[k] + 1, to = v + stride; c < size[k];
                 c++, to += stride)
                truth_edge(g, v, to, us);
    }
}

/* Slim Fly of q = 5 (Besta and Hoefler 2014): 50 switches, any two at most two links apart. */
static inline void truth_slimfly(struct truth_graph *g, double us)
{
    *g = (struct truth_graph){.switches = 50};
    for (size_t x = 0; x < 5; x++)
        for (size_t y = 0; y < 5; y++) {
            truth_edge(g, 5 * x + y, 5 * x + (y + 1) % 5, us);           /* differ by 1, 4 */
            truth_edge(g, 25 + 5 * x + y, 25 + 5 * x + (y + 2) % 5, us); /* by 2, 3 */
            for (size_t m = 0; m < 5; m++)
                truth_edge(g, 5 * x + y, 25 + 5 * m + (y + 5 * m - m * x % 5) % 5, us);
        }
}

/* Groups of routers that are all linked; one longer link between any two groups. */
static inline void truth_dragonfly(struct truth_graph *g, size_t groups, size_t routers, double us,
                                   double far_us)
{
    *g = (struct truth_graph){.switches = groups * routers};
    for (size_t v = 0; v < g->switches; v++)
        for (size_t w = v + 1; w < (v / routers + 1) * routers; w++)
            truth_edge(g, v, w, us);
    for (size_t a = 0; a < groups; a++)
        for (size_t b = a + 1; b < groups; b++)
            truth_edge(g, a * routers + (b - 1) % routers, b * routers + a % routers, far_us);
}

/* Seven leaf switches and a spine (the last) with a cycle: the links that the hops of a job on
 * PlaFRIM showed. Hosts are behind the leaves. */
static inline void truth_cycle(struct truth_graph *g, double us)
{
    enum { S2, S4, S51, S52, S53, S56, S142, SPINE };
    static const uint8_t link[][2] = {{SPINE, S51}, {SPINE, S52}, {SPINE, S53}, {SPINE, S56},
                                      {S53, S142},  {S2, S51},    {S2, S56},    {S2, S4}};
    *g = (struct truth_graph){.switches = SPINE + 1};
    for (size_t k = 0; k < sizeof link / sizeof *link; k++)
        truth_edge(g, link[k][0], link[k][1], us);
}

/* Shortest paths from one switch (Bellman and Ford). */
static inline void truth_paths(const struct truth_graph *g, uint32_t from, double *us,
                               uint8_t *hops)
{
    for (size_t v = 0; v < g->switches; v++)
        us[v] = v == from ? 0 : INFINITY;
    hops[from] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = 0; k < 2 * g->edges; k++) {
            uint32_t a = g->edge[k / 2][k % 2], b = g->edge[k / 2][1 - k % 2];
            if (us[a] + g->us[k / 2] < us[b] - 1e-9) {
                us[b] = us[a] + g->us[k / 2];
                hops[b] = (uint8_t)(hops[a] + 1);
                changed = true;
            }
        }
    }
}

/* at: the switches of the hosts; only their paths are kept. */
static inline void truth_graph_net(const struct truth_graph *g, const uint32_t *at, size_t hosts,
                                   double host_us, double spread, struct nt_rng *rng,
                                   struct truth_net *net)
{
    bool *done = truth_alloc(g->switches, sizeof *done);
    truth_net_init(net, hosts, g->switches);
    memcpy(net->at, at, hosts * sizeof *at);
    truth_shuffle(net, rng);
    truth_ends(net, host_us, spread, 0, rng);
    net->hop_us = INFINITY;
    for (size_t k = 0; k < g->edges; k++)
        net->hop_us = fmin(net->hop_us, g->us[k]);
    for (size_t h = 0; h < hosts; h++) {
        size_t row = net->at[h] * g->switches;
        if (!done[net->at[h]])
            truth_paths(g, net->at[h], net->us + row, net->hops + row);
        done[net->at[h]] = true;
    }
    truth_net_median(net);
    free(done);
}

/* The whole network with so many hosts on each switch. */
static inline void truth_graph_whole(const struct truth_graph *g, size_t on_switch, double host_us,
                                     struct nt_rng *rng, struct truth_net *net)
{
    size_t hosts = g->switches * on_switch;
    uint32_t *at = truth_alloc(hosts, sizeof *at);
    for (size_t h = 0; h < hosts; h++)
        at[h] = (uint32_t)(h / on_switch);
    truth_graph_net(g, at, hosts, host_us, 0.01, rng, net);
    net->lattice = true;
    free(at);
}

/* Some hosts, where each of the first `leaves` switches has on_switch. */
static inline void truth_graph_some(const struct truth_graph *g, enum truth_placement how,
                                    size_t leaves, size_t on_switch, size_t hosts, double host_us,
                                    struct nt_rng *rng, struct truth_net *net)
{
    uint32_t *at = truth_alloc(hosts, sizeof *at);
    truth_place(how, leaves, on_switch, hosts, at, rng);
    truth_graph_net(g, at, hosts, host_us, 0.01, rng, net);
    free(at);
}

#endif
