#include "turn.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "inside.h"
#include "pair_crowd.h"
#include "probe_log.h"

enum { CPUS_MAX = 16384 };

void nt_turn_init(struct nt_turn *turn, const struct nt_meet *meet, struct nt_pair *pair,
                  const char *no_pair)
{
    *turn = (struct nt_turn){
        .pair = pair, .no_pair = no_pair, .rank = meet->rank, .deadline_s = meet->deadline_s};
}

void nt_turn_fini(struct nt_turn *turn)
{
    nt_peer_table_fini(&turn->table);
    free(turn->cast);
    turn->cast = NULL;
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

/* The kernel's boot id: containers and namespaces of one machine share it as they share its
 * cores. Unreadable: all zeros, so that everybody seems to share and nobody spins. */
static void identify_machine(unsigned char machine[NT_WIRE_MACHINE_BYTES])
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

void nt_turn_look_inside(struct nt_turn *turn, double cores_s)
{
    const char *rail[NT_PAIR_RAILS_MAX];
    struct nt_core_pair pair[NT_BETWEEN_END];
    struct nt_machine machine;
    size_t rails = turn->pair == NULL ? 0 : nt_pair_rails(turn->pair, rail), kinds = 0;
    if (!nt_inside_look(rail, rails, &machine, pair))
        return;
    nt_machine_write(&machine, turn->inside);
    for (int k = 0; k < NT_BETWEEN_END; k++)
        kinds += pair[k].there;
    for (int k = 0; k < NT_BETWEEN_END && cores_s > 0; k++)
        if (pair[k].there)
            turn->core_us[k] = nt_inside_ping(&pair[k], cores_s / (double)kinds);
}

int nt_turn_greet(const struct nt_turn *turn, const struct nt_meet *meet, struct nt_bytes *out,
                  struct nt_err *err)
{
    struct nt_greeting greeting = {.cores = count_cores()};
    snprintf(greeting.host, sizeof greeting.host, "%s", meet->host);
    snprintf(greeting.inside, sizeof greeting.inside, "%s", turn->inside);
    memcpy(greeting.core_us, turn->core_us, sizeof greeting.core_us);
    identify_machine(greeting.machine);
    if (turn->pair != NULL)
        greeting.address = nt_pair_address(turn->pair, &greeting.address_bytes);
    else
        snprintf(greeting.reason, sizeof greeting.reason, "%s",
                 turn->no_pair == NULL ? "no network" : turn->no_pair);
    return nt_greeting_encode(&greeting, out, err);
}

/* Once: the pair may find out that the core is not its own after all, and is not to forget it. */
static void learn_core(struct nt_turn *turn, const struct nt_peer *own)
{
    if (!turn->knows_core && turn->pair != NULL)
        nt_pair_set_own_core(turn->pair, own->own_core);
    turn->knows_core = true;
}

int nt_turn_sit_down(struct nt_turn *turn, unsigned char *cast, size_t bytes, struct nt_err *err)
{
    nt_turn_fini(turn);
    turn->cast = cast;
    if (nt_peer_table_decode(cast, bytes, &turn->table, err) != 0)
        return -1;
    if (turn->rank < turn->table.ranks)
        learn_core(turn, &turn->table.seat[turn->rank]);
    return 0;
}

/* ---- a round ---- */
/* This rank's pair in the round; false: it rests. */
static bool find_pair(const struct nt_turn *turn, const struct nt_round *round,
                      struct nt_meeting *meeting)
{
    for (size_t k = 0; k < round->order.pairs; k++) {
        const uint32_t *pair = round->order.pair[k];
        if (pair[0] != turn->rank && pair[1] != turn->rank)
            continue;
        meeting->round = round->number;
        meeting->self = turn->rank;
        meeting->first = pair[0] == turn->rank;
        meeting->peer = pair[meeting->first]; /* of a kernel: itself */
        return true;
    }
    return false;
}

static double earlier(double a, double b)
{
    return a < b ? a : b;
}

static void conclude(struct nt_report *report, const struct nt_meeting *meeting, int rc,
                     const struct nt_err *err, double began)
{
    report->ok = rc == 0;
    report->seconds = nt_clock_s() - began;
    if (rc != 0)
        nt_probe_log(NT_LOG_DEBUG, "with rank %u in round %u: %s", meeting->peer, meeting->round,
                     err->text);
    if (rc != 0)
        snprintf(report->reason, sizeof report->reason, "%.*s", NT_WIRE_REASON_BYTES - 1,
                 err->text);
}

/* Everyone who takes part in the kernel; -1: somebody has no network. */
static int find_crowd(const struct nt_turn *turn, const struct nt_round *round,
                      struct nt_crowd *crowd)
{
    crowd->round = round->number;
    crowd->n = round->order.pairs;
    for (size_t k = 0; k < crowd->n; k++) {
        uint32_t rank = round->order.pair[k][0];
        const struct nt_peer *seat = nt_peer_find(round, &turn->table, rank);
        if (seat == NULL || seat->address == NULL)
            return -1;
        crowd->address[k] = seat->address;
        crowd->address_bytes[k] = seat->bytes;
        if (rank == turn->rank)
            crowd->self = k;
    }
    return 0;
}

static int join_crowd(struct nt_turn *turn, const struct nt_round *round, double until_s,
                      struct nt_err *err)
{
    struct nt_crowd crowd = {0};
    if (round->order.pairs > NT_CROWD_MAX || find_crowd(turn, round, &crowd) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "kernel: somebody has no network");
    return nt_crowd_connect(turn->pair, &crowd, &round->order, until_s, err);
}

void nt_turn_warm(struct nt_turn *turn, const struct nt_round *round, struct nt_report *report)
{
    struct nt_meeting meeting = {0};
    struct nt_err err = {0};
    double began = nt_clock_s(), round_trip_s = 0;
    int rc = -1;
    *report = (struct nt_report){.idle = true};
    if (!find_pair(turn, round, &meeting))
        return;
    report->idle = false;
    const struct nt_peer *own = nt_peer_find(round, &turn->table, turn->rank);
    const struct nt_peer *peer = nt_peer_find(round, &turn->table, meeting.peer);
    if (own != NULL)
        learn_core(turn, own);
    if (turn->pair == NULL || peer == NULL || peer->address == NULL) {
        nt_err_set(&err, NT_ERR_SYSTEM, "connect: one of the two has no network");
    } else if (round->order.kind == NT_ORDER_KERNEL) {
        rc = join_crowd(turn, round, earlier(began + round->warm_s, turn->deadline_s), &err);
    } else {
        meeting.address = peer->address;
        meeting.address_bytes = peer->bytes;
        rc = nt_pair_connect(turn->pair, &meeting, &round->order,
                             earlier(began + round->warm_s, turn->deadline_s), &round_trip_s, &err);
    }
    report->result.value_us = round_trip_s * 1e6;
    conclude(report, &meeting, rc, &err, began);
}

static bool sits_out(const struct nt_turn *turn, const struct nt_go *go)
{
    for (size_t k = 0; k < go->skips; k++)
        if (go->skip[k] == turn->rank || go->skip[k] == NT_WIRE_YOU)
            return true;
    return false;
}

void nt_turn_measure(struct nt_turn *turn, const struct nt_round *round, const struct nt_go *go,
                     struct nt_report *report)
{
    struct nt_meeting meeting;
    struct nt_err err = {0};
    double now = nt_clock_s();
    *report = (struct nt_report){.idle = true};
    if (turn->pair == NULL || !find_pair(turn, round, &meeting) || sits_out(turn, go))
        return;
    report->idle = false;
    double soft = earlier(now + go->measure_s, turn->deadline_s);
    double hard = earlier(now + go->give_up_s, turn->deadline_s);
    int rc = round->order.kind == NT_ORDER_KERNEL
                 ? nt_crowd_run(turn->pair, &round->order, soft, hard, &report->result, &err)
                 : nt_pair_measure(turn->pair, &round->order, soft, hard, &report->result, &err);
    conclude(report, &meeting, rc, &err, now);
}

void nt_turn_end(struct nt_turn *turn)
{
    if (turn->pair != NULL)
        nt_pair_close(turn->pair);
}
