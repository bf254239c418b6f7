/* SPDX-License-Identifier: Apache-2.0 */
/* The layout table of make bench: seconds for a picture, and how well it keeps the lengths. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "layout.h"
#include "network.h"

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct nt_model *network_of(const char *text)
{
    struct nt_err err = {0};
    struct nt_spec spec;
    struct nt_network *network;
    struct nt_model *truth;
    if (nt_spec_parse(text, &spec, &err) != 0 ||
        nt_network_build(&spec, NULL, &network, &err) != 0 ||
        nt_network_truth(network, &truth, &err) != 0) {
        fprintf(stderr, "%s: %s\n", text, err.text);
        exit(1);
    }
    nt_network_destroy(network);
    return truth;
}

int main(void)
{
    static const char *const table[] = {"tree:3x2x4",  "torus:8x8",     "tree:7x7x10",
                                        "torus:8x8x8", "tree:10x10x14", "tree:10x25x40"};
    printf("Layout: CPU seconds, and the mean squared relative error of the lengths\n"
           "%-16s %9s %12s %12s %12s %12s\n",
           "network", "vertices", "2-D s", "2-D stress", "3-D s", "3-D stress");
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_model *m = network_of(table[k]);
        printf("%-16s %9zu", table[k], m->hosts + m->switches);
        for (int d = 2; d <= 3; d++) {
            struct nt_err err = {0};
            struct nt_layout *l;
            double began = now_s();
            if (nt_layout_create(m, d, 1, &l, &err) != 0) {
                fprintf(stderr, "%s\n", err.text);
                return 1;
            }
            printf(" %12.3f %12.4f", now_s() - began, l->stress);
            nt_layout_destroy(l);
        }
        printf("\n");
        fflush(stdout);
        nt_model_destroy(m);
    }
    return 0;
}
