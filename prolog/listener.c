/* SPDX-License-Identifier: Apache-2.0 */
#include "listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "ports.h"

static const double PROOF_TIMEOUT_S = 1.0; /* to authenticate */
static const double EVICT_AFTER_S = 0.25;  /* when others wait for the slot */
static const double ACCEPT_PAUSE_S = 0.05; /* after accept failed for lack of resources */

enum { PENDING_QUEUE_MAX = 2 * (NT_FRAME_HEAD_BYTES + NT_PROOF_MAX) };

int nt_listener_open(struct nt_listener *listener, const struct nt_conf *conf,
                     const struct nt_job *job, const struct nt_client *client, struct nt_err *err)
{
    memset(listener, 0, sizeof *listener);
    listener->fd = -1;
    listener->version = nt_auth_version();
    listener->job = job;
    listener->conf = conf;
    listener->client = client;
    for (size_t k = 0; k < nt_port_count(conf); k++) {
        uint16_t port = nt_port_candidate(conf, job->id, k);
        listener->fd = nt_port_listen(port, conf->interface);
        if (listener->fd >= 0) {
            listener->port = port;
            return 0;
        }
    }
    return nt_err_set(err, NT_ERR_SYSTEM, "none of %zu ports from %u on can be opened: %s",
                      nt_port_count(conf), (unsigned)nt_port_candidate(conf, job->id, 0),
                      strerror(errno));
}

static void pending_remove(struct nt_listener *listener, size_t k)
{
    nt_conn_fini(&listener->pending[k].conn);
    memmove(listener->pending + k, listener->pending + k + 1,
            (listener->pending_count - k - 1) * sizeof listener->pending[0]);
    listener->pending_count--;
}

void nt_listener_fini(struct nt_listener *listener)
{
    while (listener->pending_count > 0)
        pending_remove(listener, listener->pending_count - 1);
    if (listener->fd >= 0)
        close(listener->fd);
    listener->fd = -1;
}

/* ---- shares of the slots ---- */

static void find_source(const struct sockaddr_storage *peer, unsigned char source[16])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    const struct in6_addr *six = &((const struct sockaddr_in6 *)peer)->sin6_addr;
    memset(source, 0, 16);
    if (peer->ss_family == AF_INET6) {
        memcpy(source, six, IN6_IS_ADDR_V4MAPPED(six) ? 16 : 8);
    } else {
        memcpy(source, mapped, sizeof mapped);
        memcpy(source + sizeof mapped, &((const struct sockaddr_in *)peer)->sin_addr, 4);
    }
}

static size_t slots_of(const struct nt_listener *listener, const unsigned char source[16])
{
    size_t n = 0;
    for (size_t k = 0; k < listener->pending_count; k++)
        n += memcmp(listener->pending[k].source, source, 16) == 0;
    return n;
}

/* Returns the number of slots of the address with the most slots; *oldest: its oldest
 * connection. */
static size_t most_slots(const struct nt_listener *listener, size_t *oldest)
{
    size_t most = 0;
    *oldest = 0;
    for (size_t k = 0; k < listener->pending_count; k++) {
        size_t n = slots_of(listener, listener->pending[k].source);
        if (n > most) {
            most = n;
            *oldest = k;
        }
    }
    return most;
}

static bool is_full(const struct nt_listener *listener)
{
    return listener->pending_count == NT_LISTENER_PENDING_MAX;
}

/* All slots are taken, each by another address. */
static bool is_full_of_single_slots(const struct nt_listener *listener)
{
    size_t oldest;
    return is_full(listener) && most_slots(listener, &oldest) < 2;
}

size_t nt_listener_pollfds(const struct nt_listener *listener, struct pollfd *polls)
{
    size_t n = 0;
    if (listener->fd < 0)
        return 0;
    bool paused = is_full_of_single_slots(listener) || nt_clock_s() < listener->paused_until;
    polls[n++] = (struct pollfd){.fd = paused ? -1 : listener->fd, .events = POLLIN};
    for (size_t k = 0; k < listener->pending_count; k++) {
        const struct nt_conn *conn = &listener->pending[k].conn;
        short write = nt_conn_queued(conn) > 0 ? POLLOUT : 0;
        polls[n++] = (struct pollfd){.fd = conn->fd, .events = (short)(POLLIN | write)};
    }
    return n;
}

static void pending_reject(struct nt_listener *listener, size_t k)
{
    listener->refused++;
    pending_remove(listener, k);
}

/* Pending connections are in the order in which they were accepted. */
static void pending_add(struct nt_listener *listener, int fd, const unsigned char source[16])
{
    int one = 1;
    struct nt_pending *pending = &listener->pending[listener->pending_count];
    if (nt_conn_init(&pending->conn, fd, NT_PROOF_MAX, PENDING_QUEUE_MAX, &listener->last_error) !=
        0)
        return;
    listener->pending_count++;
    memcpy(pending->source, source, sizeof pending->source);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    pending->connected_at = nt_clock_s();
    unsigned char bytes[NT_HELLO_BYTES];
    struct nt_hello hello = {
        .version = listener->version, .job = listener->job->id, .restart = listener->job->restart};
    struct nt_frame frame = {.type = NT_FRAME_HELLO,
                             .host = (uint32_t)listener->job->self,
                             .payload_bytes = NT_HELLO_BYTES};
    if (nt_nonce_make(pending->nonce, &listener->last_error) != 0)
        goto reject;
    memcpy(hello.nonce, pending->nonce, NT_NONCE_BYTES);
    nt_hello_encode(&hello, bytes);
    if (nt_conn_send(&pending->conn, &frame, bytes, &listener->last_error) != 0)
        goto reject;
    return;
reject:
    pending_reject(listener, listener->pending_count - 1);
}

/* When all slots are taken, further connections wait in the backlog, unless the oldest is idle or
 * an address has several. */
static bool may_accept(struct nt_listener *listener)
{
    if (is_full(listener) && nt_clock_s() - listener->pending[0].connected_at >= EVICT_AFTER_S) {
        nt_err_set(&listener->last_error, NT_ERR_INPUT, "too many pending connections");
        pending_reject(listener, 0);
    }
    return !is_full_of_single_slots(listener);
}

/* A slot for a connection from there; false: that address has had its share. */
static bool make_room(struct nt_listener *listener, const unsigned char source[16])
{
    size_t oldest, most;
    if (!is_full(listener))
        return true;
    most = most_slots(listener, &oldest);
    nt_err_set(&listener->last_error, NT_ERR_INPUT, "too many pending connections of an address");
    if (slots_of(listener, source) + 1 >= most) {
        listener->refused++;
        return false;
    }
    pending_reject(listener, oldest);
    return true;
}

/* The connection then stays in the backlog, and poll would return at once. */
static bool is_resource_limit(int why)
{
    return why == EMFILE || why == ENFILE || why == ENOBUFS || why == ENOMEM;
}

static void accept_pending(struct nt_listener *listener)
{
    for (int k = 0; k < NT_LISTENER_PENDING_MAX && may_accept(listener); k++) {
        unsigned char source[16];
        struct sockaddr_storage peer = {0};
        socklen_t size = sizeof peer;
        int fd =
            accept4(listener->fd, (struct sockaddr *)&peer, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && is_resource_limit(errno))
            listener->paused_until = nt_clock_s() + ACCEPT_PAUSE_S;
        if (fd < 0)
            return;
        if (listener->conf->reserved_ports && !nt_source_port_is_reserved(&peer)) {
            close(fd);
            listener->strangers++;
            continue;
        }
        find_source(&peer, source);
        if (make_room(listener, source))
            pending_add(listener, fd, source);
        else
            close(fd);
    }
}

static void expire_pending(struct nt_listener *listener)
{
    double now = nt_clock_s();
    while (listener->pending_count > 0 &&
           now - listener->pending[0].connected_at > PROOF_TIMEOUT_S) {
        nt_err_set(&listener->last_error, NT_ERR_INPUT, "no proof within %g s", PROOF_TIMEOUT_S);
        pending_reject(listener, 0);
    }
}

/* A member of another version sends its version instead of a proof. It is not authenticated, so the
 * version is only logged. Returns -1. */
static int read_member_version(struct nt_listener *listener, const struct nt_frame *frame,
                               const unsigned char *payload)
{
    struct nt_hello hello;
    const struct nt_job *job = listener->job;
    if (frame->host >= job->hosts ||
        nt_hello_decode(payload, frame->payload_bytes, &hello, &listener->last_error) != 0 ||
        hello.version == listener->version)
        return nt_err_set(&listener->last_error, NT_ERR_INPUT, "expected a proof");
    return nt_auth_refuse_version(job->host[frame->host], hello.version, listener->version,
                                  &listener->last_error);
}

/* Checks the member's proof and answers with the leader's. */
static int verify_member(struct nt_listener *listener, struct nt_pending *pending,
                         const struct nt_frame *frame, const unsigned char *payload)
{
    const struct nt_job *job = listener->job;
    char credential[NT_CREDENTIAL_MAX];
    unsigned char answer[NT_PROOF_MAX];
    size_t bytes = frame->payload_bytes;
    if (frame->type == NT_FRAME_HELLO)
        return read_member_version(listener, frame, payload);
    if (frame->type != NT_FRAME_PROOF || bytes <= NT_NONCE_BYTES || bytes >= NT_PROOF_MAX ||
        frame->host == job->self || frame->host >= job->hosts)
        return nt_err_set(&listener->last_error, NT_ERR_INPUT, "expected a proof");
    memcpy(credential, payload + NT_NONCE_BYTES, bytes - NT_NONCE_BYTES);
    credential[bytes - NT_NONCE_BYTES] = '\0';
    unsigned char member_secret[NT_SECRET_BYTES], leader_secret[NT_SECRET_BYTES];
    struct nt_handshake handshake = {
        .direction = NT_TO_LEADER, .peer = frame->host, .port = listener->port};
    memcpy(handshake.leader_nonce, pending->nonce, NT_NONCE_BYTES);
    memcpy(handshake.member_nonce, payload, NT_NONCE_BYTES);
    struct nt_err *err = &listener->last_error;
    if (nt_client_check(listener->client, &handshake, credential, member_secret, err) != 0 ||
        nt_nonce_make(leader_secret, err) != 0)
        return -1;
    handshake.direction = NT_TO_MEMBER;
    if (nt_client_prove(listener->client, &handshake, leader_secret, credential, err) != 0)
        return -1;
    size_t length = strlen(credential);
    memcpy(answer, handshake.member_nonce, NT_NONCE_BYTES);
    memcpy(answer + NT_NONCE_BYTES, credential, length);
    struct nt_frame reply = {.type = NT_FRAME_PROOF,
                             .host = frame->host,
                             .payload_bytes = (uint32_t)(NT_NONCE_BYTES + length)};
    if (nt_conn_send(&pending->conn, &reply, answer, err) != 0)
        return -1;
    struct nt_frame_key to_leader, to_member;
    nt_auth_keys(member_secret, leader_secret, &to_leader, &to_member);
    nt_conn_set_keys(&pending->conn, &to_member, &to_leader);
    return 0;
}

int nt_listener_step(struct nt_listener *listener, size_t *host, struct nt_conn *conn)
{
    if (listener->fd < 0)
        return 0;
    for (size_t k = 0; k < listener->pending_count;) {
        struct nt_pending *pending = &listener->pending[k];
        struct nt_frame frame = {0};
        const unsigned char *payload = NULL;
        int got = nt_conn_flush(&pending->conn, &listener->last_error); /* the rest of HELLO */
        if (got == 0)
            got = nt_conn_next(&pending->conn, &frame, &payload, &listener->last_error);
        if (got == 0) {
            k++;
            continue;
        }
        bool verified = got > 0 && verify_member(listener, pending, &frame, payload) == 0;
        if (verified) {
            *host = frame.host;
            *conn = pending->conn;
            pending->conn = (struct nt_conn){.fd = -1};
            pending_remove(listener, k);
        } else {
            pending_reject(listener, k);
        }
        if (got > 0)
            return verified;
    }
    /* last, so that a proof that waited while munged was slow is read before its timeout is
     * checked */
    expire_pending(listener);
    accept_pending(listener);
    return 0;
}
