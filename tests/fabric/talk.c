/* SPDX-License-Identifier: Apache-2.0 */
/* talk: just enough traffic to hold the fabric against its declaration.
 *
 *     talk echo PORT                     answers UDP datagrams until it is ended
 *     talk ping ADDRESS PORT COUNT       p10 of half the round trip in us; frames of 119 bytes
 *     talk sink PORT                     takes one TCP connection and tells its sender the bytes
 *     talk send ADDRESS PORT SECONDS AT  sends for SECONDS, or with 0 until it is ended; begins at
 *                                        AT, ns since 1970, so that several begin together;
 *                                        prints the MB/s that arrived, the bytes, begin and end
 *                                        (CLOCK_MONOTONIC, ns)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "now.h"

enum {
    PAYLOAD_BYTES = 119 - 24 - 14 - 20 - 8, /* framing, Ethernet, IPv4, UDP */
    COUNT_MAX = 10000,
    CHUNK_BYTES = 1 << 16,
    CONNECT_TRIES = 100,
    SECONDS_MAX = 60,
};

static int refuse(const char *what)
{
    fprintf(stderr, "talk: %s: %s\n", what, strerror(errno));
    return 4;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static struct sockaddr_in make_address(const char *address, const char *port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
                             .sin_addr.s_addr = htonl(INADDR_ANY)};
    if (address != NULL)
        inet_pton(AF_INET, address, &to.sin_addr);
    return to;
}

static int echo(const char *port)
{
    struct sockaddr_in here = make_address(NULL, port), from;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&here, sizeof here) != 0)
        return refuse("bind");
    for (;;) {
        char data[PAYLOAD_BYTES];
        socklen_t length = sizeof from;
        ssize_t got = recvfrom(fd, data, sizeof data, 0, (struct sockaddr *)&from, &length);
        if (got < 0)
            return refuse("receive");
        sendto(fd, data, (size_t)got, 0, (struct sockaddr *)&from, length);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One datagram there and back; -1 when none came within the socket's timeout. */
static double ping_once(int fd, uint32_t number)
{
    char data[PAYLOAD_BYTES] = {0};
    uint32_t echoed = 0;
    memcpy(data, &number, sizeof number);
    int64_t sent = now_ns();
    if (send(fd, data, sizeof data, 0) < 0)
        return -1;
    do { /* an answer to an earlier one that we gave up may still come */
        if (recv(fd, data, sizeof data, 0) != PAYLOAD_BYTES)
            return -1;
        memcpy(&echoed, data, sizeof echoed);
    } while (echoed != number);
    return (double)(now_ns() - sent) / 2e3;
}

static int ping(const char *address, const char *port, const char *how_many)
{
    static double half_us[COUNT_MAX];
    struct sockaddr_in to = make_address(address, port);
    struct timeval timeout = {.tv_sec = 1}; /* what waits behind a flow is not lost */
    long count = strtol(how_many, NULL, 10);
    if (count < 1 || count > COUNT_MAX)
        return 2;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) != 0 ||
        connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        return refuse("connect");
    long kept = 0, lost = 0;
    for (uint32_t number = 0; kept < count && lost < CONNECT_TRIES; number++) {
        double half = ping_once(fd, number);
        if (half < 0) {
            lost++; /* refused at once until the other side listens */
            pause_ms(10);
        } else if (number > 0) {
            half_us[kept++] = half; /* the first warms caches and is not counted */
        }
    }
    close(fd);
    if (kept < count)
        return refuse("no answer");
    qsort(half_us, (size_t)count, sizeof *half_us, compare);
    printf("%.1f\n", half_us[count / 10]);
    return 0;
}

static int sink(const char *port)
{
    static char data[CHUNK_BYTES];
    struct sockaddr_in here = make_address(NULL, port);
    int door = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    if (door < 0 || setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(door, (struct sockaddr *)&here, sizeof here) != 0 || listen(door, 1) != 0)
        return refuse("listen");
    int fd = accept(door, NULL, NULL);
    if (fd < 0)
        return refuse("accept");
    uint64_t bytes = 0;
    for (ssize_t got; (got = recv(fd, data, sizeof data, 0)) > 0;)
        bytes += (uint64_t)got;
    if (send(fd, &bytes, sizeof bytes, MSG_NOSIGNAL) != sizeof bytes)
        return refuse("send");
    close(fd);
    close(door);
    return 0;
}

static int connect_patiently(const struct sockaddr_in *to)
{
    for (int tries = 0; tries < CONNECT_TRIES; tries++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0)
            return -1;
        if (connect(fd, (const struct sockaddr *)to, sizeof *to) == 0)
            return fd;
        close(fd);
        pause_ms(20);
    }
    return -1;
}

static void wait_till(const char *when)
{
    const int64_t second = 1000000000;
    int64_t at_ns = strtoll(when, NULL, 10);
    struct timespec at = {.tv_sec = at_ns / second, .tv_nsec = at_ns % second};
    while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
}

static int send_stream(const char *address, const char *port, const char *how_long,
                       const char *when)
{
    static const char data[CHUNK_BYTES];
    struct sockaddr_in to = make_address(address, port);
    double seconds = strtod(how_long, NULL);
    if (!(seconds >= 0 && seconds <= SECONDS_MAX))
        return 2;
    int fd = connect_patiently(&to);
    if (fd < 0)
        return refuse("connect");
    wait_till(when);
    int64_t begun = now_ns();
    while (seconds == 0 || (double)(now_ns() - begun) < seconds * 1e9)
        if (send(fd, data, sizeof data, MSG_NOSIGNAL) < 0)
            return refuse("send");
    uint64_t bytes = 0;
    if (shutdown(fd, SHUT_WR) != 0 || recv(fd, &bytes, sizeof bytes, MSG_WAITALL) != sizeof bytes)
        return refuse("no count came back");
    int64_t ended = now_ns();
    printf("%.3f %" PRIu64 " %" PRId64 " %" PRId64 "\n",
           (double)bytes / 1e6 / ((double)(ended - begun) / 1e9), bytes, begun, ended);
    close(fd);
    return 0;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    setpriority(PRIO_PROCESS, 0, -5); /* to measure the network, not the machine's other work */
    if (argc == 3 && strcmp(verb, "echo") == 0)
        return echo(argv[2]);
    if (argc == 5 && strcmp(verb, "ping") == 0)
        return ping(argv[2], argv[3], argv[4]);
    if (argc == 3 && strcmp(verb, "sink") == 0)
        return sink(argv[2]);
    if (argc == 6 && strcmp(verb, "send") == 0)
        return send_stream(argv[2], argv[3], argv[4], argv[5]);
    fputs("usage: talk echo PORT | ping ADDRESS PORT COUNT | sink PORT | "
          "send ADDRESS PORT SECONDS AT\n",
          stderr);
    return 2;
}
