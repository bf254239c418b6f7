/* SPDX-License-Identifier: Apache-2.0 */
/* What the sweep of a record began from. */
#include "number.h"
#include "samples.h"

int nt_samples_begin_belief(struct nt_samples *s, size_t levels, struct nt_err *err)
{
    if (s->belief != NULL || s->phases > 0)
        return nt_err_set(err, NT_ERR_INPUT, "prior: expected once, and before the first phase");
    return nt_belief_create(s->hosts, levels, &s->belief, err);
}

int nt_samples_believe(struct nt_samples *s, size_t host, const uint32_t *cluster,
                       struct nt_err *err)
{
    const struct nt_belief *b = s->belief;
    if (b == NULL || b->levels < 2)
        return nt_err_set(err, NT_ERR_INPUT, "believed: expected a prior of two levels before it");
    if (host < b->hosts && b->cluster[host] != NT_BELIEF_LOOSE)
        return nt_err_set(err, NT_ERR_INPUT, "believed: expected host %zu once", host);
    return nt_belief_set(s->belief, host, cluster, err);
}

int nt_samples_take_belief(struct nt_samples *s, const double *us, double support,
                           int32_t oldest_day, struct nt_err *err)
{
    struct nt_belief *b = s->belief;
    if (b == NULL || b->levels == 0 || b->taken || s->phases > 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "taken: expected once, after a prior and before the first phase");
    if (!(support >= 0 && support <= 1))
        return nt_err_set(err, NT_ERR_INPUT, "taken: expected a support from 0 to 1");
    for (size_t l = 0; l < b->levels; l++)
        if (!(us[l] > (l > 0 ? us[l - 1] : 0)) || !(us[l] < NT_SAMPLES_TAKEN_US_MAX))
            return nt_err_set(err, NT_ERR_INPUT, "taken: expected latencies above 0 that rise");
    for (size_t l = 0; l < b->levels; l++)
        b->us[l] = nt_number_round(us[l], 9);
    b->taken = true;
    b->support = nt_number_round(support, 6);
    b->oldest_day = oldest_day;
    return 0;
}

int nt_samples_set_belief(struct nt_samples *s, const struct nt_belief *belief, struct nt_err *err)
{
    uint32_t path[NT_BELIEF_LEVELS_MAX];
    if (belief->hosts != s->hosts)
        return nt_err_set(err, NT_ERR_INPUT, "prior: of %zu hosts in a record of %zu",
                          belief->hosts, s->hosts);
    if (nt_samples_begin_belief(s, belief->levels, err) != 0)
        return -1;
    for (size_t h = 0; belief->levels > 1 && h < belief->hosts; h++) {
        if (belief->cluster[h] == NT_BELIEF_LOOSE)
            continue;
        for (size_t l = 0; l + 1 < belief->levels; l++)
            path[l] = belief->cluster[l * belief->hosts + h];
        if (nt_samples_believe(s, h, path, err) != 0)
            return -1;
    }
    return 0;
}
