#include "knock.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "door.h"
#include "now.h"

static const double CONNECT_S = 0.5, PROOF_S = 2.0, REST_S = 0.01;
/* A leader greets at once, unless it has much to do. Somebody else on its ports may say nothing:
 * the first rounds pass him quickly. */
static const double PATIENCE_S = 0.1, PATIENCE_MAX_S = 0.8;

enum { KNOCK_QUEUE = 2 * (NT_FRAME_HEAD_BYTES + NT_PROOF_MAX) };

void nt_knock_init(struct nt_knock *knock, const struct nt_conf *conf, const struct nt_job *job,
                   size_t leader, const struct nt_addresses *addresses)
{
    *knock = (struct nt_knock){.job = job,
                               .conf = conf,
                               .leader = leader,
                               .addresses = *addresses,
                               .conn = {.fd = -1},
                               .patience_s = PATIENCE_S};
}

void nt_knock_fini(struct nt_knock *knock)
{
    nt_conn_fini(&knock->conn);
}

double nt_knock_poll(const struct nt_knock *knock, struct pollfd *poll)
{
    short events = knock->state == NT_KNOCK_CONNECTING ? POLLOUT : POLLIN;
    *poll = (struct pollfd){.fd = knock->conn.fd, .events = events};
    return knock->until;
}

/* Leaves this one; after the last of a round a little rest. */
static void go_on(struct nt_knock *knock)
{
    size_t candidates = knock->addresses.count * nt_port_count(knock->conf);
    nt_conn_fini(&knock->conn);
    knock->state = NT_KNOCK_REST;
    knock->at = (knock->at + 1) % (candidates > 0 ? candidates : 1);
    knock->until = knock->at == 0 ? nt_now() + REST_S : 0;
    if (knock->at == 0 && knock->patience_s < PATIENCE_MAX_S)
        knock->patience_s *= 2;
}

static void wait_for(struct nt_knock *knock, enum nt_knock_state state, double seconds)
{
    knock->state = state;
    knock->until = nt_now() + seconds;
}

static void begin(struct nt_knock *knock)
{
    size_t ports = nt_port_count(knock->conf);
    struct sockaddr_storage to = knock->addresses.at[knock->at / ports];
    knock->port = nt_port_candidate(knock->conf, knock->job->id, knock->at % ports);
    socklen_t size = sizeof(struct sockaddr_in);
    if (to.ss_family == AF_INET) {
        ((struct sockaddr_in *)&to)->sin_port = htons(knock->port);
    } else if (to.ss_family == AF_INET6) {
        ((struct sockaddr_in6 *)&to)->sin6_port = htons(knock->port);
        size = sizeof(struct sockaddr_in6);
    } else {
        go_on(knock);
        return;
    }
    int one = 1, fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        nt_err_set(&knock->last, NT_ERR_SYSTEM, "socket: %s", strerror(errno));
        go_on(knock);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    bool refused = connect(fd, (struct sockaddr *)&to, size) != 0 && errno != EINPROGRESS;
    if (refused && !knock->met)
        nt_err_set(&knock->last, NT_ERR_INPUT, "%s", strerror(errno));
    if (nt_conn_init(&knock->conn, fd, NT_PROOF_MAX, KNOCK_QUEUE, &knock->last) != 0 || refused) {
        go_on(knock);
        return;
    }
    wait_for(knock, NT_KNOCK_CONNECTING, CONNECT_S);
}

static void see_whether_connected(struct nt_knock *knock)
{
    struct pollfd ready = {.fd = knock->conn.fd, .events = POLLOUT};
    int why = 0;
    socklen_t size = sizeof why;
    if (poll(&ready, 1, 0) <= 0)
        return;
    if (getsockopt(knock->conn.fd, SOL_SOCKET, SO_ERROR, &why, &size) != 0 || why != 0) {
        if (!knock->met)
            nt_err_set(&knock->last, NT_ERR_INPUT, "%s", strerror(why));
        go_on(knock);
        return;
    }
    wait_for(knock, NT_KNOCK_HELLO, knock->patience_s);
}

static struct nt_claim claim_of(const struct nt_knock *knock, enum nt_direction direction)
{
    const struct nt_job *job = knock->job;
    return (struct nt_claim){.direction = direction,
                             .job = job->id,
                             .restart = job->restart,
                             .leader = job->host[knock->leader],
                             .member = job->host[job->me],
                             .member_index = (uint32_t)job->me,
                             .port = knock->port,
                             .leader_nonce = knock->leader_nonce,
                             .member_nonce = knock->member_nonce};
}

/* 0: our job's leader, and our proof is on its way */
static int answer_hello(struct nt_knock *knock, const struct nt_frame *frame,
                        const unsigned char *payload)
{
    struct nt_hello hello;
    struct nt_err other;
    char credential[NT_CREDENTIAL_MAX];
    unsigned char proof[NT_PROOF_MAX];
    if (frame->type != NT_FRAME_HELLO || frame->host != knock->leader ||
        nt_hello_decode(payload, frame->payload_bytes, &hello, &other) != 0 ||
        hello.job != knock->job->id)
        return -1; /* somebody else's: nothing to tell */
    knock->met = true;
    if (hello.version != NT_WIRE_VERSION || hello.restart != knock->job->restart)
        return nt_err_set(&knock->last, NT_ERR_INPUT,
                          "speaks version %u of run %u, expected version %d of run %u",
                          hello.version, hello.restart, (int)NT_WIRE_VERSION, knock->job->restart);
    memcpy(knock->leader_nonce, hello.nonce, NT_NONCE_BYTES);
    if (nt_nonce_make(knock->member_nonce, &knock->last) != 0)
        return -1;
    struct nt_claim claim = claim_of(knock, NT_TO_LEADER);
    if (nt_auth_prove(knock->conf->munge_socket, &claim, credential, &knock->last) != 0)
        return -1;
    size_t length = strlen(credential);
    memcpy(proof, knock->member_nonce, NT_NONCE_BYTES);
    memcpy(proof + NT_NONCE_BYTES, credential, length);
    struct nt_frame reply = {.type = NT_FRAME_PROOF,
                             .host = (uint32_t)knock->job->me,
                             .payload_bytes = (uint32_t)(NT_NONCE_BYTES + length)};
    return nt_conn_send(&knock->conn, &reply, proof, &knock->last);
}

static int check_leader(struct nt_knock *knock, const struct nt_frame *frame,
                        const unsigned char *payload)
{
    char credential[NT_CREDENTIAL_MAX];
    size_t bytes = frame->payload_bytes;
    if (frame->type != NT_FRAME_PROOF || bytes <= NT_NONCE_BYTES || bytes >= NT_PROOF_MAX)
        return nt_err_set(&knock->last, NT_ERR_INPUT, "not a proof");
    memcpy(credential, payload + NT_NONCE_BYTES, bytes - NT_NONCE_BYTES);
    credential[bytes - NT_NONCE_BYTES] = '\0';
    struct nt_claim claim = claim_of(knock, NT_TO_MEMBER);
    return nt_auth_check(knock->conf->munge_socket, &claim, credential, &knock->last);
}

/* 1: proven */
static int hear(struct nt_knock *knock)
{
    struct nt_frame frame;
    const unsigned char *payload;
    struct nt_err why;
    int got = nt_conn_next(&knock->conn, &frame, &payload, &why);
    if (got == 0)
        return 0;
    if (got < 0) {
        if (knock->state == NT_KNOCK_PROOF)
            nt_err_set(&knock->last, NT_ERR_INPUT, "did not take our proof");
        go_on(knock);
        return 0;
    }
    if (knock->state == NT_KNOCK_HELLO) {
        if (answer_hello(knock, &frame, payload) == 0)
            wait_for(knock, NT_KNOCK_PROOF, PROOF_S);
        else
            go_on(knock);
        return 0;
    }
    if (check_leader(knock, &frame, payload) == 0)
        return 1;
    go_on(knock);
    return 0;
}

int nt_knock_step(struct nt_knock *knock, struct nt_conn *conn)
{
    if (knock->addresses.count == 0)
        return 0;
    if (knock->state != NT_KNOCK_REST && nt_now() >= knock->until) {
        if (knock->state == NT_KNOCK_PROOF)
            nt_err_set(&knock->last, NT_ERR_INPUT, "does not answer our proof");
        go_on(knock);
    }
    if (knock->state == NT_KNOCK_REST && nt_now() >= knock->until)
        begin(knock);
    if (knock->state == NT_KNOCK_CONNECTING)
        see_whether_connected(knock);
    if ((knock->state == NT_KNOCK_HELLO || knock->state == NT_KNOCK_PROOF) && hear(knock) == 1) {
        *conn = knock->conn;
        knock->conn = (struct nt_conn){.fd = -1};
        return 1;
    }
    return 0;
}
