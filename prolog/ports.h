/* SPDX-License-Identifier: Apache-2.0 */
/* Ports: which port of the configured range a leader listens on, and which port agents connect
 * from. Does not handle frames or authentication (auth.h).
 *
 * An agent connects from a port below 1024, which only root of a host can use. A listener closes
 * any other connection before it takes a slot or time, as rsh and NFS do (RFC 1813, section 4.4,
 * describes the limits of this protection). So ordinary users of the cluster cannot occupy the
 * listener. Address translation between hosts changes ports: sites that use it set reserved_ports =
 * no.
 * Tests: test_listener.c. */
#ifndef NT_PORTS_H
#define NT_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "conf.h"

enum { NT_PORT_TRIES = 8 };

/* Returns the k-th port (k < nt_port_count) that a job's leader tries to open and its members try
 * to connect to. */
size_t nt_port_count(const struct nt_conf *conf);
uint16_t nt_port_candidate(const struct nt_conf *conf, uint32_t job, size_t k);

/* Listens on a port of all addresses of a network device ("": of all devices). Returns the socket,
 * or -1 with errno set. */
int nt_port_listen(uint16_t port, const char *device);

/* Binds the socket to a port from 600 to 1023 if this process may use one. Otherwise the kernel
 * chooses a port when the socket connects. */
void nt_source_port_bind(int fd, int family);

/* Returns whether the port of a peer's address is below 1024. */
bool nt_source_port_is_reserved(const struct sockaddr_storage *peer);

#endif
