/* SPDX-License-Identifier: Apache-2.0 */
#include "connector.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "ports.h"

/* timeouts of each attempt; a long one delays no other attempt */
static const double CONNECT_TIMEOUT_S = 3.0, HELLO_TIMEOUT_S = 2.0, PROOF_TIMEOUT_S = 2.0;
static const double RETRY_MIN_S = 0.01, RETRY_MAX_S = 0.2;
/* Pause between two proofs. This is the delay that a listener which imitates the leader causes,
 * instead of PROOF_TIMEOUT_S. */
static const double NEXT_PROOF_S = 0.05;

enum { QUEUE_BYTES_MAX = 2 * (NT_FRAME_HEAD_BYTES + NT_PROOF_MAX) };

void nt_connector_init(struct nt_connector *connector, const struct nt_conf *conf,
                       const struct nt_job *job, const struct nt_client *client, size_t leader,
                       const struct nt_addresses *addresses)
{
    *connector = (struct nt_connector){
        .job = job, .conf = conf, .client = client, .leader = leader, .addresses = *addresses};
    connector->version = nt_auth_version();
    connector->random = (uint64_t)(nt_clock_s() * 1e9) ^ ((uint64_t)job->self << 40);
    for (size_t k = 0; k < nt_port_count(conf); k++)
        for (size_t a = 0; a < addresses->count; a++)
            connector->attempt[connector->attempts++] =
                (struct nt_attempt){.conn = {.fd = -1},
                                    .port = nt_port_candidate(conf, job->id, k),
                                    .address = a,
                                    .retry_s = RETRY_MIN_S};
}

void nt_connector_fini(struct nt_connector *connector)
{
    for (size_t k = 0; k < connector->attempts; k++)
        nt_conn_fini(&connector->attempt[k].conn);
    connector->attempts = 0;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* Returns until when a proof is pending on the same port on any address; INFINITY: none is. Only
 * one address of a port gets a proof at a time: if both addresses belonged to the leader, each side
 * might keep another connection. */
static double port_is_asked_until(const struct nt_connector *connector, const struct nt_attempt *a)
{
    for (size_t k = 0; k < connector->attempts; k++) {
        const struct nt_attempt *other = &connector->attempt[k];
        if (other->state == NT_ATTEMPT_AWAIT_PROOF && other->port == a->port)
            return other->state_until;
    }
    return INFINITY;
}

/* Returns when the proof for a listener that sent HELLO may be made; INFINITY: another listener,
 * which got fewer proofs, is first. A listener that rejects the proof, such as the leader of
 * another job with the same id, sends its HELLO again before the next proof is due. */
static double proof_due_at(const struct nt_connector *connector, const struct nt_attempt *a)
{
    double asked_until = port_is_asked_until(connector, a);
    if (isfinite(asked_until))
        return later(asked_until, connector->next_proof_at);
    for (size_t k = 0; k < connector->attempts; k++) {
        const struct nt_attempt *other = &connector->attempt[k];
        if (other->state == NT_ATTEMPT_HAS_HELLO && other->proofs < a->proofs &&
            !isfinite(port_is_asked_until(connector, other)))
            return INFINITY;
    }
    return connector->next_proof_at;
}

double nt_connector_pollfds(const struct nt_connector *connector, struct pollfd *polls,
                            size_t *count)
{
    double wake = INFINITY;
    *count = 0;
    for (size_t k = 0; k < connector->attempts; k++) {
        const struct nt_attempt *a = &connector->attempt[k];
        double until =
            a->state == NT_ATTEMPT_HAS_HELLO ? proof_due_at(connector, a) : a->state_until;
        wake = until < wake ? until : wake;
        bool write = a->state == NT_ATTEMPT_CONNECTING || nt_conn_queued(&a->conn) > 0;
        /* with a HELLO the attempt waits for its turn: data that arrives meanwhile is not read and
         * does not wake the process */
        if (nt_conn_is_open(&a->conn) && a->state != NT_ATTEMPT_HAS_HELLO)
            polls[(*count)++] =
                (struct pollfd){.fd = a->conn.fd, .events = write ? POLLOUT : POLLIN};
    }
    return wake;
}

/* Returns a random number from 0 to 1: hosts that wait for the same leader must not retry at the
 * same moments. */
static double random_share(struct nt_connector *connector)
{
    connector->random = connector->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(connector->random >> 11) * 0x1p-53;
}

static void attempt_failed(struct nt_connector *connector, struct nt_attempt *a)
{
    nt_conn_fini(&a->conn);
    a->state = NT_ATTEMPT_PAUSED;
    a->state_until = nt_clock_s() + a->retry_s * (0.5 + 0.5 * random_share(connector));
    a->retry_s = 2 * a->retry_s < RETRY_MAX_S ? 2 * a->retry_s : RETRY_MAX_S;
}

static void enter_state(struct nt_attempt *a, enum nt_attempt_state state, double seconds)
{
    a->state = state;
    a->state_until = nt_clock_s() + seconds;
}

/* After the leader has been found, errors of other listeners are irrelevant. */
static void note_error(struct nt_connector *connector, int why)
{
    if (!connector->leader_found)
        nt_err_set(&connector->last_error, NT_ERR_INPUT, "%s", strerror(why));
}

static socklen_t set_port(struct sockaddr_storage *to, uint16_t port)
{
    if (to->ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)to)->sin6_port = htons(port);
        return sizeof(struct sockaddr_in6);
    }
    ((struct sockaddr_in *)to)->sin_port = htons(port);
    return sizeof(struct sockaddr_in);
}

static void connect_start(struct nt_connector *connector, struct nt_attempt *a)
{
    struct sockaddr_storage to = connector->addresses.at[a->address];
    socklen_t size = set_port(&to, a->port);
    int one = 1, fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        note_error(connector, errno);
        attempt_failed(connector, a);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connector->conf->reserved_ports)
        nt_source_port_bind(fd, to.ss_family);
    int why = connect(fd, (struct sockaddr *)&to, size) == 0 ? 0 : errno;
    bool good = why == 0 || why == EINPROGRESS;
    if (!good)
        note_error(connector, why);
    if (nt_conn_init(&a->conn, fd, NT_PROOF_MAX, QUEUE_BYTES_MAX, &connector->last_error) != 0 ||
        !good) {
        attempt_failed(connector, a);
        return;
    }
    enter_state(a, NT_ATTEMPT_CONNECTING, CONNECT_TIMEOUT_S);
}

static void connect_check(struct nt_connector *connector, struct nt_attempt *a)
{
    struct pollfd ready = {.fd = a->conn.fd, .events = POLLOUT};
    int why = 0;
    socklen_t size = sizeof why;
    if (poll(&ready, 1, 0) <= 0)
        return;
    if (getsockopt(a->conn.fd, SOL_SOCKET, SO_ERROR, &why, &size) != 0)
        why = errno;
    if (why != 0) {
        note_error(connector, why);
        attempt_failed(connector, a);
        return;
    }
    enter_state(a, NT_ATTEMPT_AWAIT_HELLO, HELLO_TIMEOUT_S);
}

/* ---- authentication ---- */

static struct nt_handshake make_handshake(const struct nt_connector *connector,
                                          const struct nt_attempt *a, enum nt_direction direction)
{
    struct nt_handshake handshake = {
        .direction = direction, .peer = (uint32_t)connector->leader, .port = a->port};
    memcpy(handshake.leader_nonce, a->leader_nonce, NT_NONCE_BYTES);
    memcpy(handshake.member_nonce, a->member_nonce, NT_NONCE_BYTES);
    return handshake;
}

/* Sends this agent's version to the leader, whose log then states why this host did not connect. */
static void send_version(const struct nt_connector *connector, struct nt_attempt *a)
{
    unsigned char bytes[NT_HELLO_BYTES];
    struct nt_hello hello = {.version = connector->version,
                             .job = connector->job->id,
                             .restart = connector->job->restart};
    struct nt_frame frame = {.type = NT_FRAME_HELLO,
                             .host = (uint32_t)connector->job->self,
                             .payload_bytes = NT_HELLO_BYTES};
    nt_hello_encode(&hello, bytes);
    nt_conn_send(&a->conn, &frame, bytes, NULL);
}

/* Returns 0 if the listener claims to be this job's leader. */
static int check_hello(struct nt_connector *connector, struct nt_attempt *a,
                       const struct nt_frame *frame, const unsigned char *payload)
{
    struct nt_hello hello;
    struct nt_err other;
    if (frame->type != NT_FRAME_HELLO || frame->host != connector->leader ||
        nt_hello_decode(payload, frame->payload_bytes, &hello, &other) != 0 ||
        hello.job != connector->job->id)
        return -1; /* another job's leader, which is not an error */
    connector->leader_found = true;
    if (hello.version != connector->version) {
        send_version(connector, a);
        return nt_auth_refuse_version(connector->job->host[connector->leader], hello.version,
                                      connector->version, &connector->last_error);
    }
    if (hello.restart != connector->job->restart)
        return nt_err_set(&connector->last_error, NT_ERR_INPUT,
                          "expected restart %u of the job, found %u", connector->job->restart,
                          hello.restart);
    memcpy(a->leader_nonce, hello.nonce, NT_NONCE_BYTES);
    return 0;
}

static int send_proof(struct nt_connector *connector, struct nt_attempt *a)
{
    char credential[NT_CREDENTIAL_MAX];
    unsigned char proof[NT_PROOF_MAX];
    struct nt_err *err = &connector->last_error;
    if (nt_nonce_make(a->member_nonce, err) != 0 || nt_nonce_make(a->secret, err) != 0)
        return -1;
    struct nt_handshake handshake = make_handshake(connector, a, NT_TO_LEADER);
    if (nt_client_prove(connector->client, &handshake, a->secret, credential, err) != 0)
        return -1;
    size_t length = strlen(credential);
    memcpy(proof, a->member_nonce, NT_NONCE_BYTES);
    memcpy(proof + NT_NONCE_BYTES, credential, length);
    struct nt_frame reply = {.type = NT_FRAME_PROOF,
                             .host = (uint32_t)connector->job->self,
                             .payload_bytes = (uint32_t)(NT_NONCE_BYTES + length)};
    return nt_conn_send(&a->conn, &reply, proof, err);
}

/* Returns 0 and sets the connection's keys if the listener is this job's leader. */
static int verify_leader(struct nt_connector *connector, struct nt_attempt *a,
                         const struct nt_frame *frame, const unsigned char *payload)
{
    char credential[NT_CREDENTIAL_MAX];
    size_t bytes = frame->payload_bytes;
    if (frame->type != NT_FRAME_PROOF || bytes <= NT_NONCE_BYTES || bytes >= NT_PROOF_MAX)
        return nt_err_set(&connector->last_error, NT_ERR_INPUT, "expected a proof");
    memcpy(credential, payload + NT_NONCE_BYTES, bytes - NT_NONCE_BYTES);
    credential[bytes - NT_NONCE_BYTES] = '\0';
    struct nt_handshake handshake = make_handshake(connector, a, NT_TO_MEMBER);
    unsigned char leader_secret[NT_SECRET_BYTES];
    struct nt_frame_key to_leader, to_member;
    if (nt_client_check(connector->client, &handshake, credential, leader_secret,
                        &connector->last_error) != 0)
        return -1;
    nt_auth_keys(a->secret, leader_secret, &to_leader, &to_member);
    nt_conn_set_keys(&a->conn, &to_leader, &to_member);
    return 0;
}

/* Returns 1 if the leader is authenticated. */
static int receive_frame(struct nt_connector *connector, struct nt_attempt *a)
{
    struct nt_frame frame = {0};
    const unsigned char *payload = NULL;
    struct nt_err why;
    int got = nt_conn_flush(&a->conn, &why); /* the rest of the proof */
    if (got == 0)
        got = nt_conn_next(&a->conn, &frame, &payload, &why);
    if (got == 0)
        return 0;
    if (got < 0 && a->state == NT_ATTEMPT_AWAIT_PROOF)
        nt_err_set(&connector->last_error, NT_ERR_INPUT,
                   "the leader closed the connection after our proof");
    if (got > 0 && a->state == NT_ATTEMPT_AWAIT_PROOF &&
        verify_leader(connector, a, &frame, payload) == 0)
        return 1;
    if (got > 0 && a->state == NT_ATTEMPT_AWAIT_HELLO &&
        check_hello(connector, a, &frame, payload) == 0)
        enter_state(a, NT_ATTEMPT_HAS_HELLO, HELLO_TIMEOUT_S);
    else
        attempt_failed(connector, a);
    return 0;
}

static void check_proof_due(struct nt_connector *connector, struct nt_attempt *a)
{
    if (nt_clock_s() < proof_due_at(connector, a))
        return;
    a->proofs++;
    if (send_proof(connector, a) == 0)
        enter_state(a, NT_ATTEMPT_AWAIT_PROOF, PROOF_TIMEOUT_S);
    else
        attempt_failed(connector, a);
    connector->next_proof_at = nt_clock_s() + NEXT_PROOF_S;
}

static void check_timeout(struct nt_connector *connector, struct nt_attempt *a)
{
    if (a->state == NT_ATTEMPT_PAUSED || a->state == NT_ATTEMPT_HAS_HELLO ||
        nt_clock_s() < a->state_until)
        return;
    if (a->state == NT_ATTEMPT_AWAIT_PROOF)
        nt_err_set(&connector->last_error, NT_ERR_INPUT, "the leader did not answer our proof");
    attempt_failed(connector, a);
}

/* Returns 1 if the leader is authenticated. */
static int attempt_step(struct nt_connector *connector, struct nt_attempt *a)
{
    if (a->state == NT_ATTEMPT_PAUSED && nt_clock_s() >= a->state_until)
        connect_start(connector, a);
    if (a->state == NT_ATTEMPT_CONNECTING)
        connect_check(connector, a);
    if ((a->state == NT_ATTEMPT_AWAIT_HELLO || a->state == NT_ATTEMPT_AWAIT_PROOF) &&
        receive_frame(connector, a) == 1)
        return 1;
    if (a->state == NT_ATTEMPT_HAS_HELLO)
        check_proof_due(connector, a);
    check_timeout(connector, a);
    return 0;
}

int nt_connector_step(struct nt_connector *connector, struct nt_conn *conn)
{
    for (size_t k = 0; k < connector->attempts; k++) {
        struct nt_attempt *a = &connector->attempt[k];
        if (attempt_step(connector, a) != 1)
            continue;
        *conn = a->conn;
        a->conn = (struct nt_conn){.fd = -1};
        nt_connector_fini(connector);
        return 1;
    }
    return 0;
}
