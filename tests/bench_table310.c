/* SPDX-License-Identifier: Apache-2.0 */
/* Table 3.10 of Bufe (2014): the chance that one wrong measurement among all pairs spoils the
 * network, beside what the thesis's own method and ours find when as many are wrong.
 *
 * The formula (equation 3.5) is P = p^(n(n-1)/2): every pair must be measured right. The networks
 * here are trees of two tiers with 2 % of noise; a wrong measurement is off by a factor of 0.6 to
 * 1.6. Shares of networks found exactly: every switch, every host on its own. FULL=1 in the
 * environment takes ten times as many. */
#include <stdio.h>
#include <stdlib.h>

#include "bufe.h"
#include "known_network.h"

enum { SEEDS = 100, PUBLISHED_SEEDS = 10 };

static const struct {
    size_t leaves, hosts; /* hosts a leaf */
} networks[] = {{3, 4}, {4, 4}, {4, 8}, {8, 8}, {8, 16}, {16, 16}};
static const double wrong[] = {0.01, 0.001, 0.0001};

/* Of many networks: found exactly by our method and by the thesis's. */
struct shares {
    double ours, published;
};

static bool found_by_bufe(const struct nt_matrix *x, const struct nt_model *truth)
{
    struct nt_bufe_result *result;
    struct nt_err err;
    if (nt_bufe_infer(x, NULL, NULL, &result, &err) != 0)
        return false; /* more cliques than can be looked at */
    bool same = known_same_shape(truth, result->model);
    nt_bufe_destroy(result);
    return same;
}

static bool found_by_us(const struct nt_matrix *x, const struct nt_model *truth)
{
    struct nt_model *m;
    struct nt_err err;
    known_must(nt_infer_latency(x, NULL, 1, &m, &err), &err);
    bool same = known_same_shape(truth, m);
    nt_model_destroy(m);
    return same;
}

static struct shares try(size_t network, double share, size_t seeds, size_t published_seeds)
{
    size_t ours = 0, published = 0;
    const size_t fan[] = {networks[network].leaves, networks[network].hosts};
    for (size_t seed = 0; seed < seeds; seed++) {
        const struct known_noise noise = {.sd = 0.02, .outliers = share};
        struct nt_rng rng;
        nt_rng_init(&rng, seed * 31 + network);
        struct nt_model *truth = known_balanced(2, fan, (const double[]){0.6, 0.3});
        struct nt_matrix *x = known_measure(truth, &noise, &rng);
        ours += found_by_us(x, truth);
        published += seed < published_seeds && found_by_bufe(x, truth);
        nt_matrix_destroy(x);
        nt_model_destroy(truth);
    }
    return (struct shares){(double)ours / (double)seeds,
                           (double)published / (double)published_seeds};
}

/* Equation 3.5: the chance that all pairs of n hosts are measured right. */
static double all_right(size_t n, double p)
{
    return pow(p, (double)n * (double)(n - 1) / 2);
}

int main(void)
{
    const char *full = getenv("FULL");
    size_t times = full != NULL && full[0] == '1' ? 10 : 1;
    printf("Networks found exactly when a share of all pairs is measured wrong (Bufe 2014, "
           "table 3.10)\n");
    printf("%5s %7s | %8s %15s %8s\n", "hosts", "wrong", "formula", "thesis's method", "ours");
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        for (size_t k = 0; k < sizeof networks / sizeof *networks; k++) {
            size_t n = networks[k].leaves * networks[k].hosts;
            struct shares s = try(k, wrong[w], times * SEEDS, times * PUBLISHED_SEEDS);
            printf("%5zu %6g%% | %7.1f%% %14.0f%% %7.1f%%\n", n, 100 * wrong[w],
                   100 * all_right(n, 1 - wrong[w]), 100 * s.published, 100 * s.ours);
            fflush(stdout);
        }
    }
    return 0;
}
