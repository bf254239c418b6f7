/* SPDX-License-Identifier: Apache-2.0 */
#include "resent.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>

static bool leaves_the_machine(int fd)
{
    struct sockaddr_storage peer = {0};
    socklen_t bytes = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &bytes) != 0)
        return false;
    if (peer.ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&peer;
        return ntohl(in->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
    }
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&peer;
    return peer.ss_family == AF_INET6 && !IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
}

/* Adds a connection. An older kernel fills a shorter struct; fields that it does not know stay
 * zero. */
static void add_connection(int fd, struct nt_resent *sum)
{
    struct tcp_info info = {0};
    socklen_t bytes = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 || !leaves_the_machine(fd))
        return;
    sum->segments += info.tcpi_data_segs_out;
    if (info.tcpi_total_retrans > info.tcpi_dsack_dups)
        sum->again += info.tcpi_total_retrans - info.tcpi_dsack_dups;
}

struct nt_resent nt_resent_read(void)
{
    struct nt_resent sum = {0};
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    if (folder == NULL)
        return sum;
    while ((entry = readdir(folder)) != NULL) {
        char *end;
        long fd = strtol(entry->d_name, &end, 10);
        if (end != entry->d_name && *end == '\0' && fd >= 0 && fd < INT_MAX)
            add_connection((int)fd, &sum);
    }
    closedir(folder);
    return sum;
}

static uint64_t growth(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

struct nt_resent nt_resent_since(struct nt_resent before, struct nt_resent now)
{
    return (struct nt_resent){growth(before.segments, now.segments),
                              growth(before.again, now.again)};
}
