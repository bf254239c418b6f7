/* SPDX-License-Identifier: Apache-2.0 */
#include "source_port.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/random.h>

/* 512 to 599 are the ports of old services (bindresvport(3) begins at 600, too). */
enum { FIRST = 600, RESERVED = 1024, TRIES = 64 };

static int bind_port(int fd, int family, uint16_t port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    bool six = family == AF_INET6;
    return bind(fd, six ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
                six ? sizeof v6 : sizeof v4);
}

void nt_source_port_bind(int fd, int family)
{
    uint16_t start = 0;
    int one = 1;
    if (getrandom(&start, sizeof start, 0) != (ssize_t)sizeof start)
        start = 0;
    /* several connections may have one port, as they go to different ones */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    for (unsigned k = 0; k < TRIES; k++) {
        uint16_t port = (uint16_t)(FIRST + (start + k) % (RESERVED - FIRST));
        if (bind_port(fd, family, port) == 0 || errno != EADDRINUSE)
            return;
    }
}

bool nt_source_port_is_reserved(const struct sockaddr_storage *peer)
{
    uint16_t port = peer->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)peer)->sin6_port
                                                : ((const struct sockaddr_in *)peer)->sin_port;
    return ntohs(port) < RESERVED;
}
