/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "samples.h"

enum { FAILED = 1, MEASURED = 2 };

static int note_sample(const struct nt_sample *x, struct nt_measured_pairs *measured,
                       unsigned char *host, struct nt_phase_account *account, struct nt_err *err)
{
    bool failed = x->kind == NT_SAMPLE_FAILED;
    if (x->kind == NT_SAMPLE_KERNEL || x->kind == NT_SAMPLE_RESENT) /* no figure of a pair */
        return 0;
    account->failed += failed;
    host[x->a] |= failed ? FAILED : MEASURED;
    host[x->b] |= failed ? FAILED : MEASURED;
    return failed ? 0 : nt_measured_pairs_note(measured, x->a, x->b, err);
}

/* Samples stand in the order of their phases. */
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
