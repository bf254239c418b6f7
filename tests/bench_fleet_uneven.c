/* SPDX-License-Identifier: Apache-2.0 */
/* What many jobs say together of networks whose hosts are not equally deep: per shape hosts that
 * are in the map, pairs whose latency it states, those that are off by more than 6 %, the largest
 * error, and seconds per map.
 *
 *     build/tests/bench_fleet_uneven [SEEDS, default 40]
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cluster_map.h"
#include "uneven_network.h"

struct tally {
    size_t placed, hosts, stated, pairs, off;
    double worst, s;
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void judge(const struct uneven *u, const struct nt_model *model, struct tally *t)
{
    struct nt_err err = {0};
    struct nt_matrix *m;
    if (nt_model_latencies(model, &m, &err) != 0)
        fail_msg("%s", err.text);
    t->hosts += u->hosts;
    for (uint32_t a = 0; a < u->hosts; a++) {
        t->placed += model->missing[a] ? 0 : 1;
        for (uint32_t b = 0; b < a; b++) {
            double off = fabs((double)nt_matrix_get(m, a, b) / uneven_us(u, a, b) - 1);
            t->pairs++;
            t->stated += isnan(off) ? 0 : 1;
            t->off += off > 0.06 ? 1 : 0;
            t->worst = fmax(t->worst, off);
        }
    }
    nt_matrix_destroy(m);
}

int main(int argc, char **argv)
{
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 10) : 40;
    printf("%-10s %12s %14s %6s %6s %8s\n", "shape", "hosts", "pairs", "off", "worst", "s/map");
    for (size_t k = 0; k < UNEVEN_SHAPES; k++) {
        struct tally t = {0};
        const char *name = NULL;
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            struct uneven u = uneven_shape(k, seed);
            struct nt_switch_naming naming = {0};
            struct nt_cluster_map *c = NULL;
            struct nt_evidence e;
            struct nt_err err = {0};
            name = u.name;
            uneven_jobs(&u, 3, seed % 2 == 0, seed, &e);
            double began = now_s();
            if (nt_cluster_map_create(&e, &naming, NULL, &c, &err) != 0)
                fail_msg("%s: %s", u.name, err.text);
            t.s += now_s() - began;
            judge(&u, c->model, &t);
            nt_cluster_map_destroy(c);
            nt_evidence_fini(&e);
        }
        printf("%-10s %5zu/%6zu %6zu/%7zu %6zu %6.3f %8.3f\n", name, t.placed, t.hosts, t.stated,
               t.pairs, t.off, t.worst, t.s / (double)seeds);
    }
    return 0;
}
