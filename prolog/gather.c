/* SPDX-License-Identifier: Apache-2.0 */
#include "gather.h"

#include <stdlib.h>

int nt_gather_init(struct nt_gather *gather, size_t hosts, struct nt_err *err)
{
    struct nt_gather g = {.hosts = hosts};
    g.complete_seq = calloc(hosts, sizeof *g.complete_seq);
    g.lost = calloc(hosts, sizeof *g.lost);
    if (g.complete_seq == NULL || g.lost == NULL) {
        nt_gather_fini(&g);
        return nt_err_memory(err);
    }
    *gather = g;
    return 0;
}

void nt_gather_fini(struct nt_gather *gather)
{
    free(gather->complete_seq);
    free(gather->lost);
    *gather = (struct nt_gather){0};
}

/* Whether the open gather waits for this host. */
static bool is_awaited(const struct nt_gather *gather, size_t host)
{
    return gather->is_open && !gather->lost[host] && gather->complete_seq[host] < gather->open_seq;
}

bool nt_gather_contribution(struct nt_gather *gather, size_t host, uint32_t seq, bool more)
{
    if (host >= gather->hosts || seq <= gather->closed_seq || seq <= gather->complete_seq[host])
        return false;
    if (!more) {
        if (is_awaited(gather, host) && seq >= gather->open_seq)
            gather->awaited--;
        gather->complete_seq[host] = seq;
        if (!gather->is_open || seq >= gather->open_seq)
            gather->lost[host] = false; /* contributed in time, so it is online again */
    }
    return true;
}

int nt_gather_open(struct nt_gather *gather, uint32_t seq, double until, struct nt_err *err)
{
    if (gather->is_open || seq <= gather->closed_seq)
        return nt_err_set(err, NT_ERR_INPUT, "gather %u while %u is %s", seq,
                          gather->is_open ? gather->open_seq : gather->closed_seq,
                          gather->is_open ? "open" : "closed");
    gather->is_open = true;
    gather->open_seq = seq;
    gather->until = until;
    gather->awaited = 0;
    for (size_t k = 0; k < gather->hosts; k++)
        if (is_awaited(gather, k))
            gather->awaited++;
    return 0;
}

void nt_gather_set_lost(struct nt_gather *gather, size_t host)
{
    if (host >= gather->hosts)
        return;
    if (is_awaited(gather, host))
        gather->awaited--;
    gather->lost[host] = true;
}

bool nt_gather_is_over(const struct nt_gather *gather, double now)
{
    return gather->is_open && (gather->awaited == 0 || now >= gather->until);
}

size_t nt_gather_close(struct nt_gather *gather)
{
    size_t left = 0;
    for (size_t k = 0; k < gather->hosts; k++)
        if (is_awaited(gather, k)) {
            gather->lost[k] = true;
            left++;
        }
    gather->closed_seq = gather->open_seq;
    gather->is_open = false;
    gather->awaited = 0;
    return left;
}
