/* SPDX-License-Identifier: Apache-2.0 */
/* Source ports below 1024, which only root of a host can use: an agent connects from one, and a
 * listener closes any other connection before it takes a slot or time (as rsh and NFS have done;
 * RFC 1813, section 4.4 on what it is worth). This keeps users of the cluster from the listener; it
 * is no authentication, which is in auth.h. Where addresses are translated between hosts, ports
 * change on the way: reserved_ports = no.
 * Tests: test_listener.c. */
#ifndef NT_SOURCE_PORT_H
#define NT_SOURCE_PORT_H

#include <stdbool.h>
#include <sys/socket.h>

/* Gives the socket a port from 600 to 1023 when this process may have one; else it keeps the one
 * that the kernel chooses. */
void nt_source_port_bind(int fd, int family);

/* Whether a peer's address has a port below 1024. */
bool nt_source_port_is_reserved(const struct sockaddr_storage *peer);

#endif
