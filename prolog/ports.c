/* SPDX-License-Identifier: Apache-2.0 */
#include "ports.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

static int bind_port(int fd, int family, uint16_t port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    bool six = family == AF_INET6;
    return bind(fd, six ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
                six ? sizeof v6 : sizeof v4);
}

size_t nt_port_count(const struct nt_conf *conf)
{
    size_t range = (size_t)conf->port_last - conf->port_first + 1;
    return range < NT_PORT_TRIES ? range : NT_PORT_TRIES;
}

uint16_t nt_port_candidate(const struct nt_conf *conf, uint32_t job, size_t k)
{
    size_t range = (size_t)conf->port_last - conf->port_first + 1;
    return (uint16_t)(conf->port_first + (job % range + k) % range);
}

int nt_port_listen(uint16_t port, const char *device)
{
    static const int families[] = {AF_INET6, AF_INET}; /* an IPv6 socket accepts IPv4 too */
    for (size_t k = 0; k < 2; k++) {
        int one = 1, zero = 0;
        int fd = socket(families[k], SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            continue;
        if (families[k] == AF_INET6)
            setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
        /* connections of an earlier job may be in TIME_WAIT; another listener still excludes us */
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if ((device[0] == '\0' ||
             setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device)) == 0) &&
            bind_port(fd, families[k], port) == 0 && listen(fd, BACKLOG) == 0)
            return fd;
        int why = errno;
        close(fd);
        errno = why;
        if (why == EADDRINUSE)
            return -1;
    }
    return -1;
}

/* ---- from which agents connect ---- */
/* Ports 512 to 599 belong to old services (bindresvport(3) also begins at 600). */
enum { FIRST = 600, RESERVED = 1024, TRIES = 64 };

void nt_source_port_bind(int fd, int family)
{
    uint16_t start = 0;
    int one = 1;
    if (getrandom(&start, sizeof start, 0) != (ssize_t)sizeof start)
        start = 0;
    /* connections to different ports may share one source port */
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
