/* SPDX-License-Identifier: Apache-2.0 */
/* Ports: on which ones of the configured range a leader listens, and from which ones agents
 * connect.
 *
 * An agent connects from a port below 1024, which only root of a host can use, and a listener
 * closes any other connection before it takes a slot or time, as rsh and NFS do (RFC 1813, section
 * 4.4, has the limits of this protection). Ordinary users of the cluster cannot occupy the
 * listener. Authentication is in auth.h. Address translation between hosts changes ports: sites
 * that use it set reserved_ports = no.
 * Tests: test_listener.c. */
#ifndef NT_PORTS_H
#define NT_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "conf.h"

enum { NT_PORT_TRIES = 8 };

/* The k-th port (k < nt_port_count) that a job's leader tries to open and its members to connect
 * to. */
size_t nt_port_count(const struct nt_conf *conf);
uint16_t nt_port_candidate(const struct nt_conf *conf, uint32_t job, size_t k);

/* Listens on a port of all addresses of that network device ("": of all devices). The socket, or -1
 * with errno. */
int nt_port_listen(uint16_t port, const char *device);

/* Gives the socket a port from 600 to 1023 when this process may have one; else it keeps the one
 * that the kernel chooses. */
void nt_source_port_bind(int fd, int family);

/* Whether a peer's address has a port below 1024. */
bool nt_source_port_is_reserved(const struct sockaddr_storage *peer);

#endif
