/* SPDX-License-Identifier: Apache-2.0 */
#include "connector.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "listener.h"

static const double CONNECT_TIMEOUT_S = 0.5, PROOF_TIMEOUT_S = 2.0, ROUND_PAUSE_S = 0.01;
/* A leader sends HELLO at once, unless it is busy. Another service on its ports may send nothing:
 * the first rounds skip it quickly. */
static const double HELLO_TIMEOUT_S = 0.1, HELLO_TIMEOUT_MAX_S = 0.8;

enum { QUEUE_BYTES_MAX = 2 * (NT_FRAME_HEAD_BYTES + NT_PROOF_MAX) };

void nt_connector_init(struct nt_connector *connector, const struct nt_conf *conf,
                       const struct nt_job *job, size_t leader,
                       const struct nt_addresses *addresses)
{
    *connector = (struct nt_connector){.job = job,
                                       .conf = conf,
                                       .leader = leader,
                                       .addresses = *addresses,
                                       .conn = {.fd = -1},
                                       .hello_timeout_s = HELLO_TIMEOUT_S};
}

void nt_connector_fini(struct nt_connector *connector)
{
    nt_conn_fini(&connector->conn);
}

double nt_connector_pollfd(const struct nt_connector *connector, struct pollfd *poll)
{
    short events = connector->state == NT_CONNECTOR_CONNECTING ? POLLOUT : POLLIN;
    *poll = (struct pollfd){.fd = connector->conn.fd, .events = events};
    return connector->state_until;
}

/* Drops this candidate; after the last one of a round there is a short pause. */
static void next_candidate(struct nt_connector *connector)
{
    size_t candidates = connector->addresses.count * nt_port_count(connector->conf);
    nt_conn_fini(&connector->conn);
    connector->state = NT_CONNECTOR_PAUSED;
    connector->candidate = (connector->candidate + 1) % (candidates > 0 ? candidates : 1);
    connector->state_until = connector->candidate == 0 ? nt_clock_s() + ROUND_PAUSE_S : 0;
    if (connector->candidate == 0 && connector->hello_timeout_s < HELLO_TIMEOUT_MAX_S)
        connector->hello_timeout_s *= 2;
}

static void enter_state(struct nt_connector *connector, enum nt_connector_state state,
                        double seconds)
{
    connector->state = state;
    connector->state_until = nt_clock_s() + seconds;
}

static void connect_start(struct nt_connector *connector)
{
    size_t ports = nt_port_count(connector->conf);
    struct sockaddr_storage to = connector->addresses.at[connector->candidate / ports];
    connector->port =
        nt_port_candidate(connector->conf, connector->job->id, connector->candidate % ports);
    socklen_t size = sizeof(struct sockaddr_in);
    if (to.ss_family == AF_INET) {
        ((struct sockaddr_in *)&to)->sin_port = htons(connector->port);
    } else if (to.ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)&to)->sin6_port = htons(connector->port);
        size = sizeof(struct sockaddr_in6);
    } else {
        next_candidate(connector);
        return;
    }
    int one = 1, fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        nt_err_set(&connector->last_error, NT_ERR_SYSTEM, "socket: %s", strerror(errno));
        next_candidate(connector);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    bool refused = connect(fd, (struct sockaddr *)&to, size) != 0 && errno != EINPROGRESS;
    if (refused && !connector->leader_found)
        nt_err_set(&connector->last_error, NT_ERR_INPUT, "%s", strerror(errno));
    if (nt_conn_init(&connector->conn, fd, NT_PROOF_MAX, QUEUE_BYTES_MAX, &connector->last_error) !=
            0 ||
        refused) {
        next_candidate(connector);
        return;
    }
    enter_state(connector, NT_CONNECTOR_CONNECTING, CONNECT_TIMEOUT_S);
}

static void connect_check(struct nt_connector *connector)
{
    struct pollfd ready = {.fd = connector->conn.fd, .events = POLLOUT};
    int why = 0;
    socklen_t size = sizeof why;
    if (poll(&ready, 1, 0) <= 0)
        return;
    if (getsockopt(connector->conn.fd, SOL_SOCKET, SO_ERROR, &why, &size) != 0 || why != 0) {
        if (!connector->leader_found)
            nt_err_set(&connector->last_error, NT_ERR_INPUT, "%s", strerror(why));
        next_candidate(connector);
        return;
    }
    enter_state(connector, NT_CONNECTOR_AWAIT_HELLO, connector->hello_timeout_s);
}

static struct nt_claim make_claim(const struct nt_connector *connector, enum nt_direction direction)
{
    const struct nt_job *job = connector->job;
    return (struct nt_claim){.direction = direction,
                             .job = job->id,
                             .restart = job->restart,
                             .leader = job->host[connector->leader],
                             .member = job->host[job->self],
                             .member_index = (uint32_t)job->self,
                             .port = connector->port,
                             .leader_nonce = connector->leader_nonce,
                             .member_nonce = connector->member_nonce};
}

/* 0: it is our job's leader, and our proof is sent. */
static int answer_hello(struct nt_connector *connector, const struct nt_frame *frame,
                        const unsigned char *payload)
{
    struct nt_hello hello;
    struct nt_err other;
    char credential[NT_CREDENTIAL_MAX];
    unsigned char proof[NT_PROOF_MAX];
    if (frame->type != NT_FRAME_HELLO || frame->host != connector->leader ||
        nt_hello_decode(payload, frame->payload_bytes, &hello, &other) != 0 ||
        hello.job != connector->job->id)
        return -1; /* another job's leader: no error */
    connector->leader_found = true;
    if (hello.version != NT_WIRE_VERSION || hello.restart != connector->job->restart)
        return nt_err_set(&connector->last_error, NT_ERR_INPUT,
                          "protocol version %u, restart %u; expected version %d, restart %u",
                          hello.version, hello.restart, (int)NT_WIRE_VERSION,
                          connector->job->restart);
    memcpy(connector->leader_nonce, hello.nonce, NT_NONCE_BYTES);
    if (nt_nonce_make(connector->member_nonce, &connector->last_error) != 0)
        return -1;
    struct nt_claim claim = make_claim(connector, NT_TO_LEADER);
    if (nt_auth_prove(connector->conf->munge_socket, &claim, credential, &connector->last_error) !=
        0)
        return -1;
    size_t length = strlen(credential);
    memcpy(proof, connector->member_nonce, NT_NONCE_BYTES);
    memcpy(proof + NT_NONCE_BYTES, credential, length);
    struct nt_frame reply = {.type = NT_FRAME_PROOF,
                             .host = (uint32_t)connector->job->self,
                             .payload_bytes = (uint32_t)(NT_NONCE_BYTES + length)};
    return nt_conn_send(&connector->conn, &reply, proof, &connector->last_error);
}

static int verify_leader(struct nt_connector *connector, const struct nt_frame *frame,
                         const unsigned char *payload)
{
    char credential[NT_CREDENTIAL_MAX];
    size_t bytes = frame->payload_bytes;
    if (frame->type != NT_FRAME_PROOF || bytes <= NT_NONCE_BYTES || bytes >= NT_PROOF_MAX)
        return nt_err_set(&connector->last_error, NT_ERR_INPUT, "expected a proof");
    memcpy(credential, payload + NT_NONCE_BYTES, bytes - NT_NONCE_BYTES);
    credential[bytes - NT_NONCE_BYTES] = '\0';
    struct nt_claim claim = make_claim(connector, NT_TO_MEMBER);
    return nt_auth_check(connector->conf->munge_socket, &claim, credential, &connector->last_error);
}

/* 1: the leader is authenticated. */
static int receive_frame(struct nt_connector *connector)
{
    struct nt_frame frame;
    const unsigned char *payload;
    struct nt_err why;
    int got = nt_conn_next(&connector->conn, &frame, &payload, &why);
    if (got == 0)
        return 0;
    if (got < 0) {
        if (connector->state == NT_CONNECTOR_AWAIT_PROOF)
            nt_err_set(&connector->last_error, NT_ERR_INPUT,
                       "closed the connection after our proof");
        next_candidate(connector);
        return 0;
    }
    if (connector->state == NT_CONNECTOR_AWAIT_HELLO) {
        if (answer_hello(connector, &frame, payload) == 0)
            enter_state(connector, NT_CONNECTOR_AWAIT_PROOF, PROOF_TIMEOUT_S);
        else
            next_candidate(connector);
        return 0;
    }
    if (verify_leader(connector, &frame, payload) == 0)
        return 1;
    next_candidate(connector);
    return 0;
}

int nt_connector_step(struct nt_connector *connector, struct nt_conn *conn)
{
    if (connector->addresses.count == 0)
        return 0;
    if (connector->state != NT_CONNECTOR_PAUSED && nt_clock_s() >= connector->state_until) {
        if (connector->state == NT_CONNECTOR_AWAIT_PROOF)
            nt_err_set(&connector->last_error, NT_ERR_INPUT, "no answer to our proof");
        next_candidate(connector);
    }
    if (connector->state == NT_CONNECTOR_PAUSED && nt_clock_s() >= connector->state_until)
        connect_start(connector);
    if (connector->state == NT_CONNECTOR_CONNECTING)
        connect_check(connector);
    if ((connector->state == NT_CONNECTOR_AWAIT_HELLO ||
         connector->state == NT_CONNECTOR_AWAIT_PROOF) &&
        receive_frame(connector) == 1) {
        *conn = connector->conn;
        connector->conn = (struct nt_conn){.fd = -1};
        return 1;
    }
    return 0;
}
