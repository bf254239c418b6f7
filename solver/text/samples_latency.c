/* SPDX-License-Identifier: Apache-2.0 */
/* Latencies of samples: as a matrix, the pairs that have any, and the summary of a phase. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "min_latency.h"
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

/* Returns whether the sample counts in the matrix for messages of that size. */
static bool is_counted(const struct nt_samples *s, const struct nt_sample *x, double size)
{
    return x->kind == NT_SAMPLE_LATENCY && x->bytes == size &&
           strcmp(s->phase[x->phase].name, NT_SAMPLES_LINK_LATENCY) != 0 &&
           strcmp(s->phase[x->phase].name, NT_SAMPLES_PRIOR) != 0;
}

static int take_latencies(const struct nt_samples *s, double size, struct nt_min_latency *low,
                          struct nt_repeats *repeats, struct nt_err *err)
{
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (!is_counted(s, x, size))
            continue;
        if (nt_repeats_is_phase(s->phase[x->phase].name)) {
            if (nt_repeats_note(repeats, x->a, x->b, x->phase, x->value_us, err) != 0)
                return -1;
        } else {
            nt_min_latency_note(&low[x->a * s->hosts + x->b], (float)x->value_us,
                                (float)x->latency.se_us);
        }
    }
    return 0;
}

int nt_samples_latency(const struct nt_samples *s, double message_bytes, struct nt_matrix **out,
                       struct nt_matrix **error, struct nt_err *err)
{
    struct nt_matrix *m, *e = NULL;
    struct nt_repeats repeats = {0};
    double size = message_bytes > 0 ? message_bytes : nt_samples_latency_bytes(s);
    if (nt_matrix_create(s->hosts, NT_MATRIX_LATENCY_US, &m, err) != 0)
        return -1;
    if (error != NULL && nt_matrix_create(s->hosts, NT_MATRIX_LATENCY_US, &e, err) != 0) {
        nt_matrix_destroy(m);
        return -1;
    }
    struct nt_min_latency *low = calloc(s->hosts * s->hosts + 1, sizeof *low);
    int rc = low != NULL ? take_latencies(s, size, low, &repeats, err) : nt_err_memory(err);
    if (rc == 0)
        rc = nt_min_latency_matrix(low, m, e, err);
    if (rc == 0)
        rc = nt_repeats_fold(&repeats, m, e, err);
    if (rc == 0) {
        *out = m;
        if (error != NULL)
            *error = e;
    } else {
        nt_matrix_destroy(m);
        nt_matrix_destroy(e);
    }
    nt_repeats_fini(&repeats);
    free(low);
    return rc;
}

/* ---- flows of a plan ------------------------------------------------------------------------- */

struct flow_rate {
    uint32_t a, b;
    double MBps;
};

static int by_pair_and_rate(const void *x, const void *y)
{
    const struct flow_rate *p = x, *q = y;
    return NT_ORDER(p->a, q->a, NT_ORDER(p->b, q->b, NT_ORDER(p->MBps, q->MBps, 0)));
}

static size_t find_planned_flows(const struct nt_samples *s, struct flow_rate *rate)
{
    size_t n = 0;
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (x->kind == NT_SAMPLE_BANDWIDTH && x->value_us > 0 &&
            strcmp(s->phase[x->phase].name, NT_SAMPLES_PLAN) == 0)
            rate[n++] = (struct flow_rate){x->a, x->b, x->bytes / x->value_us};
    }
    qsort(rate, n, sizeof *rate, by_pair_and_rate);
    return n;
}

int nt_samples_planned_bandwidth(const struct nt_samples *s, struct nt_matrix **out,
                                 struct nt_err *err)
{
    struct nt_matrix *m;
    struct flow_rate *rate = calloc(s->samples + 1, sizeof *rate);
    if (rate == NULL)
        return nt_err_memory(err);
    size_t n = find_planned_flows(s, rate);
    int rc = n == 0 ? nt_err_set(err, NT_ERR_INPUT,
                                 "expected bandwidths of nettopo-probe --plan --bandwidth, found "
                                 "none")
                    : nt_matrix_create(s->hosts, NT_MATRIX_BANDWIDTH_MBPS, &m, err);
    for (size_t k = 0, end; rc == 0 && k < n; k = end) {
        for (end = k; end < n && rate[end].a == rate[k].a && rate[end].b == rate[k].b;)
            end++;
        double middle = (rate[(k + end - 1) / 2].MBps + rate[(k + end) / 2].MBps) / 2;
        nt_matrix_set(m, rate[k].a, rate[k].b, (float)middle);
    }
    if (rc == 0)
        *out = m;
    free(rate);
    return rc;
}

/* ---- pairs that were measured ---------------------------------------------------------------- */

/* Finds measured pairs. size 0: of any kind. */
static int find_measured(const struct nt_samples *s, double size, struct nt_measured_pairs *out,
                         struct nt_err *err)
{
    struct nt_measured_pairs measured;
    if (nt_measured_pairs_init(&measured, s->hosts, err) != 0)
        return -1;
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        bool wanted = size > 0 ? is_counted(s, x, size) && s->missing[x->a] == NULL &&
                                     s->missing[x->b] == NULL
                               : x->kind == NT_SAMPLE_LATENCY;
        if (wanted && nt_measured_pairs_note(&measured, x->a, x->b, err) != 0) {
            nt_measured_pairs_fini(&measured);
            return -1;
        }
    }
    *out = measured;
    return 0;
}

int nt_samples_measured_pairs(const struct nt_samples *s, double message_bytes,
                              struct nt_measured_pairs *out, struct nt_err *err)
{
    return find_measured(s, message_bytes > 0 ? message_bytes : nt_samples_latency_bytes(s), out,
                         err);
}

int nt_samples_measured_pairs_any(const struct nt_samples *s, struct nt_measured_pairs *out,
                                  struct nt_err *err)
{
    return find_measured(s, 0, out, err);
}

/* ---- a phase --------------------------------------------------------------------------------- */

enum { FAILED = 1, MEASURED = 2 };

static int note_sample(const struct nt_sample *x, struct nt_measured_pairs *measured,
                       unsigned char *host, struct nt_phase_account *account, struct nt_err *err)
{
    bool failed = x->kind == NT_SAMPLE_FAILED;
    if (x->kind == NT_SAMPLE_KERNEL || x->kind == NT_SAMPLE_RESENT) /* not a value of a pair */
        return 0;
    account->failed += failed;
    host[x->a] |= failed ? FAILED : MEASURED;
    host[x->b] |= failed ? FAILED : MEASURED;
    return failed ? 0 : nt_measured_pairs_note(measured, x->a, x->b, err);
}

/* Returns the first sample of a phase; samples are in the order of phases. */
static size_t first_of(const struct nt_samples *s, size_t phase)
{
    size_t low = 0, high = s->samples;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->sample[middle].phase < phase)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int nt_samples_account(const struct nt_samples *s, size_t phase, struct nt_phase_account *out,
                       struct nt_err *err)
{
    struct nt_phase_account account = {0};
    struct nt_measured_pairs measured;
    unsigned char *host = calloc(s->hosts + 1, 1);
    if (host == NULL)
        return nt_err_memory(err);
    int rc = nt_measured_pairs_init(&measured, s->hosts, err);
    if (rc != 0)
        goto free_host;
    for (size_t k = first_of(s, phase); k < s->samples && s->sample[k].phase == phase && rc == 0;
         k++)
        rc = note_sample(&s->sample[k], &measured, host, &account, err);
    account.pairs = measured.pairs;
    for (size_t h = 0; h < s->hosts; h++)
        if (host[h] == FAILED && account.hosts++ == 0)
            account.host = (uint32_t)h;
    nt_measured_pairs_fini(&measured);
    if (rc == 0)
        *out = account;
free_host:
    free(host);
    return rc;
}
