/* SPDX-License-Identifier: Apache-2.0 */
/* The probe of a simulated host: the program's own coordinator and participant over its own
 * exchange (oob_tcp.c), and in place of UCX a measured network that is known. */
#undef _FORTIFY_SOURCE /* its longjmp expects to stay on one stack */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "cluster.h"
#include "coordinator.h"
#include "coordinator_output.h"
#include "files.h"
#include "flows.h"
#include "hardware.h"
#include "machine_text.h"
#include "pair.h"
#include "pairing.h"
#include "participant.h"
#include "rescue.h"

/* ---- the measured network ---- */

struct nt_pair {
    uint32_t host; /* its rank */
    struct host *node;
    struct process *process;
    struct nt_pairing pairing;
    bool connected;    /* waits for its partner, or has met it */
    double meet_by_s;  /* when it is to meet its partner to measure, */
    double met_s;      /* and when it did */
    uint32_t measures; /* the round that it has begun to measure, + 1 */
    unsigned char address[8];
    size_t group; /* of a kernel */
    bool group_first;
    uint32_t group_rank[NT_KERNEL_GROUP_MAX];
    struct nt_kept kept; /* as the program's own (pair_ucx.c) */
    bool is_guarded;     /* within nt_rescue_run, */
    double guarded_until_s;
    jmp_buf guard; /* to which a crash returns */
};

static const char RAIL[] = "sim0";

/* ---- who may connect (guard.c): this network has no strangers ---- */

size_t nt_guard_own(bool loopback, struct nt_source own[NT_SOURCES_MAX])
{
    (void)loopback;
    own[0] = (struct nt_source){{[15] = 1}};
    return 1;
}

int nt_guard_open(const struct nt_source *sources, size_t n, struct nt_err *err)
{
    (void)sources;
    (void)n;
    (void)err;
    return 0;
}

int nt_pair_create(struct nt_pair **out, struct nt_err *err)
{
    if (this_host()->no_network)
        return nt_err_set(err, NT_ERR_SYSTEM, "no network device");
    struct nt_pair *pair = calloc(1, sizeof *pair);
    pair->node = this_host();
    pair->host = (uint32_t)pair->node->job.self;
    pair->process = world.running;
    memcpy(pair->address, &pair->host, sizeof pair->host);
    process_spend(0.002);
    pair->node->pair = pair;
    *out = pair;
    return 0;
}

void nt_pair_destroy(struct nt_pair *pair)
{
    if (pair != NULL && pair->node->pair == pair)
        pair->node->pair = NULL;
    free(pair);
}

size_t nt_pair_rails(const struct nt_pair *pair, const char *names[NT_PAIR_RAILS_MAX])
{
    (void)pair;
    names[0] = RAIL;
    return 1;
}

const char *nt_pair_transports(const struct nt_pair *pair, size_t rail)
{
    (void)pair;
    (void)rail;
    return "storm";
}

const char *nt_pair_used(const struct nt_pair *pair)
{
    (void)pair;
    return "storm/sim0";
}

const void *nt_pair_address(const struct nt_pair *pair, size_t *bytes)
{
    *bytes = sizeof pair->address;
    return pair->address;
}

void nt_pair_set_own_core(struct nt_pair *pair, bool own)
{
    (void)pair;
    (void)own;
}

/* ---- UCX may crash or hang on what it hears; rank 0 survives that (rescue.c) ---- */

bool nt_rescue_run(void (*call)(void *), void *context, double most_s,
                   char why[NT_RESCUE_WHY_BYTES])
{
    struct nt_pair *pair = this_host()->pair;
    if (pair == NULL) {
        call(context);
        return true;
    }
    pair->guarded_until_s = nt_clock_s() + most_s;
    pair->is_guarded = true;
    if (_setjmp(pair->guard) == 0) {
        call(context);
        pair->is_guarded = false;
        return true;
    }
    snprintf(why, NT_RESCUE_WHY_BYTES, "does not go on");
    return false;
}

static void kill_probe(void *context, uint64_t number)
{
    process_kill(context, (int)number);
}

/* Each call of UCX, which may be the last of this process, or of UCX in it. */
static void enter_ucx(struct nt_pair *pair)
{
    struct host *h = pair->node;
    if (h->ucx_calls == 0 || --h->ucx_calls > 0)
        return;
    bool hangs = h->ucx_signal == SIGALRM;
    world_tell(h->number, "UCX", hangs ? "hangs" : "ends by signal %d", h->ucx_signal);
    h->pair = NULL; /* nobody meets it again */
    if (hangs && pair->is_guarded)
        process_sleep(pair->guarded_until_s - nt_clock_s());
    if (pair->is_guarded)
        _longjmp(pair->guard, 1);
    if (!hangs)
        world_at(world.now_s, kill_probe, pair->process, (uint64_t)h->ucx_signal);
    for (;;)
        process_wait(INFINITY);
}

static bool fabric_is_up(uint32_t host)
{
    const struct host *h = &cluster.host[host];
    return world.now_s < h->fabric_down_s || world.now_s >= h->fabric_until_s;
}

static bool fabric_connects(uint32_t a, uint32_t b)
{
    for (size_t k = 0; k < cluster.fabric_cuts; k++)
        if ((cluster.fabric_cut[k][0] == a && cluster.fabric_cut[k][1] == b) ||
            (cluster.fabric_cut[k][0] == b && cluster.fabric_cut[k][1] == a))
            return false;
    return fabric_is_up(a) && fabric_is_up(b);
}

static struct host *peer_of(const struct nt_pair *pair)
{
    return &pair->node->job_hosts[pair->pairing.peer];
}

/* The other end, while it lives; a stopped one does not answer. */
static struct nt_pair *other_end(const struct nt_pair *pair)
{
    const struct host *h = peer_of(pair);
    uint32_t self = pair->node->number, peer = h->number;
    if (h->pair == NULL || h->pair->process != h->probe || !h->probe->alive ||
        network_host_is_down(peer) || !fabric_connects(self, peer) || network_is_cut(self, peer) ||
        network_is_cut(peer, self))
        return NULL;
    return h->probe->stopped_until_s > world.now_s ? NULL : h->pair;
}

static void wake_other(const struct nt_pair *pair)
{
    const struct host *h = peer_of(pair);
    if (h->probe != NULL)
        process_wake(h->probe, world.now_s);
}

static bool has_met(const struct nt_pair *pair)
{
    const struct nt_pair *other = other_end(pair);
    return other != NULL && other->connected && other->pairing.round == pair->pairing.round &&
           other->pairing.peer == pair->host && other->pairing.kept == pair->pairing.kept;
}

static bool measures_too(const struct nt_pair *pair)
{
    const struct nt_pair *other = other_end(pair);
    return other != NULL && other->measures >= pair->measures; /* it may be done already */
}

/* Until it holds; a link that is cut may come back, so it looks again now and then. */
static bool wait_for(const struct nt_pair *pair, bool (*holds)(const struct nt_pair *),
                     double deadline_s)
{
    const double LOOK_S = 0.05;
    for (;;) {
        double now = nt_clock_s();
        if (holds(pair)) /* nothing else happens between this and the wait */
            return true;
        if (now >= deadline_s)
            return false;
        process_wait(now + LOOK_S < deadline_s ? now + LOOK_S : deadline_s);
    }
}

static double latency_s(const struct nt_pair *pair)
{
    return nt_network_latency(cluster.network, pair->node->number, peer_of(pair)->number) * 1e-6;
}

int nt_pair_connect(struct nt_pair *pair, const struct nt_pairing *pairing,
                    const struct nt_order *order, double deadline_s, double *round_trip_s,
                    struct nt_err *err)
{
    uint32_t told = pairing->peer;
    (void)order;
    enter_ucx(pair);
    pair->pairing = *pairing;
    if (!pairing->kept)
        memcpy(&told, pairing->address, sizeof told);
    if ((told != pairing->peer || pairing->self != pair->host) && !cluster.is_hostile)
        world_violation("n%u: connects to rank %u at the address of n%u", pair->host + 1,
                        pairing->peer, told + 1);
    if (pairing->kept && !nt_kept_stays(&pair->kept, pairing->peer, 0))
        return nt_err_set(err, NT_ERR_SYSTEM, "connect: the connection was not kept");
    pair->connected = true;
    wake_other(pair);
    pair->meet_by_s = round_trip_s == NULL ? deadline_s : INFINITY;
    if (round_trip_s == NULL)
        return 0;
    if (!wait_for(pair, has_met, deadline_s))
        return nt_err_set(err, NT_ERR_SYSTEM, "connect: no answer in time");
    process_sleep((pairing->kept ? 2 : 4) * latency_s(pair) + (pairing->kept ? 0 : 0.0003));
    *round_trip_s = 2 * latency_s(pair);
    return 0;
}

/* Says and takes nothing here. */
void nt_pair_connect_ahead(struct nt_pair *pair, const struct nt_pairing *pairing)
{
    (void)pair;
    (void)pairing;
}

void nt_pair_drop_ahead(struct nt_pair *pair)
{
    (void)pair;
}

/* ---- kernels: all of a group meet ---- */

static bool group_holds(const struct nt_pair *pair, bool measures)
{
    for (size_t k = 0; k < pair->group; k++) {
        const struct host *h = &pair->node->job_hosts[pair->group_rank[k]];
        const struct nt_pair *other = h->pair;
        if (other == NULL || !h->probe->alive || other->process != h->probe ||
            !fabric_connects(pair->node->number, h->number) ||
            (!measures && (!other->connected || other->pairing.round != pair->pairing.round)) ||
            (measures && other->measures < pair->measures))
            return false;
    }
    return true;
}

static bool group_has_met(const struct nt_pair *pair)
{
    return group_holds(pair, false);
}

static bool group_measures(const struct nt_pair *pair)
{
    return group_holds(pair, true);
}

static void wake_group(const struct nt_pair *pair)
{
    for (size_t k = 0; k < pair->group; k++) {
        const struct host *h = &pair->node->job_hosts[pair->group_rank[k]];
        if (h->probe != NULL && h->probe != pair->process)
            process_wake(h->probe, world.now_s);
    }
}

int nt_pair_connect_group(struct nt_pair *pair, const struct nt_kernel_group *group,
                          const struct nt_order *order, double deadline_s, struct nt_err *err)
{
    (void)order;
    enter_ucx(pair);
    pair->pairing = (struct nt_pairing){.round = group->round, .self = pair->host};
    pair->group = group->n;
    pair->group_first = group->self == 0;
    for (size_t k = 0; k < group->n; k++) {
        memcpy(&pair->group_rank[k], group->address[k], sizeof pair->group_rank[k]);
        if (pair->group_rank[k] >= cluster.hosts)
            return nt_err_set(err, NT_ERR_SYSTEM, "kernel: no such address");
    }
    pair->connected = true;
    wake_group(pair);
    return wait_for(pair, group_has_met, deadline_s)
               ? 0
               : nt_err_set(err, NT_ERR_SYSTEM, "kernel: no answer in time");
}

static int measure_kernel(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                          double deadline_s, struct nt_result *result, struct nt_err *err)
{
    pair->measures = pair->pairing.round + 1;
    wake_group(pair);
    if (!wait_for(pair, group_measures, deadline_s))
        return nt_err_set(err, NT_ERR_SYSTEM, "kernel: no answer in time");
    double us = 20 * (double)pair->group, now = nt_clock_s();
    process_sleep(now + order->batches * us * 1e-6 < soft_s ? order->batches * us * 1e-6 : 0);
    *result = (struct nt_result){.ok = true, .bytes = order->message_bytes};
    if (pair->group_first) {
        result->value_us = us;
        result->median_us = 0.9 * us;
        result->se_us = 1.1 * us;
        result->count = order->batches;
    }
    return 0;
}

/* The flows of a round share the network; computed once for all that take part in it. */
static struct {
    uint64_t key;
    struct nt_flow *flow;
    size_t n;
} shared;

void probe_begin(void);
void probe_begin(void)
{
    shared.key = 0;
}

static void share_rates(const struct nt_pair *pair, const struct nt_order *order)
{
    struct nt_err err;
    uint64_t key = (uint64_t)pair->pairing.round + 1;
    for (size_t k = 0; k < order->pairs; k++)
        key = key * 1000003 + order->pair[k][0] * 4099U + order->pair[k][1];
    if (key == shared.key)
        return;
    shared.key = key;
    shared.n = order->pairs;
    shared.flow = realloc(shared.flow, shared.n * sizeof *shared.flow);
    for (size_t k = 0; k < shared.n; k++)
        shared.flow[k] = (struct nt_flow){order->pair[k][0], order->pair[k][1], 0};
    uint64_t left = world.running->allocations_left;
    world.running->allocations_left = 0; /* the network's, not the process's */
    if (nt_flows_share(cluster.network, shared.flow, shared.n, &err) != 0)
        abort();
    world.running->allocations_left = left;
}

static double rate_MBps(const struct nt_pair *pair, const struct nt_order *order)
{
    share_rates(pair, order);
    for (size_t k = 0; k < shared.n; k++)
        if (shared.flow[k].from == pair->host || shared.flow[k].to == pair->host)
            return shared.flow[k].rate_MBps;
    return NAN;
}

static double order_seconds(const struct nt_pair *pair, const struct nt_order *order)
{
    uint32_t batches = order->batches > 0 ? order->batches : 1;
    if (order->kind == NT_ORDER_LATENCY)
        return batches * order->count * 2 * latency_s(pair);
    return order->window_s;
}

/* PRTT(n, d, s) of a network whose host takes 0.3 us a message (Lichei 2006, section 3.2.1). */
static double prtt_us(const struct nt_pair *pair, const struct nt_order *order)
{
    const double overhead_us = 0.3, per_byte_us = 1e-4;
    double gap = overhead_us + order->message_bytes * per_byte_us;
    double step = order->delay_us + overhead_us > gap ? order->delay_us + overhead_us : gap;
    return 2 * latency_s(pair) * 1e6 + 4 * overhead_us + 2 * order->message_bytes * per_byte_us +
           (order->count - 1) * step;
}

static void set_result(const struct nt_pair *pair, const struct nt_order *order,
                       struct nt_result *result)
{
    uint32_t a = pair->host, b = pair->pairing.peer, round = pair->pairing.round;
    uint32_t batches = order->batches > 0 ? order->batches : 1;
    *result = (struct nt_result){.a = a, .b = b, .ok = true, .bytes = order->message_bytes};
    if (order->kind == NT_ORDER_LATENCY) {
        struct nt_reading r =
            nt_measure_batches(cluster.network, &cluster.noise, pair->node->number,
                               peer_of(pair)->number, round, batches);
        result->value_us = result->median_us = r.value_us;
        result->se_us = isnan(r.se_us) ? 0 : r.se_us; /* of one batch, as pair_measure.c has it */
        result->count = batches * order->count;
    } else if (order->kind == NT_ORDER_BANDWIDTH) {
        result->value_us = order->window_s * 1e6;
        result->bytes = rate_MBps(pair, order) * result->value_us *
                        nt_measure_factor(&cluster.noise, a, b, round);
        result->count = 1;
    } else {
        result->value_us = result->median_us = prtt_us(pair, order);
        result->se_us = 0.01;
        result->count = order->count;
    }
}

int nt_pair_measure(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                    double deadline_s, struct nt_result *result, struct nt_err *err)
{
    double takes = order_seconds(pair, order);
    enter_ucx(pair);
    if (!pair->connected)
        return nt_err_set(err, NT_ERR_SYSTEM, "not connected");
    if (order->kind == NT_ORDER_KERNEL)
        return measure_kernel(pair, order, soft_s, deadline_s, result, err);
    pair->measures = pair->pairing.round + 1;
    wake_other(pair);
    if (!wait_for(pair, measures_too, fmin(deadline_s, pair->meet_by_s)))
        return nt_err_set(err, NT_ERR_SYSTEM, "measure: no answer in time");
    double now = pair->met_s = nt_clock_s();
    process_sleep(now + takes < soft_s ? takes : soft_s > now ? soft_s - now : 0);
    /* whoever is done goes on; the other is met still unless it ended or was cut off */
    const struct nt_pair *other = other_end(pair);
    if (other == NULL || other->pairing.round < pair->pairing.round) {
        process_sleep(deadline_s > nt_clock_s() ? deadline_s - nt_clock_s() : 0);
        return nt_err_set(err, NT_ERR_SYSTEM, "measure: no answer in time");
    }
    set_result(pair, order, result);
    return 0;
}

double nt_pair_first_message_s(const struct nt_pair *pair)
{
    return pair->met_s;
}

void nt_pair_forget(struct nt_pair *pair, uint32_t peer)
{
    nt_kept_drop(&pair->kept, peer);
}

bool nt_pair_can_keep(const struct nt_pair *pair)
{
    return pair->connected && pair->group == 0;
}

void nt_pair_close(struct nt_pair *pair, bool keep)
{
    enter_ucx(pair);
    if (keep)
        nt_kept_use(&pair->kept, pair->pairing.peer);
    else if (pair->connected && pair->group == 0)
        nt_kept_drop(&pair->kept, pair->pairing.peer);
    pair->connected = false;
    pair->group = 0;
}

/* ---- what a host is inside ---- */

bool nt_hardware_detect(const char *const *rail, size_t rails, struct nt_machine *machine,
                        struct nt_core_pair pair[NT_BETWEEN_END])
{
    static const char *const machines[] = {
        "packages=2 numa=4 cores=64 threads=128 allowed=128 l2=1048576 nic=sim0 cpu=A processor",
        "packages=1 numa=1 cores=8 threads=8 allowed=8 l3=33554432 nic=sim0 cpu=Another"};
    size_t which = nt_rng_below(&world.rng, 3);
    (void)rail;
    (void)rails;
    process_spend(0.004);
    if (which == 2 || nt_machine_parse(machines[which], machine, NULL) != 0)
        return false;
    for (int k = 0; k < NT_BETWEEN_END; k++)
        pair[k] = (struct nt_core_pair){.there = k % 2 == 0, .cpu = {0, (unsigned)k + 1}};
    return true;
}

double nt_hardware_core_latency_us(const struct nt_core_pair *pair, double seconds)
{
    process_spend(seconds);
    return 0.05 * pair->cpu[1];
}

/* ---- the process ---- */

static int run_coordinator(struct nt_oob *oob, const struct nt_probe_job *job,
                           struct nt_participant *participant, struct nt_err *err)
{
    struct nt_coordinator_result done = {0};
    struct nt_coordinator_options how = {.created = "2026-01-01T00:00:00Z"};
    if (nt_coordinator_run(oob, job, participant, &how, &done, err) != 0) {
        oob->ops->done(oob, NT_STATUS_FAILED, err->text, NULL);
        return -1;
    }
    int rc = nt_output_to_agent(oob, job, &done, err);
    nt_coordinator_result_fini(&done);
    return rc;
}

void probe_main(void *argument)
{
    struct nt_oob *oob = NULL;
    struct nt_probe_job job;
    struct nt_pair *pair = NULL;
    struct nt_participant participant;
    struct nt_err err = {0}, no_pair = {0};
    if (nt_oob_tcp_create((int)(intptr_t)argument, &oob, &job, &err) != 0) {
        world_tell(world.running->host, "probe", "%s", err.text);
        process_exit((int)err.kind);
    }
    bool has_network = nt_pair_create(&pair, &no_pair) == 0;
    nt_participant_init(&participant, oob, pair, no_pair.text);
    if (job.option.level >= NT_LEVEL_STANDARD) /* as probe.c */
        nt_participant_inspect_host(
            &participant, job.option.level == NT_LEVEL_FULL && !job.latency_only ? 0.03 : 0);
    int rc = oob->rank == 0 ? run_coordinator(oob, &job, &participant, &err)
             : has_network  ? nt_participant_run(oob, &job, &participant, &err)
                            : nt_participant_send_greeting(oob, &job, &participant, &err);
    if (rc != 0)
        world_tell(world.running->host, "probe", "%s", err.text);
    nt_participant_fini(&participant);
    nt_pair_destroy(pair);
    oob->ops->destroy(oob);
    process_exit(rc != 0 ? (int)err.kind : has_network ? 0 : NT_ERR_SYSTEM);
}
