/* SPDX-License-Identifier: Apache-2.0 */
/* A probe that measures nothing: it exchanges frames through its agent, and rank 0 publishes which
 * hosts contributed. For tests of the agent. The pattern of its option selects a fault:
 *   matrix:exit-R, matrix:hang-R, matrix:garbage-R, matrix:huge-R, matrix:leave-R  (rank R only)
 *   matrix:big     a map of 3 MiB
 *   matrix:slow    rank 0 waits between its two gathers, and reads the pipe PROBE.met meanwhile
 *   matrix:evil    a hint.env with a variable that is not allowed */
#ifndef NT_TOY_PROBE_H
#define NT_TOY_PROBE_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "frame.h"

enum { AGENT = 3, WAIT_MS = 3000, TOY_PATH_BYTES = 256 };

static unsigned rank, size;
static char pattern[256] = "", policy[16] = "", level[16] = "", host[4096][64];

/* Without the handlers of exit: a leak checker's would make a process, which a probe may not. */
static _Noreturn void toy_exit(int status)
{
    fflush(NULL);
    _exit(status);
}

static void read_all(void *to, size_t bytes)
{
    for (char *at = to; bytes > 0;) {
        ssize_t n = read(AGENT, at, bytes);
        if (n <= 0)
            toy_exit(3);
        at += n;
        bytes -= (size_t)n;
    }
}

static void write_all(const void *from, size_t bytes)
{
    for (const char *at = from; bytes > 0;) {
        ssize_t n = write(AGENT, at, bytes);
        if (n <= 0)
            toy_exit(4);
        at += n;
        bytes -= (size_t)n;
    }
}

static struct nt_frame receive(char payload[NT_FRAME_PAYLOAD_MAX + 1])
{
    unsigned char head[NT_FRAME_HEAD_BYTES];
    struct nt_frame frame;
    struct nt_err err;
    read_all(head, sizeof head);
    if (nt_frame_decode(head, &frame, &err) != 0)
        toy_exit(5);
    read_all(payload, frame.payload_bytes);
    payload[frame.payload_bytes] = '\0';
    return frame;
}

static void send_frame(struct nt_frame frame, const char *text, size_t bytes)
{
    unsigned char head[NT_FRAME_HEAD_BYTES];
    uint16_t flags = frame.flags;
    do {
        size_t part = bytes < NT_FRAME_PAYLOAD_MAX ? bytes : NT_FRAME_PAYLOAD_MAX;
        frame.flags = bytes > part ? flags | NT_FRAME_MORE : flags;
        frame.payload_bytes = (uint32_t)part;
        nt_frame_encode(&frame, head);
        write_all(head, sizeof head);
        write_all(text, part);
        text += part;
        bytes -= part;
    } while (bytes > 0);
}

static void read_start(void)
{
    static char text[NT_FRAME_PAYLOAD_MAX + 1];
    unsigned hosts = 0;
    struct nt_frame frame = receive(text);
    if (frame.type != NT_FRAME_START || (frame.flags & NT_FRAME_MORE) != 0)
        toy_exit(6);
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        const char *at;
        if (sscanf(line, "rank %u", &rank) == 1 || sscanf(line, "size %u", &size) == 1)
            continue;
        if (sscanf(line, "policy %15s", policy) == 1)
            continue;
        if (sscanf(line, "option %15[a-z]", level) == 1 && strchr(line, '=') == NULL)
            continue;
        if (strncmp(line, "host ", 5) == 0 && hosts < 4096)
            snprintf(host[hosts++], sizeof host[0], "%s", line + 5);
        if (strncmp(line, "option ", 7) == 0 && (at = strstr(line, "pattern=matrix:")) != NULL)
            snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(at + 15, ","), at + 15);
    }
    if (hosts != size)
        toy_exit(7);
}

static int mine(const char *what)
{
    char text[64];
    snprintf(text, sizeof text, "%s-%u", what, rank);
    return strcmp(text, pattern) == 0;
}

static void fail_as_asked(void)
{
    static const char garbage[100] = "GET / HTTP/1.0";
    if (mine("exit"))
        toy_exit(9);
    if (mine("shout")) { /* hostile output, and more of it than the log holds */
        static const char line[] = "\x1b[31m%s%n\xff\r lies\n";
        for (int k = 0; k < 8000; k++)
            if (write(2, line, sizeof line) < 0)
                break;
        if (ftruncate(2, 1 << 30) == 0 || pwrite(2, line, 1, 1 << 30) >= 0)
            toy_exit(8);
        toy_exit(9);
    }
    if (mine("hang"))
        for (;;)
            pause();
    if (mine("garbage"))
        write_all(garbage, sizeof garbage);
    if (mine("huge")) {
        unsigned char head[NT_FRAME_HEAD_BYTES];
        nt_frame_encode(&(struct nt_frame){.type = NT_FRAME_GATHER,
                                           .seq = 1,
                                           .payload_bytes = NT_FRAME_PAYLOAD_MAX + 1},
                        head);
        write_all(head, sizeof head);
    }
    if (mine("leave") && fork() == 0) { /* a process stays behind, in its own session */
        setsid();
        for (;;)
            pause();
    }
}

/* Rank 0: one gather; present[]: the hosts that contributed. */
static unsigned gather(unsigned seq, char present[4096])
{
    static char text[NT_FRAME_PAYLOAD_MAX + 1];
    unsigned came = 1;
    send_frame((struct nt_frame){.type = NT_FRAME_GATHER, .seq = seq, .wait_ms = WAIT_MS}, "0", 1);
    present[0] = 1;
    for (;;) {
        struct nt_frame frame = receive(text);
        if (frame.seq != seq)
            continue;
        if (frame.type == NT_FRAME_GATHERED)
            return came;
        if (frame.type == NT_FRAME_GATHER && frame.host < 4096) {
            came += !present[frame.host];
            present[frame.host] = 1;
        }
    }
}

static void publish(unsigned came, const char present[4096])
{
    static char map[3 << 20], text[8192];
    size_t n = (size_t)snprintf(
        map, sizeof map, "{\"came\": %u, \"policy\": \"%s\", \"level\": \"%s\", \"uid\": %u}\n",
        came, policy, level, (unsigned)getuid());
    struct nt_frame artifact = {.type = NT_FRAME_ARTIFACT, .host = NT_ARTIFACT_MAP};
    if (strcmp(pattern, "big") == 0) {
        memset(map, ' ', sizeof map);
        n = sizeof map;
    }
    send_frame(artifact, map, n);
    n = (size_t)snprintf(
        text, sizeof text, "NETTOPO_STATUS=%s\n%sNETTOPO_MAP=map.json\n%sNETTOPO_NODE_ORDER=",
        came == size ? "ok" : "partial", came == size ? "" : "NETTOPO_REASON=hosts are missing\n",
        strcmp(pattern, "evil") == 0 ? "LD_PRELOAD=/tmp/x.so\n" : "");
    for (unsigned k = 0, shown = 0; k < size && n < sizeof text - 80; k++)
        if (present[k])
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", shown++ ? "," : "", host[k]);
    text[n++] = '\n';
    artifact.host = NT_ARTIFACT_ENV;
    send_frame(artifact, text, n);
    const char *word = came == size ? "ok" : "partial hosts are missing";
    send_frame((struct nt_frame){.type = NT_FRAME_DONE}, word, strlen(word));
}

/* The pipe that rank 0 of pattern slow reads once it has received all contributions. */
static inline void toy_met_path(const char *probe, char path[TOY_PATH_BYTES + 8])
{
    snprintf(path, TOY_PATH_BYTES + 8, "%s.met", probe);
}

static inline void toy_await_met(const char *probe, int seconds)
{
    char path[TOY_PATH_BYTES + 8];
    int fd = -1;
    toy_met_path(probe, path);
    for (int k = 0; k < 100 * seconds && (fd = open(path, O_WRONLY | O_NONBLOCK)) < 0; k++)
        poll(NULL, 0, 10); /* nobody reads it yet */
    close(fd);
}

/* The whole program. */
static int toy_probe(int argc, char **argv)
{
    static char text[NT_FRAME_PAYLOAD_MAX + 1], present[4096];
    if (argc != 3 || strcmp(argv[1], "--agent-fd") != 0)
        return 2;
    read_start();
    fail_as_asked();
    if (rank == 0) {
        gather(1, present);
        if (strcmp(pattern, "slow") == 0) {
            toy_met_path(argv[0], text);
            int met = open(text, O_RDONLY | O_NONBLOCK);
            poll(NULL, 0, 5000); /* for members that reconnect after a loss */
            close(met);
        }
        for (unsigned k = 1; k < size; k += 2) /* a unicast to every other host */
            send_frame(
                (struct nt_frame){
                    .type = NT_FRAME_BCAST, .flags = NT_FRAME_UNICAST, .seq = 2, .host = k},
                host[k], strlen(host[k]));
        memset(text, 'x', sizeof text);
        send_frame((struct nt_frame){.type = NT_FRAME_BCAST, .seq = 2}, text, 60000);
        memset(present, 0, sizeof present);
        publish(gather(3, present), present);
    } else {
        send_frame((struct nt_frame){.type = NT_FRAME_GATHER, .seq = 1}, host[rank],
                   strlen(host[rank]));
        struct nt_frame frame = receive(text);
        if (rank % 2 == 1 ? frame.host != rank || strcmp(text, host[rank]) != 0
                          : frame.payload_bytes != 60000)
            toy_exit(8);
        send_frame((struct nt_frame){.type = NT_FRAME_GATHER, .seq = 3}, host[rank],
                   strlen(host[rank]));
        read_all(text, 1); /* the agent kills this process */
    }
    return 0;
}

/* A copy of this program where the probe's user can reach it, wherever the checkout is. */
static inline int toy_copy_self(char path[TOY_PATH_BYTES])
{
    char bytes[65536];
    snprintf(path, TOY_PATH_BYTES, "/tmp/nettopo-toy-XXXXXX");
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = mkstemp(path);
    ssize_t n = -1;
    if (from >= 0 && to >= 0 && fchmod(to, 0755) == 0)
        while ((n = read(from, bytes, sizeof bytes)) > 0 && write(to, bytes, (size_t)n) == n)
            ;
    close(from);
    close(to);
    return n == 0 ? 0 : -1;
}

#endif
