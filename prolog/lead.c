#include "role.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "branch.h"
#include "gather.h"
#include "now.h"

static const double FLUSH_S = 0.25; /* for the last frames to leave */
static const double LINGER_S = 1.0; /* for hosts that come after an early failure */
static const double POLICY_S = 1.0; /* slurmctld's time to say who else is on the hosts */
static const double TASKS_S = 0.2;  /* and when only the number of tasks is asked */

struct lead {
    struct nt_seat *seat;
    struct nt_branch branch;
    struct nt_gather gather;
    struct nt_ask use; /* struct nt_job_use */
    enum nt_policy policy;
    double policy_until;
    bool started; /* the policy is known and told */
    struct pollfd *polls;
    bool failed; /* of itself: late members are still told why */
};

/* ---- what the hosts may do ---- */

static int ask_use(const void *question, void *bytes)
{
    struct nt_job_use use;
    nt_job_ask_use(question, &use);
    memcpy(bytes, &use, sizeof use);
    return 0;
}

static enum nt_policy on_shared_hosts(const struct nt_conf *conf)
{
    return conf->shared_hosts == NT_SHARED_OFF ? NT_POLICY_OFF : NT_POLICY_LATENCY;
}

/* What the answer is good for: the policy, and how many tasks the placement is for. */
static void begin_policy(struct lead *lead)
{
    const struct nt_seat *seat = lead->seat;
    bool latency = seat->option->level == NT_LEVEL_QUICK;
    bool known = seat->conf->shared_hosts == NT_SHARED_FULL ||
                 (latency && seat->conf->shared_hosts == NT_SHARED_LATENCY);
    if (known)
        lead->policy = NT_POLICY_FULL;
    lead->policy_until = nt_now() + (known ? TASKS_S : POLICY_S);
    if (nt_ask_start(&lead->use, sizeof(struct nt_job_use), ask_use, seat->job, NULL) != 0)
        lead->policy_until = 0;
}

static void tell_policy(struct lead *lead)
{
    char text[32];
    int n = snprintf(text, sizeof text, "policy %s\n",
                     lead->policy == NT_POLICY_FULL ? "full" : "latency");
    struct nt_frame frame = {.type = NT_FRAME_START, .payload_bytes = (uint32_t)n};
    nt_branch_greet(&lead->branch, &frame, text);
    nt_log(lead->seat->log, NT_LOG_DEBUG, "%.*s: the probes begin", n - 1, text);
}

static void see_policy(struct lead *lead)
{
    struct nt_err err;
    if (lead->started)
        return;
    struct nt_job_use use = {0};
    int got = nt_ask_poll(&lead->use);
    if (got == 0 && nt_now() < lead->policy_until)
        return;
    if (got == 1)
        memcpy(&use, lead->use.bytes, sizeof use);
    nt_ask_fini(&lead->use);
    if (lead->policy == NT_POLICY_UNKNOWN)
        lead->policy = use.alone ? NT_POLICY_FULL : on_shared_hosts(lead->seat->conf);
    lead->started = true;
    if (lead->policy == NT_POLICY_OFF)
        return;
    tell_policy(lead);
    if (nt_seat_start(lead->seat, lead->policy, &use, &err) != 0)
        nt_seat_lose(lead->seat, NT_ADVICE_SYSTEM, err.text);
}

/* ---- frames ---- */

static void close_gather(struct lead *lead)
{
    struct nt_frame frame = {.type = NT_FRAME_GATHERED, .seq = lead->gather.open_seq};
    size_t away = nt_gather_close(&lead->gather);
    if (away > 0)
        nt_log(lead->seat->log, NT_LOG_DEBUG, "gather %u: %zu hosts did not answer in time",
               frame.seq, away);
    nt_seat_send(lead->seat, &frame, NULL);
}

/* -1 when rank 0 broke the talk */
static int own_gather(struct lead *lead, const struct nt_frame *frame)
{
    bool more = (frame->flags & NT_FRAME_MORE) != 0;
    struct nt_err err;
    nt_gather_piece(&lead->gather, 0, frame->seq, more);
    if (more)
        return 0;
    double until = nt_now() + (double)frame->wait_ms / 1e3;
    if (nt_gather_open(&lead->gather, frame->seq,
                       until < lead->seat->give_up ? until : lead->seat->give_up, &err) == 0)
        return 0;
    nt_seat_lose(lead->seat, NT_ADVICE_PROBE, err.text);
    return -1;
}

/* Whom the leader has waited for in vain, of those who come to it without a block's leader. */
static void tell_who_never_came(const struct lead *lead)
{
    enum { NAMED = 4 };
    const struct nt_seat *seat = lead->seat;
    const struct nt_branch *b = &lead->branch;
    char names[NAMED * (NT_HOST_BYTES + 1) + 1] = "";
    size_t absent = 0, used = 0;
    for (size_t k = 0; k < b->hosts; k++) {
        if (k == b->me || b->star.was_here[k] || nt_block_leader(b->block, k) != b->me)
            continue;
        if (absent++ < NAMED)
            used +=
                (size_t)snprintf(names + used, sizeof names - used, " %.255s", seat->job->host[k]);
    }
    if (absent == 0)
        return;
    nt_log(seat->log, NT_LOG_ERROR, "%zu hosts never came:%.300s%s; to do: %s", absent, names,
           absent > NAMED ? " ..." : "", nt_advice_text(NT_ADVICE_MEET));
    if (b->door.refused > 0) /* by whomever: the port is open to all */
        nt_log(seat->log, NT_LOG_ERROR, "refused at port %u: %u, the last: %.300s", b->door.port,
               b->door.refused, b->door.last.text);
}

static void settle(struct lead *lead, const struct nt_frame *frame, const unsigned char *payload)
{
    tell_who_never_came(lead);
    nt_branch_send(&lead->branch, frame, payload);
    nt_seat_settle(lead->seat, (const char *)payload, frame->payload_bytes);
}

static void fail(struct lead *lead, enum nt_advice advice, const char *reason)
{
    char word[NT_DONE_BYTES];
    _Static_assert((int)NT_DONE_BYTES <= (int)NT_GREETING_BYTES, "a last word is a greeting");
    snprintf(word, sizeof word, "failed %s", reason);
    struct nt_frame frame = {.type = NT_FRAME_DONE, .payload_bytes = (uint32_t)strlen(word)};
    lead->failed = true;
    nt_branch_greet(&lead->branch, &frame, word);
    nt_seat_fail(lead->seat, advice, "%s", reason);
}

static void hear_probe(struct lead *lead)
{
    struct nt_seat *seat = lead->seat;
    struct nt_frame frame;
    const unsigned char *payload;
    while (!seat->outcome.settled && !lead->branch.star.is_full &&
           nt_seat_next(seat, &frame, &payload) == 1) {
        switch (frame.type) {
        case NT_FRAME_GATHER:
            if (own_gather(lead, &frame) != 0)
                return;
            break;
        case NT_FRAME_CAST:
            nt_branch_send(&lead->branch, &frame, payload);
            break;
        case NT_FRAME_PAPER:
            nt_branch_shut(&lead->branch);
            nt_branch_send(&lead->branch, &frame, payload);
            nt_seat_paper(seat, &frame, payload);
            break;
        case NT_FRAME_DONE:
            settle(lead, &frame, payload);
            break;
        default:
            nt_seat_lose(seat, NT_ADVICE_PROBE, "sent what a probe may not send");
            return;
        }
    }
}

/* A member's agent says how its probe ended, "ok" or "failed" and a text. One above a block says
 * nothing of a host that it has lost. */
static void lose_probe(struct lead *lead, const struct nt_frame *frame,
                       const unsigned char *payload)
{
    static const char failed[] = "failed ";
    const struct nt_job *job = lead->seat->job;
    size_t skip = sizeof failed - 1, bytes = frame->payload_bytes;
    if (frame->host < job->hosts && bytes > skip && bytes < NT_DONE_BYTES &&
        memcmp(payload, failed, skip) == 0)
        nt_log(lead->seat->log, NT_LOG_ERROR, "the probe of %s failed: %.*s",
               job->host[frame->host], (int)(bytes - skip), (const char *)payload + skip);
    nt_gather_leave(&lead->gather, frame->host);
}

static void hear_members(struct lead *lead)
{
    struct nt_frame frame;
    const unsigned char *payload;
    while (nt_conn_queued(&lead->seat->probe) < NT_QUEUE_HIGH &&
           nt_branch_next(&lead->branch, &frame, &payload) == 1) {
        if (frame.type == NT_FRAME_DONE) /* its probe is gone, the host still wants the result */
            lose_probe(lead, &frame, payload);
        else if (nt_gather_piece(&lead->gather, frame.host, frame.seq,
                                 (frame.flags & NT_FRAME_MORE) != 0))
            nt_seat_queue(lead->seat, &frame, payload);
    }
    nt_seat_flush(lead->seat);
}

/* Gathers need not wait for who has gone. */
static void see_losses(struct lead *lead)
{
    size_t host;
    while (nt_branch_next_lost(&lead->branch, nt_now(), &host) == 1) {
        nt_log(lead->seat->log, NT_LOG_ERROR, "%s is not reached any more",
               lead->seat->job->host[host]);
        nt_gather_leave(&lead->gather, host);
    }
}

/* ---- the loop ---- */

static void wait_for_events(struct lead *lead)
{
    const struct nt_seat *seat = lead->seat;
    bool read_probe = !lead->branch.star.is_full;
    bool read_members = nt_conn_queued(&seat->probe) < NT_QUEUE_HIGH;
    size_t n = nt_branch_polls(&lead->branch, read_members, lead->polls);
    n += nt_seat_polls(seat, read_probe, lead->polls + n);
    double until = seat->give_up;
    if (!lead->started) {
        lead->polls[n++] = (struct pollfd){.fd = lead->use.fd, .events = POLLIN};
        until = lead->policy_until < until ? lead->policy_until : until;
    }
    if (lead->gather.is_open && lead->gather.until < until)
        until = lead->gather.until;
    int ms = nt_ms_until(until);
    if (poll(lead->polls, n, ms < NT_DOOR_LOOK_MS ? ms : NT_DOOR_LOOK_MS) > 0)
        nt_branch_heed(&lead->branch, lead->polls);
}

/* What ends the sweep without rank 0's word. */
static void look_for_the_end(struct lead *lead)
{
    struct nt_seat *seat = lead->seat;
    struct nt_err reason;
    if (seat->outcome.settled)
        return;
    if (lead->policy == NT_POLICY_OFF) {
        fail(lead, NT_ADVICE_SHARED, "the job shares hosts, and shared_hosts is off");
    } else if (seat->probe_lost) {
        nt_err_set(&reason, NT_ERR_SYSTEM, "probe of %s: %s", seat->job->host[0],
                   seat->probe_end.text);
        fail(lead, seat->probe_advice != NT_ADVICE_NONE ? seat->probe_advice : NT_ADVICE_PROBE,
             reason.text);
    } else if (nt_now() >= seat->give_up) {
        tell_who_never_came(lead);
        fail(lead, NT_ADVICE_BUDGET, "the budget was over before there was a result");
    }
}

static void run(struct lead *lead)
{
    struct nt_seat *seat = lead->seat;
    begin_policy(lead);
    while (!seat->outcome.settled) {
        see_policy(lead);
        hear_members(lead);
        hear_probe(lead);
        size_t joined = lead->branch.star.joined;
        nt_branch_step(&lead->branch);
        if (lead->branch.star.joined > joined)
            nt_log(seat->log, NT_LOG_DEBUG, "%zu of %zu hosts have come", lead->branch.star.joined,
                   nt_branch_expects(&lead->branch));
        see_losses(lead);
        if (nt_gather_is_over(&lead->gather, nt_now()))
            close_gather(lead);
        look_for_the_end(lead);
        if (!seat->outcome.settled)
            wait_for_events(lead);
    }
}

/* The others need the last frames to settle in their turn. When we failed early, those who are
 * still on their way are told as well: they would look for us until their budget is over. */
static void see_off(struct lead *lead)
{
    double now = nt_now(), until = now + FLUSH_S;
    if (lead->failed && now + LINGER_S < lead->seat->give_up)
        until = now + LINGER_S;
    while (nt_now() < until) {
        bool all_came =
            !lead->failed || lead->branch.star.joined >= nt_branch_expects(&lead->branch);
        if (all_came)
            nt_door_fini(&lead->branch.door);
        if (nt_branch_farewell(&lead->branch) && all_came)
            return;
        size_t n = nt_branch_polls(&lead->branch, true, lead->polls);
        int ms = nt_ms_until(until);
        if (poll(lead->polls, n, ms < NT_DOOR_LOOK_MS ? ms : NT_DOOR_LOOK_MS) > 0)
            nt_branch_heed(&lead->branch, lead->polls);
    }
}

void nt_lead(struct nt_seat *seat)
{
    struct nt_err err = {0};
    struct lead lead = {.seat = seat, .use = {.fd = -1}, .branch = {.door = {.fd = -1}}};
    size_t hosts = seat->job->hosts, block = nt_block_hosts(hosts, seat->conf->block_hosts);
    if (nt_branch_init(&lead.branch, hosts, 0, block, &err) != 0 ||
        nt_gather_init(&lead.gather, hosts, &err) != 0)
        goto free_all;
    lead.polls = calloc(nt_branch_polls_max(&lead.branch) + 3, sizeof *lead.polls);
    if (lead.polls == NULL) {
        nt_err_set(&err, NT_ERR_SYSTEM, "out of memory");
        goto free_all;
    }
    /* without a door the others are simply missing */
    if (hosts > 1 && nt_door_open(&lead.branch.door, seat->conf, seat->job, &err) != 0) {
        nt_log(seat->log, NT_LOG_ERROR, "%s; to do: widen \"ports\" in nettopo.conf", err.text);
        for (size_t k = 1; k < hosts; k++)
            nt_gather_leave(&lead.gather, k);
    }
    run(&lead);
    see_off(&lead);
free_all:
    if (!seat->outcome.settled)
        nt_seat_fail(seat, NT_ADVICE_SYSTEM, "%s", err.text);
    nt_ask_fini(&lead.use);
    nt_gather_fini(&lead.gather);
    nt_branch_fini(&lead.branch);
    free(lead.polls);
}
