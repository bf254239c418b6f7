/* SPDX-License-Identifier: Apache-2.0 */
#include "guard.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/filter.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"

enum {
    FILTERED_MAX = 1024
}; /* maximum number of addresses in a filter, which needs two instructions for each */
static const double WAIT_S = 200e-6;

struct admitted {
    size_t n;
    struct nt_source at[]; /* ascending and different */
};

static atomic_bool closed;
static _Atomic(struct admitted *)
    admitted; /* NULL: not known yet; never freed, because UCX's thread may read it */

static bool source_of(const struct sockaddr *from, struct nt_source *source)
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (from->sa_family == AF_INET6) {
        memcpy(source->at, &((const struct sockaddr_in6 *)(const void *)from)->sin6_addr,
               NT_SOURCE_BYTES);
    } else {
        memcpy(source->at, mapped, sizeof mapped);
        memcpy(source->at + sizeof mapped,
               &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
    }
    return from->sa_family == AF_INET || from->sa_family == AF_INET6;
}

size_t nt_guard_own(bool loopback, struct nt_source own[NT_SOURCES_MAX])
{
    struct ifaddrs *all = NULL;
    size_t n = 0;
    if (getifaddrs(&all) != 0)
        return 0;
    for (const struct ifaddrs *i = all; i != NULL && n < NT_SOURCES_MAX; i = i->ifa_next) {
        if (i->ifa_addr == NULL || !source_of(i->ifa_addr, &own[n]))
            continue;
        /* check the address, because some networks assign a host's address to the loopback
         * device */
        const struct in6_addr *six = (const void *)own[n].at;
        bool is_loop = IN6_IS_ADDR_LOOPBACK(six) ||
                       (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == IN_LOOPBACKNET);
        n += loopback || !is_loop;
    }
    freeifaddrs(all);
    return n;
}

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, NT_SOURCE_BYTES);
}

static bool is_among(const struct nt_source *source, const struct nt_source *all, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (compare(source, &all[k]) == 0)
            return true;
    return false;
}

void nt_guard_close(void)
{
    atomic_store(&closed, true);
}

int nt_guard_open(const struct nt_source *sources, size_t n, struct nt_err *err)
{
    struct nt_source own[NT_SOURCES_MAX];
    if (!atomic_load(&closed))
        return 0;
    struct admitted *a = calloc(1, sizeof *a + (n + 1) * sizeof a->at[0]);
    if (a == NULL)
        return nt_err_memory(err);
    if (n > 0)
        memcpy(a->at, sources, n * sizeof *sources);
    qsort(a->at, n, sizeof a->at[0], compare);
    size_t own_n = nt_guard_own(true, own);
    for (size_t k = 0, same; k < n; k += same) {
        for (same = 1; k + same < n && compare(&a->at[k], &a->at[k + same]) == 0;)
            same++;
        if (same > 1 || !is_among(&a->at[k], own, own_n))
            a->at[a->n++] = a->at[k];
    }
    atomic_store(&admitted, a);
    return 0;
}

/* Attaches a filter, so that the kernel drops the packets of other hosts, including the first
 * packet of a connection. */
static void filter_listener(int fd, const struct admitted *a)
{
    enum { HEAD = 4, ADDRESS_AT = 12 };
    static const struct sock_filter head[HEAD] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (unsigned)SKF_NET_OFF),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x50, 0, 1), /* IPv6 passes; accept checks it */
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)SKF_NET_OFF + ADDRESS_AT),
    };
    struct sock_filter part[HEAD + 2 * FILTERED_MAX + 1];
    unsigned short n = HEAD;
    if (a->n > FILTERED_MAX)
        return;
    memcpy(part, head, sizeof head);
    for (size_t k = 0; k < a->n; k++) {
        const unsigned char *v4 = a->at[k].at + 12;
        uint32_t address =
            (uint32_t)v4[0] << 24 | (uint32_t)v4[1] << 16 | (uint32_t)v4[2] << 8 | (uint32_t)v4[3];
        if (!IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)a->at[k].at))
            continue;
        part[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, address, 0, 1);
        part[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
    }
    part[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    const struct sock_fprog filter = {.len = n, .filter = part};
    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

/* Closes a connection at once, without reading its data. */
static void refuse(int fd)
{
    const struct linger at_once = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
}

/* Replaces the C library's accept. */
__attribute__((visibility("default"))) int accept(int fd, struct sockaddr *restrict address,
                                                  socklen_t *restrict bytes)
{
    const struct admitted *a = atomic_load(&admitted);
    if (!atomic_load(&closed))
        return accept4(fd, address, bytes, 0);
    if (a == NULL) { /* the connection waits in the kernel, and the caller tries again at once */
        nt_clock_sleep(WAIT_S);
        errno = EAGAIN;
        return -1;
    }
    for (;;) {
        struct sockaddr_storage from = {0};
        struct nt_source source;
        socklen_t size = sizeof from;
        int none = 0, got = accept4(fd, (struct sockaddr *)&from, &size, 0);
        if (got < 0)
            return -1;
        if (!source_of((const struct sockaddr *)&from, &source) ||
            bsearch(&source, a->at, a->n, sizeof a->at[0], compare) == NULL) {
            refuse(got);
            filter_listener(fd, a);
            continue;
        }
        setsockopt(got, SOL_SOCKET, SO_DETACH_FILTER, &none,
                   sizeof none); /* a filter on the connection would cost time */
        if (bytes != NULL) {
            memcpy(address, &from, size < *bytes ? size : *bytes);
            *bytes = size;
        }
        return got;
    }
}
