#include "role.h"

#include <stdio.h>
#include <string.h>

#include "ask.h"
#include "knock.h"
#include "now.h"

struct follow {
    struct nt_seat *seat;
    struct nt_ask where;
    bool asked, started, told_loss;
    struct nt_addresses addresses;
    struct nt_knock knock;
    struct nt_conn leader; /* open once proven */
    bool leader_lost;
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
        nt_seat_fail(f->seat, "no address of %s found", seat->job->host[0]);
        return;
    }
    nt_knock_init(&f->knock, seat->conf, seat->job, &f->addresses);
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
}

static void start(struct follow *f, const unsigned char *payload, size_t bytes)
{
    static const char full[] = "policy full\n";
    struct nt_err err;
    bool is_full = bytes == sizeof full - 1 && memcmp(payload, full, bytes) == 0;
    if (f->started)
        return;
    f->started = true;
    if (nt_seat_start(f->seat, is_full ? NT_POLICY_FULL : NT_POLICY_LATENCY, NULL, &err) != 0)
        nt_seat_lose(f->seat, err.text);
}

static void hear_leader(struct follow *f)
{
    struct nt_seat *seat = f->seat;
    struct nt_frame frame;
    const unsigned char *payload;
    while (nt_conn_is_open(&f->leader) && !seat->outcome.settled &&
           nt_conn_queued(&seat->probe) < NT_QUEUE_HIGH) {
        int got = nt_conn_next(&f->leader, &frame, &payload, NULL);
        if (got == 0)
            return;
        if (got < 0) {
            nt_conn_fini(&f->leader);
            f->leader_lost = true;
        } else if (frame.type == NT_FRAME_START) {
            start(f, payload, frame.payload_bytes);
        } else if (frame.type == NT_FRAME_CAST) {
            nt_seat_send(seat, &frame, payload);
        } else if (frame.type == NT_FRAME_PAPER) {
            nt_seat_paper(seat, &frame, payload);
        } else if (frame.type == NT_FRAME_DONE) {
            nt_seat_settle(seat, (const char *)payload, frame.payload_bytes);
        }
    }
}

static void send_leader(struct follow *f, const struct nt_frame *frame, const void *payload)
{
    if (nt_conn_send(&f->leader, frame, payload, NULL) != 0) {
        nt_conn_fini(&f->leader);
        f->leader_lost = true;
    }
}

/* Before the leader is there the probe's pieces wait in its socket. */
static bool reads_probe(const struct follow *f)
{
    return nt_conn_is_open(&f->leader) && nt_conn_queued(&f->leader) < NT_QUEUE_HIGH;
}

static void hear_probe(struct follow *f)
{
    struct nt_seat *seat = f->seat;
    struct nt_frame frame;
    const unsigned char *payload;
    while (reads_probe(f) && nt_seat_next(seat, &frame, &payload) == 1) {
        if (frame.type != NT_FRAME_GATHER) {
            nt_seat_lose(seat, "sent what a probe may not send");
            break;
        }
        frame.host = (uint32_t)seat->job->me;
        send_leader(f, &frame, payload);
    }
}

/* The leader need not wait for our pieces any more; we still want its papers. */
static void tell_loss(struct follow *f)
{
    char text[NT_DONE_BYTES];
    if (!f->seat->probe_lost || f->told_loss || !nt_conn_is_open(&f->leader))
        return;
    int n = snprintf(text, sizeof text, "failed %.400s", f->seat->probe_end.text);
    struct nt_frame frame = {.type = NT_FRAME_DONE, .payload_bytes = (uint32_t)n};
    f->told_loss = true;
    send_leader(f, &frame, text);
}

static void look_for_the_end(struct follow *f)
{
    struct nt_seat *seat = f->seat;
    const char *leader = seat->job->host[0];
    if (seat->outcome.settled)
        return;
    if (f->leader_lost)
        nt_seat_fail(seat, "lost the job's first host %s before there was a result", leader);
    else if (nt_now() < seat->give_up)
        return;
    else if (nt_conn_is_open(&f->leader))
        nt_seat_fail(seat, "no result from the job's first host %s within the budget", leader);
    else
        nt_seat_fail(seat, "the job's first host %s was not met within the budget%s%s", leader,
                     f->knock.last.kind != NT_ERR_NONE ? ": " : "", f->knock.last.text);
}

static void wait_for_events(const struct follow *f)
{
    struct pollfd polls[4];
    size_t n = nt_seat_polls(f->seat, reads_probe(f), polls);
    double until = f->seat->give_up;
    if (nt_conn_is_open(&f->leader)) {
        bool write = nt_conn_queued(&f->leader) > 0;
        bool read = nt_conn_queued(&f->seat->probe) < NT_QUEUE_HIGH;
        polls[n++] = (struct pollfd){
            .fd = f->leader.fd, .events = (short)((read ? POLLIN : 0) | (write ? POLLOUT : 0))};
    } else if (f->addresses.count > 0) {
        double wake = nt_knock_poll(&f->knock, &polls[n++]);
        until = wake < until ? wake : until;
    } else {
        polls[n++] = (struct pollfd){.fd = f->where.fd, .events = POLLIN};
    }
    poll(polls, n, nt_ms_until(until));
}

void nt_follow(struct nt_seat *seat)
{
    struct nt_err err;
    struct follow f = {
        .seat = seat, .where = {.fd = -1}, .leader = {.fd = -1}, .knock = {.conn = {.fd = -1}}};
    if (nt_ask_start(&f.where, sizeof f.addresses, ask_where, seat->job->host[0], &err) != 0) {
        nt_seat_fail(seat, "%s", err.text);
        return;
    }
    while (!seat->outcome.settled) {
        see_addresses(&f);
        see_leader(&f);
        hear_leader(&f);
        hear_probe(&f);
        tell_loss(&f);
        if (nt_conn_is_open(&f.leader) && nt_conn_flush(&f.leader, NULL) != 0) {
            nt_conn_fini(&f.leader);
            f.leader_lost = true;
        }
        look_for_the_end(&f);
        if (!seat->outcome.settled)
            wait_for_events(&f);
    }
    nt_ask_fini(&f.where);
    nt_knock_fini(&f.knock);
    nt_conn_fini(&f.leader);
}
