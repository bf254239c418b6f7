/* SPDX-License-Identifier: Apache-2.0 */
#include "estimate.h"

#include <stdlib.h>

void nt_estimate_destroy(struct nt_estimate *estimate)
{
    if (estimate == NULL)
        return;
    free(estimate->link);
    free(estimate->run_start);
    free(estimate->run_link);
    free(estimate->run_latency);
    free(estimate->pair);
    free(estimate->pair_latency);
    free(estimate);
}
