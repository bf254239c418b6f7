#include "draw_slow.h"

static bool is_idle(const struct nt_found_tree *t, const struct nt_slow_host *h,
                    const struct nt_draw *draw)
{
    return !h->placed && !t->lost[h->seat] && !draw->busy[h->seat];
}

int nt_draw_slow(const struct nt_found_tree *t, struct nt_draw *draw, struct nt_err *err)
{
    int lates = 0;
    for (size_t k = 0; k < t->slow->count; k++) {
        const struct nt_slow_host *h = &t->slow->host[k];
        uint32_t partner;
        bool late;
        if (!is_idle(t, h, draw))
            continue;
        if (nt_slow_partner(t, h->seat, draw->busy, &partner, &late, err) < 0)
            return -1;
        if (partner != NT_SLOW_NOBODY)
            nt_draw_pair(draw, h->seat, partner);
        lates += late;
    }
    return lates;
}

int nt_draw_slow_early(const struct nt_found_tree *t, struct nt_rng *rng, struct nt_draw *draw,
                       struct nt_err *err)
{
    for (size_t k = 0; k < t->slow->count; k++) {
        const struct nt_slow_host *h = &t->slow->host[k];
        uint32_t from = (uint32_t)nt_rng_below(rng, 2 * t->seats), partner;
        if (!is_idle(t, h, draw))
            continue;
        from = from < t->seats ? from : h->seat;
        if (nt_slow_stranger(t, h->seat, from, draw->busy, &partner, err) < 0)
            return -1;
        if (partner != NT_SLOW_NOBODY)
            nt_draw_pair(draw, h->seat, partner);
    }
    return 0;
}
