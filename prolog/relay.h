/* SPDX-License-Identifier: Apache-2.0 */
/* The relay: the process that talks to the agents of other hosts and to the probe. What it needs of
 * root it asks of the service.
 * Tests: test_agent.c. */
#ifndef NT_RELAY_H
#define NT_RELAY_H

#include <stdbool.h>
#include <sys/types.h>

#include "service.h"

/* Its exit status when it could not become what it must be. */
enum { NT_RELAY_NO_SANDBOX = 3 };

/* A process that runs this host's role in the sweep, with the service's descriptors and the socket
 * to it alone. Its process id, and *socket to it, the caller's; or -1. */
pid_t nt_relay_start(struct nt_service *service, int *socket, struct nt_err *err);

/* Kills it and waits until last (nt_clock_s) at most; whether it is gone, so that nothing is
 * written any more. *status: of waitpid. */
bool nt_relay_end(pid_t pid, double last, int *status);

#endif
