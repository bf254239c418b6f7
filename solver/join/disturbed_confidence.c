/* SPDX-License-Identifier: Apache-2.0 */
#include "disturbed_confidence.h"

#include <math.h>

#include "disturbed.h"

/* Fitted to tests/bench sweeps: what a map states is about how many are exact. */
static const double DOUBT = 0.07, SAID = 0.3;

int nt_disturbed_confidence_apply(const struct nt_samples *samples, struct nt_map *map,
                                  struct nt_err *err)
{
    if (samples->hosts > NT_LATENCIES_LISTED_HOSTS)
        return 0;
    struct nt_latencies latencies;
    struct nt_disturbed d;
    double bytes = nt_samples_latency_bytes(samples);
    int rc = 0;
    nt_latencies_init(&latencies, samples->hosts);
    for (size_t k = 0; k < samples->samples && rc == 0; k++) {
        const struct nt_sample *x = &samples->sample[k];
        if (x->kind == NT_SAMPLE_LATENCY && x->bytes == bytes)
            rc = nt_latencies_note(&latencies, x->a, x->b, x->value_us, x->latency.se_us, err);
    }
    if (rc == 0)
        rc = nt_disturbed_find(&latencies, &d, err);
    nt_latencies_fini(&latencies);
    if (rc != 0)
        return -1;
    map->model->confidence *= exp(-DOUBT * d.pairs);
    if (d.pairs < SAID)
        return 0;
    return nt_map_warn(
        map, err,
        "latency: at least %.0f %% of the readings were disturbed, and some pairs may "
        "have no others",
        100 * d.share);
}
