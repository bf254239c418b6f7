/* SPDX-License-Identifier: Apache-2.0 */
/* One network from many jobs (solver/fleet): a planted cluster, jobs drawn as schedulers do, hosts
 * that move; after each tenth of the jobs how many hosts are where they are, what is not known, the
 * moves that are found, and the seconds and bytes that it takes. bench_cluster_map [TOPOLOGY
 * [JOBS]]
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "cluster_map.h"
#include "planted_jobs.h"

enum { MOVES = 20, USERS = 40 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The switch that each host is on. */
static void leaves_of(const struct nt_model *m, uint32_t *leaf)
{
    for (size_t h = 0; h < m->hosts; h++)
        leaf[h] = UINT32_MAX;
    for (size_t k = 0; k < m->links; k++)
        if (m->link[k].a < m->hosts)
            leaf[m->link[k].a] = m->link[k].b;
}

struct score {
    size_t right, flat, wrong, unseen;
};

/* Of hosts: those that are on a switch with the hosts that they are with, of those that were seen;
 * on one above; beside one that stands elsewhere. */
static struct score judge(const struct nt_cluster_map *c, const struct nt_model *truth,
                          const uint32_t *stands)
{
    struct score s = {0};
    size_t n = truth->hosts, v = n + truth->switches + c->model->switches + 1;
    uint32_t *is = calloc(n, sizeof *is), *found = calloc(n, sizeof *found);
    uint32_t *most = calloc(v, sizeof *most), *votes = calloc(v, sizeof *votes);
    uint32_t *real = calloc(v, sizeof *real), *there = calloc(v, sizeof *there);
    leaves_of(truth, is);
    leaves_of(c->model, found);
    for (size_t h = 0; h < n; h++)
        if (!c->model->missing[h] && found[h] != UINT32_MAX)
            real[is[stands[h]]]++;
    for (int pass = 0; pass < 2; pass++) /* the real switch of most of a found one (Boyer, Moore) */
        for (size_t h = 0; h < n; h++) {
            uint32_t f = found[h], r = is[stands[h]];
            if (f == UINT32_MAX)
                continue;
            if (pass == 1) {
                there[f] += most[f] == r;
            } else if (votes[f] == 0) {
                most[f] = r;
                votes[f] = 1;
            } else {
                votes[f] += most[f] == r ? 1 : UINT32_MAX;
            }
        }
    for (size_t h = 0; h < n; h++) {
        uint32_t f = found[h], r = is[stands[h]];
        if (c->model->missing[h] || f == UINT32_MAX)
            s.unseen++;
        else if (c->model->tier[f - n] > 1 && real[r] > 1)
            s.flat++;
        else if (real[r] == 1 || (most[f] == r && 2 * there[f] > real[r]))
            s.right++;
        else if (most[f] == r)
            s.flat++; /* a part of a switch, not joined with the rest */
        else
            s.wrong++;
    }
    free(is);
    free(found);
    free(most);
    free(votes);
    free(real);
    free(there);
    return s;
}

int main(int argc, char **argv)
{
    const char *topology = argc > 2 ? argv[2] : "tree:12x13x32";
    size_t jobs = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
    struct nt_network *n = made_machine(topology);
    struct nt_model *truth;
    struct nt_evidence e;
    struct nt_switch_naming naming = {0};
    struct nt_err err = {0};
    struct nt_rng rng;
    if (nt_network_truth(n, &truth, &err) < 0 || nt_evidence_init(&e, n->hosts, &err) < 0)
        return 4;
    uint32_t *stands = calloc(n->hosts + 1, sizeof *stands), *host = calloc(257, sizeof *host);
    uint32_t moved[2 * MOVES];
    for (uint32_t h = 0; h < n->hosts; h++)
        stands[h] = h;
    struct planted_jobs p = {.network = n,
                             .noise = {.sd = 0.02, .outliers = 0.01, .seed = 7},
                             .offset_sd = 0.03,
                             .pairs_a_host = 20,
                             .stands = stands};
    nt_rng_init(&rng, 3);
    printf("%s, %zu hosts, %d exchanged one by one between a tenth and nine tenths of the jobs\n",
           topology, n->hosts, 2 * MOVES);
    printf("%6s %9s %8s %7s %6s %6s %6s | %6s %6s %8s | %7s %8s\n", "jobs", "readings", "right",
           "flat", "wrong", "unseen", "switch", "moves", "false", "found of", "s", "MB");
    size_t exchanged = 0;
    for (size_t j = 0; j < jobs; j++) {
        while (exchanged < MOVES && j >= jobs / 10 + exchanged * (jobs * 8 / 10) / MOVES) {
            uint32_t x = (uint32_t)nt_rng_below(&rng, n->hosts);
            uint32_t y = (uint32_t)nt_rng_below(&rng, n->hosts), swap = stands[x];
            stands[x] = stands[y];
            stands[y] = swap;
            moved[2 * exchanged] = x;
            moved[2 * exchanged++ + 1] = y;
        }
        size_t size = nt_rng_uniform(&rng) < 0.5 ? 32 : 256;
        size_t k = planted_hosts(&rng, n->hosts, size, host);
        p.pairs_a_host = k < 24 ? 0 : 20;
        planted_job(&p, &e, PLANTED_START_S + (int64_t)j * 600, j + 1, (uint32_t)(j % USERS), host,
                    k);
        if ((j + 1) % (jobs / 10) != 0)
            continue;
        struct nt_cluster_map *c;
        struct rusage usage;
        double began = now_s();
        if (nt_cluster_map_create(&e, &naming, &naming, &c, &err) < 0) {
            fprintf(stderr, "bench_cluster_map: %s\n", err.text);
            return 4;
        }
        double took = now_s() - began;
        getrusage(RUSAGE_SELF, &usage);
        struct score s = judge(c, truth, stands);
        size_t found = 0, invented = 0;
        for (size_t k2 = 0; k2 < c->moves; k2++) {
            bool is = false;
            for (size_t m = 0; m < 2 * exchanged; m++)
                is |= moved[m] == c->move[k2].host;
            found += is;
            invented += !is;
        }
        printf("%6zu %9zu %7.2f%% %6.2f%% %6zu %6zu %6zu | %6zu %6zu %8zu | %7.2f %8.1f\n", j + 1,
               e.entries, 100.0 * (double)s.right / (double)n->hosts,
               100.0 * (double)s.flat / (double)n->hosts, s.wrong, s.unseen, c->model->switches,
               found, invented, 2 * exchanged, took, (double)usage.ru_maxrss / 1024);
        if (getenv("NT_CLASSES") != NULL)
            for (size_t k2 = 0; k2 < c->classes; k2++)
                printf("   class %.4f us, noise %.4f\n", c->class_us[k2], c->noise);
        fflush(stdout);
        nt_cluster_map_destroy(c);
    }
    nt_switch_naming_fini(&naming);
    nt_evidence_fini(&e);
    nt_model_destroy(truth);
    nt_network_destroy(n);
    free(stands);
    free(host);
    return 0;
}
