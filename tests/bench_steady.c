/* SPDX-License-Identifier: Apache-2.0 */
/* How steady the hint is: of twenty noisy sweeps of one network, how many give the same order.
 * Matrices of all pairs, latency alone and with bandwidth; hosts named by turns over the leaves. */
#include "steady.h"

int main(void)
{
    static const char *const specs[] = {"star:3",     "star:8",     "tree:2x4",   "tree:3x4",
                                        "tree:3x2x3", "tree:4x3",   "tree:2x2x4", "tree:6x8",
                                        "torus:4x4",  "torus:3x3x3"};
    static const char *const patterns[] = {"neighbour", "ring", "tree", "alltoall"};
    static const double sds[] = {0.02, 0.05};
    size_t rows = 0, steady = 0;
    printf("| network | noise | figures | neighbour | ring | tree | alltoall |\n"
           "|---|---|---|---|---|---|---|\n");
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++)
        for (size_t n = 0; n < sizeof sds / sizeof *sds; n++)
            for (int rates = 0; rates < 2; rates++) {
                printf("| %s | %.0f %% | latency%s", specs[s], 100 * sds[n],
                       rates ? ", bandwidth" : "");
                for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
                    double gain;
                    size_t same = steady_count(specs[s], sds[n], rates, patterns[p], &gain);
                    printf(" | %zu of 20, gain %.2f", same, gain);
                    rows++;
                    steady += same >= STEADY_SWEEPS - 1;
                }
                printf(" |\n");
            }
    printf("\n%zu of %zu with one order in at least 19 of 20 sweeps\n", steady, rows);
    return 0;
}
