/* SPDX-License-Identifier: Apache-2.0 */
#include "message_sizes.h"

#include <stdio.h>
#include <string.h>

#include "memory.h"

struct sizes {
    struct nt_planner base;
    struct nt_planner *sweep; /* of the current size; NULL: none */
    double size[NT_MESSAGE_SIZES_MAX];
    size_t count, at;
    size_t rounds; /* of this size, so far */
    struct nt_sweep_setup setup;
    bool *away; /* hosts of them: setup.missing */
    double rate_MBps;
};

static int begin_size(struct sizes *s, struct nt_err *err)
{
    return nt_sweep_all_create(&s->setup, &s->sweep, err);
}

static int message_sizes_next(struct nt_planner *planner, struct nt_order *order,
                              struct nt_err *err)
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
            if (s->rate_MBps > 0)
                order->window_s = 2.0 * s->setup.batches * s->setup.count * order->message_bytes /
                                  (s->rate_MBps * 1e6);
            s->rounds++;
            snprintf(order->phase, sizeof order->phase, "sizes");
            return 1;
        }
        nt_planner_destroy(s->sweep);
        s->sweep = NULL;
        s->rounds = 0;
        s->at++;
    }
    return 0;
}

static int message_sizes_tell(struct nt_planner *planner, const struct nt_result *results, size_t n,
                              struct nt_err *err)
{
    struct sizes *s = (struct sizes *)planner;
    return s->sweep == NULL ? 0 : s->sweep->ops->tell(s->sweep, results, n, err);
}

static void message_sizes_lose(struct nt_planner *planner, uint32_t host)
{
    struct sizes *s = (struct sizes *)planner;
    if (host >= s->setup.hosts)
        return;
    s->away[host] = true;
    if (s->sweep != NULL)
        s->sweep->ops->lose(s->sweep, host);
}

static void message_sizes_destroy(struct nt_planner *planner)
{
    struct sizes *s = (struct sizes *)planner;
    nt_planner_destroy(s->sweep);
    nt_object_destroy(s);
}

static const struct nt_planner_ops OPS = {message_sizes_next, message_sizes_tell,
                                          message_sizes_lose, message_sizes_destroy, NULL};

int nt_message_sizes_create(const struct nt_sweep_setup *setup, const double *sizes, size_t count,
                            double rate_MBps, struct nt_planner **out, struct nt_err *err)
{
    if (count > NT_MESSAGE_SIZES_MAX)
        return nt_err_set(err, NT_ERR_USAGE, "%zu message sizes: at most %d", count,
                          (int)NT_MESSAGE_SIZES_MAX);
    struct sizes *s = nt_object_create(sizeof *s, err);
    if (s == NULL)
        return -1;
    s->base.ops = &OPS;
    s->count = count;
    s->setup = *setup;
    s->setup.missing = s->away = nt_arena_array(&s->base.memory, setup->hosts, sizeof *s->away);
    s->rate_MBps = rate_MBps;
    if (nt_arena_check(&s->base.memory, err) != 0) {
        nt_planner_destroy(&s->base);
        return -1;
    }
    memcpy(s->size, sizes, count * sizeof *sizes);
    if (setup->missing != NULL)
        memcpy(s->away, setup->missing, setup->hosts * sizeof *s->away);
    *out = &s->base;
    return 0;
}

size_t nt_message_sizes_rounds_left(const struct nt_planner *planner, size_t *optional)
{
    const struct sizes *s = (const struct sizes *)planner;
    size_t present = 0;
    for (size_t h = 0; h < s->setup.hosts; h++)
        present += !s->away[h];
    size_t all = s->setup.passes * nt_sweep_all_rounds(present);
    size_t now = s->at < s->count && s->rounds < all ? all - s->rounds : 0;
    size_t later = s->at < s->count ? (s->count - s->at - 1) * all : 0;
    *optional = later + (s->at > 0 ? now : 0);
    return now + later;
}
