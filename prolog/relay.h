/* SPDX-License-Identifier: Apache-2.0 */
/* The relay: the process that talks to the agents of other hosts and to the probe. What it needs of
 * root it asks of the service.
 * Tests: test_agent.c. */
#ifndef NT_RELAY_H
#define NT_RELAY_H

#include "sandbox.h"
#include "service.h"

/* Its exit status when it could not become what it must be. */
enum { NT_RELAY_NO_SANDBOX = 3 };

/* In the process that becomes the relay, a copy of the service's: runs this host's role in the
 * sandbox and does not return. */
_Noreturn void nt_relay_run(struct nt_service *service, struct nt_sandbox *sandbox, int client_fd);

#endif
