#include "gather.h"

#include <stdlib.h>

int nt_gather_init(struct nt_gather *gather, size_t hosts, struct nt_err *err)
{
    struct nt_gather g = {.hosts = hosts};
    g.whole_seq = calloc(hosts, sizeof *g.whole_seq);
    g.away = calloc(hosts, sizeof *g.away);
    if (g.whole_seq == NULL || g.away == NULL) {
        nt_gather_fini(&g);
        return nt_err_set(err, NT_ERR_SYSTEM, "out of memory");
    }
    *gather = g;
    return 0;
}

void nt_gather_fini(struct nt_gather *gather)
{
    free(gather->whole_seq);
    free(gather->away);
    *gather = (struct nt_gather){0};
}

/* Whether the open gather still waits for this host. */
static bool owes(const struct nt_gather *gather, size_t host)
{
    return gather->is_open && !gather->away[host] && gather->whole_seq[host] < gather->open_seq;
}

bool nt_gather_piece(struct nt_gather *gather, size_t host, uint32_t seq, bool more)
{
    if (host >= gather->hosts || seq <= gather->closed_seq || seq <= gather->whole_seq[host])
        return false;
    if (!more) {
        if (owes(gather, host) && seq >= gather->open_seq)
            gather->awaited--;
        gather->whole_seq[host] = seq;
        if (!gather->is_open || seq >= gather->open_seq)
            gather->away[host] = false; /* it is back, and in time */
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
        if (owes(gather, k))
            gather->awaited++;
    return 0;
}

void nt_gather_leave(struct nt_gather *gather, size_t host)
{
    if (host >= gather->hosts)
        return;
    if (owes(gather, host))
        gather->awaited--;
    gather->away[host] = true;
}

bool nt_gather_is_over(const struct nt_gather *gather, double now)
{
    return gather->is_open && (gather->awaited == 0 || now >= gather->until);
}

size_t nt_gather_close(struct nt_gather *gather)
{
    size_t left = 0;
    for (size_t k = 0; k < gather->hosts; k++)
        if (owes(gather, k)) {
            gather->away[k] = true;
            left++;
        }
    gather->closed_seq = gather->open_seq;
    gather->is_open = false;
    gather->awaited = 0;
    return left;
}
