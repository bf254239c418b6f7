/* SPDX-License-Identifier: Apache-2.0 */
/* Plays many hosts of a job in one process, at the far ends of the connections of their agents'
 * first hosts: greets, and answers every order and every start of a round as probes do that
 * measured well. A header so that any bench can include it. */
#ifndef NT_TEST_MANY_HOSTS_H
#define NT_TEST_MANY_HOSTS_H

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "conn.h"
#include "wire.h"

enum { ADDRESS_BYTES = 160 };

static void give_up(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(4);
}

static void *take(size_t n, size_t size)
{
    void *memory = calloc(n + 1, size);
    if (memory == NULL)
        give_up("out of memory");
    return memory;
}

static struct nt_conn conn_of(int fd)
{
    struct nt_conn conn;
    if (nt_conn_init(&conn, fd, NT_FRAME_PAYLOAD_MAX, 256 << 20, NULL) != 0)
        give_up("no connection");
    return conn;
}

/* One end: of a host, or of the first of a block that speaks for all of it. */
struct end {
    struct nt_conn conn;
    uint32_t first, count;
};

struct others {
    struct end *end;
    size_t ends;
    bool *paired;                 /* hosts of them */
    struct nt_bytes report[2][2]; /* READY and RESULT; of who rests and of who does not */
    int epoll;
};

static void add_end(struct others *o, int fd, size_t first, size_t count)
{
    struct end *end = &o->end[o->ends];
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = o->ends++};
    *end = (struct end){conn_of(fd), (uint32_t)first, (uint32_t)count};
    if (epoll_ctl(o->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        give_up("epoll refused");
}

static void say(struct end *end, uint32_t host, uint32_t seq, const struct nt_bytes *text)
{
    struct nt_frame frame = {
        .type = NT_FRAME_GATHER, .seq = seq, .host = host, .payload_bytes = (uint32_t)text->bytes};
    if (nt_conn_queue(&end->conn, &frame, text->data, NULL) != 0)
        give_up("a connection broke");
}

static void greet_all(struct others *o)
{
    unsigned char address[ADDRESS_BYTES] = {0};
    for (size_t e = 0; e < o->ends; e++) {
        for (uint32_t k = 0; k < o->end[e].count; k++) {
            struct nt_greeting greeting = {
                .cores = 4, .address = address, .address_bytes = sizeof address};
            struct nt_bytes bytes;
            uint32_t host = o->end[e].first + k;
            snprintf(greeting.host, sizeof greeting.host, "n%u", host);
            memcpy(greeting.machine, &host, sizeof host);
            if (nt_greeting_encode(&greeting, &bytes, NULL) != 0)
                give_up("out of memory");
            say(&o->end[e], host, 1, &bytes);
            free(bytes.data);
        }
        nt_conn_flush(&o->end[e].conn, NULL);
    }
}

static void answer(struct others *o, struct end *end, int kind, uint32_t seq)
{
    bool go = kind == NT_WIRE_GO;
    if (kind != NT_WIRE_ROUND && !go)
        return;
    for (uint32_t h = end->first; h < end->first + end->count; h++) {
        say(end, h, seq + 1, &o->report[go][o->paired[h]]);
        o->paired[h] = o->paired[h] && !go;
    }
}

static bool hear_end(struct others *o, struct end *end)
{
    struct nt_frame frame;
    const unsigned char *payload;
    int got;
    while ((got = nt_conn_next(&end->conn, &frame, &payload, NULL)) == 1) {
        if (frame.type != NT_FRAME_BCAST)
            continue;
        if ((frame.flags & NT_FRAME_UNICAST) != 0)
            o->paired[frame.host] = true;
        else
            answer(o, end, nt_wire_kind(payload, frame.payload_bytes), frame.seq);
    }
    while (nt_conn_queued(&end->conn) > 0 && nt_conn_flush(&end->conn, NULL) == 0)
        if (nt_conn_queued(&end->conn) > 0) {
            struct pollfd room = {.fd = end->conn.fd, .events = POLLOUT};
            poll(&room, 1, 100);
        }
    return got >= 0;
}

static void be_others(struct others *o)
{
    size_t gone = 0;
    for (int go = 0; go < 2; go++)
        for (int paired = 0; paired < 2; paired++) {
            struct nt_report report = {
                .idle = !paired, .ok = paired, .seconds = 1e-3, .result = {.value_us = 2}};
            if (nt_reports_encode(go ? NT_WIRE_RESULT : NT_WIRE_READY, &report, 1,
                                  &o->report[go][paired], NULL) != 0)
                give_up("out of memory");
        }
    greet_all(o);
    while (gone < o->ends) {
        struct epoll_event event[512];
        int n = epoll_wait(o->epoll, event, 512, 60000);
        if (n == 0)
            give_up("nothing happens any more");
        for (int k = 0; k < n; k++) {
            struct end *end = &o->end[event[k].data.u64];
            if (hear_end(o, end))
                continue;
            nt_conn_fini(&end->conn);
            gone++;
        }
    }
}

#endif
