/* SPDX-License-Identifier: Apache-2.0 */
#include "service.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

/* Starts the probe. Only rank 0 needs files. The traffic matrix is read as the job's user, who may
 * be the only user with access. If a file cannot be read at all, the probe finds an empty one and
 * adds a warning to the map. */
static void start_probe(struct nt_service *service)
{
    const struct nt_conf *conf = service->conf;
    const struct nt_job *job = service->job;
    const struct nt_child_user owner = {.uid = job->uid, .gid = job->gid};
    struct nt_child_task task = {.conf = conf,
                                 .log = service->log,
                                 .user = nt_child_probe_user(conf, job->uid, job->gid),
                                 .files = {-1, -1}};
    const char *traffic = nt_pattern_matrix(service->option->pattern);
    if (job->self == 0 && traffic != NULL)
        task.files[NT_CHILD_TRAFFIC] = nt_child_read_file(traffic, &owner, false);
    if (job->self == 0 && conf->prior[0] != '\0')
        task.files[NT_CHILD_PRIOR] = nt_child_read_file(conf->prior, &task.user, true);
    task.seconds = service->give_up - nt_clock_s();
    if (nt_child_start(&service->child, &task, &service->probe_socket, &service->probe_err) == 0)
        nt_log(service->log, NT_LOG_DEBUG, "%s runs for %s, pid %d, on host %zu of %zu",
               conf->probe, task.user.name != NULL ? task.user.name : "the job's user",
               (int)service->child.pid, job->self + 1, job->hosts);
    for (int k = 0; k < NT_CHILD_FILES; k++)
        if (task.files[k] >= 0)
            close(task.files[k]);
}

void nt_service_init(struct nt_service *service)
{
    const struct nt_conf *conf = service->conf;
    const struct nt_job *job = service->job;
    service->child = (struct nt_child){.pidfd = -1};
    service->probe_socket = service->over.fd = -1;
    nt_publish_begin(&service->publish, conf, job->id, job->uid, job->gid, &service->publish_err);
    if (service->publish_err.kind == NT_ERR_NONE)
        nt_publish_limit_total(&service->publish, conf->run_dir_limit_bytes, &service->publish_err);
    if (service->publish_err.kind != NT_ERR_NONE)
        nt_log(service->log, NT_LOG_ERROR, "%s; to do: %s", service->publish_err.text,
               nt_advice_text(NT_ADVICE_PUBLISH));
    start_probe(service);
}

void nt_service_fini(struct nt_service *service)
{
    nt_child_stop(&service->child);
    for (size_t k = 0; k < service->lookups; k++)
        nt_lookup_fini(&service->lookup[k]);
    service->lookups = 0;
    nt_lookup_fini(&service->over);
    nt_publish_fini(&service->publish);
}

/* ---- credentials ---- */

/* Builds the claim of a proof. checks: this host checks the proof instead of creating it. -1: not a
 * connection of this host in this job. A member proves its identity to its leader and checks the
 * leader's proof to the member. */
static int make_claim(const struct nt_service *service, const struct nt_handshake *handshake,
                      bool checks, struct nt_claim *claim, struct nt_err *err)
{
    const struct nt_job *job = service->job;
    if ((handshake->direction != NT_TO_LEADER && handshake->direction != NT_TO_MEMBER) ||
        handshake->peer >= job->hosts || handshake->peer == job->self)
        return nt_err_set(err, NT_ERR_INPUT, "not a connection of this host");
    bool leads = (handshake->direction == NT_TO_MEMBER) != checks;
    size_t leader = leads ? job->self : handshake->peer,
           member = leads ? handshake->peer : job->self;
    *claim = (struct nt_claim){.direction = (enum nt_direction)handshake->direction,
                               .cluster = job->cluster,
                               .job = job->id,
                               .restart = job->restart,
                               .leader = job->host[leader],
                               .member = job->host[member],
                               .member_index = (uint32_t)member,
                               .port = handshake->port,
                               .leader_nonce = handshake->leader_nonce,
                               .member_nonce = handshake->member_nonce};
    return 0;
}

static void wait_on(const struct nt_service *service, enum nt_service_wait what)
{
    if (service->waits_on != NULL)
        atomic_store(service->waits_on, (unsigned)what);
}

/* Until munged answers, the relay waits too and cannot report why it has no result. If the answer
 * is late, the lost time was spent here; the monitor reports this if the worker does not end
 * either. */
static void munged_answered(struct nt_service *service)
{
    service->munged_is_late = nt_clock_s() >= service->give_up;
    if (!service->munged_is_late)
        wait_on(service, NT_WAIT_NONE);
}

static int prove(struct nt_service *service, const struct nt_service_request *request,
                 struct nt_service_reply *reply)
{
    struct nt_claim claim;
    if (make_claim(service, &request->handshake, false, &claim, &reply->err) != 0)
        return -1;
    wait_on(service, NT_WAIT_MUNGE);
    int rc = nt_auth_prove(service->conf->munge_socket, &claim, request->secret, reply->credential,
                           &reply->err);
    munged_answered(service);
    return rc;
}

static int check(struct nt_service *service, const struct nt_service_request *request,
                 struct nt_service_reply *reply)
{
    struct nt_claim claim;
    if (memchr(request->credential, '\0', sizeof request->credential) == NULL)
        return nt_err_set(&reply->err, NT_ERR_INPUT, "credential without its end");
    if (make_claim(service, &request->handshake, true, &claim, &reply->err) != 0)
        return -1;
    wait_on(service, NT_WAIT_MUNGE);
    int rc = nt_auth_check(service->conf->munge_socket, &claim, request->credential, reply->secret,
                           &reply->err);
    munged_answered(service);
    return rc;
}

/* ---- lookups ---- */

_Static_assert(sizeof(struct nt_addresses) <= NT_LOOKUP_BYTES_MAX,
               "addresses must fit into a lookup's result");

static int lookup_addresses(const void *query, void *bytes)
{
    struct nt_addresses found;
    memset(&found, 0, sizeof found);
    if (nt_job_addresses(query, &found, NULL) != 0)
        return -1;
    memcpy(bytes, &found, sizeof found);
    return 0;
}

static int lookup_use(const void *query, void *bytes)
{
    struct nt_job_use use;
    nt_job_load_use(query, &use);
    memcpy(bytes, &use, sizeof use);
    return 0;
}

static int look_up(struct nt_service *service, const struct nt_service_request *request, int *fd,
                   struct nt_err *err)
{
    const struct nt_job *job = service->job;
    bool addresses = request->kind == NT_SERVICE_ADDRESSES;
    if (addresses && request->host >= job->hosts)
        return nt_err_set(err, NT_ERR_INPUT, "not a host of the job");
    if (service->lookups == NT_SERVICE_LOOKUPS)
        return nt_err_set(err, NT_ERR_INPUT, "expected at most %d lookups",
                          (int)NT_SERVICE_LOOKUPS);
    struct nt_lookup *lookup = &service->lookup[service->lookups];
    int rc = addresses ? nt_lookup_start(lookup, sizeof(struct nt_addresses), lookup_addresses,
                                         job->host[request->host], err)
                       : nt_lookup_start(lookup, sizeof(struct nt_job_use), lookup_use, job, err);
    if (rc != 0)
        return -1;
    service->lookups++;
    *fd = lookup->fd;
    lookup->fd = -1; /* the relay owns it now */
    return 0;
}

/* ---- the end ---- */

static int store_result(struct nt_service *service, const struct nt_relay_result *result,
                        struct nt_err *err)
{
    if (service->has_result || result->advice > NT_ADVICE_SYSTEM ||
        !nt_job_figures_are_valid(&result->figures) ||
        memchr(result->text, '\0', sizeof result->text) == NULL)
        return nt_err_set(err, NT_ERR_INPUT, "malformed result of the relay");
    service->has_result = true;
    service->result = *result;
    return 0;
}

void nt_service_handle(struct nt_service *service, const struct nt_service_request *request,
                       struct nt_service_reply *reply, int *fd)
{
    *fd = -1;
    memset(reply, 0, sizeof *reply);
    switch (request->kind) {
    case NT_SERVICE_PROVE:
        reply->rc = prove(service, request, reply);
        break;
    case NT_SERVICE_CHECK:
        reply->rc = check(service, request, reply);
        break;
    case NT_SERVICE_ADDRESSES:
    case NT_SERVICE_USE:
        reply->rc = look_up(service, request, fd, &reply->err);
        break;
    case NT_SERVICE_PROBE_END:
        reply->ended = nt_child_ended(&service->child, reply->end, sizeof reply->end) != 0;
        if (reply->ended)
            reply->advice = nt_child_advice(&service->child);
        break;
    case NT_SERVICE_STOP_PROBE:
        nt_child_stop(&service->child);
        break;
    case NT_SERVICE_RESULT:
        reply->rc = store_result(service, &request->result, &reply->err);
        break;
    default:
        reply->rc = nt_err_set(&reply->err, NT_ERR_INPUT, "unknown request %u", request->kind);
    }
}

static void send_reply(int socket, const struct nt_service_reply *reply, int fd)
{
    struct iovec part = {.iov_base = (void *)reply, .iov_len = sizeof *reply};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        *c = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    /* one reply per request, so there is room unless the relay does not read */
    sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool nt_service_answer(struct nt_service *service, int socket)
{
    struct nt_service_request request;
    struct nt_service_reply reply;
    int fd;
    /* without room for descriptors, so that the kernel closes those that the relay sends */
    ssize_t n = recv(socket, &request, sizeof request, MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n != (ssize_t)sizeof request)
        return false;
    nt_service_handle(service, &request, &reply, &fd);
    send_reply(socket, &reply, fd);
    if (fd >= 0)
        close(fd);
    return true;
}

/* ---- publishing ---- */

void nt_service_publish_log(struct nt_publish *publish, const struct nt_option *option,
                            const struct nt_log *log, const struct nt_outcome *outcome)
{
    static char text[NT_LOG_TEXT_BYTES]; /* too large for the stack */
    if (!option->debug || log == NULL)
        return;
    size_t bytes =
        nt_log_text(log, outcome->text, nt_advice_text(outcome->advice), text, sizeof text);
    nt_publish_log(publish, text, bytes);
}

/* Call before the directory is renamed, because the log beside the map contains the outcome. */
static void publish_log(struct nt_service *service)
{
    nt_log(service->log, NT_LOG_DEBUG, "%s", service->outcome.text);
    nt_service_publish_log(&service->publish, service->option, service->log, &service->outcome);
}

void nt_service_publish_failed(struct nt_service *service, enum nt_advice advice,
                               const char *reason)
{
    struct nt_err line, err;
    struct nt_outcome *outcome = &service->outcome;
    nt_err_set(&line, NT_ERR_NONE, "%s", reason); /* converts it to one printable line */
    outcome->advice = advice;
    snprintf(outcome->text, sizeof outcome->text, "failed %s", line.text);
    publish_log(service);
    if (nt_publish_failed(&service->publish, line.text, &err) != 0)
        snprintf(outcome->text, sizeof outcome->text, "failed %.300s; not published: %.190s",
                 line.text,
                 service->publish_err.kind != NT_ERR_NONE ? service->publish_err.text : err.text);
    outcome->decided = true;
}

void nt_service_publish(struct nt_service *service)
{
    static const char failed[] = "failed ";
    const struct nt_relay_result *s = &service->result;
    struct nt_err err;
    if (!service->munged_is_late)
        wait_on(service, NT_WAIT_FILES);
    service->outcome.figures = s->figures;
    if (!service->has_result) {
        nt_service_publish_failed(
            service, service->munged_is_late ? NT_ADVICE_CONNECT : NT_ADVICE_AGENT,
            service->munged_is_late ? NT_MUNGED_IS_SILENT
                                    : "the agent's relay did not end within the budget");
        return;
    }
    if (s->failed) {
        bool skip = strncmp(s->text, failed, sizeof failed - 1) == 0;
        nt_service_publish_failed(service, (enum nt_advice)s->advice,
                                  s->text + (skip ? sizeof failed - 1 : 0));
        return;
    }
    for (int k = 0; k < NT_ARTIFACT_END; k++)
        service->publish.artifacts.complete[k] = s->complete[k] != 0;
    service->outcome.advice = (enum nt_advice)s->advice;
    nt_err_set(&err, NT_ERR_NONE, "%s", s->text);
    snprintf(service->outcome.text, sizeof service->outcome.text, "%s", err.text);
    publish_log(service);
    if (nt_publish_finish(&service->publish, &err) != 0)
        nt_service_publish_failed(service, NT_ADVICE_PUBLISH, err.text);
    service->outcome.decided = true;
}
