/* SPDX-License-Identifier: Apache-2.0 */
/* The hint compared with Scotch's own mapping onto an architecture that Scotch makes of distances,
 * for bench_libraries: SCOTCH_archBuild0 (a recursive bisection of the target graph, with the
 * distances in it) of the model's hosts and links, or of the hosts with a link of each pair's
 * latency. What Scotch maps is judged with core's cost, as it comes and after our polish.
 * bench_place has the architecture that is told the tree itself (SCOTCH_archTleaf). */
#ifndef LIBRARY_PLACE_H
#define LIBRARY_PLACE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <scotch/scotch.h>

#include "cost.h"
#include "hierarchy.h"
#include "hint.h"
#include "known_tree.h"
#include "network.h"
#include "polish.h"
#include "traffic.h"

static inline double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may be at work here */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline _Noreturn void stop(const char *what)
{
    fprintf(stderr, "bench_libraries: %s\n", what);
    exit(4);
}

/* The network of a SPEC, its hosts in any order. */
static inline struct nt_model *scattered_model(const char *text)
{
    struct nt_err err = {0};
    struct nt_spec spec;
    struct nt_network *network;
    struct nt_model *m;
    struct nt_rng rng;
    if (nt_spec_parse(text, &spec, &err) != 0 ||
        nt_network_build(&spec, NULL, &network, &err) != 0 ||
        nt_network_truth(network, &m, &err) != 0)
        stop(err.text);
    nt_network_destroy(network);
    uint32_t *deal = malloc(m->hosts * sizeof *deal);
    if (deal == NULL)
        stop("no memory");
    for (uint32_t h = 0; h < m->hosts; h++)
        deal[h] = h;
    nt_rng_init(&rng, 5);
    nt_rng_shuffle(&rng, deal, m->hosts);
    for (size_t k = 0; k < m->links; k++) {
        struct nt_link *l = &m->link[k];
        l->a = l->a < m->hosts ? deal[l->a] : l->a;
        l->b = l->b < m->hosts ? deal[l->b] : l->b;
    }
    free(deal);
    return m;
}

/* A graph as Scotch takes it; arcs are put in twice, once an end. */
struct target {
    SCOTCH_Num n, arcs;
    SCOTCH_Num *start, *to, *load;
};

static inline SCOTCH_Num tenths(double us)
{
    return (SCOTCH_Num)fmax(1, round(10 * us));
}

static inline struct target target_create(size_t n, size_t arcs)
{
    struct target t = {.n = (SCOTCH_Num)n, .start = calloc(n + 2, sizeof *t.start)};
    t.to = malloc((arcs + 1) * sizeof *t.to);
    t.load = malloc((arcs + 1) * sizeof *t.load);
    if (t.start == NULL || t.to == NULL || t.load == NULL)
        stop("no memory");
    return t;
}

static inline void target_destroy(struct target *t)
{
    free(t->start);
    free(t->to);
    free(t->load);
}

static inline struct target links_of(const struct nt_model *m)
{
    size_t n = m->hosts + m->switches;
    struct target t = target_create(n, 2 * m->links);
    for (size_t v = 0; v < n; v++) {
        for (size_t k = 0; k < m->links; k++) {
            const struct nt_link *l = &m->link[k];
            if (l->a != v && l->b != v)
                continue;
            t.to[t.arcs] = (SCOTCH_Num)(l->a == v ? l->b : l->a);
            t.load[t.arcs++] = tenths(l->latency_us);
        }
        t.start[v + 1] = t.arcs;
    }
    return t;
}

static inline struct target pairs_of(const struct nt_model *m, const struct nt_distance *d)
{
    struct target t = target_create(m->hosts, m->hosts * m->hosts);
    for (uint32_t v = 0; v < m->hosts; v++) {
        for (uint32_t u = 0; u < m->hosts; u++) {
            if (u == v)
                continue;
            t.to[t.arcs] = (SCOTCH_Num)u;
            t.load[t.arcs++] = tenths(nt_distance_latency(d, v, u));
        }
        t.start[v + 1] = t.arcs;
    }
    return t;
}

/* Scotch may put two tasks on one host: the second goes to the next free one in the tree's order.
 */
static inline void spread(const SCOTCH_Num *part, const uint32_t *rank, size_t n, uint32_t *seat)
{
    uint32_t *host = malloc(n * sizeof *host);
    bool *taken = calloc(n, 1);
    if (host == NULL || taken == NULL)
        stop("no memory");
    for (uint32_t h = 0; h < n; h++)
        host[rank[h]] = h;
    for (size_t r = 0; r < n; r++) {
        seat[r] = taken[part[r]] ? UINT32_MAX : (uint32_t)part[r];
        taken[part[r]] = true;
    }
    for (size_t r = 0; r < n; r++) {
        size_t at = rank[part[r]];
        if (seat[r] != UINT32_MAX)
            continue;
        while (taken[host[at]])
            at = (at + 1) % n;
        seat[r] = host[at];
        taken[host[at]] = true;
    }
    free(taken);
    free(host);
}

enum kind { OF_LINKS, OF_PAIRS, OF_LINKS_2, KINDS };

/* The architecture whose terminals are the hosts, made of a graph. */
static inline int build_arch(enum kind kind, const SCOTCH_Graph *target, size_t hosts,
                             SCOTCH_Arch *arch)
{
    SCOTCH_Num *host = malloc(hosts * sizeof *host), n = (SCOTCH_Num)hosts;
    SCOTCH_Strat cut;
    if (host == NULL)
        stop("no memory");
    for (size_t h = 0; h < hosts; h++)
        host[h] = (SCOTCH_Num)h;
    SCOTCH_stratInit(&cut);
    int rc = kind == OF_LINKS_2 ? SCOTCH_archBuild2(arch, target, n, host)
                                : SCOTCH_archBuild0(arch, target, n, host, &cut);
    SCOTCH_stratExit(&cut);
    free(host);
    return rc;
}

static inline struct target target_of_traffic(const struct nt_traffic *t)
{
    struct target job = target_create(t->tasks, t->start[t->tasks]);
    job.arcs = (SCOTCH_Num)t->start[t->tasks];
    for (size_t r = 0; r <= t->tasks; r++)
        job.start[r] = (SCOTCH_Num)t->start[r];
    for (size_t e = 0; e < t->start[t->tasks]; e++) {
        job.to[e] = (SCOTCH_Num)t->partner[e];
        job.load[e] = (SCOTCH_Num)fmax(1, round((double)t->bytes[e] / 100));
    }
    return job;
}

static inline int put_graph(SCOTCH_Context *context, const struct target *t, SCOTCH_Graph *graph,
                            SCOTCH_Graph *bound)
{
    SCOTCH_graphInit(graph);
    SCOTCH_graphInit(bound);
    return SCOTCH_graphBuild(graph, 0, t->n, t->start, NULL, NULL, NULL, t->arcs, t->to, t->load) ||
           SCOTCH_contextBindGraph(context, graph, bound);
}

/* One thread and its own seed, as place/scotch_split does: else two runs differ. */
static inline void map_onto(enum kind kind, const struct target *on, const struct nt_model *m,
                            const struct nt_traffic *t, SCOTCH_Num *part)
{
    struct target job = target_of_traffic(t);
    SCOTCH_Context context;
    SCOTCH_Graph graph, bound_graph, target, bound_target;
    SCOTCH_Arch arch;
    SCOTCH_Strat map;
    const int core = 0;
    SCOTCH_contextInit(&context);
    SCOTCH_archInit(&arch);
    SCOTCH_stratInit(&map);
    if (SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) != 0 ||
        SCOTCH_contextThreadSpawn(&context, 1, &core) != 0)
        stop("Scotch failed");
    SCOTCH_contextRandomSeed(&context, 1);
    SCOTCH_contextRandomReset(&context);
    if (put_graph(&context, on, &target, &bound_target) != 0 ||
        put_graph(&context, &job, &graph, &bound_graph) != 0 ||
        build_arch(kind, &bound_target, m->hosts, &arch) != 0 ||
        SCOTCH_stratGraphMapBuild(&map, SCOTCH_STRATQUALITY | SCOTCH_STRATBALANCE, job.n, 0) != 0 ||
        SCOTCH_graphMap(&bound_graph, &arch, &map, part) != 0)
        stop("Scotch failed");
    SCOTCH_stratExit(&map);
    SCOTCH_archExit(&arch);
    SCOTCH_graphExit(&bound_graph);
    SCOTCH_graphExit(&graph);
    SCOTCH_graphExit(&bound_target);
    SCOTCH_graphExit(&target);
    SCOTCH_contextExit(&context);
    target_destroy(&job);
}

static inline double cost_in_us(const struct nt_model *m, const struct nt_distance *d,
                                const struct nt_traffic *t, const uint32_t *seat)
{
    struct nt_metrics metrics;
    struct nt_err err = {0};
    if (nt_cost(m, d, t, seat, &metrics, &err) != 0)
        stop(err.text);
    return nt_cost_total_us(&metrics);
}

/* Cost of the mapping, with our polish, and CPU seconds without it. */
struct mapped {
    double cost, polished, seconds;
};

static inline struct mapped map_by(enum kind kind, const struct nt_model *m,
                                   const struct nt_distance *d, const struct nt_traffic *t,
                                   const uint32_t *rank)
{
    SCOTCH_Num *part = malloc(t->tasks * sizeof *part);
    uint32_t *seat = malloc(t->tasks * sizeof *seat);
    struct mapped is;
    struct nt_err err = {0};
    if (part == NULL || seat == NULL)
        stop("no memory");
    double began = cpu_s();
    struct target on = kind == OF_PAIRS ? pairs_of(m, d) : links_of(m);
    map_onto(kind, &on, m, t, part);
    spread(part, rank, t->tasks, seat);
    is.seconds = cpu_s() - began;
    is.cost = cost_in_us(m, d, t, seat);
    if (nt_polish(d, rank, m->hosts, t, 5000000, seat, &err) != 0)
        stop(err.text);
    is.polished = cost_in_us(m, d, t, seat);
    target_destroy(&on);
    free(part);
    free(seat);
    return is;
}

static inline void compare_place(const char *network, const char *pattern)
{
    struct nt_model *m = strcmp(network, "known tree") == 0 ? known_tree(8, 8, 8, true, true, 42)
                                                            : scattered_model(network);
    struct nt_map map = {.model = m};
    struct nt_traffic *t;
    struct nt_hint *h;
    struct nt_distance *d;
    struct nt_hierarchy *tree;
    struct nt_err err = {0};
    uint32_t *room = malloc(m->hosts * sizeof *room), *rank = malloc(m->hosts * sizeof *rank);
    if (room == NULL || rank == NULL)
        stop("no memory");
    for (size_t k = 0; k < m->hosts; k++)
        room[k] = 1;
    if (nt_traffic_create(pattern, m->hosts, &t, &err) != 0)
        stop(err.text);
    double began = cpu_s();
    if (nt_hint_from_traffic(&map, t, "bench", room, true, &h, &err) != 0)
        stop(err.text);
    double seconds = cpu_s() - began;
    if (nt_distance_create(m, &d, &err) != 0 || nt_hierarchy_create(m, d, room, &tree, &err) != 0)
        stop(err.text);
    nt_hierarchy_rank(tree, rank, m->hosts);
    printf("%-16s %-18s %9.2f %8.2f", network, pattern, h->cost_default, h->cost);
    for (enum kind k = OF_LINKS; k < KINDS; k++) {
        struct mapped is = map_by(k, m, d, t, rank);
        printf(" | %5.2f %5.2f %5.2f", h->cost / is.cost, h->cost / is.polished,
               seconds / is.seconds);
    }
    printf("\n");
    fflush(stdout);
    nt_hierarchy_destroy(tree);
    nt_distance_destroy(d);
    nt_hint_destroy(h);
    nt_traffic_destroy(t);
    nt_model_destroy(m);
    free(room);
    free(rank);
}

static inline void compare_places(void)
{
    static const char *const table[][2] = {
        {"known tree", "ring"},
        {"known tree", "stencil:16x32"},
        {"known tree", "stencil:8x8x8"},
        {"known tree", "tree"},
        {"tree:7x7x10", "ring"},
        {"tree:7x7x10", "stencil:14x35"},
        {"torus:8x8x8", "ring"},
        {"torus:8x8x8", "stencil:16x32"},
        {"torus:8x8x8", "stencil:8x8x8"},
        {"torus:8x8x8", "tree"},
        {"hypercube:8", "ring"},
        {"hypercube:8", "stencil:16x16"},
        {"hypercube:8", "tree"},
        {"dragonfly:9x8x4", "ring"},
        {"dragonfly:9x8x4", "stencil:16x18"},
        {"dragonfly:9x8x4", "stencil:8x6x6"},
    };
    printf("placement on scattered hosts, a task a host: cost in us of the scheduler's order and "
           "of the hint;\nhint/Scotch of cost, of cost after our polish, and of CPU s; below 1 the "
           "hint is better\n"
           "%-16s %-18s %9s %8s | %17s | %17s | %17s\n",
           "network", "pattern", "scheduler", "hint", "archBuild0 links", "archBuild0 pairs",
           "archBuild2 links");
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        compare_place(table[k][0], table[k][1]);
}

#endif
