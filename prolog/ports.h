/* SPDX-License-Identifier: Apache-2.0 */
/* The ports on which leaders listen: which of the configured range a job tries, and a socket.
 * Tests: test_listener.c. */
#ifndef NT_PORTS_H
#define NT_PORTS_H

#include <stddef.h>
#include <stdint.h>

#include "conf.h"

enum { NT_PORT_TRIES = 8 };

/* The k-th port (k < nt_port_count) that a job's leader tries to open and its members to connect
 * to. */
size_t nt_port_count(const struct nt_conf *conf);
uint16_t nt_port_candidate(const struct nt_conf *conf, uint32_t job, size_t k);

/* Listens on a port of all addresses of that network device ("": of all devices). The socket, or -1
 * with errno. */
int nt_port_listen(uint16_t port, const char *device);

#endif
