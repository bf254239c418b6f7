/* SPDX-License-Identifier: Apache-2.0 */
#include "pairing.h"

#include <string.h>

static uint32_t find(const struct nt_kept *kept, uint32_t peer)
{
    uint32_t k = 0;
    while (k < kept->n && kept->peer[k] != peer)
        k++;
    return k;
}

static void remove_at(struct nt_kept *kept, uint32_t k)
{
    kept->n--;
    memmove(&kept->peer[k], &kept->peer[k + 1], (kept->n - k) * sizeof *kept->peer);
}

bool nt_kept_stays(const struct nt_kept *kept, uint32_t peer, uint32_t uses)
{
    uint32_t k = find(kept, peer);
    return k < kept->n && kept->n + uses <= NT_KEPT_MAX + k;
}

uint32_t nt_kept_use(struct nt_kept *kept, uint32_t peer)
{
    uint32_t out = NT_KEPT_NONE;
    nt_kept_drop(kept, peer);
    if (kept->n == NT_KEPT_MAX) {
        out = kept->peer[0];
        remove_at(kept, 0);
    }
    kept->peer[kept->n++] = peer;
    return out;
}

void nt_kept_drop(struct nt_kept *kept, uint32_t peer)
{
    uint32_t k = find(kept, peer);
    if (k < kept->n)
        remove_at(kept, k);
}
