/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "gather.h"
#include "subtree.h"

static const double FLUSH_S = 0.25; /* for members to disconnect */
static const double DRAIN_S = 1.25; /* for the last frames to be sent */
static const double LINGER_S = 1.0; /* for hosts that connect after an early failure */
/* time for slurmctld to answer which jobs share the hosts and how many tasks the job has; the share
 * is of the budget */
static const double USE_MAX_S = 2.0, USE_SHARE = 0.2;

struct leader {
    struct nt_session *session;
    struct nt_subtree subtree;
    struct nt_gather gather;
    struct nt_lookup use_lookup; /* result: struct nt_job_use */
    enum nt_policy policy;
    double policy_until;
    bool started; /* the policy is known and announced */
    struct pollfd *polls;
    struct nt_err no_port; /* if set: why no member can connect */
    bool failed; /* ended without DONE of rank 0: members that connect late still get the reason */
};

/* ---- the policy for shared hosts ---- */

static enum nt_policy shared_hosts_policy(const struct nt_conf *conf)
{
    return conf->shared_hosts == NT_SHARED_OFF ? NT_POLICY_OFF : NT_POLICY_LATENCY;
}

/* Starts to ask slurmctld about the job. The result decides the policy and contains the number of
 * tasks for the placement. */
static void policy_lookup_start(struct leader *leader)
{
    const struct nt_session *session = leader->session;
    bool latency = session->option->level == NT_LEVEL_QUICK;
    bool known = session->conf->shared_hosts == NT_SHARED_FULL ||
                 (latency && session->conf->shared_hosts == NT_SHARED_LATENCY);
    if (known)
        leader->policy = NT_POLICY_FULL;
    double now = nt_clock_s(), share_s = USE_SHARE * (session->deadline - now);
    leader->policy_until = now + (share_s < USE_MAX_S ? share_s : USE_MAX_S);
    if (nt_client_look_up_use(&session->client, &leader->use_lookup, NULL) != 0)
        leader->policy_until = 0;
}

static void announce_policy(struct leader *leader)
{
    char text[32];
    int n = snprintf(text, sizeof text, "policy %s\n",
                     leader->policy == NT_POLICY_FULL ? "full" : "latency");
    struct nt_frame frame = {.type = NT_FRAME_START, .payload_bytes = (uint32_t)n};
    nt_subtree_announce(&leader->subtree, &frame, text);
    nt_log(leader->session->log, NT_LOG_DEBUG, "%.*s: starting the probes", n - 1, text);
}

static void update_policy(struct leader *leader)
{
    struct nt_err err;
    if (leader->started)
        return;
    struct nt_job_use use = {0};
    int got = nt_lookup_poll(&leader->use_lookup);
    if (got == 0 && nt_clock_s() < leader->policy_until)
        return;
    if (got == 1)
        memcpy(&use, leader->use_lookup.bytes, sizeof use);
    nt_lookup_fini(&leader->use_lookup);
    if (leader->policy == NT_POLICY_UNKNOWN)
        leader->policy =
            use.exclusive ? NT_POLICY_FULL : shared_hosts_policy(leader->session->conf);
    leader->started = true;
    if (leader->policy == NT_POLICY_OFF)
        return;
    announce_policy(leader);
    if (nt_session_start_probe(leader->session, leader->policy, use.tasks > 0 ? &use : NULL,
                               &err) != 0)
        nt_session_lose_probe(leader->session, NT_ADVICE_SYSTEM, err.text);
}

/* ---- frames ---- */

static void close_gather(struct leader *leader)
{
    struct nt_frame frame = {.type = NT_FRAME_GATHERED, .seq = leader->gather.open_seq};
    size_t missing = nt_gather_close(&leader->gather);
    if (missing > 0)
        nt_log(leader->session->log, NT_LOG_DEBUG, "gather %u: %zu hosts did not answer in time",
               frame.seq, missing);
    nt_session_probe_send(leader->session, &frame, NULL);
}

/* Handles a GATHER frame of rank 0. -1 if rank 0 violated the protocol. */
static int rank0_gather(struct leader *leader, const struct nt_frame *frame)
{
    bool more = (frame->flags & NT_FRAME_MORE) != 0;
    struct nt_err err;
    nt_gather_contribution(&leader->gather, 0, frame->seq, more);
    if (more)
        return 0;
    double until = nt_clock_s() + (double)frame->wait_ms / 1e3;
    if (nt_gather_open(&leader->gather, frame->seq,
                       until < leader->session->give_up ? until : leader->session->give_up,
                       &err) == 0)
        return 0;
    nt_session_lose_probe(leader->session, NT_ADVICE_PROBE, err.text);
    return -1;
}

/* Logs the hosts that should have connected to this one but never did. */
static void log_hosts_never_joined(const struct leader *leader)
{
    enum { NAMED = 4 };
    const struct nt_session *session = leader->session;
    const struct nt_subtree *subtree = &leader->subtree;
    char names[NAMED * (NT_HOST_BYTES + 1) + 1] = "";
    size_t missing = 0, used = 0;
    for (size_t k = 0; k < subtree->hosts; k++) {
        if (k == subtree->self || subtree->children.ever_joined[k] ||
            nt_block_leader(subtree->block, k) != subtree->self)
            continue;
        if (missing++ < NAMED)
            used += (size_t)snprintf(names + used, sizeof names - used, " %.255s",
                                     session->job->host[k]);
    }
    if (missing == 0)
        return;
    nt_log(session->log, NT_LOG_ERROR, "%zu hosts did not connect:%.300s%s; to do: %s", missing,
           names, missing > NAMED ? " ..." : "", nt_advice_text(NT_ADVICE_CONNECT));
    if (subtree->listener.refused > 0) /* from any host: the port is open to all */
        nt_log(session->log, NT_LOG_ERROR, "port %u: %u connections refused, the last one: %.300s",
               subtree->listener.port, subtree->listener.refused,
               subtree->listener.last_error.text);
    if (subtree->listener.strangers > 0)
        nt_log(session->log, NT_LOG_ERROR,
               "port %u: %u connections from ports of 1024 and above closed; to do: if addresses "
               "are translated between hosts, set reserved_ports = no",
               subtree->listener.port, subtree->listener.strangers);
}

static void fail_job(struct leader *leader, enum nt_advice advice, const char *reason)
{
    char text[NT_DONE_BYTES];
    _Static_assert((int)NT_DONE_BYTES <= (int)NT_ANNOUNCEMENT_BYTES,
                   "DONE must fit into an announcement");
    snprintf(text, sizeof text, "failed %s", reason);
    struct nt_frame frame = {
        .type = NT_FRAME_DONE, .flags = NT_FRAME_AGENT, .payload_bytes = (uint32_t)strlen(text)};
    leader->failed = true;
    nt_subtree_announce(&leader->subtree, &frame, text);
    nt_session_fail(leader->session, advice, "%s", reason);
}

/* Ends the job's sweep with DONE of rank 0. If this host could not listen, rank 0 does not know why
 * the other hosts are missing, so the agent states the reason. */
static void finish_job(struct leader *leader, const struct nt_frame *frame,
                       const unsigned char *payload)
{
    log_hosts_never_joined(leader);
    if (leader->no_port.kind != NT_ERR_NONE) {
        fail_job(leader, NT_ADVICE_CONNECT, leader->no_port.text);
        return;
    }
    nt_subtree_send(&leader->subtree, frame, payload);
    nt_session_finish(leader->session, frame, (const char *)payload);
}

static void receive_from_probe(struct leader *leader)
{
    struct nt_session *session = leader->session;
    struct nt_frame frame;
    const unsigned char *payload;
    while (!session->outcome.decided && !leader->subtree.children.is_congested &&
           nt_session_probe_next(session, &frame, &payload) == 1) {
        switch (frame.type) {
        case NT_FRAME_GATHER:
            if (rank0_gather(leader, &frame) != 0)
                return;
            break;
        case NT_FRAME_BCAST:
            nt_subtree_send(&leader->subtree, &frame, payload);
            break;
        case NT_FRAME_ARTIFACT:
            nt_subtree_reject_late(&leader->subtree);
            if (frame.host != NT_ARTIFACT_ARCHIVE)
                nt_subtree_send(&leader->subtree, &frame, payload);
            nt_session_write_artifact(session, &frame, payload);
            break;
        case NT_FRAME_DONE:
            finish_job(leader, &frame, payload);
            break;
        default:
            nt_session_lose_probe(session, NT_ADVICE_PROBE,
                                  "sent a frame that a probe must not send");
            return;
        }
    }
}

/* Handles DONE of a member, which contains "ok" or "failed" and how its probe ended. It is empty if
 * a block leader reports a host that it has lost. */
static void member_probe_ended(struct leader *leader, const struct nt_frame *frame,
                               const unsigned char *payload)
{
    static const char failed[] = "failed ";
    const struct nt_job *job = leader->session->job;
    size_t skip = sizeof failed - 1, bytes = frame->payload_bytes;
    if (frame->host < job->hosts && bytes > skip && bytes < NT_DONE_BYTES &&
        memcmp(payload, failed, skip) == 0)
        nt_log(leader->session->log, NT_LOG_ERROR, "the probe of %s failed: %.*s",
               job->host[frame->host], (int)(bytes - skip), (const char *)payload + skip);
    nt_gather_set_lost(&leader->gather, frame->host);
}

static void receive_from_members(struct leader *leader)
{
    struct nt_frame frame;
    const unsigned char *payload;
    while (nt_conn_queued(&leader->session->probe) < NT_QUEUE_HIGH &&
           nt_subtree_next(&leader->subtree, &frame, &payload) == 1) {
        if (frame.type ==
            NT_FRAME_DONE) /* the member's probe has ended; its agent still gets the result */
            member_probe_ended(leader, &frame, payload);
        else if (nt_gather_contribution(&leader->gather, frame.host, frame.seq,
                                        (frame.flags & NT_FRAME_MORE) != 0))
            nt_session_probe_queue(leader->session, &frame, payload);
    }
    nt_session_probe_flush(leader->session);
}

/* Logs lost hosts; gathers do not wait for them. */
static void report_lost_hosts(struct leader *leader)
{
    size_t host;
    while (nt_subtree_next_lost(&leader->subtree, nt_clock_s(), &host) == 1) {
        nt_log(leader->session->log, NT_LOG_ERROR, "lost host %s (last failure: %s)",
               leader->session->job->host[host], leader->subtree.children.last_error.text);
        nt_gather_set_lost(&leader->gather, host);
    }
}

/* ---- the loop ---- */

static void wait_for_events(struct leader *leader)
{
    const struct nt_session *session = leader->session;
    bool read_probe = !leader->subtree.children.is_congested;
    bool read_members = nt_conn_queued(&session->probe) < NT_QUEUE_HIGH;
    size_t n = nt_subtree_pollfds(&leader->subtree, read_members, leader->polls);
    n += nt_session_pollfds(session, read_probe, leader->polls + n);
    double until = session->give_up;
    if (!leader->started) {
        leader->polls[n++] = (struct pollfd){.fd = leader->use_lookup.fd, .events = POLLIN};
        until = leader->policy_until < until ? leader->policy_until : until;
    }
    if (leader->gather.is_open && leader->gather.until < until)
        until = leader->gather.until;
    int ms = nt_clock_left_ms(until);
    if (poll(leader->polls, n, ms < NT_LISTENER_POLL_MS ? ms : NT_LISTENER_POLL_MS) > 0)
        nt_subtree_poll_events(&leader->subtree, leader->polls);
}

/* Ends the sweep if there is a reason other than DONE of rank 0. */
static void check_for_end(struct leader *leader)
{
    struct nt_session *session = leader->session;
    struct nt_err reason;
    if (session->outcome.decided)
        return;
    if (leader->policy == NT_POLICY_OFF) {
        fail_job(leader, NT_ADVICE_SHARED, "the job shares hosts, and shared_hosts is off");
    } else if (session->probe_lost) {
        nt_err_set(&reason, NT_ERR_SYSTEM, "probe of %s: %s", session->job->host[0],
                   session->probe_end.text);
        fail_job(leader,
                 session->probe_advice != NT_ADVICE_NONE ? session->probe_advice : NT_ADVICE_PROBE,
                 reason.text);
    } else if (nt_clock_s() >= session->give_up) {
        log_hosts_never_joined(leader);
        fail_job(leader, NT_ADVICE_BUDGET, "the budget was over before there was a result");
    }
}

static void leader_loop(struct leader *leader)
{
    struct nt_session *session = leader->session;
    policy_lookup_start(leader);
    while (!session->outcome.decided) {
        update_policy(leader);
        receive_from_members(leader);
        receive_from_probe(leader);
        size_t joined_before = leader->subtree.children.joined_count;
        nt_subtree_step(&leader->subtree);
        if (leader->subtree.children.joined_count > joined_before)
            nt_log(session->log, NT_LOG_DEBUG, "%zu of %zu hosts connected",
                   leader->subtree.children.joined_count, nt_subtree_expected(&leader->subtree));
        report_lost_hosts(leader);
        if (nt_gather_is_over(&leader->gather, nt_clock_s()))
            close_gather(leader);
        check_for_end(leader);
        if (!session->outcome.decided)
            wait_for_events(leader);
    }
}

/* Sends the last frames, which the members need to finish. After an early failure, members that
 * connect late get the reason too: otherwise they would try to connect until their budget is used
 * up. */
static void drain_members(struct leader *leader)
{
    double now = nt_clock_s(), idle_until = nt_session_drain_until(leader->session, FLUSH_S);
    double until = nt_session_drain_until(leader->session, DRAIN_S);
    if (leader->failed && now + LINGER_S < leader->session->give_up)
        idle_until = now + LINGER_S;
    while ((now = nt_clock_s()) < until) {
        bool all_joined =
            !leader->failed || now >= idle_until ||
            leader->subtree.children.joined_count >= nt_subtree_expected(&leader->subtree);
        if (all_joined)
            nt_listener_fini(&leader->subtree.listener);
        if (nt_subtree_drain(&leader->subtree, idle_until) && all_joined)
            return;
        size_t n = nt_subtree_pollfds(&leader->subtree, true, leader->polls);
        int ms = nt_clock_left_ms(now < idle_until ? idle_until : until);
        if (poll(leader->polls, n, ms < NT_LISTENER_POLL_MS ? ms : NT_LISTENER_POLL_MS) > 0)
            nt_subtree_poll_events(&leader->subtree, leader->polls);
    }
}

void nt_leader_run(struct nt_session *session)
{
    struct nt_err err = {0};
    struct leader leader = {
        .session = session, .use_lookup = {.fd = -1}, .subtree = {.listener = {.fd = -1}}};
    size_t hosts = session->job->hosts, block = nt_block_hosts(hosts, session->conf->block_hosts);
    if (nt_subtree_init(&leader.subtree, hosts, 0, block, &err) != 0 ||
        nt_gather_init(&leader.gather, hosts, &err) != 0)
        goto free_all;
    leader.subtree.give_up = session->give_up;
    leader.polls = calloc(nt_subtree_pollfds_max(&leader.subtree) + 3, sizeof *leader.polls);
    if (leader.polls == NULL) {
        nt_err_memory(&err);
        goto free_all;
    }
    /* without a listener the other hosts are missing */
    if (hosts > 1 && nt_listener_open(&leader.subtree.listener, session->conf, session->job,
                                      &session->client, &leader.no_port) != 0) {
        nt_log(session->log, NT_LOG_ERROR, "%s; to do: widen ports in nettopo.conf",
               leader.no_port.text);
        for (size_t k = 1; k < hosts; k++)
            nt_gather_set_lost(&leader.gather, k);
    }
    leader_loop(&leader);
    drain_members(&leader);
free_all:
    if (!session->outcome.decided)
        nt_session_fail(session, NT_ADVICE_SYSTEM, "%s", err.text);
    nt_lookup_fini(&leader.use_lookup);
    nt_gather_fini(&leader.gather);
    nt_subtree_fini(&leader.subtree);
    free(leader.polls);
}
