/* SPDX-License-Identifier: Apache-2.0 */
#include "stress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"

/* MESSAGE_S: what a message should take on a host's link: long enough that bandwidth counts, short
 * enough that all to all among 64 hosts ends. */
enum { REPETITIONS = 7, BYTES_MIN = 1024, BYTES_MAX = 1 << 20, BYTES_USUAL = 16384 };
static const double MESSAGE_S = 0.003, CONGESTED = 3;

static const char *const kernels[] = {"a2a", "o2a", "a2o", "sr:4", "sr:32", "gups"};
enum { KERNELS = NT_STRESS_KERNELS };
_Static_assert(sizeof kernels / sizeof *kernels == KERNELS, "one name per kernel");

struct stress {
    struct nt_planner base;
    size_t hosts, at;
    bool *away; /* hosts of them */
    uint32_t pair[NT_STRESS_HOSTS_MAX][2];
    double bytes, message_s;
};

static size_t count_present(const struct stress *s)
{
    size_t present = 0;
    for (size_t h = 0; h < s->hosts; h++)
        present += !s->away[h];
    return present;
}

/* How many hosts take part. */
static size_t count_taken(const struct stress *s)
{
    size_t present = count_present(s);
    return present < NT_STRESS_HOSTS_MAX ? present : NT_STRESS_HOSTS_MAX;
}

/* n of those that are present, spread over them: the pairs of an order. */
static void take_hosts(struct stress *s, size_t n)
{
    size_t present = count_present(s), seen = 0, taken = 0;
    for (uint32_t h = 0; h < s->hosts && taken < n; h++)
        if (!s->away[h] && seen++ == taken * present / n) {
            s->pair[taken][0] = s->pair[taken][1] = h;
            taken++;
        }
}

static double window_s(const struct stress *s, size_t kernel, size_t n)
{
    double messages = kernel < 3 ? (double)n : NT_STRESS_MESSAGES;
    return REPETITIONS * CONGESTED * messages * s->message_s;
}

static double mean_window_s(const struct stress *s, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < KERNELS; k++)
        sum += window_s(s, k, n);
    return sum / KERNELS;
}

static int stress_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct stress *s = (struct stress *)planner;
    size_t n = count_taken(s);
    (void)err;
    if (s->at == KERNELS || n < 2)
        return 0;
    take_hosts(s, n);
    *order = (struct nt_order){.kind = NT_ORDER_KERNEL,
                               .phase = "kernels",
                               .pairs = n,
                               .pair = s->pair,
                               .message_bytes = s->bytes,
                               .batches = REPETITIONS,
                               .count = NT_STRESS_MESSAGES * (uint32_t)n,
                               .window_s = window_s(s, s->at, n)};
    snprintf(order->kernel, sizeof order->kernel, "%s", kernels[s->at++]);
    return 1;
}

static void stress_lose(struct nt_planner *planner, uint32_t host)
{
    struct stress *s = (struct stress *)planner;
    if (host < s->hosts)
        s->away[host] = true;
}

static const struct nt_planner_ops OPS = {stress_next, nt_planner_tell_nothing, stress_lose, NULL,
                                          NULL};

/* The power of two that takes about MESSAGE_S, or less where all would take too long. */
static void choose_bytes(struct stress *s, double rate_MBps, size_t n, double seconds)
{
    s->bytes = rate_MBps > 0 ? BYTES_MIN : BYTES_USUAL;
    while (rate_MBps > 0 && s->bytes < BYTES_MAX && 2 * s->bytes <= rate_MBps * 1e6 * MESSAGE_S)
        s->bytes *= 2;
    s->message_s = rate_MBps > 0 ? s->bytes / (rate_MBps * 1e6) : MESSAGE_S;
    while (s->bytes > BYTES_MIN && KERNELS * mean_window_s(s, n) > seconds) {
        s->bytes /= 2;
        s->message_s /= 2;
    }
}

int nt_stress_create(const struct nt_sweep_setup *setup, double rate_MBps, double seconds,
                     struct nt_planner **out, struct nt_err *err)
{
    size_t hosts = setup->hosts;
    struct stress *s = nt_object_create(sizeof *s, err);
    if (s == NULL)
        return -1;
    s->base.ops = &OPS;
    s->hosts = hosts;
    s->away = nt_arena_array(&s->base.memory, hosts, sizeof *s->away);
    if (nt_arena_check(&s->base.memory, err) != 0) {
        nt_planner_destroy(&s->base);
        return -1;
    }
    if (setup->missing != NULL)
        memcpy(s->away, setup->missing, hosts * sizeof *s->away);
    choose_bytes(s, rate_MBps, count_taken(s), seconds);
    *out = &s->base;
    return 0;
}

void nt_stress_need(const struct nt_planner *planner, size_t *rounds, double *window)
{
    const struct stress *s = (const struct stress *)planner;
    size_t n = count_taken(s);
    *rounds = n < 2 ? 0 : KERNELS;
    *window = mean_window_s(s, n);
}
