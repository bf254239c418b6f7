#include "role.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "branch.h"
#include "knock.h"
#include "now.h"

/* With a block's leader who is not to be met: it may only be late. Rank 0 waits for the first piece
 * of everybody for a second. */
static const double PATIENCE_S = 0.7;
static const double FLUSH_S = 0.25; /* for the last frames to leave */

struct follow {
    struct nt_seat *seat;
    size_t target;  /* the host that we look for, or speak with: our block's leader, or the first */
    double turn_at; /* when we turn to the first instead */
    struct nt_ask where;
    bool started, told_loss, has_papers;
    struct nt_addresses addresses;
    struct nt_knock knock;
    struct nt_conn leader; /* open once proven */
    bool leader_lost;
    bool leader_deaf; /* takes nothing more; what it said before is still to be heard */
    bool leads;       /* a block of our own, below us: */
    struct nt_branch branch;
    struct pollfd *polls;
};

_Static_assert(sizeof(struct nt_addresses) <= NT_ANSWER_MAX, "addresses fit into an answer");

static int ask_where(const void *question, void *bytes)
{
    struct nt_addresses found;
    memset(&found, 0, sizeof found);
    if (nt_job_addresses(question, &found, NULL) != 0)
        return -1;
    memcpy(bytes, &found, sizeof found);
    return 0;
}

/* Begins to look for that host. */
static void turn_to(struct follow *f, size_t host)
{
    struct nt_seat *seat = f->seat;
    struct nt_err err;
    nt_ask_fini(&f->where);
    nt_knock_fini(&f->knock);
    f->knock = (struct nt_knock){.conn = {.fd = -1}};
    f->addresses.count = 0;
    f->leader_lost = f->leader_deaf = f->told_loss = false;
    f->target = host;
    nt_log(seat->log, NT_LOG_DEBUG, "looks for %s", seat->job->host[host]);
    if (nt_ask_start(&f->where, sizeof f->addresses, ask_where, seat->job->host[host], &err) != 0)
        nt_seat_fail(seat, NT_ADVICE_SYSTEM, "%s", err.text);
}

/* A block's leader who does not come, or is lost before the result is on its way, is done
 * without: the job's first host takes us in. */
static void see_whether_to_turn(struct follow *f)
{
    bool met = nt_conn_is_open(&f->leader);
    if (f->target != 0 && !met && !f->has_papers && (f->leader_lost || nt_now() >= f->turn_at))
        turn_to(f, 0);
}

static void see_addresses(struct follow *f)
{
    const struct nt_seat *seat = f->seat;
    if (f->addresses.count > 0)
        return;
    int got = nt_ask_poll(&f->where);
    if (got == 0)
        return;
    if (got == 1)
        memcpy(&f->addresses, f->where.bytes, sizeof f->addresses);
    nt_ask_fini(&f->where);
    if (got < 0 || f->addresses.count == 0) {
        f->leader_lost = f->target != 0;
        if (f->target == 0)
            nt_seat_fail(f->seat, NT_ADVICE_NAMES, "no address of %s found", seat->job->host[0]);
        return;
    }
    nt_knock_init(&f->knock, seat->conf, seat->job, f->target, &f->addresses);
}

static void see_leader(struct follow *f)
{
    struct nt_conn conn;
    if (f->addresses.count == 0 || nt_conn_is_open(&f->leader) || f->leader_lost ||
        nt_knock_step(&f->knock, &conn) != 1)
        return;
    if (nt_conn_widen(&conn, NT_FRAME_PAYLOAD_MAX, NT_QUEUE_MAX, NULL) != 0) {
        nt_conn_fini(&conn);
        f->leader_lost = true;
        return;
    }
    f->leader = conn;
    nt_log(f->seat->log, NT_LOG_DEBUG, "has met %s", f->seat->job->host[f->target]);
}

/* -1: no START that an agent sends */
static int start(struct follow *f, const struct nt_frame *frame, const unsigned char *payload)
{
    static const char full[] = "policy full\n";
    struct nt_err err;
    bool is_full =
        frame->payload_bytes == sizeof full - 1 && memcmp(payload, full, sizeof full - 1) == 0;
    if (f->started)
        return 0;
    if (f->leads && nt_branch_greet(&f->branch, frame, payload) != 0)
        return -1;
    f->started = true;
    if (nt_seat_start(f->seat, is_full ? NT_POLICY_FULL : NT_POLICY_LATENCY, NULL, &err) != 0)
        nt_seat_lose(f->seat, NT_ADVICE_SYSTEM, err.text);
    return 0;
}

static void pass_down(struct follow *f, const struct nt_frame *frame, const unsigned char *payload)
{
    bool one = (frame->flags & NT_FRAME_ONE) != 0, mine = !one || frame->host == f->seat->job->me;
    if (frame->type == NT_FRAME_PAPER && !f->has_papers) {
        f->has_papers = true;
        if (f->leads)
            nt_branch_shut(&f->branch);
    }
    if (f->leads && !(one && mine))
        nt_branch_send(&f->branch, frame, payload);
    if (frame->type == NT_FRAME_CAST && mine)
        nt_seat_send(f->seat, frame, payload);
    else if (frame->type == NT_FRAME_PAPER)
        nt_seat_paper(f->seat, frame, payload);
    else if (frame->type == NT_FRAME_DONE)
        nt_seat_settle(f->seat, (const char *)payload, frame->payload_bytes);
}

static bool reads_leader(const struct follow *f)
{
    return nt_conn_is_open(&f->leader) && nt_conn_queued(&f->seat->probe) < NT_QUEUE_HIGH &&
           !(f->leads && f->branch.star.is_full);
}

static void hear_leader(struct follow *f)
{
    struct nt_frame frame;
    const unsigned char *payload;
    while (!f->seat->outcome.settled && reads_leader(f)) {
        int got = nt_conn_next(&f->leader, &frame, &payload, NULL);
        if (got == 0)
            return;
        if (got < 0 || (frame.type == NT_FRAME_START && start(f, &frame, payload) != 0)) {
            nt_conn_fini(&f->leader);
            f->leader_lost = true;
            nt_log(f->seat->log, NT_LOG_DEBUG, "has lost %s", f->seat->job->host[f->target]);
        } else if (frame.type == NT_FRAME_CAST || frame.type == NT_FRAME_PAPER ||
                   frame.type == NT_FRAME_DONE) {
            pass_down(f, &frame, payload);
        }
    }
}

static void send_leader(struct follow *f, const struct nt_frame *frame, const void *payload)
{
    if (!f->leader_deaf && nt_conn_queue(&f->leader, frame, payload, NULL) != 0)
        f->leader_deaf = true;
}

static void flush_leader(struct follow *f)
{
    if (nt_conn_is_open(&f->leader) && !f->leader_deaf && nt_conn_flush(&f->leader, NULL) != 0)
        f->leader_deaf = true;
}

/* Before the leader is there the probe's pieces wait in its socket. */
static bool reads_probe(const struct follow *f)
{
    return nt_conn_is_open(&f->leader) &&
           (f->leader_deaf || nt_conn_queued(&f->leader) < NT_QUEUE_HIGH);
}

static void hear_probe(struct follow *f)
{
    struct nt_seat *seat = f->seat;
    struct nt_frame frame;
    const unsigned char *payload;
    while (reads_probe(f) && nt_seat_next(seat, &frame, &payload) == 1) {
        if (frame.type != NT_FRAME_GATHER) {
            nt_seat_lose(seat, NT_ADVICE_PROBE, "sent what a probe may not send");
            break;
        }
        frame.host = (uint32_t)seat->job->me;
        send_leader(f, &frame, payload);
    }
}

static void hear_block(struct follow *f)
{
    struct nt_frame frame;
    const unsigned char *payload;
    size_t host;
    while (reads_probe(f) && nt_branch_next(&f->branch, &frame, &payload) == 1)
        send_leader(f, &frame, payload);
    while (reads_probe(f) && nt_branch_next_lost(&f->branch, nt_now(), &host) == 1) {
        struct nt_frame gone = {.type = NT_FRAME_DONE, .host = (uint32_t)host};
        send_leader(f, &gone, NULL);
    }
    nt_branch_step(&f->branch);
}

/* The leader need not wait for our pieces any more; we still want its papers. */
static void tell_loss(struct follow *f)
{
    char text[NT_DONE_BYTES];
    if (!f->seat->probe_lost || f->told_loss || !nt_conn_is_open(&f->leader))
        return;
    bool well = f->seat->probe_advice == NT_ADVICE_NONE;
    snprintf(text, sizeof text, "%s %s", well ? "ok" : "failed", f->seat->probe_end.text);
    struct nt_frame frame = {.type = NT_FRAME_DONE,
                             .host = (uint32_t)f->seat->job->me,
                             .payload_bytes = (uint32_t)strlen(text)};
    f->told_loss = true;
    send_leader(f, &frame, text);
}

/* Whom we have lost, or could not meet. */
static void name_leader(const struct follow *f, char text[NT_HOST_BYTES + 32])
{
    snprintf(text, NT_HOST_BYTES + 32, "the %s first host %.255s",
             f->target == 0 ? "job's" : "block's", f->seat->job->host[f->target]);
}

static void look_for_the_end(struct follow *f)
{
    struct nt_seat *seat = f->seat;
    char leader[NT_HOST_BYTES + 32];
    if (seat->outcome.settled)
        return;
    name_leader(f, leader);
    if (f->leader_lost && (f->target == 0 || f->has_papers))
        nt_seat_fail(seat, NT_ADVICE_LEADER, "lost %s before there was a result", leader);
    else if (nt_now() < seat->give_up)
        return;
    else if (nt_conn_is_open(&f->leader))
        nt_seat_fail(seat, NT_ADVICE_LEADER, "no result from %s within the budget", leader);
    else
        nt_seat_fail(seat, NT_ADVICE_MEET, "%s was not met within the budget%s%s", leader,
                     f->knock.last.kind != NT_ERR_NONE ? ": " : "", f->knock.last.text);
}

static void wait_for_events(struct follow *f)
{
    struct pollfd *polls = f->polls;
    size_t n = 0;
    double until = f->seat->give_up;
    if (f->leads)
        n = nt_branch_polls(&f->branch, reads_probe(f), polls);
    n += nt_seat_polls(f->seat, reads_probe(f), polls + n);
    if (nt_conn_is_open(&f->leader)) {
        bool write = !f->leader_deaf && nt_conn_queued(&f->leader) > 0;
        short events = (short)((reads_leader(f) ? POLLIN : 0) | (write ? POLLOUT : 0));
        polls[n++] = (struct pollfd){.fd = events != 0 ? f->leader.fd : -1, .events = events};
    } else if (f->addresses.count > 0) {
        double wake = nt_knock_poll(&f->knock, &polls[n++]);
        until = wake < until ? wake : until;
    } else {
        polls[n++] = (struct pollfd){.fd = f->where.fd, .events = POLLIN};
    }
    if (f->target != 0 && !nt_conn_is_open(&f->leader) && f->turn_at < until)
        until = f->turn_at;
    int ms = nt_ms_until(until);
    if (poll(polls, n, f->leads && ms > NT_DOOR_LOOK_MS ? NT_DOOR_LOOK_MS : ms) > 0 && f->leads)
        nt_branch_heed(&f->branch, polls);
}

/* The block needs the last frames to settle in its turn; of our own end it must be told. */
static void see_off_block(struct follow *f)
{
    struct nt_frame frame = {.type = NT_FRAME_DONE,
                             .payload_bytes = (uint32_t)strlen(f->seat->outcome.text)};
    double until = nt_now() + FLUSH_S;
    nt_conn_fini(&f->leader);
    nt_door_fini(&f->branch.door);
    nt_branch_send(&f->branch, &frame, f->seat->outcome.text);
    while (!nt_branch_farewell(&f->branch) && nt_now() < until) {
        size_t n = nt_branch_polls(&f->branch, true, f->polls);
        if (poll(f->polls, n, nt_ms_until(until)) > 0)
            nt_branch_heed(&f->branch, f->polls);
    }
}

/* Without a door the block comes to the job's first host, as it does without us. */
static int prepare(struct follow *f, struct nt_err *err)
{
    const struct nt_job *job = f->seat->job;
    size_t block = nt_block_hosts(job->hosts, f->seat->conf->block_hosts), members = 0;
    f->target = nt_block_leader(block, job->me);
    f->turn_at = nt_now() + PATIENCE_S;
    f->leads = job->me % block == 0;
    if (f->leads) {
        if (nt_branch_init(&f->branch, job->hosts, job->me, block, err) != 0)
            return -1;
        nt_door_open(&f->branch.door, f->seat->conf, job, err);
        members = nt_branch_polls_max(&f->branch);
    }
    f->polls = calloc(members + 4, sizeof *f->polls);
    return f->polls != NULL ? 0 : nt_err_set(err, NT_ERR_SYSTEM, "out of memory");
}

static void run(struct follow *f)
{
    turn_to(f, f->target);
    while (!f->seat->outcome.settled) {
        see_addresses(f);
        see_leader(f);
        hear_leader(f);
        hear_probe(f);
        tell_loss(f);
        if (f->leads)
            hear_block(f);
        nt_seat_flush(f->seat);
        flush_leader(f);
        see_whether_to_turn(f);
        look_for_the_end(f);
        if (!f->seat->outcome.settled)
            wait_for_events(f);
    }
    if (f->leads)
        see_off_block(f);
}

void nt_follow(struct nt_seat *seat)
{
    struct nt_err err;
    struct follow f = {.seat = seat,
                       .where = {.fd = -1},
                       .leader = {.fd = -1},
                       .knock = {.conn = {.fd = -1}},
                       .branch = {.door = {.fd = -1}}};
    if (prepare(&f, &err) == 0)
        run(&f);
    else
        nt_seat_fail(seat, NT_ADVICE_SYSTEM, "%s", err.text);
    nt_ask_fini(&f.where);
    nt_knock_fini(&f.knock);
    nt_conn_fini(&f.leader);
    nt_branch_fini(&f.branch);
    free(f.polls);
}
