/* The placement tables of make bench: time, and cost against other orders. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "construct.h"
#include "cost.h"
#include "hint.h"
#include "known_tree.h"

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
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

struct row {
    double scheduler, random, sorted, boxes, scotch, hint, seconds;
};

static double cost_of(const struct nt_model *m, const struct nt_distance *d,
                      const struct nt_traffic *t, const uint32_t *rank_host)
{
    struct nt_metrics metrics;
    struct nt_err err = {0};
    if (nt_cost(m, d, t, rank_host, &metrics, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    return metrics.latency_us;
}

static struct row measure(const struct nt_model *m, const struct nt_traffic *t, uint32_t each)
{
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
    double began = now_s();
    if (nt_hint_from_traffic(&map, t, "bench", room, 1, &h, &err) != 0)
        exit(1);
    row.seconds = now_s() - began;
    row.scheduler = h->metrics_default.latency_us;
    row.hint = h->metrics.latency_us;
    if (nt_distance_create(m, &d, &err) != 0 || nt_hierarchy_create(m, d, room, &tree, &err) != 0)
        exit(1);
    for (size_t k = 0; k < n; k++)
        order[k] = (uint32_t)(k / each);
    struct nt_rng rng;
    nt_rng_init(&rng, 99);
    nt_rng_shuffle(&rng, order, n);
    row.random = cost_of(m, d, t, order);
    static const enum nt_split_rule rules[] = {NT_SPLIT_BY_RANK, NT_SPLIT_BY_GRID,
                                               NT_SPLIT_BY_GRAPH};
    double *into[] = {&row.sorted, &row.boxes, &row.scotch};
    for (size_t k = 0; k < 3; k++) {
        *into[k] = NAN;
        if (k == 1 && t->kind != NT_TRAFFIC_STENCIL)
            continue;
        if (nt_construct(tree, t, rules[k], 1, order, &err) != 0)
            exit(1);
        *into[k] = cost_of(m, d, t, order);
    }
    nt_hierarchy_destroy(tree);
    nt_distance_destroy(d);
    nt_hint_destroy(h);
    free(room);
    free(order);
    return row;
}

int main(void)
{
    static const struct {
        size_t pods, leaves, hosts;
        uint32_t each;
        const char *pattern;
    } table[] = {
        {2, 2, 4, 1, "ring"},
        {2, 2, 4, 4, "stencil:8x8"},
        {4, 4, 8, 8, "ring"},
        {4, 4, 8, 8, "stencil:32x32"},
        {4, 4, 8, 8, "stencil:8x8x16:periodic"},
        {4, 4, 8, 8, "tree"},
        {4, 4, 8, 8, "random 4"},
        {4, 4, 8, 8, "random 16"},
        {8, 8, 16, 1, "stencil:32x32"},
        {8, 8, 16, 1, "random 4"},
        {10, 25, 40, 1, "ring"},
        {10, 25, 40, 1, "stencil:100x100"},
        {10, 25, 40, 1, "random 4"},
    };
    printf("Placement on scattered hosts: mean modelled latency in us, lower is better\n"
           "%-7s %-6s %-24s %9s %8s %8s %8s %8s %8s %8s\n",
           "hosts", "tasks", "pattern", "scheduler", "random", "sorted", "boxes", "Scotch", "hint",
           "seconds");
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_model *m =
            known_tree(table[k].pods, table[k].leaves, table[k].hosts, true, false, 42);
        size_t tasks = m->hosts * table[k].each, degree = 0;
        struct nt_traffic *t;
        struct nt_err err = {0};
        if (sscanf(table[k].pattern, "random %zu", &degree) == 1)
            t = random_traffic(tasks, degree, 7);
        else if (nt_traffic_create(table[k].pattern, tasks, &t, &err) != 0) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        struct row r = measure(m, t, table[k].each);
        printf("%-7zu %-6zu %-24s %9.3f %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f\n", m->hosts, tasks,
               table[k].pattern, r.scheduler, r.random, r.sorted, r.boxes, r.scotch, r.hint,
               r.seconds);
        fflush(stdout);
        nt_traffic_destroy(t);
        nt_model_destroy(m);
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    printf("peak memory of the whole table: %ld MB\n", use.ru_maxrss / 1024);
    return 0;
}
