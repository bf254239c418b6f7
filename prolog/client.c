/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Receives the answer and the descriptor that it contains, or -1. */
static int receive_reply(int socket, struct nt_service_reply *reply, int *fd)
{
    struct iovec part = {.iov_base = reply, .iov_len = sizeof *reply};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    ssize_t n;
    *fd = -1;
    do
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof *reply)
        return -1;
    const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (c != NULL && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
        c->cmsg_len == CMSG_LEN(sizeof *fd))
        memcpy(fd, CMSG_DATA(c), sizeof *fd);
    return 0;
}

static int send_request(int socket, const struct nt_service_request *request)
{
    ssize_t n;
    do
        n = send(socket, request, sizeof *request, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *request ? 0 : -1;
}

/* Returns the result code of the request. Copies the error in the reply to err. */
static int call(const struct nt_client *client, const struct nt_service_request *request,
                struct nt_service_reply *reply, int *fd, struct nt_err *err)
{
    if (client->fd < 0) {
        nt_service_handle(client->local, request, reply, fd);
    } else if (send_request(client->fd, request) != 0 ||
               receive_reply(client->fd, reply, fd) != 0) {
        return nt_err_set(err, NT_ERR_SYSTEM, "the agent's worker does not answer");
    }
    if (reply->rc != 0 && err != NULL)
        *err = reply->err;
    return reply->rc;
}

int nt_client_prove(const struct nt_client *client, const struct nt_handshake *handshake,
                    const unsigned char secret[NT_SECRET_BYTES], char credential[NT_CREDENTIAL_MAX],
                    struct nt_err *err)
{
    struct nt_service_request request = {.kind = NT_SERVICE_PROVE, .handshake = *handshake};
    struct nt_service_reply reply;
    int fd;
    memcpy(request.secret, secret, NT_SECRET_BYTES);
    if (call(client, &request, &reply, &fd, err) != 0)
        return -1;
    memcpy(credential, reply.credential, NT_CREDENTIAL_MAX);
    return 0;
}

int nt_client_check(const struct nt_client *client, const struct nt_handshake *handshake,
                    const char *credential, unsigned char secret[NT_SECRET_BYTES],
                    struct nt_err *err)
{
    struct nt_service_request request = {.kind = NT_SERVICE_CHECK, .handshake = *handshake};
    struct nt_service_reply reply;
    int fd;
    memcpy(request.credential, credential, strlen(credential) + 1);
    if (call(client, &request, &reply, &fd, err) != 0)
        return -1;
    memcpy(secret, reply.secret, NT_SECRET_BYTES);
    return 0;
}

static int look_up(const struct nt_client *client, const struct nt_service_request *request,
                   size_t want, struct nt_lookup *lookup, struct nt_err *err)
{
    struct nt_service_reply reply;
    *lookup = (struct nt_lookup){.fd = -1, .want = want};
    return call(client, request, &reply, &lookup->fd, err);
}

int nt_client_look_up_addresses(const struct nt_client *client, size_t host,
                                struct nt_lookup *lookup, struct nt_err *err)
{
    struct nt_service_request request = {.kind = NT_SERVICE_ADDRESSES, .host = (uint32_t)host};
    return look_up(client, &request, sizeof(struct nt_addresses), lookup, err);
}

int nt_client_look_up_use(const struct nt_client *client, struct nt_lookup *lookup,
                          struct nt_err *err)
{
    struct nt_service_request request = {.kind = NT_SERVICE_USE};
    return look_up(client, &request, sizeof(struct nt_job_use), lookup, err);
}

bool nt_client_probe_ended(const struct nt_client *client, char end[NT_PROBE_END_BYTES],
                           enum nt_advice *advice)
{
    struct nt_service_request request = {.kind = NT_SERVICE_PROBE_END};
    struct nt_service_reply reply;
    int fd;
    if (call(client, &request, &reply, &fd, NULL) != 0 || !reply.ended)
        return false;
    memcpy(end, reply.end, NT_PROBE_END_BYTES);
    *advice = (enum nt_advice)reply.advice;
    return true;
}

void nt_client_stop_probe(const struct nt_client *client)
{
    struct nt_service_request request = {.kind = NT_SERVICE_STOP_PROBE};
    struct nt_service_reply reply;
    int fd;
    call(client, &request, &reply, &fd, NULL);
}

void nt_client_report_result(const struct nt_client *client, const struct nt_relay_result *result)
{
    struct nt_service_request request = {.kind = NT_SERVICE_RESULT, .result = *result};
    struct nt_service_reply reply;
    int fd;
    call(client, &request, &reply, &fd, NULL);
}
