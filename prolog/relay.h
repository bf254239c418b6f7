/* SPDX-License-Identifier: Apache-2.0 */
/* The relay: the unprivileged process that communicates with the agents of other hosts and with the
 * probe. For work that needs root it calls the service (client.h).
 * Tests: test_agent.c. */
#ifndef NT_RELAY_H
#define NT_RELAY_H

#include <stdbool.h>
#include <sys/types.h>

#include "service.h"

/* Exit status of a relay that could not enter its sandbox. */
enum { NT_RELAY_NO_SANDBOX = 3 };

/* Starts a process that runs this host's role in the sweep. It inherits only the service's
 * descriptors and its end of a socket. Returns its process id and sets *socket to the other end,
 * which the caller closes; -1 on error. */
pid_t nt_relay_start(struct nt_service *service, int *socket, struct nt_err *err);

/* Kills the relay and waits for its end, at most until last (nt_clock_s). Returns whether it has
 * ended, so that it writes to no file any more. *status: as waitpid sets it. */
bool nt_relay_end(pid_t pid, double last, int *status);

#endif
