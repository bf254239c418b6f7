/* SPDX-License-Identifier: Apache-2.0 */
#include "relay.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "sandbox.h"
#include "session.h"

static void keep_open(struct nt_sandbox *sandbox, int fd)
{
    if (fd >= 0)
        sandbox->fd[sandbox->fds++] = fd;
}

static void collect_descriptors(const struct nt_service *service, struct nt_sandbox *sandbox,
                                int client_fd)
{
    _Static_assert(NT_ARTIFACT_END + 5 <= NT_SANDBOX_FDS, "room for the descriptors below");
    keep_open(sandbox, client_fd);
    keep_open(sandbox, service->probe_socket);
    keep_open(sandbox, service->child.pidfd);
    if (service->log != NULL)
        keep_open(sandbox, service->log->agent_fd);
    for (int k = 1; k < NT_ARTIFACT_END; k++)
        keep_open(sandbox, service->publish.artifacts.fd[k]);
}

/* Runs in the process that becomes the relay. */
static _Noreturn void run(struct nt_service *service, struct nt_sandbox *sandbox, int client_fd)
{
    static struct nt_session session; /* too large for the stack */
    struct nt_err err;
    collect_descriptors(service, sandbox, client_fd);
    if (nt_sandbox_enter(sandbox, &err) != 0) {
        nt_log(service->log, NT_LOG_ERROR, "the relay has no sandbox: %s; to do: %s", err.text,
               nt_advice_text(NT_ADVICE_PRIVILEGE));
        _exit(NT_RELAY_NO_SANDBOX);
    }
    nt_session_init(&session, service, client_fd);
    if (service->job->self == 0)
        nt_leader_run(&session);
    else
        nt_member_run(&session);
    nt_session_fini(&session);
    _exit(0);
}

pid_t nt_relay_start(struct nt_service *service, int *socket, struct nt_err *err)
{
    int pair[2];
    struct nt_sandbox sandbox = {.binds_reserved_ports = service->conf->reserved_ports ||
                                                         service->conf->port_first < 1024,
                                 .file_bytes = service->conf->publish_limit_bytes};
    if (geteuid() == 0)
        nt_sandbox_find_user(service->conf->relay_user, &sandbox);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        nt_err_set(err, NT_ERR_SYSTEM, "socketpair: %s", strerror(errno));
        return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        run(service, &sandbox, pair[1]);
    }
    close(pair[1]);
    if (pid < 0) {
        nt_err_set(err, NT_ERR_SYSTEM, "fork: %s", strerror(errno));
        close(pair[0]);
        return -1;
    }
    *socket = pair[0];
    return pid;
}

bool nt_relay_end(pid_t pid, double last, int *status)
{
    kill(pid, SIGKILL);
    do {
        pid_t got = waitpid(pid, status, WNOHANG);
        if (got == pid || (got < 0 && errno != EINTR))
            return true;
        poll(NULL, 0, 1);
    } while (nt_clock_s() < last);
    return false;
}
