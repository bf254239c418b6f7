/* SPDX-License-Identifier: Apache-2.0 */
/* The figures that we state for bandwidths of links: errors and rounds by network, with and
 * without degraded links. */
#include "known_rates.h"

#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct sum {
    struct rates_verdict v;
    size_t runs, hosts, rounds, rounds_most, announced;
    double seconds;
};

static void add_run(const struct rates_tree *t, double sd, uint64_t seed, bool verbose,
                    struct sum *sum)
{
    struct rates_verdict before = sum->v;
    struct nt_network *net = rates_network(t, seed);
    double since = now();
    struct rates_run run = rates_sweep(net, NULL, sd, seed);
    sum->seconds += now() - since;
    rates_judge(&run, true, &sum->v);
    sum->runs++;
    sum->hosts = net->hosts;
    sum->rounds += run.rounds;
    sum->rounds_most = run.rounds > sum->rounds_most ? run.rounds : sum->rounds_most;
    sum->announced = run.announced > sum->announced ? run.announced : sum->announced;
    if (verbose && (sum->v.missed > before.missed || sum->v.invented > before.invented ||
                    sum->v.wrong > before.wrong || sum->v.false_bounds > before.false_bounds ||
                    sum->v.ratios_wrong > before.ratios_wrong || sum->v.hidden > before.hidden))
        printf("  seed %u: missed %zu invented %zu wrong %zu false %zu ratios %zu hidden %zu\n",
               (unsigned)seed, sum->v.missed - before.missed, sum->v.invented - before.invented,
               sum->v.wrong - before.wrong, sum->v.false_bounds - before.false_bounds,
               sum->v.ratios_wrong - before.ratios_wrong, sum->v.hidden - before.hidden);
    rates_run_fini(&run);
    nt_network_destroy(net);
}

static void print_sum(const char *name, double sd, const struct sum *s)
{
    const struct rates_verdict *v = &s->v;
    printf(
        "%-30s %5zu %3.0f %6.1f %4zu %4zu  %5.2f %5.1f  %5zu %5.2f %5.1f %3zu  %5zu %3zu %3zu %3zu"
        "  %4zu %3zu %3zu  %5zu %3zu %5.1f  %6.3f\n",
        name, s->hosts, 100 * sd, (double)s->rounds / (double)s->runs, s->rounds_most, s->announced,
        v->hosts ? 100 * v->host_sum / (double)v->hosts : 0, 100 * v->host_worst, v->values,
        v->values ? 100 * v->value_sum / (double)v->values : 0, 100 * v->value_worst, v->wrong,
        v->bounds, v->false_bounds, v->hidden, v->effective, v->slow, v->missed, v->invented,
        v->ratios, v->ratios_wrong, 100 * v->ratio_worst, s->seconds / (double)s->runs);
}

static const struct {
    const char *name;
    struct rates_tree tree;
    unsigned seeds;
} cases[] = {
    {"star 6", {1, {6}, {0}, false, 100, 0, 0, false, 0}, 40},
    {"star 6, a slow host", {1, {6}, {0}, false, 100, 1, 0, true, 0}, 40},
    {"3 leaves x 2", {2, {3, 2}, {2}, false, 100, 0, 0, false, 0}, 40},
    {"2 leaves x 4, a slow host", {2, {2, 4}, {2}, false, 100, 1, 0, false, 0}, 40},
    {"3 leaves x 4", {2, {3, 4}, {2}, false, 100, 0, 0, false, 0}, 40},
    {"3 leaves x 4, slow 1 1", {2, {3, 4}, {2}, false, 100, 1, 1, false, 0}, 40},
    {"5 leaves x 4, slow 1 1", {2, {5, 4}, {2}, false, 100, 1, 1, true, 0}, 40},
    {"4 leaves x 4, slow 1 1", {2, {4, 4}, {2}, false, 100, 1, 1, true, 0}, 40},
    {"4 leaves uneven, slow 1 1", {2, {4, 6}, {2}, true, 100, 1, 1, true, 0}, 40},
    {"4 leaves x 4, down 1/2", {2, {4, 4}, {2}, false, 100, 1, 0, false, 0.5}, 40},
    {"2 pods x 2 x 4", {3, {2, 2, 4}, {2, 2}, false, 100, 0, 0, false, 0}, 40},
    {"4 pods x 2 x 4, slow 1 1", {3, {4, 2, 4}, {2, 2}, false, 100, 1, 1, false, 0}, 40},
    {"3 pods x 4 x 6", {3, {3, 4, 6}, {2, 2}, false, 100, 0, 0, false, 0}, 40},
    {"3 pods x 4 x 6, slow 2 2", {3, {3, 4, 6}, {2, 2}, false, 100, 2, 2, false, 0}, 40},
    {"4 pods x 5 x 8, no taper", {3, {4, 5, 8}, {1, 1}, false, 100, 2, 0, false, 0}, 20},
    {"4 pods x 8 x 32", {3, {4, 8, 32}, {2, 2}, false, 100, 0, 0, false, 0}, 10},
    {"4 pods x 8 x 32, slow 8 3", {3, {4, 8, 32}, {2, 2}, false, 100, 8, 3, false, 0}, 10},
    {"3 x 3 x 4 x 8, slow 3 2", {4, {3, 3, 4, 8}, {2, 1.5, 1.5}, false, 100, 3, 2, false, 0}, 10},
};

int main(int argc, char **argv)
{
    static const double noises[] = {0.01, 0.03};
    bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    printf("Bandwidths of links on simulated trees; flows share max-min fair, noise of each flow "
           "sd %%; slow H L: degraded\nlinks of hosts and switches, to 0.3..0.8 in one direction "
           "(or both). Errors in %%; directions of links, except effective, degraded, switches.\n");
    printf("%-30s %5s %3s %6s %4s %4s  %5s %5s  %5s %5s %5s %3s  %5s %3s %3s %3s  %4s %3s %3s  %5s"
           " %3s %5s  %6s\n",
           "network", "hosts", "sd", "rounds", "most", "ann.", "host", "max", "value", "mean",
           "max", ">6", "bound", "fls", "hid", "eff", "slow", "mis", "inv", "ratio", "off", "max",
           "s");
    for (size_t n = 0; n < sizeof noises / sizeof *noises; n++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            struct sum sum = {.runs = 0};
            for (uint64_t seed = 1; seed <= cases[k].seeds; seed++)
                add_run(&cases[k].tree, noises[n], seed, verbose, &sum);
            print_sum(cases[k].name, noises[n], &sum);
        }
    return 0;
}
