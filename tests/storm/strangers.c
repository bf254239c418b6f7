/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of others on the job's hosts. */
#include "faults.h"

#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cluster.h"
#include "listener.h"

static uint16_t stranger_port(size_t candidate)
{
    return nt_port_candidate(&cluster.conf, cluster.host[0].job.id, candidate);
}

/* Listens on ports that the job may try, and says nothing, nonsense, or another job's HELLO. */
static void squat(void *argument)
{
    enum { SILENT, NONSENSE, CLOSES, MANNERS };
    size_t mine = (size_t)argument;
    int fd[NT_PORT_TRIES] = {0}, manners = (int)nt_rng_below(&world.rng, MANNERS);
    struct pollfd polls[NT_PORT_TRIES];
    for (size_t k = 0; k < mine; k++) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(stranger_port(k))};
        fd[k] = socket(AF_INET, SOCK_STREAM, 0);
        polls[k] = (struct pollfd){.fd = fd[k], .events = POLLIN};
        if (bind(fd[k], (struct sockaddr *)&at, sizeof at) != 0 || listen(fd[k], 16) != 0)
            process_exit(0);
    }
    for (;;) {
        if (poll(polls, mine, -1) <= 0)
            process_exit(0);
        for (size_t k = 0; k < mine; k++) {
            int got = (polls[k].revents & POLLIN) != 0 ? accept4(fd[k], NULL, NULL, 0) : -1;
            if (got >= 0 && manners == NONSENSE)
                send(got, "SSH-2.0-OpenSSH_9.2\r\n", 21, 0);
            if (got >= 0 && manners == CLOSES)
                close(got);
        }
    }
}

/* All ports, or all but two at the most: another job may have one of them. */
void plan_squatter(uint32_t k, double at_s)
{
    size_t ports = nt_port_count(&cluster.conf);
    bool all = draw_chance(0.2);
    (void)at_s;
    cluster.leader_faulty = cluster.leader_faulty || (all && k == 0);
    process_start(k, PROCESS_STRANGER, world.now_s, squat,
                  (void *)(all ? ports : 1 + nt_rng_below(&world.rng, ports - 2)));
}

/* Connects to the listener again and again, with nothing or nonsense to say. */
static void knock(void *argument)
{
    uint32_t to = (uint32_t)(uintptr_t)argument;
    double every_s = exp(draw_between(log(0.004), log(0.05)));
    bool talks = draw_chance(0.5);
    unsigned char bytes[200];
    int fd[100]; /* more than a listener has room for */
    size_t n = 0;
    for (double until = process_time() + 8; process_time() < until;) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(stranger_port(0))};
        at.sin_addr.s_addr = htonl(10U << 24 | to);
        if (n == sizeof fd / sizeof *fd) {
            close(fd[0]);
            memmove(fd, fd + 1, --n * sizeof *fd);
        }
        fd[n] = socket(AF_INET, SOCK_STREAM, 0);
        connect(fd[n], (struct sockaddr *)&at, sizeof at);
        process_sleep(every_s);
        for (size_t b = 0; b < sizeof bytes; b++)
            bytes[b] = (unsigned char)nt_rng_next(&world.rng);
        if (talks)
            send(fd[n], bytes, sizeof bytes, 0);
        n++;
    }
}

void plan_knocking(uint32_t k, double at_s)
{
    process_start((uint32_t)nt_rng_below(&world.rng, cluster.hosts), PROCESS_STRANGER,
                  isfinite(at_s) ? at_s : world.now_s, knock, (void *)(uintptr_t)k);
}
