#include "doubt.h"

#include <math.h>

#include "disturbed.h"

/* Fitted to tests/bench disturbed: what a map states is about how many are exact. */
static const double DOUBT = 0.07, SAID = 0.3;

int nt_doubt_disturbed(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err)
{
    struct nt_disturbed d;
    double bytes = nt_samples_latency_bytes(samples);
    if (nt_disturbed_init(&d, samples->hosts, err) != 0)
        return -1;
    for (size_t k = 0; k < samples->samples; k++) {
        const struct nt_sample *x = &samples->sample[k];
        if (x->kind == NT_SAMPLE_LATENCY && x->bytes == bytes)
            nt_disturbed_note(&d, x->a, x->b, x->value_us);
    }
    double pairs = nt_disturbed_pairs(&d), share = nt_disturbed_share(&d);
    nt_disturbed_fini(&d);
    map->model->confidence *= exp(-DOUBT * pairs);
    if (pairs < SAID)
        return 0;
    return nt_map_warn(
        map, err,
        "latency: at least %.0f %% of the readings were disturbed, and some pairs may "
        "have no others",
        100 * share);
}
