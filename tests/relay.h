/* SPDX-License-Identifier: Apache-2.0 */
/* Plays the agents of N hosts for N probes on this machine, in one process: a star over
 * socketpairs, the talk as base/frame.h describes it. A header so that any test can include it. */
#ifndef NT_TEST_RELAY_H
#define NT_TEST_RELAY_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "frame.h"

enum { RELAY_HOSTS_MAX = 32 };

struct relay_plan {
    unsigned hosts, deadline_ms;
    const char *option; /* text of the --nettopo option */
    const char *policy; /* "full" or "latency" */
    /* becomes the probe: runs in the child, which exits with what it returns */
    int (*probe)(int fd, unsigned rank, const void *context);
    const void *context;
    /* what befalls one of them: a signal after so many ended gathers; 0: nothing. Or it is not
     * there from the start. Or its pieces are replaced by garbage. */
    unsigned victim, after;
    int signal;
    bool absent, garbage;
};

struct relay_outcome {
    char *artifact[NT_ARTIFACT_END]; /* with a terminating 0; NULL: not written */
    size_t bytes[NT_ARTIFACT_END];
    char done[2048];  /* the line of DONE; "" when there was none */
    double seconds;   /* to DONE, or to the end without it */
    unsigned gathers; /* ended */
    unsigned fallen;  /* probes other than the victim that did not end with 0 */
    int status;       /* wait status of the last one of them */
};

struct relay {
    const struct relay_plan *plan;
    struct relay_outcome *out;
    int fd[RELAY_HOSTS_MAX]; /* -1: gone */
    pid_t pid[RELAY_HOSTS_MAX];
    bool away[RELAY_HOSTS_MAX];      /* missed a gather: not waited for */
    uint32_t whole[RELAY_HOSTS_MAX]; /* the last seq whose piece is whole */
    uint32_t open_seq;               /* 0: none */
    double until;                    /* when the open gather ends */
    unsigned char payload[NT_FRAME_PAYLOAD_MAX];
};

static double relay_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool relay_read(int fd, void *to, size_t bytes)
{
    for (char *at = to; bytes > 0;) {
        ssize_t n = read(fd, at, bytes);
        if (n <= 0 && errno != EINTR)
            return false;
        if (n > 0) {
            at += n;
            bytes -= (size_t)n;
        }
    }
    return true;
}

static void relay_drop(struct relay *r, unsigned host)
{
    if (r->fd[host] >= 0)
        close(r->fd[host]);
    r->fd[host] = -1;
}

/* Never blocks on a probe that stopped reading: it is dropped when its socket is full. Of one that
 * has gone, what it said last is still to be heard. */
static bool relay_put(struct relay *r, unsigned host, const void *data, size_t bytes)
{
    ssize_t n = send(r->fd[host], data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n != (ssize_t)bytes && !(n < 0 && errno == EPIPE))
        relay_drop(r, host);
    return n == (ssize_t)bytes;
}

static void relay_send(struct relay *r, unsigned host, const struct nt_frame *frame,
                       const void *payload)
{
    unsigned char head[NT_FRAME_HEAD_BYTES];
    if (r->fd[host] < 0)
        return;
    nt_frame_encode(frame, head);
    if (relay_put(r, host, head, sizeof head) && frame->payload_bytes > 0)
        relay_put(r, host, payload, frame->payload_bytes);
}

static void relay_start(struct relay *r)
{
    for (unsigned h = 0; h < r->plan->hosts; h++) {
        char text[8192];
        int n = snprintf(text, sizeof text,
                         "rank %u\nsize %u\ndeadline_us %.0f\njob 42\nrestart 1\ncluster c\n"
                         "policy %s\noption %s\n",
                         h, r->plan->hosts, (relay_now() + r->plan->deadline_ms * 1e-3) * 1e6,
                         r->plan->policy, r->plan->option);
        for (unsigned k = 0; k < r->plan->hosts; k++)
            n += snprintf(text + n, sizeof text - (size_t)n, "host n%u\n", k + 1);
        n += snprintf(text + n, sizeof text - (size_t)n, "end\n");
        struct nt_frame frame = {.type = NT_FRAME_START, .payload_bytes = (uint32_t)n};
        relay_send(r, h, &frame, text);
    }
}

static void relay_add_artifact(struct relay *r, const struct nt_frame *frame)
{
    uint32_t p = frame->host;
    if (nt_artifact_name(p) == NULL)
        return;
    char *grown = realloc(r->out->artifact[p], r->out->bytes[p] + frame->payload_bytes + 1);
    if (grown == NULL)
        abort();
    memcpy(grown + r->out->bytes[p], r->payload, frame->payload_bytes);
    r->out->artifact[p] = grown;
    r->out->bytes[p] += frame->payload_bytes;
    grown[r->out->bytes[p]] = '\0';
}

static void relay_contribution(struct relay *r, unsigned host, struct nt_frame frame)
{
    bool more = (frame.flags & NT_FRAME_MORE) != 0;
    if (host == 0) {
        if (!more) {
            r->open_seq = frame.seq;
            r->until = relay_now() + frame.wait_ms * 1e-3;
            r->whole[0] = frame.seq;
        }
        return;
    }
    if (!more)
        r->whole[host] = frame.seq;
    if (r->plan->garbage && host == r->plan->victim)
        for (size_t k = 0; k < frame.payload_bytes; k++)
            r->payload[k] = (unsigned char)(k * 37 + 11);
    frame.host = host;
    relay_send(r, 0, &frame, r->payload);
}

/* One frame of a probe. False: it is gone, or that was DONE. */
static bool relay_hear(struct relay *r, unsigned host)
{
    unsigned char head[NT_FRAME_HEAD_BYTES];
    struct nt_frame frame;
    if (!relay_read(r->fd[host], head, sizeof head) || nt_frame_decode(head, &frame, NULL) != 0 ||
        !relay_read(r->fd[host], r->payload, frame.payload_bytes)) {
        relay_drop(r, host);
        return host != 0;
    }
    switch (frame.type) {
    case NT_FRAME_GATHER:
        relay_contribution(r, host, frame);
        break;
    case NT_FRAME_BCAST:
        for (unsigned k = 1; k < r->plan->hosts; k++)
            if ((frame.flags & NT_FRAME_UNICAST) == 0 || frame.host == k)
                relay_send(r, k, &frame, r->payload);
        break;
    case NT_FRAME_ARTIFACT:
        relay_add_artifact(r, &frame);
        break;
    case NT_FRAME_DONE:
        snprintf(r->out->done, sizeof r->out->done, "%.*s", (int)frame.payload_bytes,
                 (const char *)r->payload);
        return false;
    default:
        break;
    }
    return true;
}

static void relay_end_gather(struct relay *r)
{
    bool owed = false;
    for (unsigned h = 1; h < r->plan->hosts; h++)
        owed = owed || (r->fd[h] >= 0 && !r->away[h] && r->whole[h] < r->open_seq);
    if (r->open_seq == 0 || (owed && relay_now() < r->until))
        return;
    struct nt_frame frame = {.type = NT_FRAME_GATHERED, .seq = r->open_seq};
    for (unsigned h = 1; h < r->plan->hosts; h++)
        r->away[h] = r->whole[h] < r->open_seq;
    r->open_seq = 0;
    relay_send(r, 0, &frame, NULL);
    if (++r->out->gathers == r->plan->after && r->plan->signal != 0)
        kill(r->pid[r->plan->victim], r->plan->signal);
}

static void relay_spawn(struct relay *r)
{
    for (unsigned h = 0; h < r->plan->hosts; h++) {
        int both[2];
        r->fd[h] = -1;
        r->pid[h] = -1;
        if (r->plan->absent && h == r->plan->victim)
            continue;
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, both) != 0)
            abort();
        fflush(NULL);
        r->pid[h] = fork();
        if (r->pid[h] == 0) {
            for (unsigned k = 0; k < h; k++)
                close(r->fd[k]);
            close(both[0]);
            signal(SIGPIPE, SIG_IGN);
            exit(r->plan->probe(both[1], h, r->plan->context)); /* what gcov counted is written */
        }
        close(both[1]);
        r->fd[h] = both[0];
    }
}

static void relay_reap(struct relay *r)
{
    double until = relay_now() + 60; /* sanitizers check for leaks; a longer time is a hang */
    for (unsigned h = 0; h < r->plan->hosts; h++)
        if (r->fd[h] >= 0)
            shutdown(r->fd[h], SHUT_WR); /* one that is late can still send its last piece */
    if (r->plan->signal != 0 && r->pid[r->plan->victim] > 0)
        kill(r->pid[r->plan->victim], SIGKILL);
    for (unsigned h = 0; h < r->plan->hosts; h++) {
        if (r->pid[h] <= 0)
            continue;
        int status = -1;
        while (relay_now() < until && waitpid(r->pid[h], &status, WNOHANG) == 0) {
            for (unsigned k = 0; k < r->plan->hosts; k++)
                if (r->fd[k] >= 0)
                    recv(r->fd[k], r->payload, sizeof r->payload, MSG_DONTWAIT);
            usleep(1000);
        }
        if (status == -1) {
            kill(r->pid[h], SIGKILL);
            waitpid(r->pid[h], &status, 0);
        }
        if (status != 0 && !(h == r->plan->victim && h > 0)) {
            r->out->fallen++;
            r->out->status = status;
        }
    }
    for (unsigned h = 0; h < r->plan->hosts; h++)
        relay_drop(r, h);
}

/* The whole talk. A minute over the deadline is a hang. */
static void relay_run(const struct relay_plan *plan, struct relay_outcome *out)
{
    static struct relay r;
    memset(&r, 0, sizeof r);
    memset(out, 0, sizeof *out);
    r.plan = plan;
    r.out = out;
    relay_spawn(&r);
    double began = relay_now(), end = began + plan->deadline_ms * 1e-3 + 60;
    relay_start(&r);
    for (bool on = true; on && relay_now() < end;) {
        struct pollfd fds[RELAY_HOSTS_MAX];
        for (unsigned h = 0; h < plan->hosts; h++)
            fds[h] = (struct pollfd){r.fd[h], POLLIN, 0};
        poll(fds, plan->hosts, 5);
        for (unsigned h = 0; on && h < plan->hosts; h++)
            if ((fds[h].revents & (POLLIN | POLLHUP | POLLERR)) != 0)
                on = relay_hear(&r, h);
        relay_end_gather(&r);
    }
    out->seconds = relay_now() - began;
    relay_reap(&r);
}

static void relay_fini(struct relay_outcome *out)
{
    for (size_t p = 0; p < NT_ARTIFACT_END; p++)
        free(out->artifact[p]);
    memset(out, 0, sizeof *out);
}

#endif
