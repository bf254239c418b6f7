/* SPDX-License-Identifier: Apache-2.0 */
/* The placement tables of make bench: time, and cost against other orders. sorted: ranks in the
 * order of the tree; boxes: of a grid; bisect: recursive halving by Scotch; Scotch: its own mapping
 * onto the tree, told all that the hint is told. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <scotch/scotch.h>

#include "cost.h"
#include "hierarchy.h"
#include "hint.h"
#include "infer.h"
#include "known_tree.h"

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* others may be at work here */
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct nt_traffic *random_traffic(size_t tasks, size_t degree, uint64_t seed)
{
    struct nt_rng rng;
    struct nt_err err = {0};
    struct nt_traffic *t;
    size_t n = tasks * degree;
    uint32_t(*pair)[2] = malloc(n * sizeof *pair);
    float *bytes = malloc(n * sizeof *bytes);
    if (pair == NULL || bytes == NULL)
        abort();
    nt_rng_init(&rng, seed);
    for (size_t k = 0; k < n; k++) {
        pair[k][0] = (uint32_t)(k / degree);
        pair[k][1] = (uint32_t)nt_rng_below(&rng, tasks);
        bytes[k] = (float)(1000 + 9000 * nt_rng_uniform(&rng));
    }
    if (nt_traffic_from_triples(tasks, (const uint32_t(*)[2])pair, bytes, n, &t, &err) != 0)
        abort();
    free(pair);
    free(bytes);
    return t;
}

/* What a machine looks like: tasks of a host, hosts of a leaf, leaves of a group, groups. */
struct machine {
    size_t pods, leaves, hosts;
    uint32_t each;
};

struct row {
    double scheduler, random, sorted, boxes, split, scotch, hint, seconds, scotch_seconds;
};

static double cost_of(const struct nt_distance *d, const struct nt_traffic *t,
                      const uint32_t *rank_host)
{
    struct nt_metrics metrics;
    struct nt_err err = {0};
    if (nt_cost(d, t, rank_host, &metrics, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return metrics.latency_us;
}

/* Scotch may put two tasks on one place and none on another: the second goes to the next free one,
 * which is the nearest in the order of the tree. */
static void seat(const SCOTCH_Num *part, size_t n, const struct nt_model *m, uint32_t each,
                 uint32_t *rank_host)
{
    bool *taken = calloc(n, 1);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = 0; r < n; r++) {
            size_t at = (size_t)part[r];
            if (pass == 0)
                rank_host[r] = UINT32_MAX;
            else if (rank_host[r] != UINT32_MAX)
                continue;
            if (pass == 0 && taken[at])
                continue;
            while (taken[at])
                at = (at + 1) % n;
            taken[at] = true;
            rank_host[r] =
                m->link[at / each].a; /* known_tree: host links in the order of the tree */
        }
    }
    free(taken);
}

/* Scotch's own mapping, given the whole tree (SCOTCH_archTleaf) and the cost of its paths. */
static void map_by_scotch(const struct nt_model *m, const struct nt_traffic *t,
                          const struct machine *k, uint32_t *rank_host)
{
    SCOTCH_Num sizes[] = {(SCOTCH_Num)k->pods, (SCOTCH_Num)k->leaves, (SCOTCH_Num)k->hosts,
                          (SCOTCH_Num)k->each};
    SCOTCH_Num costs[] = {120, 60, 20, 1}; /* 12, 6 and 2 us; inside a host next to nothing */
    size_t n = t->tasks, arcs = t->start[n];
    SCOTCH_Num *start = malloc((n + 1) * sizeof *start), *partner = malloc(arcs * sizeof *partner);
    SCOTCH_Num *weight = malloc(arcs * sizeof *weight), *part = malloc(n * sizeof *part);
    SCOTCH_Arch arch;
    SCOTCH_Graph graph;
    SCOTCH_Strat strategy;
    for (size_t r = 0; r <= n; r++)
        start[r] = (SCOTCH_Num)t->start[r];
    for (size_t e = 0; e < arcs; e++) {
        partner[e] = (SCOTCH_Num)t->partner[e];
        weight[e] = (SCOTCH_Num)fmax(1, round((double)t->bytes[e] / 100));
    }
    SCOTCH_randomReset();
    if (SCOTCH_archInit(&arch) != 0 ||
        SCOTCH_archTleaf(&arch, k->each > 1 ? 4 : 3, sizes, costs) != 0 ||
        SCOTCH_graphInit(&graph) != 0 ||
        SCOTCH_graphBuild(&graph, 0, (SCOTCH_Num)n, start, NULL, NULL, NULL, (SCOTCH_Num)arcs,
                          partner, weight) != 0 ||
        SCOTCH_stratInit(&strategy) != 0 ||
        SCOTCH_stratGraphMapBuild(&strategy, SCOTCH_STRATQUALITY | SCOTCH_STRATBALANCE,
                                  (SCOTCH_Num)n, 0) != 0 ||
        SCOTCH_graphMap(&graph, &arch, &strategy, part) != 0) {
        fprintf(stderr, "Scotch failed\n");
        exit(4);
    }
    seat(part, n, m, k->each, rank_host);
    SCOTCH_stratExit(&strategy);
    SCOTCH_graphExit(&graph);
    SCOTCH_archExit(&arch);
    free(start);
    free(partner);
    free(weight);
    free(part);
}

static struct row measure(const struct nt_model *m, const struct nt_traffic *t,
                          const struct machine *machine, bool whole)
{
    uint32_t each = machine->each;
    struct nt_map map = {.model = (struct nt_model *)m};
    struct nt_distance *d;
    struct nt_hierarchy *tree;
    struct nt_hint *h;
    struct nt_err err = {0};
    struct row row = {0};
    size_t n = t->tasks;
    uint32_t *room = malloc(m->hosts * sizeof *room), *order = malloc(n * sizeof *order);
    if (room == NULL || order == NULL)
        exit(4);
    for (size_t k = 0; k < m->hosts; k++)
        room[k] = each;
    const struct nt_hint_request asked = {
        .pattern = "bench", .traffic = t, .capacity = room, .any_first = true};
    double began = now_s();
    if (nt_hint_create(&map, &asked, &h, &err) != 0)
        exit(1);
    row.seconds = now_s() - began;
    row.scheduler = h->metrics_default.latency_us;
    row.hint = h->metrics.latency_us;
    if (!whole)
        return row;
    if (nt_distance_create(m, &d, &err) != 0 || nt_hierarchy_create(d, room, &tree, &err) != 0)
        exit(1);
    for (size_t k = 0; k < n; k++)
        order[k] = (uint32_t)(k / each);
    struct nt_rng rng;
    nt_rng_init(&rng, 99);
    nt_rng_shuffle(&rng, order, n);
    row.random = cost_of(d, t, order);
    static const enum nt_split_rule rules[] = {NT_SPLIT_BY_RANK, NT_SPLIT_BY_GRID,
                                               NT_SPLIT_BY_GRAPH};
    double *into[] = {&row.sorted, &row.boxes, &row.split};
    for (size_t k = 0; k < 3; k++) {
        *into[k] = NAN;
        if (k == 1 && t->kind != NT_TRAFFIC_STENCIL)
            continue;
        if (nt_construct(tree, t, rules[k], 1, order, &err) != 0)
            exit(1);
        *into[k] = cost_of(d, t, order);
    }
    began = now_s();
    map_by_scotch(m, t, machine, order);
    row.scotch_seconds = now_s() - began;
    row.scotch = cost_of(d, t, order);
    nt_hierarchy_destroy(tree);
    nt_distance_destroy(d);
    nt_hint_destroy(h);
    free(room);
    free(order);
    return row;
}

/* What an order of the hosts gains on the true network: with its rates, a task per host. */
static double gain_on(const struct nt_model *m, const struct nt_traffic *t, const uint32_t *order)
{
    struct nt_distance *d;
    struct nt_metrics was, is;
    struct nt_err err = {0};
    uint32_t *given = malloc(m->hosts * sizeof *given);
    if (given == NULL || nt_distance_create(m, &d, &err) != 0)
        exit(4);
    for (uint32_t h = 0; h < m->hosts; h++)
        given[h] = h;
    if (nt_cost(d, t, given, &was, &err) != 0 || nt_cost(d, t, order, &is, &err) != 0)
        exit(4);
    nt_distance_destroy(d);
    free(given);
    return nt_cost_total_us(&was) / nt_cost_total_us(&is);
}

/* The map that measured latencies give: no bandwidths. */
static struct nt_model *measured(const struct nt_model *m, double noise)
{
    struct nt_matrix *x;
    struct nt_model *found;
    struct nt_rng rng;
    struct nt_err err = {0};
    nt_rng_init(&rng, 11);
    if (nt_model_latencies(m, &x, &err) != 0)
        exit(4);
    for (uint32_t a = 0; a < m->hosts; a++)
        for (uint32_t b = 0; b < a; b++) {
            double us = (double)nt_matrix_get(x, a, b) * (1 + noise * nt_rng_normal(&rng));
            nt_matrix_set(x, a, b, (float)us);
            nt_matrix_set(x, b, a, (float)us);
        }
    if (nt_infer_latency(x, NULL, 1, &found, &err) != 0)
        exit(1);
    nt_matrix_destroy(x);
    return found;
}

static void do_shuffled(double noise)
{
    struct nt_model *m = known_tree(8, 8, 16, true, true, 42), *found = measured(m, noise);
    uint32_t *room = malloc(m->hosts * sizeof *room);
    struct nt_traffic *t;
    struct nt_err err = {0};
    double gain[2], least = 1;
    if (room == NULL || nt_traffic_create("ring", m->hosts, &t, &err) != 0)
        exit(4);
    for (size_t h = 0; h < m->hosts; h++)
        room[h] = 1;
    for (int k = 0; k < 2; k++) {
        struct nt_map map = {.model = k == 0 ? m : found};
        struct nt_hint *h;
        const struct nt_hint_request asked = {
            .pattern = "ring", .traffic = t, .capacity = room, .any_first = true};
        if (nt_hint_create(&map, &asked, &h, &err) != 0)
            exit(1);
        gain[k] = gain_on(m, t, h->rank_host);
        nt_hint_destroy(h);
    }
    for (size_t k = 0; k < found->links; k++)
        if (found->link[k].a >= m->hosts && found->link[k].b >= m->hosts)
            least = fmin(least, found->link[k].probability);
    printf("%-7zu %5.1f%% %9.3f %9.2f %9.2f %7.1f%%\n", m->hosts, 100 * noise, least, gain[0],
           gain[1], 100 * gain[1] / gain[0]);
    free(room);
    nt_traffic_destroy(t);
    nt_model_destroy(found);
    nt_model_destroy(m);
}

/* One row, in a process of its own. */
static void do_row(const struct machine *at, const char *pattern, bool whole, long kbytes)
{
    struct nt_model *m = known_tree(at->pods, at->leaves, at->hosts, true, false, 42);
    size_t tasks = m->hosts * at->each, degree = 0;
    struct nt_traffic *t;
    struct nt_err err = {0};
    if (sscanf(pattern, "random %zu", &degree) == 1)
        t = random_traffic(tasks, degree, 7);
    else if (nt_traffic_create(pattern, tasks, &t, &err) != 0)
        exit(1);
    struct row r = measure(m, t, at, whole);
    if (whole)
        printf("%-7zu %-6zu %-24s %9.3f %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f %5ld\n",
               m->hosts, tasks, pattern, r.scheduler, r.random, r.sorted, r.boxes, r.split,
               r.scotch, r.hint, r.scotch_seconds, r.seconds, (kbytes + 512) / 1024);
    fflush(stdout);
    nt_traffic_destroy(t);
    nt_model_destroy(m);
    exit(0);
}

int main(void)
{
    static const struct {
        struct machine machine;
        const char *pattern;
    } table[] = {
        {{2, 2, 4, 1}, "ring"},
        {{2, 2, 4, 4}, "stencil:8x8"},
        {{4, 4, 8, 8}, "ring"},
        {{4, 4, 8, 8}, "stencil:32x32"},
        {{4, 4, 8, 8}, "stencil:8x8x16:periodic"},
        {{4, 4, 8, 8}, "tree"},
        {{4, 4, 8, 8}, "random 4"},
        {{4, 4, 8, 8}, "random 16"},
        {{8, 8, 16, 1}, "stencil:32x32"},
        {{8, 8, 16, 1}, "random 4"},
        {{10, 25, 40, 1}, "ring"},
        {{10, 25, 40, 1}, "stencil:100x100"},
        {{10, 25, 40, 1}, "random 4"},
        {{10, 25, 40, 1}, "random 16"},
    };
    printf("Placement on scattered hosts: mean modelled latency in us, lower is better; CPU "
           "seconds and memory\n"
           "%-7s %-6s %-24s %9s %8s %8s %8s %8s %8s %8s %8s %8s %5s\n",
           "hosts", "tasks", "pattern", "scheduler", "random", "sorted", "boxes", "bisect",
           "Scotch", "hint", "Scotch s", "hint s", "MB");
    fflush(stdout);
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        long kbytes = 0;
        for (int whole = 0; whole < 2; whole++) {
            struct rusage use;
            int status;
            pid_t child = fork(); /* so that the hint's memory is its own */
            if (child == 0)
                do_row(&table[k].machine, table[k].pattern, whole == 1, kbytes);
            if (child < 0 || wait4(child, &status, 0, &use) < 0 || status != 0)
                return 4;
            kbytes = use.ru_maxrss;
        }
    }
    printf("\nShuffled hosts of 8 switches over 64 leaf switches, ring: gain with the true map, "
           "and with the\n"
           "map of measured latencies, both on the true network; least support of a switch\n"
           "%-7s %6s %9s %9s %9s %8s\n",
           "hosts", "noise", "support", "true map", "measured", "share");
    do_shuffled(0.005);
    do_shuffled(0.01);
    return 0;
}
