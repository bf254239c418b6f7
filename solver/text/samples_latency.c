/* The latencies of a record: as a matrix, and of which pairs there are any. */
#include <math.h>
#include <string.h>

#include "repeats.h"
#include "samples.h"

double nt_samples_latency_bytes(const struct nt_samples *s)
{
    double smallest = INFINITY;
    for (size_t k = 0; k < s->samples; k++)
        if (s->sample[k].kind == NT_SAMPLE_LATENCY)
            smallest = fmin(smallest, s->sample[k].bytes);
    return smallest;
}

/* Of the matrix for messages of that size. */
static bool counts(const struct nt_samples *s, const struct nt_sample *x, double size)
{
    return x->kind == NT_SAMPLE_LATENCY && x->bytes == size &&
           strcmp(s->phase[x->phase].name, NT_SAMPLES_LINK_LATENCY) != 0;
}

static int take(const struct nt_samples *s, double size, struct nt_matrix *lowest,
                struct nt_repeats *repeats, struct nt_err *err)
{
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (!counts(s, x, size))
            continue;
        if (nt_repeats_is_phase(s->phase[x->phase].name)) {
            if (nt_repeats_note(repeats, x->a, x->b, x->phase, x->value_us, err) != 0)
                return -1;
        } else if (!(nt_matrix_get(lowest, x->a, x->b) <= (float)x->value_us)) {
            nt_matrix_set(lowest, x->a, x->b, (float)x->value_us);
        }
    }
    return 0;
}

int nt_samples_latency(const struct nt_samples *s, double message_bytes, struct nt_matrix **out,
                       struct nt_err *err)
{
    struct nt_matrix *m;
    struct nt_repeats repeats = {0};
    double size = message_bytes > 0 ? message_bytes : nt_samples_latency_bytes(s);
    if (nt_matrix_create(s->hosts, NT_MATRIX_LATENCY_US, &m, err) != 0)
        return -1;
    int rc = take(s, size, m, &repeats, err);
    if (rc == 0) {
        nt_repeats_fold(&repeats, m);
        *out = m;
    } else {
        nt_matrix_destroy(m);
    }
    nt_repeats_fini(&repeats);
    return rc;
}

int nt_samples_met(const struct nt_samples *s, double message_bytes, struct nt_met *out,
                   struct nt_err *err)
{
    struct nt_met met;
    double size = message_bytes > 0 ? message_bytes : nt_samples_latency_bytes(s);
    if (nt_met_init(&met, s->hosts, err) != 0)
        return -1;
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (counts(s, x, size) && s->missing[x->a] == NULL && s->missing[x->b] == NULL &&
            nt_met_note(&met, x->a, x->b, err) != 0) {
            nt_met_fini(&met);
            return -1;
        }
    }
    *out = met;
    return 0;
}
