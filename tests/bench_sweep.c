/* SPDX-License-Identifier: Apache-2.0 */
/* The adaptive sweep against all pairs and the bound: rounds, pairs, exactness over seeds, time of
 * the coordinator and memory, from 8 to 65,536 hosts; and with hosts on longer links. --full or
 * FULL=1: all seeds and the largest without a hint from the names. Then sweeps that start from a
 * prior; with the argument prior those alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "prior.h"
#include "rng.h"
#include "sweep_adaptive.h"
#include "sweep_sim.h"

/* 2 % noise, 1 % outliers; host links 0.56 us, links between switches 0.11 us: a same-switch pair
 * at 1.12 us and the next class 20 % above, as on a real machine. */
static const double NOISE = 0.02, OUTLIERS = 0.01, HOST_US = 0.56, LINK_US = 0.11;

/* By so much the links of slow hosts are longer: half of what the next class is further, all of it,
 * and far more. */
static const double SLOW_US[] = {0.11, 0.22, 5};

struct row {
    const char *topology;
    unsigned quick, full;         /* seeds with names in order */
    unsigned quick_any, full_any; /* seeds with names that say nothing */
    unsigned slow;                /* hosts, evenly over all */
};

static const struct row rows[] = {
    {"tree:2x4", 100, 1000, 100, 1000, 0}, {"tree:4x8", 100, 1000, 100, 1000, 0},
    {"tree:4x4x8", 50, 500, 50, 500, 0},   {"tree:8x32", 50, 300, 50, 300, 0},
    {"tree:4x8x32", 20, 100, 20, 100, 0},  {"tree:16x16x32", 20, 40, 5, 20, 0},
    {"tree:8x32x32", 5, 20, 2, 20, 0},     {"tree:16x64x64", 2, 5, 0, 2, 0},
    {"tree:4x8", 100, 1000, 100, 1000, 1}, {"tree:4x8", 100, 1000, 100, 1000, 3},
    {"tree:4x4x8", 50, 500, 50, 500, 3},   {"tree:8x32", 50, 300, 50, 300, 3},
    {"tree:4x8x32", 20, 100, 20, 100, 3},
};

struct sums {
    double rounds, tests, pairs, exact, unsure, planning_s, slowest_s;
    uint64_t bound, most_rounds;
    size_t hosts;
    long memory_kb;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void give_up(const struct nt_err *err)
{
    fprintf(stderr, "bench_sweep: %s\n", err->text);
    exit(4);
}

static void slow_down(struct nt_network *n, unsigned slow)
{
    for (unsigned k = 0; k < slow; k++) {
        size_t host = n->hosts * k / slow + 2;
        for (size_t arc = 0; arc < n->arcs; arc++)
            if (n->arc[arc].from == host || n->arc[arc].to == host)
                n->arc[arc].latency_us += SLOW_US[k];
    }
}

static struct nt_network *build(const char *topology, unsigned slow)
{
    struct nt_spec spec;
    struct nt_figures figures;
    struct nt_network *n;
    struct nt_err err;
    if (nt_spec_parse(topology, &spec, &err) < 0)
        give_up(&err);
    nt_figures_default(&spec, &figures);
    figures.host_latency_us = HOST_US;
    for (int t = 0; t < NT_DIMENSIONS_MAX; t++)
        figures.link_latency_us[t] = LINK_US;
    if (nt_network_build(&spec, &figures, &n, &err) < 0)
        give_up(&err);
    slow_down(n, slow);
    return n;
}

static uint32_t *shuffled(size_t hosts, uint64_t seed)
{
    struct nt_rng rng;
    uint32_t *order = calloc(hosts + 1, sizeof *order);
    if (order == NULL)
        exit(4);
    for (uint32_t h = 0; h < hosts; h++)
        order[h] = h;
    nt_rng_init(&rng, ~seed);
    nt_rng_shuffle(&rng, order, hosts);
    return order;
}

static void run_seed(const struct nt_sweep_kind *kind, const struct nt_network *n, uint64_t seed,
                     bool any, struct sums *s)
{
    struct nt_measure_noise noise = {.sd = NOISE, .outliers = OUTLIERS, .seed = seed};
    const struct nt_noisy_network noisy = {n, &noise};
    uint32_t *order = any ? shuffled(n->hosts, seed) : NULL;
    struct nt_sweep_run run;
    struct nt_err err;
    if (nt_sweep_simulate(kind, &noisy, &(struct nt_sweep_how){order, NULL, now_s}, &run, &err) < 0)
        give_up(&err);
    s->rounds += (double)run.rounds;
    s->pairs += (double)run.pairs;
    s->tests += (double)run.tests;
    s->exact += run.exact && run.model->confidence > 0;
    s->unsure += run.model->confidence == 0;
    s->planning_s += run.planning_s / (double)(run.rounds > 0 ? run.rounds : 1);
    s->slowest_s = fmax(s->slowest_s, run.slowest_s);
    s->most_rounds = run.rounds > s->most_rounds ? run.rounds : s->most_rounds;
    s->bound = run.bound_rounds;
    nt_model_destroy(run.model);
    free(order);
}

static void run_seeds(const struct row *row, bool any, unsigned seeds, struct sums *s)
{
    struct nt_network *n = build(row->topology, row->slow);
    const struct nt_sweep_kind *kind = &nt_sweep_kind_adaptive;
    struct rusage before, after;
    *s = (struct sums){.hosts = n->hosts};
    getrusage(RUSAGE_SELF, &before);
    for (uint64_t seed = 1; seed <= seeds; seed++)
        run_seed(kind, n, seed, any, s);
    getrusage(RUSAGE_SELF, &after);
    s->memory_kb = after.ru_maxrss - before.ru_maxrss;
    nt_network_destroy(n);
}

/* In a process of its own, so that its peak of memory is its own. */
static int in_child(const struct row *row, bool any, unsigned seeds, struct sums *s)
{
    int end[2], status = 0;
    if (pipe(end) < 0)
        return -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        run_seeds(row, any, seeds, s);
        _exit(write(end[1], s, sizeof *s) == (ssize_t)sizeof *s ? 0 : 4);
    }
    close(end[1]);
    ssize_t got = child > 0 ? read(end[0], s, sizeof *s) : -1;
    close(end[0]);
    if (child > 0)
        waitpid(child, &status, 0);
    return got == (ssize_t)sizeof *s && status == 0 ? 0 : -1;
}

static int print_row(const struct row *row, bool any, unsigned seeds)
{
    struct sums s;
    if (seeds == 0)
        return 0;
    if (in_child(row, any, seeds, &s) < 0)
        return -1;
    double n = seeds, all = (double)s.hosts * ((double)s.hosts - 1) / 2;
    printf("%7zu  %-14s %4u %-6s %6.1f %6.1f %5llu %6zu %6llu %9.0f %8.3f%% %5.0f/%-5u %6.0f %8.2f "
           "%8.1f "
           "%7.1f\n",
           s.hosts, row->topology, row->slow, any ? "any" : "good", (s.rounds - s.tests) / n,
           s.tests / n, (unsigned long long)s.most_rounds, s.hosts - 1, (unsigned long long)s.bound,
           s.pairs / n, 100 * s.pairs / n / all, s.exact, seeds, s.unsure, 1e3 * s.planning_s / n,
           1e3 * s.slowest_s, (double)s.memory_kb / 1024);
    fflush(stdout);
    return s.exact + s.unsure == n ? 0 : 1;
}

/* ---- from a prior ---- */

enum { HOSTS_NAMED = 65536 };

/* The truth with some hosts exchanged. */
static struct nt_belief *believed(const struct nt_network *n, unsigned moved, uint64_t seed)
{
    static char name[HOSTS_NAMED][12];
    static const char *names[HOSTS_NAMED], *stands[HOSTS_NAMED];
    struct nt_model *truth = NULL;
    struct nt_map *map = NULL;
    struct nt_prior *prior = NULL;
    struct nt_belief *belief = NULL;
    struct nt_err err;
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    for (size_t h = 0; h < n->hosts; h++) {
        snprintf(name[h], sizeof name[h], "n%zu", h % HOSTS_NAMED + 1);
        names[h] = stands[h] = name[h];
    }
    for (unsigned k = 0; k < moved; k++) {
        size_t x = nt_rng_below(&rng, n->hosts), y = nt_rng_below(&rng, n->hosts);
        const char *swap = stands[x];
        stands[x] = stands[y];
        stands[y] = swap;
    }
    if (nt_network_truth(n, &truth, &err) < 0 || nt_map_create(truth, stands, &map, &err) < 0 ||
        nt_prior_from_map(map, NULL, &prior, &err) < 0 ||
        nt_prior_to_belief(prior, names, n->hosts, &belief, NULL, &err) < 0)
        give_up(&err);
    nt_map_destroy(map);
    nt_prior_destroy(prior);
    return belief;
}

/* How many hosts were exchanged with others since. */
static const struct {
    const char *topology;
    unsigned moved, quick, full;
} prior_rows[] = {
    {"tree:4x4", 0, 100, 1000},   {"tree:8x8", 0, 100, 1000},  {"tree:8x8", 1, 100, 1000},
    {"tree:4x8x32", 0, 20, 200},  {"tree:4x8x32", 4, 20, 200}, {"tree:32x32", 0, 20, 200},
    {"tree:16x16x32", 0, 5, 20},  {"tree:16x64x64", 0, 1, 3},  {"tree:8x8", 64, 20, 200},
    {"tree:4x8x32", 1024, 5, 20},
};

static int print_prior_row(size_t k, bool full)
{
    struct nt_network *n = build(prior_rows[k].topology, 0);
    unsigned seeds = full ? prior_rows[k].full : prior_rows[k].quick;
    struct sums s = {.hosts = n->hosts};
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct nt_measure_noise noise = {.sd = NOISE, .outliers = OUTLIERS, .seed = seed};
        const struct nt_noisy_network noisy = {n, &noise};
        struct nt_belief *belief = believed(n, prior_rows[k].moved, seed);
        struct nt_sweep_run run;
        struct nt_err err;
        if (nt_sweep_simulate(&nt_sweep_kind_prior, &noisy,
                              &(struct nt_sweep_how){NULL, belief, now_s}, &run, &err) < 0)
            give_up(&err);
        s.rounds += (double)run.rounds;
        s.pairs += (double)run.pairs;
        s.exact += run.exact && run.model->confidence > 0;
        s.unsure += run.model->confidence == 0;
        s.planning_s += run.planning_s;
        s.most_rounds = run.rounds > s.most_rounds ? run.rounds : s.most_rounds;
        nt_model_destroy(run.model);
        nt_belief_destroy(belief);
    }
    double all = (double)s.hosts * ((double)s.hosts - 1) / 2;
    printf("%7zu  %-14s %5u %7.1f %5llu %9.0f %8.3f%% %5.0f/%-5u %6.0f %8.1f\n", s.hosts,
           prior_rows[k].topology, prior_rows[k].moved, s.rounds / seeds,
           (unsigned long long)s.most_rounds, s.pairs / seeds, 100 * s.pairs / seeds / all, s.exact,
           seeds, s.unsure, 1e3 * s.planning_s / seeds);
    fflush(stdout);
    nt_network_destroy(n);
    return s.exact + s.unsure == seeds ? 0 : 1;
}

static int print_prior(bool full)
{
    int wrong = 0;
    printf("\nFrom a prior (nettopo.conf(5)); moved: hosts that were exchanged with others since\n"
           "%7s  %-14s %5s %7s %5s %9s %9s %11s %6s %8s\n",
           "hosts", "network", "moved", "rounds", "most", "pairs", "of all", "exact", "unsure",
           "ms");
    for (size_t k = 0; k < sizeof prior_rows / sizeof *prior_rows; k++)
        wrong += print_prior_row(k, full);
    return wrong;
}

int main(int argc, char **argv)
{
    const char *wish = getenv("FULL");
    bool full =
        (argc > 1 && strcmp(argv[1], "--full") == 0) || (wish != NULL && strcmp(wish, "1") == 0);
    int wrong = 0;
    if (argc > 1 && strcmp(argv[1], "prior") == 0)
        return print_prior(full) > 0;
    printf("Adaptive latency sweep, noise %.0f %%, outliers %.0f %%; names in order or any order\n",
           100 * NOISE, 100 * OUTLIERS);
    printf("%7s  %-14s %4s %-6s %6s %6s %5s %6s %6s %9s %9s %11s %6s %8s %8s %7s\n", "hosts",
           "network", "slow", "names", "rounds", "verify", "most", "all", "bound", "pairs",
           "of all", "exact", "unsure", "ms/round", "most ms", "MB");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        for (int any = 0; any < 2; any++) {
            unsigned quick = any ? rows[k].quick_any : rows[k].quick;
            unsigned seeds = any ? rows[k].full_any : rows[k].full;
            int rc = print_row(&rows[k], any, full ? seeds : quick);
            if (rc < 0)
                return 4;
            wrong += rc;
        }
    printf(
        "slow: hosts whose links are longer, by 0.11, 0.22 and 5 us.\n"
        "rounds: until the tiers are certain; verify: rounds after that; most: of both together.\n"
        "all: rounds of one pass over all pairs, of which a right answer takes three.\n"
        "exact: verified, and the network; unsure: not verified, all pairs would follow.\n"
        "bound: without names, the sum over the tiers of the most branches of a switch.\n");
    wrong += print_prior(full);
    return wrong > 0;
}
