/* SPDX-License-Identifier: Apache-2.0 */
#include "measured.h"

#include <stdlib.h>

void nt_measured_destroy(struct nt_measured *measured)
{
    if (measured == NULL)
        return;
    free(measured->pair);
    free(measured->latency_us);
    free(measured);
}
