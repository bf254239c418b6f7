/* SPDX-License-Identifier: Apache-2.0 */
/* A leader with its listener and a member that connects to it, in one process, with a munged of its
 * own. */
#ifndef RELAY_SCENE_H
#define RELAY_SCENE_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <cmocka.h>
#include <math.h>

#include "clock.h"
#include "connector.h"
#include "listener.h"
#include "own_munge.h"

/* Seconds of simulated time, the only one here: what a busy machine takes counts nothing. */
static double now_s = 1000;

/* Stands before the library's own. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, t);
    *t = (struct timespec){(time_t)now_s, (long)((now_s - (double)(time_t)now_s) * 1e9)};
    return 0;
}

/* What was sent arrives meanwhile. */
static void pass_ms(void)
{
    poll(NULL, 0, 1);
    now_s += 1e-3;
}

static struct own_munge munge;
static uint16_t first_port = 31870; /* each program has ports of its own: they run side by side */
static char *names[] = {"n1", "n2", "n3"};

static int start(void **state)
{
    (void)state;
    own_munge_start(&munge);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    if (munge.pid > 0)
        own_munge_stop(&munge);
    return 0;
}

/* A leader with its listener, and a member that connects to it. */
struct scene {
    struct nt_conf conf;
    struct nt_job leader, member;
    struct nt_service leader_service, member_service; /* of credentials alone */
    struct nt_client leader_client, member_client;
    struct nt_listener listener;
    struct nt_addresses addresses;
};

static struct nt_client client_of(struct nt_service *service, const struct nt_conf *conf,
                                  const struct nt_job *job)
{
    *service = (struct nt_service){.conf = conf, .job = job};
    return (struct nt_client){.fd = -1, .local = service};
}

static void set(struct scene *s)
{
    struct nt_err err = {0};
    memset(s, 0, sizeof *s);
    nt_conf_default(&s->conf);
    s->conf.port_first = first_port;
    s->conf.port_last = (uint16_t)(first_port + 63);
    s->conf.reserved_ports = false; /* the attacks below come from any port */
    snprintf(s->conf.munge_socket, sizeof s->conf.munge_socket, "%s", munge.socket);
    s->leader = (struct nt_job){.id = (uint32_t)getpid(), .restart = 1, .hosts = 3, .host = names};
    s->member = s->leader;
    s->member.self = 1;
    s->leader_client = client_of(&s->leader_service, &s->conf, &s->leader);
    s->member_client = client_of(&s->member_service, &s->conf, &s->member);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    memcpy(&s->addresses.at[0], &to, sizeof to);
    s->addresses.count = 1;
    if (nt_listener_open(&s->listener, &s->conf, &s->leader, &s->leader_client, &err) != 0)
        fail_msg("%s", err.text);
}

/* Steps both until they are connected or the time is over. */
static bool connect_both(struct scene *s, struct nt_connector *connector, double seconds,
                         size_t *host, struct nt_conn *to_member, struct nt_conn *to_leader)
{
    bool in = false, out = false;
    for (double until = now_s + seconds; !(in && out) && now_s < until; pass_ms()) {
        in = in || nt_listener_step(&s->listener, host, to_member) == 1;
        out = out || nt_connector_step(connector, to_leader) == 1;
    }
    if (in != out) {
        nt_conn_fini(in ? to_member : to_leader);
        return false;
    }
    return in;
}

#endif
