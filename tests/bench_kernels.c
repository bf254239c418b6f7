/* SPDX-License-Identifier: Apache-2.0 */
/* Torus against twisted torus, 8x4, under the stress kernels: completion times with 99 % intervals.
 *
 * Set-up as published (Navaridas and Miguel-Alonso, section 4): collectives of 10 kB, 10,000
 * random messages of 1 kB in waves of 10, 100, 1,000 and all; ten repetitions; then 16,384 random
 * messages in waves of 2^k. Ours: links and ports of 175 MB/s, 0.05 us a hop (the class of machine
 * that the authors name), dimension order, a message served as a whole by each FIFO it passes.
 *
 * The document does not say how its routers choose between minimal ways, nor through how many ports
 * a host consumes. The last table shows what hangs on that: through one port all to one takes the
 * port's time on any network, so that it can differ, as it did there, hosts must have consumed from
 * several links at once, and routers balanced the ways on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "stats.h"

enum { REPETITIONS = 10 };

struct spread {
    double mean, half; /* of the 99 % interval */
};

static struct nt_network *made(const char *text)
{
    struct nt_spec spec;
    struct nt_figures figures;
    struct nt_network *n;
    struct nt_err err;
    if (nt_spec_parse(text, &spec, &err) < 0)
        return NULL;
    nt_figures_default(&spec, &figures);
    figures.overhead_us = 0;
    figures.link_latency_us[0] = 0.05;
    figures.link_MBps[0] = 175;
    return nt_network_build(&spec, &figures, &n, &err) < 0 ? NULL : n;
}

static struct spread spread_of(const double *x)
{
    double sum = 0, square = 0;
    for (int k = 0; k < REPETITIONS; k++)
        sum += x[k];
    for (int k = 0; k < REPETITIONS; k++)
        square += (x[k] - sum / REPETITIONS) * (x[k] - sum / REPETITIONS);
    double sd = sqrt(square / (REPETITIONS - 1));
    return (struct spread){sum / REPETITIONS,
                           nt_student_quantile(0.995, REPETITIONS - 1) * sd / sqrt(REPETITIONS)};
}

/* What the document leaves open. */
struct router {
    bool consume_all, adaptive;
};

/* Times on both networks, and how much shorter the second's are, in percent of the first's. */
static int compare(struct nt_network *const net[2], struct router router, const char *kernel,
                   double bytes, uint32_t messages, struct spread out[3])
{
    double time[2][REPETITIONS], gain[REPETITIONS];
    for (int k = 0; k < REPETITIONS; k++) {
        for (int side = 0; side < 2; side++) {
            struct nt_workload w = {.bytes = bytes,
                                    .messages = messages,
                                    .consume_all = router.consume_all,
                                    .adaptive = router.adaptive,
                                    .seed = (uint64_t)k + 1};
            struct nt_kernel_result r;
            struct nt_err err;
            if (nt_workload_parse(kernel, &w, &err) < 0 ||
                nt_kernel_run(net[side], &w, &r, &err) < 0) {
                fprintf(stderr, "bench_kernels: %s\n", err.text);
                return -1;
            }
            time[side][k] = r.time_us;
            nt_kernel_result_fini(&r);
        }
        gain[k] = 100 * (1 - time[1][k] / time[0][k]);
    }
    out[0] = spread_of(time[0]);
    out[1] = spread_of(time[1]);
    out[2] = spread_of(gain);
    return 0;
}

static int row(struct nt_network *const net[2], const char *kernel, double bytes, uint32_t messages)
{
    struct spread s[3];
    if (compare(net, (struct router){false, false}, kernel, bytes, messages, s) < 0)
        return -1;
    printf("| %-9s | %8.1f +- %5.1f | %8.1f +- %5.1f | %6.2f +- %4.2f |\n", kernel, s[0].mean,
           s[0].half, s[1].mean, s[1].half, s[2].mean, s[2].half);
    return 0;
}

/* How much shorter on the twisted torus, in percent, for each kind of router. */
static int open_questions(struct nt_network *const net[2])
{
    static const char *const kernel[] = {"a2a", "o2a", "a2o", "sr:10", "sr:1000", "gups"};
    printf("\n| routes, consumption |");
    for (size_t k = 0; k < sizeof kernel / sizeof *kernel; k++)
        printf(" %s |", kernel[k]);
    printf("\n|---|---|---|---|---|---|---|\n");
    for (int kind = 0; kind < 4; kind++) {
        struct router router = {.consume_all = kind % 2 != 0, .adaptive = kind / 2 != 0};
        printf("| %s, %s |", router.adaptive ? "adaptive" : "static",
               router.consume_all ? "all links" : "one port");
        for (size_t k = 0; k < sizeof kernel / sizeof *kernel; k++) {
            struct spread s[3];
            if (compare(net, router, kernel[k], k < 3 ? 10000 : 1000, 10000, s) < 0)
                return -1;
            printf(" %.2f +- %.2f |", s[2].mean, s[2].half);
        }
        printf("\n");
    }
    return 0;
}

int main(void)
{
    struct nt_network *net[2] = {made("torus:8x4"), made("ttorus:8x4:4")};
    const char *kernels[] = {"a2a", "o2a", "a2o", "sr:10", "sr:100", "sr:1000", "gups"};
    int rc = net[0] == NULL || net[1] == NULL;
    printf("| kernel    | torus, us         | twisted, us       | shorter by, %%  |\n");
    printf("|---|---|---|---|\n");
    for (size_t k = 0; rc == 0 && k < sizeof kernels / sizeof *kernels; k++)
        rc = row(net, kernels[k], k < 3 ? 10000 : 1000, 10000);
    for (unsigned wave = 2; rc == 0 && wave <= 16384; wave *= 2) {
        char kernel[16];
        snprintf(kernel, sizeof kernel, "sr:%u", wave);
        rc = row(net, kernel, 1000, 16384);
    }
    if (rc == 0)
        rc = open_questions(net);
    nt_network_destroy(net[0]);
    nt_network_destroy(net[1]);
    return rc != 0;
}
