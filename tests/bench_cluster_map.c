/* SPDX-License-Identifier: Apache-2.0 */
/* One network from many jobs (solver/fleet): a planted cluster, jobs drawn as schedulers do, hosts
 * that move; after each tenth of the jobs how many hosts are where they are, what is not known, the
 * moves that are found, and the seconds and bytes that it takes. At the end what the maps said of
 * their switches and hosts, by its support, and what is so: of switches the share that has exactly
 * the hosts of a real one, and the mean share of hosts that it has in common with one (of both
 * together); of hosts the share that is on the switch where most of those on it stand.
 * bench_cluster_map [JOBS [TOPOLOGY]]
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

/* ---- what is stated and what is so ---- */

enum { BINS = 6 };
static const double bin_from[BINS] = {0.5, 0.7, 0.8, 0.9, 0.97, 0.99};

struct bin {
    double stated, share;
    size_t count, so;
};

struct calibration {
    struct bin of_switch[BINS], of_host[BINS];
};

static void note_stated(struct bin *bins, double support, double share)
{
    size_t k = BINS;
    while (k > 0 && support < bin_from[k - 1])
        k--;
    if (k == 0)
        return;
    bins[k - 1].stated += support;
    bins[k - 1].count++;
    bins[k - 1].share += share;
    bins[k - 1].so += share == 1;
}

static void parents_of(const struct nt_model *m, uint32_t *parent)
{
    for (size_t v = 0; v < m->hosts + m->switches; v++)
        parent[v] = UINT32_MAX;
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a, b = m->link[k].b;
        bool up = a < m->hosts || (b >= m->hosts && nt_model_tier(m, a) < nt_model_tier(m, b));
        parent[up ? a : b] = up ? b : a;
    }
}

/* Of the hosts below the switch v, and those that were seen below the real one that has most of
 * them, the share that is below both. */
static double share_of(const struct nt_model *m, const uint32_t *found, const uint32_t *real,
                       const uint32_t *stands, size_t real_vertices, uint32_t v, uint32_t *count)
{
    double most = 0;
    uint32_t here = 0;
    memset(count, 0, 2 * real_vertices * sizeof *count);
    for (uint32_t h = 0; h < m->hosts; h++) {
        bool below = false;
        if (m->missing[h])
            continue;
        for (uint32_t w = found[h]; w != UINT32_MAX && !below; w = found[w])
            below = w == v;
        here += below;
        for (uint32_t w = real[stands[h]]; w != UINT32_MAX; w = real[w]) {
            count[w]++;
            count[real_vertices + w] += below;
        }
    }
    for (size_t w = 0; w < real_vertices; w++) {
        double both = count[real_vertices + w];
        if (both > 0)
            most = fmax(most, both / (count[w] + here - both));
    }
    return most;
}

/* leaves_only: of networks that are no tree, where only those are known. */
static void note_switches(const struct nt_cluster_map *c, const struct nt_model *truth,
                          const uint32_t *stands, bool leaves_only, struct calibration *all)
{
    const struct nt_model *m = c->model;
    size_t vertices = truth->hosts + truth->switches;
    uint32_t *found = calloc(m->hosts + m->switches + 1, sizeof *found);
    uint32_t *real = calloc(vertices + 1, sizeof *real);
    uint32_t *count = calloc(2 * vertices + 1, sizeof *count);
    parents_of(m, found);
    parents_of(truth, real);
    for (size_t v = truth->hosts; leaves_only && v < vertices; v++)
        real[v] = UINT32_MAX;
    for (uint32_t v = (uint32_t)m->hosts; v < m->hosts + m->switches; v++)
        if (found[v] != UINT32_MAX && !(leaves_only && nt_model_tier(m, v) > 1))
            note_stated(all->of_switch, c->part[v].support,
                        share_of(m, found, real, stands, vertices, v, count));
    free(found);
    free(real);
    free(count);
}

static void print_calibration(const struct calibration *all)
{
    printf("stated    | switches   mean  exact  share | hosts      mean     so\n");
    for (size_t k = 0; k < BINS; k++) {
        const struct bin *s = &all->of_switch[k], *h = &all->of_host[k];
        printf("%.2f-%.2f | %8zu %6.3f %6.3f %6.3f | %8zu %6.3f %6.3f\n", bin_from[k],
               k + 1 < BINS ? bin_from[k + 1] : 1, s->count, s->stated / (double)s->count,
               (double)s->so / (double)s->count, s->share / (double)s->count, h->count,
               h->stated / (double)h->count, (double)h->so / (double)h->count);
    }
}

struct score {
    size_t right, flat, wrong, unseen;
};

/* Of hosts: those that are on a switch with the hosts that they are with, of those that were seen;
 * on one above; beside one that stands elsewhere. */
static struct score judge(const struct nt_cluster_map *c, const struct nt_model *truth,
                          const uint32_t *stands, struct calibration *all)
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
        if (!c->model->missing[h] && f != UINT32_MAX && c->model->tier[f - n] == 1)
            note_stated(all->of_host, c->part[h].support, most[f] == r);
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

static int run(const char *topology, size_t jobs)
{
    struct calibration all = {0};
    struct nt_network *n = made_machine(topology);
    struct nt_model *truth;
    struct nt_evidence e;
    struct nt_switch_naming naming = {0};
    struct nt_err err = {0};
    struct nt_rng rng;
    if (nt_network_truth(n, &truth, &err) < 0 || nt_evidence_init(&e, n->hosts, &err) < 0)
        return 4;
    bool is_tree = truth->family == NT_FAMILY_TREE || truth->family == NT_FAMILY_STAR;
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
        struct score s = judge(c, truth, stands, &all);
        note_switches(c, truth, stands, !is_tree, &all);
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
    print_calibration(&all);
    nt_switch_naming_fini(&naming);
    nt_evidence_fini(&e);
    nt_model_destroy(truth);
    nt_network_destroy(n);
    free(stands);
    free(host);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const topologies[] = {"tree:12x13x32", "dragonfly:9x8x8",
                                             "dragonfly+:9x8x4x16"};
    size_t jobs = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
    int rc = 0;
    jobs = jobs < 10 ? 10 : jobs;
    if (argc > 2)
        return run(argv[2], jobs);
    for (size_t k = 0; rc == 0 && k < sizeof topologies / sizeof *topologies; k++)
        rc = run(topologies[k], jobs);
    return rc;
}
