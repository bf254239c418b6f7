/* SPDX-License-Identifier: Apache-2.0 */
#include "participant.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "hardware.h"
#include "probe_log.h"

enum { CPUS_MAX = 16384 };

void nt_participant_init(struct nt_participant *participant, const struct nt_oob *oob,
                         struct nt_pair *pair, const char *no_pair_reason)
{
    *participant = (struct nt_participant){.pair = pair,
                                           .no_pair_reason = no_pair_reason,
                                           .rank = oob->rank,
                                           .deadline_s = oob->deadline_s};
}

void nt_participant_fini(struct nt_participant *participant)
{
    nt_peer_table_fini(&participant->table);
    free(participant->table_bytes);
    participant->table_bytes = NULL;
}

/* ---- greeting ---- */
static uint32_t count_cores(void)
{
    uint32_t cores = 1;
    size_t bytes = CPU_ALLOC_SIZE(CPUS_MAX);
    cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
    if (set != NULL && sched_getaffinity(0, bytes, set) == 0)
        cores = (uint32_t)CPU_COUNT_S(bytes, set);
    CPU_FREE(set);
    return cores;
}

/* Reads the kernel's boot id: containers and namespaces of one machine share it, as they share its
 * cores. All zeros if it cannot be read; then all probes seem to share cores, and none spins. */
static void read_machine_id(unsigned char machine[NT_WIRE_MACHINE_BYTES])
{
    char text[64] = "";
    memset(machine, 0, NT_WIRE_MACHINE_BYTES);
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    for (ssize_t i = 0, digit = 0; i < n && digit < 2L * NT_WIRE_MACHINE_BYTES; i++) {
        static const char hex[] = "0123456789abcdef";
        const char *at = text[i] == '\0' ? NULL : strchr(hex, text[i]);
        if (at == NULL)
            continue;
        machine[digit / 2] = (unsigned char)(machine[digit / 2] << 4 | (at - hex));
        digit++;
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct nt_nic *)a)->name, ((const struct nt_nic *)b)->name);
}

void nt_participant_inspect_host(struct nt_participant *participant, double cores_s)
{
    const char *rail[NT_PAIR_RAILS_MAX];
    struct nt_core_pair pair[NT_BETWEEN_END];
    struct nt_machine machine;
    size_t rails = participant->pair == NULL ? 0 : nt_pair_rails(participant->pair, rail),
           kinds = 0;
    if (!nt_hardware_detect(rail, rails, &machine, pair))
        return;
    for (size_t k = 0; k < machine.nics; k++)
        snprintf(machine.nic[k].transports, sizeof machine.nic[k].transports, "%s",
                 nt_pair_transports(participant->pair, k));
    /* UCX lists them in a different order on each host; equal hosts must have equal texts */
    qsort(machine.nic, machine.nics, sizeof *machine.nic, by_name);
    nt_machine_write(&machine, participant->hardware);
    for (int k = 0; k < NT_BETWEEN_END; k++)
        kinds += pair[k].there;
    for (int k = 0; k < NT_BETWEEN_END && cores_s > 0; k++)
        if (pair[k].there)
            participant->core_us[k] =
                nt_hardware_core_latency_us(&pair[k], cores_s / (double)kinds);
}

/* Returns whether the loopback device is used: only if UCX_NET_DEVICES names it, for probes that
 * share a host. */
static bool uses_loopback(const struct nt_pair *pair)
{
    const char *rail[NT_PAIR_RAILS_MAX];
    size_t n = nt_pair_rails(pair, rail);
    for (size_t k = 0; k < n; k++)
        if (strcmp(rail[k], "lo") == 0)
            return true;
    return false;
}

int nt_participant_greeting(const struct nt_participant *participant,
                            const struct nt_probe_job *job, struct nt_bytes *out,
                            struct nt_err *err)
{
    struct nt_greeting greeting = {.cores = count_cores()};
    snprintf(greeting.host, sizeof greeting.host, "%s", job->host);
    snprintf(greeting.hardware, sizeof greeting.hardware, "%s", participant->hardware);
    memcpy(greeting.core_us, participant->core_us, sizeof greeting.core_us);
    memcpy(greeting.networks, participant->networks, sizeof greeting.networks);
    read_machine_id(greeting.machine);
    if (participant->pair != NULL) {
        greeting.address = nt_pair_address(participant->pair, &greeting.address_bytes);
        greeting.sources = nt_guard_own(uses_loopback(participant->pair), greeting.source);
    } else {
        snprintf(greeting.reason, sizeof greeting.reason, "%s",
                 participant->no_pair_reason == NULL ? "no network" : participant->no_pair_reason);
    }
    return nt_greeting_encode(&greeting, out, err);
}

/* Sets once whether the probe has its own core. The pair may find out later that the core is
 * shared, which must not be reverted. */
static void set_own_core(struct nt_participant *participant, const struct nt_peer *own)
{
    if (!participant->own_core_known && participant->pair != NULL)
        nt_pair_set_own_core(participant->pair, own->own_core);
    participant->own_core_known = true;
}

int nt_participant_set_table(struct nt_participant *participant, unsigned char *bytes_of_table,
                             size_t bytes, struct nt_err *err)
{
    nt_participant_fini(participant);
    participant->table_bytes = bytes_of_table;
    if (nt_peer_table_decode(bytes_of_table, bytes, &participant->table, err) != 0)
        return -1;
    if (participant->rank < participant->table.ranks)
        set_own_core(participant, &participant->table.peer[participant->rank]);
    return nt_guard_open(participant->table.source, participant->table.sources, err);
}

/* ---- a round ---- */
/* Finds this rank's next pair in the round, from *at on; false: there is none. */
static bool find_pairing(const struct nt_participant *participant, const struct nt_round *round,
                         size_t *at, struct nt_pairing *pairing)
{
    while (*at < round->order.pairs) {
        size_t k = (*at)++;
        const uint32_t *pair = round->order.pair[k];
        if (pair[0] != participant->rank && pair[1] != participant->rank)
            continue;
        pairing->round = round->number + round->turn[k];
        pairing->self = participant->rank;
        pairing->first = pair[0] == participant->rank;
        pairing->peer = pair[pairing->first]; /* for a kernel: this rank itself */
        pairing->kept = round->kept[k];
        return true;
    }
    return false;
}

static double earlier_of(double a, double b)
{
    return a < b ? a : b;
}

static void finish_report(struct nt_report *report, const struct nt_pairing *pairing, int rc,
                          const struct nt_err *err, double began)
{
    report->ok = rc == 0;
    report->seconds = nt_clock_s() - began;
    if (rc != 0)
        nt_probe_log(NT_LOG_DEBUG, "with rank %u in round %u: %s", pairing->peer, pairing->round,
                     err->text);
    if (rc != 0)
        snprintf(report->reason, sizeof report->reason, "%.*s", NT_WIRE_REASON_BYTES - 1,
                 err->text);
}

/* Finds all participants of the kernel; -1: one of them has no network. */
static int find_kernel_group(const struct nt_participant *participant, const struct nt_round *round,
                             struct nt_kernel_group *group)
{
    group->round = round->number;
    group->n = round->order.pairs;
    for (size_t k = 0; k < group->n; k++) {
        uint32_t rank = round->order.pair[k][0];
        const struct nt_peer *peer = nt_peer_find(round, &participant->table, rank);
        if (peer == NULL || peer->address == NULL)
            return -1;
        group->address[k] = peer->address;
        group->address_bytes[k] = peer->bytes;
        if (rank == participant->rank)
            group->self = k;
    }
    return 0;
}

static int connect_kernel_group(struct nt_participant *participant, const struct nt_round *round,
                                double until_s, struct nt_err *err)
{
    struct nt_kernel_group group = {0};
    if (round->order.pairs > NT_KERNEL_GROUP_MAX ||
        find_kernel_group(participant, round, &group) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "kernel: a host has no network");
    return nt_pair_connect_group(participant->pair, &group, &round->order, until_s, err);
}

/* Finds the partner's address; false: it has no network. */
static bool find_address(const struct nt_participant *participant, const struct nt_round *round,
                         struct nt_pairing *pairing)
{
    const struct nt_peer *peer = nt_peer_find(round, &participant->table, pairing->peer);
    bool is_there = peer != NULL && peer->address != NULL;
    pairing->address = is_there ? peer->address : NULL;
    pairing->address_bytes = is_there ? peer->bytes : 0;
    return is_there;
}

static int connect_pair(struct nt_participant *participant, const struct nt_round *round,
                        struct nt_pairing *pairing, double until_s, double *round_trip_s,
                        struct nt_err *err)
{
    const struct nt_peer *own = nt_peer_find(round, &participant->table, participant->rank);
    if (own != NULL)
        set_own_core(participant, own);
    bool is_there = find_address(participant, round, pairing);
    if (participant->pair == NULL || (!is_there && !pairing->kept))
        return nt_err_set(err, NT_ERR_SYSTEM, "connect: one of the two has no network");
    if (round->order.kind == NT_ORDER_KERNEL)
        return connect_kernel_group(participant, round, until_s, err);
    return nt_pair_connect(participant->pair, pairing, &round->order, until_s, round_trip_s, err);
}

/* Reports the transports of the connections once. */
static void report_transports(struct nt_participant *participant, struct nt_report *report)
{
    if (participant->transports_reported)
        return;
    snprintf(report->used, sizeof report->used, "%s", nt_pair_used(participant->pair));
    participant->transports_reported = report->used[0] != '\0';
}

static void forget_lost(struct nt_participant *participant, const struct nt_round *round)
{
    for (size_t k = 0; k < round->lost && participant->pair != NULL; k++)
        nt_pair_forget(participant->pair, round->lost_rank[k]);
}

void nt_participant_connect(struct nt_participant *participant, const struct nt_round *round,
                            struct nt_report *report)
{
    struct nt_pairing pairing = {0};
    struct nt_err err = {0};
    double began = nt_clock_s(), round_trip_s = 0;
    size_t at = 0;
    *report = (struct nt_report){.idle = true};
    participant->keeps = false;
    forget_lost(participant, round);
    if (!find_pairing(participant, round, &at, &pairing))
        return;
    report->idle = false;
    int rc = connect_pair(participant, round, &pairing,
                          earlier_of(began + round->connect_s, participant->deadline_s),
                          &round_trip_s, &err);
    report->result.value_us = round_trip_s * 1e6;
    finish_report(report, &pairing, rc, &err, began);
}

static bool is_skipped(const struct nt_participant *participant, const struct nt_go *go)
{
    for (size_t k = 0; k < go->skips; k++)
        if (go->skip[k] == participant->rank || go->skip[k] == NT_WIRE_YOU)
            return true;
    return false;
}

void nt_participant_measure(struct nt_participant *participant, const struct nt_round *round,
                            const struct nt_go *go, struct nt_report *report)
{
    struct nt_pairing pairing;
    struct nt_err err = {0};
    double now = nt_clock_s();
    size_t at = 0;
    *report = (struct nt_report){.idle = true};
    participant->keeps = false;
    if (participant->pair == NULL || !find_pairing(participant, round, &at, &pairing) ||
        is_skipped(participant, go))
        return;
    report->idle = false;
    double soft = earlier_of(now + go->measure_s, participant->deadline_s);
    double hard = earlier_of(now + go->give_up_s, participant->deadline_s);
    int rc = nt_pair_measure(participant->pair, &round->order, soft, hard, &report->result, &err);
    if (rc == 0)
        report_transports(participant, report);
    finish_report(report, &pairing, rc, &err, now);
    report->kept = participant->keeps = rc == 0 && nt_pair_can_keep(participant->pair);
}

/* Connects and measures within the limits of a turn. */
static void run_turn(struct nt_participant *participant, const struct nt_round *round,
                     struct nt_pairing *pairing, double end_s, struct nt_report *report,
                     struct nt_err *err)
{
    double began = nt_clock_s(), met_by_s = began + round->connect_s;
    *report = (struct nt_report){0};
    int rc = connect_pair(participant, round, pairing, earlier_of(met_by_s, end_s), NULL, err);
    if (rc == 0)
        rc = nt_pair_measure(participant->pair, &round->order,
                             earlier_of(met_by_s + round->measure_s, end_s),
                             earlier_of(met_by_s + round->give_up_s, end_s), &report->result, err);
    if (rc == 0) {
        report_transports(participant, report);
        began = nt_pair_first_message_s(participant->pair);
    }
    finish_report(report, pairing, rc, err, began);
    report->kept = participant->keeps = rc == 0 && nt_pair_can_keep(participant->pair);
    nt_participant_disconnect(participant);
}

/* Starts to connect to all partners of the series, because connecting takes longer than pings. */
static void connect_ahead(struct nt_participant *participant, const struct nt_round *round)
{
    struct nt_pairing pairing = {0};
    size_t at = 0;
    while (participant->pair != NULL && find_pairing(participant, round, &at, &pairing))
        if (!pairing.kept && find_address(participant, round, &pairing))
            nt_pair_connect_ahead(participant->pair, &pairing);
}

size_t nt_participant_series(struct nt_participant *participant, const struct nt_round *round,
                             struct nt_report report[NT_WIRE_TURNS_MAX])
{
    struct nt_pairing pairing = {0};
    struct nt_err err = {0};
    double end_s = earlier_of(nt_clock_s() + round->series_s, participant->deadline_s);
    size_t n = 0;
    forget_lost(participant, round);
    connect_ahead(participant, round);
    for (size_t at = 0; n < NT_WIRE_TURNS_MAX && find_pairing(participant, round, &at, &pairing);
         n++)
        if (nt_clock_s() < end_s)
            run_turn(participant, round, &pairing, end_s, &report[n], &err);
        else
            report[n] = (struct nt_report){.idle = true};
    if (participant->pair != NULL)
        nt_pair_drop_ahead(participant->pair);
    return n;
}

void nt_participant_disconnect(struct nt_participant *participant)
{
    if (participant->pair != NULL)
        nt_pair_close(participant->pair, participant->keeps);
    participant->keeps = false;
}

/* ---- every rank but 0 ---- */

static double time_left_s(const struct nt_oob *oob)
{
    double left = oob->deadline_s - nt_clock_s();
    return left > 0 ? left : 0;
}

static int contribute(struct nt_oob *oob, struct nt_bytes message, struct nt_err *err)
{
    int rc = oob->ops->gather(oob, message.data, message.bytes, time_left_s(oob), NULL, err);
    free(message.data);
    return rc;
}

static int receive_bcast(struct nt_oob *oob, struct nt_bytes *message, struct nt_err *err)
{
    return oob->ops->receive(oob, &message->data, &message->bytes, time_left_s(oob), err);
}

static int send_reports(struct nt_oob *oob, enum nt_wire_kind kind, const struct nt_report *report,
                        size_t n, struct nt_err *err)
{
    struct nt_bytes message;
    return nt_reports_encode(kind, report, n, &message, err) == 0 ? contribute(oob, message, err)
                                                                  : -1;
}

int nt_participant_send_greeting(struct nt_oob *oob, const struct nt_probe_job *job,
                                 struct nt_participant *participant, struct nt_err *err)
{
    struct nt_bytes message;
    return nt_participant_greeting(participant, job, &message, err) == 0
               ? contribute(oob, message, err)
               : -1;
}

/* Runs a series, then sends SERIES. */
static int run_series(struct nt_oob *oob, struct nt_participant *participant,
                      const struct nt_round *round, struct nt_err *err)
{
    struct nt_report report[NT_WIRE_TURNS_MAX];
    size_t n = nt_participant_series(participant, round, report);
    return send_reports(oob, NT_WIRE_SERIES, report, n, err);
}

/* Runs a round: connects, sends READY, waits for GO, measures, sends RESULT. */
static int run_round(struct nt_oob *oob, struct nt_participant *participant,
                     const struct nt_round *round, struct nt_err *err)
{
    struct nt_report sent;
    struct nt_bytes message;
    struct nt_go go;
    nt_participant_connect(participant, round, &sent);
    if (send_reports(oob, NT_WIRE_READY, &sent, 1, err) != 0 ||
        receive_bcast(oob, &message, err) != 0)
        return -1;
    int rc = nt_go_decode(message.data, message.bytes, &go, err);
    free(message.data);
    if (rc != 0)
        return -1;
    nt_participant_measure(participant, round, &go, &sent);
    nt_arena_fini(&go.memory);
    return send_reports(oob, NT_WIRE_RESULT, &sent, 1, err);
}

/* Handles a message of rank 0. Returns 1 to continue, 0 on END, -1 on error. */
static int handle_message(struct nt_oob *oob, struct nt_participant *participant,
                          struct nt_bytes *message, struct nt_err *err)
{
    struct nt_round round;
    int rc;
    switch (nt_wire_kind(message->data, message->bytes)) {
    case NT_WIRE_TABLE:
        rc = nt_participant_set_table(participant, message->data, message->bytes, err);
        message->data = NULL;
        return rc == 0 ? 1 : -1;
    case NT_WIRE_ROUND:
        if (nt_round_decode(message->data, message->bytes, oob->size, &round, err) != 0)
            return -1;
        rc = (round.turns > 0 ? run_series : run_round)(oob, participant, &round, err);
        nt_participant_disconnect(participant);
        nt_arena_fini(&round.memory);
        return rc == 0 ? 1 : -1;
    case NT_WIRE_END:
        return 0;
    default:
        return nt_err_set(err, NT_ERR_INPUT, "rank 0 sent a message of an unknown kind");
    }
}

int nt_participant_run(struct nt_oob *oob, const struct nt_probe_job *job,
                       struct nt_participant *participant, struct nt_err *err)
{
    int rc = nt_participant_send_greeting(oob, job, participant, err) == 0 ? 1 : -1;
    while (rc == 1) {
        struct nt_bytes message;
        if (receive_bcast(oob, &message, err) != 0)
            return -1;
        rc = handle_message(oob, participant, &message, err);
        free(message.data);
    }
    return rc;
}
