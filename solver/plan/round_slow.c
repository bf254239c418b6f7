/* SPDX-License-Identifier: Apache-2.0 */
#include "round_slow.h"

static bool is_idle(const struct nt_found_tree *t, const struct nt_slow_host *h,
                    const struct nt_round_pairs *round)
{
    return !h->placed && !t->lost[h->seat] && !round->busy[h->seat];
}

int nt_round_slow(const struct nt_found_tree *t, struct nt_round_pairs *round, struct nt_err *err)
{
    int late_count = 0;
    for (size_t k = 0; k < t->slow->count; k++) {
        const struct nt_slow_host *h = &t->slow->host[k];
        uint32_t partner;
        bool late;
        if (!is_idle(t, h, round))
            continue;
        if (nt_slow_partner(t, h->seat, round->busy, &partner, &late, err) < 0)
            return -1;
        if (partner != NT_SLOW_NONE)
            nt_round_pairs_add(round, h->seat, partner);
        late_count += late;
    }
    return late_count;
}

int nt_round_slow_early(const struct nt_found_tree *t, struct nt_rng *rng,
                        struct nt_round_pairs *round, struct nt_err *err)
{
    for (size_t k = 0; k < t->slow->count; k++) {
        const struct nt_slow_host *h = &t->slow->host[k];
        uint32_t from = (uint32_t)nt_rng_below(rng, 2 * t->seats), partner;
        if (!is_idle(t, h, round))
            continue;
        from = from < t->seats ? from : h->seat;
        if (nt_slow_any_partner(t, h->seat, from, round->busy, &partner, err) < 0)
            return -1;
        if (partner != NT_SLOW_NONE)
            nt_round_pairs_add(round, h->seat, partner);
    }
    return 0;
}
