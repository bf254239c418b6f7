/* SPDX-License-Identifier: Apache-2.0 */
/* Any request from a relay that has been taken over, at the worker, and what is published in the
 * end. The probe, the directory and MUNGE are away. */
#include <munge.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"
#include "service.h"

/* A claim is made only for this host, and its text is bounded. */
munge_err_t munge_encode(char **credential, munge_ctx_t ctx, const void *payload, int bytes)
{
    (void)ctx;
    char text[2048] = {0};
    if (bytes < 0 || (size_t)bytes >= sizeof text)
        abort();
    memcpy(text, payload, (size_t)bytes);
    if (strstr(text, "leader own") == NULL && strstr(text, "member 1 own\n") == NULL)
        abort();
    *credential = NULL;
    return EMUNGE_SOCKET;
}

munge_err_t munge_decode(const char *credential, munge_ctx_t ctx, void **payload, int *bytes,
                         uid_t *uid, gid_t *gid)
{
    (void)ctx;
    (void)uid;
    (void)gid;
    if (strlen(credential) >= NT_CREDENTIAL_MAX)
        abort();
    *payload = NULL;
    *bytes = 0;
    return EMUNGE_CRED_INVALID;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char *names[] = {"first", "own", "third"};
    static struct nt_service service;
    static struct nt_service_request request;
    static struct nt_option option;
    struct nt_conf conf;
    struct nt_service_reply reply;
    int pair[2];
    struct nt_job job = {.id = 1, .hosts = 3, .host = names, .self = 1};
    nt_conf_default(&conf);
    service = (struct nt_service){.conf = &conf,
                                  .job = &job,
                                  .option = &option,
                                  .child = {.pidfd = -1},
                                  .lookups = NT_SERVICE_LOOKUPS, /* all used: none is started */
                                  .publish = {.run_fd = -1, .dir_fd = -1, .reason_fd = -1}};
    nt_artifact_files_init(&service.publish.artifacts, 65536);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair) != 0)
        return 0;
    /* of each request the input sets one part; the rest is as in the one before */
    static const size_t begin[] = {offsetof(struct nt_service_request, host),
                                   offsetof(struct nt_service_request, handshake),
                                   offsetof(struct nt_service_request, secret),
                                   offsetof(struct nt_service_request, credential),
                                   offsetof(struct nt_service_request, result),
                                   offsetof(struct nt_service_request, result.text)};
    memset(&request, 0, sizeof request);
    for (size_t at = 0; at + 3 < size;) {
        const uint8_t *head = data + at;
        size_t to = begin[head[1] % (sizeof begin / sizeof *begin)], part = (size_t)head[2] * 16;
        at += 3;
        part = part < size - at ? part : size - at;
        part = part < sizeof request - to ? part : sizeof request - to;
        request.kind = head[0] % (NT_SERVICE_RESULT + 2);
        memcpy((char *)&request + to, data + at, part);
        at += part;
        bool cut = (head[0] & 0xc0) == 0xc0;
        if (send(pair[1], &request, cut ? part + 1 : sizeof request, 0) < 0)
            abort();
        if (!nt_service_answer(&service, pair[0]))
            break;
        if (recv(pair[1], &reply, sizeof reply, 0) != (ssize_t)sizeof reply)
            abort();
    }
    nt_service_publish(&service);
    if (!service.outcome.decided ||
        memchr(service.outcome.text, '\0', sizeof service.outcome.text) == NULL)
        abort();
    for (const char *c = service.outcome.text; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            abort(); /* it goes to the job */
    close(pair[0]);
    close(pair[1]);
    return 0;
}
