/* SPDX-License-Identifier: Apache-2.0 */
/* A probe of a hostile user, and a relay that has been taken over: they send what they like. */
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock.h"
#include "cluster.h"
#include "connector.h"
#include "files.h"
#include "frame.h"
#include "listener.h"

enum { FRAMES_MAX = 60 };

static uint32_t draw_small(void)
{
    uint64_t kind = nt_rng_below(&world.rng, 8);
    return kind == 0 ? (uint32_t)nt_rng_next(&world.rng) : (uint32_t)nt_rng_below(&world.rng, 6);
}

/* A frame of any type, with a payload of its own or of those that mean something. */
static struct nt_frame draw_frame(unsigned char *payload, size_t room)
{
    static const char *const texts[] = {"ok", "failed for no reason", "partial", "policy full\n",
                                        ""};
    struct nt_frame frame = {.type = (enum nt_frame_type)(1 + nt_rng_below(&world.rng, 8)),
                             .flags = (uint16_t)nt_rng_below(&world.rng, 4),
                             .seq = draw_small(),
                             .host = draw_small(),
                             .wait_ms = draw_small()};
    size_t bytes = nt_rng_below(&world.rng, draw_chance(0.2) ? room : 40);
    for (size_t b = 0; b < bytes; b++)
        payload[b] = (unsigned char)nt_rng_next(&world.rng);
    if (draw_chance(0.5)) {
        const char *text = texts[nt_rng_below(&world.rng, 5)];
        bytes = strlen(text);
        memcpy(payload, text, bytes);
    }
    frame.payload_bytes = (uint32_t)bytes;
    return frame;
}

void hostile_probe_main(void *argument)
{
    static unsigned char bytes[NT_FRAME_HEAD_BYTES + NT_FRAME_PAYLOAD_MAX];
    int fd = (int)(intptr_t)argument;
    for (size_t k = nt_rng_below(&world.rng, FRAMES_MAX); k > 0; k--) {
        struct nt_frame frame =
            draw_frame(bytes + NT_FRAME_HEAD_BYTES, sizeof bytes - NT_FRAME_HEAD_BYTES);
        nt_frame_encode(&frame, bytes);
        if (draw_chance(0.02))
            files_pass_along(fd);
        if (send(fd, bytes, NT_FRAME_HEAD_BYTES + frame.payload_bytes, MSG_NOSIGNAL) < 0)
            break;
        process_sleep(draw_between(0, 0.02));
        if (draw_chance(0.5))
            while (read(fd, bytes, sizeof bytes) > 0)
                ;
    }
    if (draw_chance(0.5))
        process_sleep(draw_between(0, 5));
    close(fd);
    process_exit((int)nt_rng_below(&world.rng, 2));
}

/* ---- to the worker ---- */

static void ask_anything(int socket)
{
    struct nt_service_request request;
    struct nt_service_reply reply;
    memset(&request, 0, sizeof request);
    request.kind = (uint32_t)nt_rng_below(&world.rng, 9);
    request.host = draw_small();
    request.handshake.direction = (uint32_t)nt_rng_below(&world.rng, 4);
    request.handshake.peer = draw_small();
    memset(request.credential, 'x', nt_rng_below(&world.rng, 2) * sizeof request.credential);
    memset(request.result.text, 'x', nt_rng_below(&world.rng, 2) * NT_DONE_BYTES);
    request.result.advice = draw_small();
    size_t bytes = draw_chance(0.02) ? nt_rng_below(&world.rng, 100) : sizeof request;
    send(socket, &request, bytes, MSG_NOSIGNAL);
    struct iovec part = {.iov_base = &reply, .iov_len = sizeof reply};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    int fd;
    if (recvmsg(socket, &message, 0) <= 0 || message.msg_controllen == 0)
        return;
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
    close(fd);
}

/* ---- to the leader ---- */

/* With its keys: in this host's name, and in others'. */
static void send_anything(struct nt_conn *leader)
{
    unsigned char payload[2000];
    for (size_t k = nt_rng_below(&world.rng, FRAMES_MAX); k > 0; k--) {
        struct nt_frame frame = draw_frame(payload, sizeof payload);
        if (nt_conn_send(leader, &frame, payload, NULL) != 0)
            return;
        process_sleep(draw_between(0, 0.01));
    }
}

static void talk_to_leader(struct host *h, size_t leader, double until)
{
    struct nt_client client = {.fd = h->relay.socket};
    struct nt_addresses addresses = {.count = 1};
    struct nt_connector connector;
    struct nt_conn conn;
    struct sockaddr_in at = {.sin_family = AF_INET};
    at.sin_addr.s_addr = htonl(10U << 24 | h->job_hosts[leader].number);
    memcpy(&addresses.at[0], &at, sizeof at);
    nt_connector_init(&connector, &h->relay.conf, &h->relay.job, &client, leader, &addresses);
    while (nt_clock_s() < until) {
        struct pollfd polls[NT_CONNECTOR_ATTEMPTS];
        size_t n;
        if (nt_connector_step(&connector, &conn) == 1) {
            send_anything(&conn);
            nt_conn_fini(&conn);
            break;
        }
        nt_connector_pollfds(&connector, polls, &n);
        poll(polls, n, 5);
    }
    nt_connector_fini(&connector);
}

/* Then it goes on as if nothing were. */
void hostile_relay(struct host *h)
{
    for (size_t k = nt_rng_below(&world.rng, 12); k > 0; k--)
        ask_anything(h->relay.socket);
    if (h->job.self != 0)
        talk_to_leader(h, draw_chance(0.5) ? 0 : nt_rng_below(&world.rng, h->job.hosts),
                       nt_clock_s() + 0.5);
}
