/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes from whoever connects, before it is authenticated: a proof at the listener of a leader
 * (first byte even), HELLO and a proof at the connector of a member (odd). Of MUNGE nothing is left
 * but that root made the credential: its payload is what the peer sent. Nobody is ever accepted. */
#include <fcntl.h>
#include <math.h>
#include <munge.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "connector.h"
#include "fuzz.h"
#include "listener.h"

enum { QUEUE_BYTES = 16384 };

munge_ctx_t munge_ctx_create(void)
{
    static char context;
    return (munge_ctx_t)&context;
}

void munge_ctx_destroy(munge_ctx_t ctx)
{
    (void)ctx;
}

munge_err_t munge_ctx_set(munge_ctx_t ctx, int option, ...)
{
    (void)ctx;
    (void)option;
    return EMUNGE_SUCCESS;
}

munge_err_t munge_ctx_get(munge_ctx_t ctx, int option, ...)
{
    (void)ctx;
    (void)option;
    return EMUNGE_BAD_ARG;
}

munge_err_t munge_encode(char **credential, munge_ctx_t ctx, const void *payload, int bytes)
{
    (void)ctx;
    (void)payload;
    (void)bytes;
    *credential = strdup("MUNGE:AwQ=:");
    return EMUNGE_SUCCESS;
}

munge_err_t munge_decode(const char *credential, munge_ctx_t ctx, void **payload, int *bytes,
                         uid_t *uid, gid_t *gid)
{
    (void)ctx;
    *payload = strdup(credential);
    *bytes = (int)strlen(credential);
    *uid = 0;
    *gid = 0;
    return EMUNGE_SUCCESS;
}

struct scene {
    struct nt_conf conf;
    struct nt_job job;
    struct nt_service service;
    struct nt_client client;
    struct nt_conn *conn; /* of the listener or the connector */
    int peer;             /* the other end */
};

static void listen_to(const struct scene *s, struct nt_listener *listener)
{
    memset(listener, 0, sizeof *listener);
    listener->fd = open("/dev/null", O_RDONLY); /* nobody else connects */
    listener->port = 24500;
    listener->job = &s->job;
    listener->conf = &s->conf;
    listener->client = &s->client;
    listener->pending_count = 1;
    listener->pending[0].connected_at = nt_clock_s();
    nt_nonce_make(listener->pending[0].nonce, NULL);
}

static void connect_to(const struct scene *s, struct nt_connector *connector)
{
    struct nt_addresses none = {0};
    nt_connector_init(connector, &s->conf, &s->job, &s->client, 0, &none);
    connector->attempts = 1;
    connector->attempt[0] = (struct nt_attempt){.conn = {.fd = -1},
                                                .state = NT_ATTEMPT_AWAIT_HELLO,
                                                .state_until = INFINITY,
                                                .port = 24500};
}

/* Frames as they are in data, cut where the input says. */
static void feed(struct scene *s, struct nt_listener *listener, struct nt_connector *connector,
                 const uint8_t *data, size_t size)
{
    struct nt_conn accepted;
    size_t host;
    for (size_t at = 0; at < size;) {
        size_t part = (size_t)data[at] * 8 + 1;
        part = part < size - at ? part : size - at;
        if (send(s->peer, data + at, part, MSG_NOSIGNAL) != (ssize_t)part)
            return; /* closed by the other end */
        at += part;
        for (int k = 0; k < 3; k++) {
            if (listener != NULL && listener->pending_count > 0 &&
                nt_listener_step(listener, &host, &accepted) != 0)
                abort();
            if (connector != NULL && connector->attempt[0].state != NT_ATTEMPT_PAUSED) {
                connector->next_proof_at = 0;
                if (nt_connector_step(connector, &accepted) != 0)
                    abort();
            }
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char *names[] = {"n1", "n2", "n3"};
    static struct nt_listener listener;
    static struct nt_connector connector;
    static struct scene s;
    int fd[2];
    if (size == 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd) != 0)
        return 0;
    bool listens = (data[0] & 1) == 0;
    nt_conf_default(&s.conf);
    s.job = (struct nt_job){.id = 1, .hosts = 3, .host = names, .self = listens ? 0 : 1};
    s.service = (struct nt_service){.conf = &s.conf, .job = &s.job};
    s.client = (struct nt_client){.fd = -1, .local = &s.service};
    s.peer = fd[1];
    if (listens)
        listen_to(&s, &listener);
    else
        connect_to(&s, &connector);
    s.conn = listens ? &listener.pending[0].conn : &connector.attempt[0].conn;
    if (nt_conn_init(s.conn, fd[0], NT_PROOF_MAX, QUEUE_BYTES, NULL) != 0)
        abort();
    feed(&s, listens ? &listener : NULL, listens ? NULL : &connector, data + 1, size - 1);
    if (listens)
        nt_listener_fini(&listener);
    else
        nt_connector_fini(&connector);
    close(fd[1]);
    return 0;
}
