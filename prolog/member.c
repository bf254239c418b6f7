/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "connector.h"
#include "subtree.h"

/* Time for a block leader, which may start late, to accept this host. Both values are below the
 * time that rank 0 waits for the first contributions (nt_timeouts_greeting_s). */
static const double LEADER_TIMEOUT_S = 0.7, LEADER_TIMEOUT_SHARE = 0.12;
static const double FLUSH_S = 0.25; /* for members to disconnect */
static const double DRAIN_S = 0.75; /* for the last frames to be sent */

struct member {
    struct nt_session *session;
    size_t target_host; /* host to connect to: the leader of its block, or the job's first host */
    double fallback_at; /* when to connect to the job's first host instead (nt_clock_s) */
    struct nt_lookup address_lookup;
    bool started, loss_reported, has_artifacts;
    struct nt_addresses addresses;
    struct nt_connector connector;
    struct nt_conn leader; /* open once authenticated */
    bool leader_lost;
    bool leader_write_failed; /* frames that it has sent may still be unread */
    bool leads_block;         /* this host leads a block, which subtree contains */
    struct nt_subtree subtree;
    struct pollfd *polls;
};

/* Starts to connect to a host. */
static void connect_to(struct member *m, size_t host)
{
    struct nt_session *session = m->session;
    struct nt_err err;
    nt_lookup_fini(&m->address_lookup);
    nt_connector_fini(&m->connector);
    m->addresses.count = 0;
    m->leader_lost = m->leader_write_failed = m->loss_reported = false;
    m->target_host = host;
    nt_log(session->log, NT_LOG_DEBUG, "connecting to %s", session->job->host[host]);
    if (nt_client_look_up_addresses(&session->client, host, &m->address_lookup, &err) != 0)
        nt_session_fail(session, NT_ADVICE_SYSTEM, "%s", err.text);
}

/* Connects to the job's first host if the block leader does not accept this host, or is lost before
 * the result arrives. */
static void check_fallback(struct member *m)
{
    bool met = nt_conn_is_open(&m->leader);
    if (m->target_host != 0 && !met && !m->has_artifacts &&
        (m->leader_lost || nt_clock_s() >= m->fallback_at))
        connect_to(m, 0);
}

static void update_addresses(struct member *m)
{
    const struct nt_session *session = m->session;
    if (m->addresses.count > 0)
        return;
    int got = nt_lookup_poll(&m->address_lookup);
    if (got == 0)
        return;
    if (got == 1)
        memcpy(&m->addresses, m->address_lookup.bytes, sizeof m->addresses);
    nt_lookup_fini(&m->address_lookup);
    if (got < 0 || m->addresses.count == 0) {
        m->leader_lost = m->target_host != 0;
        if (m->target_host == 0)
            nt_session_fail(m->session, NT_ADVICE_NAMES, "no address found for %s",
                            session->job->host[0]);
        return;
    }
    nt_connector_init(&m->connector, session->conf, session->job, &session->client, m->target_host,
                      &m->addresses);
}

static void update_connection(struct member *m)
{
    struct nt_conn conn;
    if (m->addresses.count == 0 || nt_conn_is_open(&m->leader) || m->leader_lost ||
        nt_connector_step(&m->connector, &conn) != 1)
        return;
    if (nt_conn_raise_limits(&conn, NT_FRAME_PAYLOAD_MAX, NT_QUEUE_MAX, NULL) != 0) {
        nt_conn_fini(&conn);
        m->leader_lost = true;
        return;
    }
    m->leader = conn;
    nt_log(m->session->log, NT_LOG_DEBUG, "connected to %s", m->session->job->host[m->target_host]);
}

/* Starts the probe on START. -1: the frame is invalid. */
static int handle_start(struct member *m, const struct nt_frame *frame,
                        const unsigned char *payload)
{
    static const char full[] = "policy full\n";
    struct nt_err err;
    bool is_full =
        frame->payload_bytes == sizeof full - 1 && memcmp(payload, full, sizeof full - 1) == 0;
    if (m->started)
        return 0;
    if (m->leads_block && nt_subtree_announce(&m->subtree, frame, payload) != 0)
        return -1;
    m->started = true;
    if (nt_session_start_probe(m->session, is_full ? NT_POLICY_FULL : NT_POLICY_LATENCY, NULL,
                               &err) != 0)
        nt_session_lose_probe(m->session, NT_ADVICE_SYSTEM, err.text);
    return 0;
}

static void relay_down(struct member *m, const struct nt_frame *frame, const unsigned char *payload)
{
    bool one = (frame->flags & NT_FRAME_UNICAST) != 0,
         mine = !one || frame->host == m->session->job->self;
    if (frame->type == NT_FRAME_ARTIFACT && !m->has_artifacts) {
        m->has_artifacts = true;
        if (m->leads_block)
            nt_subtree_reject_late(&m->subtree);
    }
    if (m->leads_block && !(one && mine))
        nt_subtree_send(&m->subtree, frame, payload);
    if (frame->type == NT_FRAME_BCAST && mine)
        nt_session_probe_send(m->session, frame, payload);
    else if (frame->type == NT_FRAME_ARTIFACT)
        nt_session_write_artifact(m->session, frame, payload);
    else if (frame->type == NT_FRAME_DONE)
        nt_session_finish(m->session, frame, (const char *)payload);
}

static bool can_read_leader(const struct member *m)
{
    return nt_conn_is_open(&m->leader) && nt_conn_queued(&m->session->probe) < NT_QUEUE_HIGH &&
           !(m->leads_block && m->subtree.children.is_congested);
}

static void receive_from_leader(struct member *m)
{
    struct nt_frame frame;
    struct nt_err why = {.text = "no valid START"};
    const unsigned char *payload;
    while (!m->session->outcome.decided && can_read_leader(m)) {
        int got = nt_conn_next(&m->leader, &frame, &payload, &why);
        if (got == 0)
            return;
        if (got < 0 || (frame.type == NT_FRAME_START && handle_start(m, &frame, payload) != 0)) {
            nt_conn_fini(&m->leader);
            m->leader_lost = true;
            nt_log(m->session->log, NT_LOG_DEBUG, "lost the connection to %s: %s",
                   m->session->job->host[m->target_host], why.text);
        } else if (frame.type == NT_FRAME_BCAST || frame.type == NT_FRAME_ARTIFACT ||
                   frame.type == NT_FRAME_DONE) {
            relay_down(m, &frame, payload);
        }
    }
}

static void send_leader(struct member *m, const struct nt_frame *frame, const void *payload)
{
    if (!m->leader_write_failed && nt_conn_queue(&m->leader, frame, payload, NULL) != 0)
        m->leader_write_failed = true;
}

static void flush_leader(struct member *m)
{
    if (nt_conn_is_open(&m->leader) && !m->leader_write_failed &&
        nt_conn_flush(&m->leader, NULL) != 0)
        m->leader_write_failed = true;
}

/* Until the leader is connected, frames of the probe wait in its socket. */
static bool can_read_probe(const struct member *m)
{
    return nt_conn_is_open(&m->leader) &&
           (m->leader_write_failed || nt_conn_queued(&m->leader) < NT_QUEUE_HIGH);
}

static void receive_from_probe(struct member *m)
{
    struct nt_session *session = m->session;
    struct nt_frame frame;
    const unsigned char *payload;
    while (can_read_probe(m) && nt_session_probe_next(session, &frame, &payload) == 1) {
        if (frame.type != NT_FRAME_GATHER) {
            nt_session_lose_probe(session, NT_ADVICE_PROBE,
                                  "sent a frame that a probe must not send");
            break;
        }
        frame.host = (uint32_t)session->job->self;
        send_leader(m, &frame, payload);
    }
}

static void receive_from_block(struct member *m)
{
    struct nt_frame frame;
    const unsigned char *payload;
    size_t host;
    while (can_read_probe(m) && nt_subtree_next(&m->subtree, &frame, &payload) == 1)
        send_leader(m, &frame, payload);
    while (can_read_probe(m) && nt_subtree_next_lost(&m->subtree, nt_clock_s(), &host) == 1) {
        struct nt_frame lost = {.type = NT_FRAME_DONE, .host = (uint32_t)host};
        send_leader(m, &lost, NULL);
    }
    nt_subtree_step(&m->subtree);
}

/* Reports the end of the probe to the leader, which stops waiting for contributions of this host
 * and still sends it the artifacts. */
static void report_probe_loss(struct member *m)
{
    char text[NT_DONE_BYTES];
    if (!m->session->probe_lost || m->loss_reported || !nt_conn_is_open(&m->leader))
        return;
    bool well = m->session->probe_advice == NT_ADVICE_NONE;
    snprintf(text, sizeof text, "%s %s", well ? "ok" : "failed", m->session->probe_end.text);
    struct nt_frame frame = {.type = NT_FRAME_DONE,
                             .host = (uint32_t)m->session->job->self,
                             .payload_bytes = (uint32_t)strlen(text)};
    m->loss_reported = true;
    send_leader(m, &frame, text);
}

/* Names the leader for messages. */
static void describe_leader(const struct member *m, char text[NT_HOST_BYTES + 32])
{
    snprintf(text, NT_HOST_BYTES + 32, "the %s first host %.255s",
             m->target_host == 0 ? "job's" : "block's", m->session->job->host[m->target_host]);
}

static void check_for_end(struct member *m)
{
    struct nt_session *session = m->session;
    char leader[NT_HOST_BYTES + 32];
    if (session->outcome.decided)
        return;
    describe_leader(m, leader);
    if (m->leader_lost && (m->target_host == 0 || m->has_artifacts))
        nt_session_fail(session, NT_ADVICE_LEADER, "lost the connection to %s before the result",
                        leader);
    else if (nt_clock_s() < session->give_up)
        return;
    else if (nt_conn_is_open(&m->leader))
        nt_session_fail(session, NT_ADVICE_LEADER, "no result from %s within the budget", leader);
    else
        nt_session_fail(session, NT_ADVICE_CONNECT, "no connection to %s within the budget%s%s",
                        leader, m->connector.last_error.kind != NT_ERR_NONE ? ": " : "",
                        m->connector.last_error.text);
}

static void wait_for_events(struct member *m)
{
    struct pollfd *polls = m->polls;
    size_t n = 0;
    double until = m->session->give_up;
    if (m->leads_block)
        n = nt_subtree_pollfds(&m->subtree, can_read_probe(m), polls);
    n += nt_session_pollfds(m->session, can_read_probe(m), polls + n);
    if (nt_conn_is_open(&m->leader)) {
        bool write = !m->leader_write_failed && nt_conn_queued(&m->leader) > 0;
        short events = (short)((can_read_leader(m) ? POLLIN : 0) | (write ? POLLOUT : 0));
        polls[n++] = (struct pollfd){.fd = events != 0 ? m->leader.fd : -1, .events = events};
    } else if (m->addresses.count > 0) {
        size_t attempts;
        double wake = nt_connector_pollfds(&m->connector, polls + n, &attempts);
        n += attempts;
        until = wake < until ? wake : until;
    } else {
        polls[n++] = (struct pollfd){.fd = m->address_lookup.fd, .events = POLLIN};
    }
    if (m->target_host != 0 && !nt_conn_is_open(&m->leader) && m->fallback_at < until)
        until = m->fallback_at;
    int ms = nt_clock_left_ms(until);
    if (poll(polls, n, m->leads_block && ms > NT_LISTENER_POLL_MS ? NT_LISTENER_POLL_MS : ms) > 0 &&
        m->leads_block)
        nt_subtree_poll_events(&m->subtree, polls);
}

/* Returns whether the job's first host rejected this host: before START it closes a connection only
 * if it considers the host lost, for example because its agent was started again. The first host is
 * available to the other hosts. */
static bool was_refused(const struct member *m)
{
    return m->leader_lost && m->target_host == 0 && !m->started;
}

/* Sends the block the last frames, which it needs to finish, and DONE if this host ends for a
 * reason of its own. If that reason does not concern the other hosts, they find the connection
 * closed and connect to the first host. */
static void drain_block(struct member *m)
{
    struct nt_frame frame = {.type = NT_FRAME_DONE,
                             .flags = NT_FRAME_AGENT,
                             .payload_bytes = (uint32_t)strlen(m->session->outcome.text)};
    double idle_until = nt_session_drain_until(m->session, FLUSH_S);
    double until = nt_session_drain_until(m->session, DRAIN_S);
    nt_conn_fini(&m->leader);
    nt_listener_fini(&m->subtree.listener);
    nt_subtree_send(&m->subtree, &frame, m->session->outcome.text);
    while (!nt_subtree_drain(&m->subtree, idle_until) && nt_clock_s() < until) {
        size_t n = nt_subtree_pollfds(&m->subtree, true, m->polls);
        int ms = nt_clock_left_ms(nt_clock_s() < idle_until ? idle_until : until);
        if (poll(m->polls, n, ms < NT_LISTENER_POLL_MS ? ms : NT_LISTENER_POLL_MS) > 0)
            nt_subtree_poll_events(&m->subtree, m->polls);
    }
}

/* Without a listener the hosts of the block connect to the job's first host, as they do without
 * this host. */
static int member_init(struct member *m, struct nt_err *err)
{
    const struct nt_job *job = m->session->job;
    size_t block = nt_block_hosts(job->hosts, m->session->conf->block_hosts), members = 0;
    m->target_host = nt_block_leader(block, job->self);
    double now = nt_clock_s(), share_s = LEADER_TIMEOUT_SHARE * (m->session->deadline - now);
    m->fallback_at = now + (share_s < LEADER_TIMEOUT_S ? share_s : LEADER_TIMEOUT_S);
    m->leads_block = job->self % block == 0;
    if (m->leads_block) {
        if (nt_subtree_init(&m->subtree, job->hosts, job->self, block, err) != 0)
            return -1;
        m->subtree.give_up = m->session->give_up;
        nt_listener_open(&m->subtree.listener, m->session->conf, job, &m->session->client, err);
        members = nt_subtree_pollfds_max(&m->subtree);
    }
    m->polls = calloc(members + NT_CONNECTOR_ATTEMPTS + 4, sizeof *m->polls);
    return m->polls != NULL ? 0 : nt_err_memory(err);
}

static void member_loop(struct member *m)
{
    connect_to(m, m->target_host);
    while (!m->session->outcome.decided) {
        update_addresses(m);
        update_connection(m);
        receive_from_leader(m);
        receive_from_probe(m);
        report_probe_loss(m);
        if (m->leads_block)
            receive_from_block(m);
        nt_session_probe_flush(m->session);
        flush_leader(m);
        check_fallback(m);
        check_for_end(m);
        if (!m->session->outcome.decided)
            wait_for_events(m);
    }
    if (m->leads_block && !was_refused(m))
        drain_block(m);
}

void nt_member_run(struct nt_session *session)
{
    struct nt_err err;
    struct member m = {.session = session,
                       .address_lookup = {.fd = -1},
                       .leader = {.fd = -1},
                       .subtree = {.listener = {.fd = -1}}};
    if (member_init(&m, &err) == 0)
        member_loop(&m);
    else
        nt_session_fail(session, NT_ADVICE_SYSTEM, "%s", err.text);
    nt_lookup_fini(&m.address_lookup);
    nt_connector_fini(&m.connector);
    nt_conn_fini(&m.leader);
    nt_subtree_fini(&m.subtree);
    free(m.polls);
}
