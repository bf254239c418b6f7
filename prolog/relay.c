/* SPDX-License-Identifier: Apache-2.0 */
#include "relay.h"

#include <unistd.h>

#include "role.h"

static void keep_open(struct nt_sandbox *sandbox, int fd)
{
    if (fd >= 0)
        sandbox->fd[sandbox->fds++] = fd;
}

static void keep_what_is_needed(const struct nt_service *service, struct nt_sandbox *sandbox,
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

_Noreturn void nt_relay_run(struct nt_service *service, struct nt_sandbox *sandbox, int client_fd)
{
    static struct nt_session session; /* too large for the stack */
    struct nt_err err;
    keep_what_is_needed(service, sandbox, client_fd);
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
