#include "sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sizes {
    struct nt_planner base;
    struct nt_planner *sweep; /* of the size that is on; NULL: none yet, or no more */
    double size[NT_SIZES_MAX];
    size_t count, at;
    size_t hosts;
    bool *away; /* hosts of them */
    unsigned passes;
    uint32_t batches, pings;
};

static int begin_size(struct sizes *s, struct nt_err *err)
{
    return nt_sweep_all_create(s->hosts, s->away, s->passes, s->batches, s->pings, &s->sweep, err);
}

static int next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct sizes *s = (struct sizes *)planner;
    while (s->at < s->count) {
        if (s->sweep == NULL && begin_size(s, err) != 0)
            return -1;
        int rc = s->sweep->ops->next(s->sweep, order, err);
        if (rc < 0)
            return -1;
        if (rc == 1) {
            order->message_bytes = s->size[s->at];
            snprintf(order->phase, sizeof order->phase, "sizes");
            return 1;
        }
        nt_planner_destroy(s->sweep);
        s->sweep = NULL;
        s->at++;
    }
    return 0;
}

static int tell(struct nt_planner *planner, const struct nt_result *results, size_t n,
                struct nt_err *err)
{
    struct sizes *s = (struct sizes *)planner;
    return s->sweep == NULL ? 0 : s->sweep->ops->tell(s->sweep, results, n, err);
}

static void lose(struct nt_planner *planner, uint32_t host)
{
    struct sizes *s = (struct sizes *)planner;
    if (host >= s->hosts)
        return;
    s->away[host] = true;
    if (s->sweep != NULL)
        s->sweep->ops->lose(s->sweep, host);
}

static void destroy(struct nt_planner *planner)
{
    struct sizes *s = (struct sizes *)planner;
    nt_planner_destroy(s->sweep);
    free(s->away);
    free(s);
}

static const struct nt_planner_ops OPS = {next, tell, lose, destroy};

int nt_sizes_create(size_t hosts, const bool *absent, const double *sizes, size_t count,
                    unsigned passes, uint32_t batches, uint32_t pings, struct nt_planner **out,
                    struct nt_err *err)
{
    if (count > NT_SIZES_MAX)
        return nt_err_set(err, NT_ERR_USAGE, "%zu message sizes: at most %d", count,
                          (int)NT_SIZES_MAX);
    struct sizes *s = calloc(1, sizeof *s);
    bool *away = calloc(hosts + 1, sizeof *away);
    if (s == NULL || away == NULL) {
        free(s);
        free(away);
        return nt_err_set(err, NT_ERR_SYSTEM, "message sizes of %zu hosts: out of memory", hosts);
    }
    *s = (struct sizes){.base.ops = &OPS,
                        .count = count,
                        .hosts = hosts,
                        .away = away,
                        .passes = passes,
                        .batches = batches,
                        .pings = pings};
    memcpy(s->size, sizes, count * sizeof *sizes);
    if (absent != NULL)
        memcpy(away, absent, hosts * sizeof *away);
    *out = &s->base;
    return 0;
}
