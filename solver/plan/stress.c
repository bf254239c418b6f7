/* SPDX-License-Identifier: Apache-2.0 */
#include "stress.h"

#include <math.h>
#include <string.h>

#include "memory.h"

/* MESSAGE_S: target time of a message on a host's link: long enough for bandwidth to matter, short
 * enough for all to all among 64 hosts. */
enum { REPETITIONS = 7, BYTES_MIN = 1024, BYTES_MAX = 1 << 20, BYTES_USUAL = 16384 };
static const double MESSAGE_S = 0.003, CONGESTED = 3;

static const struct nt_workload usual[NT_STRESS_KERNELS] = {{.kernel = NT_KERNEL_A2A},
                                                            {.kernel = NT_KERNEL_O2A},
                                                            {.kernel = NT_KERNEL_A2O},
                                                            {.kernel = NT_KERNEL_SR, .wave = 4},
                                                            {.kernel = NT_KERNEL_SR, .wave = 32},
                                                            {.kernel = NT_KERNEL_GUPS}};

struct stress {
    struct nt_planner base;
    size_t hosts, at;
    bool *away; /* hosts of them */
    size_t kernels;
    struct nt_workload kernel[NT_STRESS_CHOSEN_MAX];
    uint32_t pair[NT_STRESS_HOSTS_MAX][2];
    double bytes, rate_MBps; /* of a message with a free size; rate NaN: unknown */
};

static size_t count_present(const struct stress *s)
{
    size_t present = 0;
    for (size_t h = 0; h < s->hosts; h++)
        present += !s->away[h];
    return present;
}

/* The number of hosts that take part. A kernel for more hosts uses as many as it can; below 2 it
 * does not run. */
static size_t count_taken(const struct stress *s, const struct nt_workload *w)
{
    struct nt_workload load = *w;
    size_t present = count_present(s);
    present = present < NT_STRESS_HOSTS_MAX ? present : NT_STRESS_HOSTS_MAX;
    if (load.tasks > present)
        load.tasks = 0;
    return nt_workload_tasks(&load, present);
}

/* Selects n of the present hosts, evenly spread: the pairs of an order. */
static void take_hosts(struct stress *s, size_t n)
{
    size_t present = count_present(s), seen = 0, taken = 0;
    for (uint32_t h = 0; h < s->hosts && taken < n; h++)
        if (!s->away[h] && seen++ == nt_workload_host(taken, n, present)) {
            s->pair[taken][0] = s->pair[taken][1] = h;
            taken++;
        }
}

static double bytes_of(const struct stress *s, const struct nt_workload *w)
{
    return w->bytes > 0 ? w->bytes : s->bytes;
}

/* Time of a single message. */
static double message_s(const struct stress *s, const struct nt_workload *w)
{
    return s->rate_MBps > 0 ? bytes_of(s, w) / (s->rate_MBps * 1e6)
                            : MESSAGE_S * bytes_of(s, w) / BYTES_USUAL;
}

static uint32_t count_messages(const struct nt_workload *w, size_t n)
{
    return w->messages > 0 ? w->messages : NT_STRESS_MESSAGES * (uint32_t)n;
}

/* Messages over the link of the host that has most of them. */
static double busiest_messages(const struct nt_workload *w, size_t n)
{
    double all = count_messages(w, n), hosts = (double)n, share = w->percent / 100.0;
    switch (w->kernel) {
    case NT_KERNEL_A2A:
    case NT_KERNEL_O2A:
    case NT_KERNEL_A2O:
        return hosts;
    case NT_KERNEL_HOT:
        return share * all + (1 - share) * all / hosts;
    case NT_KERNEL_REGION:
        return share * all / ceil(hosts / NT_WORKLOAD_REGION) + (1 - share) * all / hosts;
    default:
        return fmax(all / hosts, 1);
    }
}

static double window_s(const struct stress *s, const struct nt_workload *w)
{
    size_t n = count_taken(s, w);
    double waves = w->kernel == NT_KERNEL_SR ? ceil(count_messages(w, n) / (double)w->wave) : 1;
    if (n < 2)
        return 0;
    return REPETITIONS *
           (CONGESTED * busiest_messages(w, n) * message_s(s, w) + waves * w->compute_us * 1e-6);
}

static double mean_window_s(const struct stress *s)
{
    double sum = 0;
    for (size_t k = 0; k < s->kernels; k++)
        sum += window_s(s, &s->kernel[k]);
    return sum / (double)s->kernels;
}

static int stress_next(struct nt_planner *planner, struct nt_order *order, struct nt_err *err)
{
    struct stress *s = (struct stress *)planner;
    (void)err;
    while (s->at < s->kernels && count_taken(s, &s->kernel[s->at]) < 2)
        s->at++;
    if (s->at == s->kernels)
        return 0;
    const struct nt_workload *w = &s->kernel[s->at++];
    size_t n = count_taken(s, w);
    take_hosts(s, n);
    *order = (struct nt_order){.kind = NT_ORDER_KERNEL,
                               .phase = "kernels",
                               .pairs = n,
                               .pair = s->pair,
                               .message_bytes = bytes_of(s, w),
                               .batches = REPETITIONS,
                               .count = count_messages(w, n),
                               .window_s = window_s(s, w)};
    nt_workload_name(w, order->kernel);
    return 1;
}

static void stress_lose(struct nt_planner *planner, uint32_t host)
{
    struct stress *s = (struct stress *)planner;
    if (host < s->hosts)
        s->away[host] = true;
}

static const struct nt_planner_ops OPS = {stress_next, nt_planner_ignore_results, stress_lose, NULL,
                                          NULL};

/* Selects the power of two that takes about MESSAGE_S, or less if all messages would take too
 * long. */
static void choose_bytes(struct stress *s, double seconds)
{
    double most = s->rate_MBps * 1e6 * MESSAGE_S;
    s->bytes = s->rate_MBps > 0 ? BYTES_MIN : BYTES_USUAL;
    while (s->rate_MBps > 0 && s->bytes < BYTES_MAX && 2 * s->bytes <= most)
        s->bytes *= 2;
    while (s->bytes > BYTES_MIN && (double)s->kernels * mean_window_s(s) > seconds)
        s->bytes /= 2;
}

int nt_stress_create(const struct nt_sweep_setup *setup, const struct nt_stress_settings *settings,
                     struct nt_planner **out, struct nt_err *err)
{
    size_t hosts = setup->hosts;
    bool chosen = settings->chosen > 0;
    if (settings->chosen > NT_STRESS_CHOSEN_MAX)
        return nt_err_set(err, NT_ERR_USAGE, "%zu kernels: at most %d", settings->chosen,
                          (int)NT_STRESS_CHOSEN_MAX);
    struct stress *s = nt_object_create(sizeof *s, err);
    if (s == NULL)
        return -1;
    s->base.ops = &OPS;
    s->hosts = hosts;
    s->rate_MBps = settings->rate_MBps;
    s->kernels = chosen ? settings->chosen : NT_STRESS_KERNELS;
    memcpy(s->kernel, chosen ? settings->kernel : usual, s->kernels * sizeof *s->kernel);
    s->away = nt_arena_array(&s->base.memory, hosts, sizeof *s->away);
    if (nt_arena_check(&s->base.memory, err) != 0) {
        nt_planner_destroy(&s->base);
        return -1;
    }
    if (setup->missing != NULL)
        memcpy(s->away, setup->missing, hosts * sizeof *s->away);
    choose_bytes(s, settings->seconds);
    *out = &s->base;
    return 0;
}

void nt_stress_need(const struct nt_planner *planner, size_t *rounds, double *window)
{
    const struct stress *s = (const struct stress *)planner;
    *rounds = 0;
    for (size_t k = 0; k < s->kernels; k++)
        *rounds += count_taken(s, &s->kernel[k]) >= 2;
    *window = mean_window_s(s);
}
