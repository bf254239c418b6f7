/* SPDX-License-Identifier: Apache-2.0 */
/* What a round costs the job's first host and a block leader, when all hosts connect to the first
 * one and when they form blocks: processor and memory of the agent and of rank 0's probe, and bytes
 * on the wire. Subtree, gathers and the probe's exchange and rounds are those of the programs, over
 * socket pairs; one process plays all other hosts. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "coordinator_round.h"
#include "gather.h"
#include "many_hosts.h"
#include "participant.h"
#include "rng.h"
#include "subtree.h"

enum { ROUNDS = 8 };

/* What a process has to tell of itself; of bytes: in all its rounds. */
struct bill {
    double cpu_s;
    long peak_kb;
    double sent, heard, wall_s;
    unsigned lost; /* rounds in which somebody stayed away */
    double alike;  /* bytes to tell everyone the whole round */
};

static double cpu_s(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* Since the process started. */
static long peak_kb(void)
{
    char line[128];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "VmHWM: %ld", &kb) == 1)
            break;
    if (f != NULL)
        fclose(f);
    return kb;
}

static double frame_bytes(const struct nt_frame *frame)
{
    return NT_FRAME_HEAD_BYTES + (double)frame->payload_bytes;
}

static void pair_of(int fd[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
        give_up("socketpair refused");
}

/* ---- rank 0's probe ---- */

static struct nt_oob *gather_greetings(int fd, struct nt_participant *participant,
                                       struct nt_membership **membership)
{
    struct nt_oob *oob;
    struct nt_probe_job job;
    struct nt_err err = {0};
    struct nt_bytes mine, bytes;
    struct nt_peer_table table;
    if (nt_oob_tcp_create(fd, &oob, &job, &err) != 0)
        give_up(err.text);
    struct nt_contribution *contributions = take(oob->size, sizeof *contributions);
    nt_participant_init(participant, oob, NULL, "none is needed");
    if (nt_participant_greeting(participant, &job, &mine, &err) != 0 ||
        oob->ops->gather(oob, mine.data, mine.bytes, 60, contributions, &err) != 0 ||
        nt_membership_create(contributions, oob->size, job.host_names, membership, &table, &err) !=
            0 ||
        nt_peer_table_encode(&table, &bytes, &err) != 0 ||
        nt_participant_set_table(participant, bytes.data, bytes.bytes, &err) != 0)
        give_up(err.text);
    nt_peer_table_fini(&table);
    nt_contributions_free(contributions, oob->size);
    free(contributions);
    free(mine.data);
    return oob;
}

/* Everyone but the first host has a partner. */
static struct nt_order draw_order(size_t hosts, struct nt_rng *rng, uint32_t (*pair)[2])
{
    uint32_t *host = take(hosts, sizeof *host);
    struct nt_order order = {
        .phase = "latency", .pair = pair, .message_bytes = 8, .batches = 3, .count = 10};
    for (uint32_t h = 1; h < hosts; h++)
        host[h - 1] = h;
    nt_rng_shuffle(rng, host, hosts - 1);
    for (; 2 * order.pairs + 1 < hosts - 1; order.pairs++)
        for (int end = 0; end < 2; end++)
            pair[order.pairs][end] = host[2 * order.pairs + (size_t)end];
    free(host);
    return order;
}

static struct bill be_probe(int fd)
{
    struct nt_participant participant;
    struct nt_membership *membership;
    struct nt_coordinator_round coordinator_round;
    struct nt_timeouts timeouts;
    struct nt_rng rng;
    struct nt_err err = {0};
    struct bill bill = {0};
    struct nt_oob *oob = gather_greetings(fd, &participant, &membership);
    bool *unreported = take(oob->size, sizeof *unreported);
    uint32_t(*pair)[2] = take(oob->size, sizeof *pair);
    nt_rng_init(&rng, 1);
    nt_timeouts_init(&timeouts, nt_clock_s(), oob->deadline_s);
    if (nt_coordinator_round_init(&coordinator_round, oob, &participant, membership, &err) != 0)
        give_up(err.text);
    double began = nt_clock_s(), cpu = cpu_s();
    for (uint32_t k = 0; k < ROUNDS; k++) {
        struct nt_order order = draw_order(oob->size, &rng, pair);
        if (nt_coordinator_round_run(&coordinator_round, &order, k, &timeouts, unreported, &err) !=
            0)
            give_up(err.text);
        bill.lost += !coordinator_round.all_ok;
    }
    bill.wall_s = nt_clock_s() - began;
    bill.cpu_s = cpu_s() - cpu;
    bill.peak_kb = peak_kb();
    struct nt_round round = {.order = draw_order(oob->size, &rng, pair)};
    struct nt_bytes whole;
    if (nt_round_encode(&round, &whole, &err) != 0)
        give_up(err.text);
    bill.alike = (double)whole.bytes * (double)(oob->size - 1);
    oob->ops->done(oob, NT_STATUS_OK, "", &err);
    return bill;
}

/* ---- the agent of the first host: what leader.c does with frames ---- */

struct root {
    struct nt_subtree subtree;
    struct nt_gather gather;
    struct nt_conn probe;
    struct bill bill;
    unsigned gathers;
    double cpu;
    bool over;
};

static void send_start(struct root *r, size_t hosts)
{
    size_t room = 256 + hosts * 16, n;
    char *text = take(room, 1);
    n = (size_t)snprintf(text, room, "rank 0\nsize %zu\ndeadline_us %.0f\njob 1\noption quick\n",
                         hosts, (nt_clock_s() + 600) * 1e6);
    for (size_t h = 0; h < hosts; h++)
        n += (size_t)snprintf(text + n, room - n, "host n%zu\n", h);
    n += (size_t)snprintf(text + n, room - n, "end\n");
    for (size_t at = 0; at < n;) {
        bool more = n - at > NT_FRAME_PAYLOAD_MAX;
        struct nt_frame frame = {.type = NT_FRAME_START,
                                 .flags = more ? NT_FRAME_MORE : 0,
                                 .payload_bytes = (uint32_t)(more ? NT_FRAME_PAYLOAD_MAX : n - at)};
        nt_conn_send(&r->probe, &frame, text + at, NULL);
        at += frame.payload_bytes;
    }
    free(text);
}

static void hear_probe(struct root *r)
{
    struct nt_frame frame;
    const unsigned char *payload;
    int got = 0;
    while (!r->over && !r->subtree.children.is_congested &&
           (got = nt_conn_next(&r->probe, &frame, &payload, NULL)) == 1) {
        if (frame.type == NT_FRAME_GATHER) {
            nt_gather_contribution(&r->gather, 0, frame.seq, false);
            nt_gather_open(&r->gather, frame.seq, nt_clock_s() + frame.wait_ms * 1e-3, NULL);
        } else if (frame.type == NT_FRAME_BCAST) {
            bool one = (frame.flags & NT_FRAME_UNICAST) != 0;
            r->bill.sent +=
                frame_bytes(&frame) * (one ? 1 : (double)r->subtree.children.online_count);
            nt_subtree_send(&r->subtree, &frame, payload);
        } else {
            r->over = frame.type == NT_FRAME_DONE;
        }
    }
    r->over = r->over || got < 0;
}

static void hear_members(struct root *r)
{
    struct nt_frame frame;
    const unsigned char *payload;
    while (nt_conn_queued(&r->probe) < NT_QUEUE_HIGH &&
           nt_subtree_next(&r->subtree, &frame, &payload) == 1) {
        r->bill.heard += frame_bytes(&frame);
        if (nt_gather_contribution(&r->gather, frame.host, frame.seq, false))
            nt_conn_queue(&r->probe, &frame, payload, NULL);
    }
    nt_conn_flush(&r->probe, NULL);
}

static void end_gather(struct root *r)
{
    struct nt_frame frame = {.type = NT_FRAME_GATHERED, .seq = r->gather.open_seq};
    if (!nt_gather_is_over(&r->gather, nt_clock_s()))
        return;
    nt_gather_close(&r->gather);
    nt_conn_send(&r->probe, &frame, NULL, NULL);
    if (r->gathers++ > 0)
        return;
    r->bill.sent = r->bill.heard = 0; /* the rounds begin */
    r->cpu = cpu_s();
}

static struct bill be_root(size_t hosts, size_t block, int probe, const int *member)
{
    static struct root r;
    struct pollfd *polls;
    if (nt_subtree_init(&r.subtree, hosts, 0, block, NULL) != 0 ||
        nt_gather_init(&r.gather, hosts, NULL) != 0)
        give_up("out of memory");
    r.probe = conn_of(probe);
    polls = take(nt_subtree_pollfds_max(&r.subtree) + 1, sizeof *polls);
    for (size_t h = 1; h < hosts; h++)
        if (member[h] >= 0) {
            struct nt_conn conn;
            if (nt_conn_init(&conn, member[h], NT_PROOF_MAX, NT_QUEUE_MAX, NULL) != 0 ||
                !nt_children_add(&r.subtree.children, h, &conn, NT_FRAME_PAYLOAD_MAX, NT_QUEUE_MAX))
                give_up("no member");
        }
    send_start(&r, hosts);
    while (!r.over) {
        hear_members(&r);
        hear_probe(&r);
        nt_subtree_step(&r.subtree);
        end_gather(&r);
        bool read = nt_conn_queued(&r.probe) < NT_QUEUE_HIGH;
        size_t n = nt_subtree_pollfds(&r.subtree, read, polls);
        short events = (short)((r.subtree.children.is_congested ? 0 : POLLIN) |
                               (nt_conn_queued(&r.probe) > 0 ? POLLOUT : 0));
        polls[n] = (struct pollfd){.fd = events != 0 ? r.probe.fd : -1, .events = events};
        if (!r.over && poll(polls, n + 1, 100) > 0)
            nt_subtree_poll_events(&r.subtree, polls);
    }
    r.bill.cpu_s = cpu_s() - r.cpu;
    r.bill.peak_kb = peak_kb();
    return r.bill;
}

/* ---- the agent of the first host of a block: what member.c does with frames ---- */

struct leader {
    struct nt_subtree subtree;
    struct nt_conn up, probe;
    struct bill bill;
    double cpu;
    bool begun;
};

/* False: the first host has closed the connection. */
static bool pass_down(struct leader *l)
{
    struct nt_frame frame;
    const unsigned char *payload;
    int got = 0;
    while (!l->subtree.children.is_congested &&
           (got = nt_conn_next(&l->up, &frame, &payload, NULL)) == 1) {
        bool one = (frame.flags & NT_FRAME_UNICAST) != 0,
             mine = !one || frame.host == l->subtree.self;
        if (!l->begun) {
            l->begun = true;
            l->cpu = cpu_s();
            l->bill = (struct bill){0};
        }
        l->bill.heard += frame_bytes(&frame);
        if (!(one && mine)) {
            l->bill.sent +=
                frame_bytes(&frame) * (one ? 1 : (double)l->subtree.children.online_count);
            nt_subtree_send(&l->subtree, &frame, payload);
        }
        if (mine)
            nt_conn_send(&l->probe, &frame, payload, NULL);
    }
    return got >= 0;
}

static void pass_up(struct leader *l)
{
    struct nt_frame frame;
    const unsigned char *payload;
    while (nt_conn_queued(&l->up) < NT_QUEUE_HIGH &&
           nt_subtree_next(&l->subtree, &frame, &payload) == 1) {
        l->bill.heard += frame_bytes(&frame);
        l->bill.sent += frame_bytes(&frame);
        nt_conn_queue(&l->up, &frame, payload, NULL);
    }
    while (nt_conn_queued(&l->up) < NT_QUEUE_HIGH &&
           nt_conn_next(&l->probe, &frame, &payload, NULL) == 1) {
        frame.host = (uint32_t)l->subtree.self;
        l->bill.sent += frame_bytes(&frame);
        nt_conn_queue(&l->up, &frame, payload, NULL);
    }
    nt_conn_flush(&l->up, NULL);
}

static struct bill be_leader(size_t hosts, size_t block, int up, int probe, const int *member)
{
    static struct leader l;
    struct pollfd *polls;
    size_t self = block;
    if (nt_subtree_init(&l.subtree, hosts, self, block, NULL) != 0)
        give_up("out of memory");
    l.up = conn_of(up);
    l.probe = conn_of(probe);
    polls = take(nt_subtree_pollfds_max(&l.subtree) + 2, sizeof *polls);
    for (size_t h = self + 1; h < self + block && h < hosts; h++) {
        struct nt_conn conn;
        if (nt_conn_init(&conn, member[h], NT_PROOF_MAX, NT_QUEUE_MAX, NULL) != 0 ||
            !nt_children_add(&l.subtree.children, h, &conn, NT_FRAME_PAYLOAD_MAX, NT_QUEUE_MAX))
            give_up("no member");
    }
    while (pass_down(&l)) {
        pass_up(&l);
        nt_subtree_step(&l.subtree);
        size_t n = nt_subtree_pollfds(&l.subtree, true, polls);
        short write = nt_conn_queued(&l.up) > 0 ? POLLOUT : 0;
        polls[n] = (struct pollfd){.fd = l.up.fd, .events = (short)(POLLIN | write)};
        polls[n + 1] = (struct pollfd){.fd = l.probe.fd, .events = POLLIN};
        if (poll(polls, n + 2, 100) > 0)
            nt_subtree_poll_events(&l.subtree, polls);
    }
    l.bill.cpu_s = cpu_s() - l.cpu;
    l.bill.peak_kb = peak_kb();
    return l.bill;
}

/* ---- one run ---- */

struct played {
    pid_t pid;
    int fd;
};

/* Call it in the child with the result. */
static void hand_in(const struct bill *bill, int fd)
{
    _exit(write(fd, bill, sizeof *bill) == (ssize_t)sizeof *bill ? 0 : 4);
}

static struct bill collect(const struct played *p)
{
    struct bill bill = {0};
    if (read(p->fd, &bill, sizeof bill) != (ssize_t)sizeof bill)
        give_up("one of the processes failed");
    close(p->fd);
    waitpid(p->pid, NULL, 0);
    return bill;
}

static struct played play(int *child)
{
    int fd[2];
    struct played p;
    if (pipe(fd) != 0)
        give_up("pipe refused");
    fflush(NULL);
    p.pid = fork();
    p.fd = fd[p.pid == 0];
    *child = p.pid == 0;
    close(fd[p.pid != 0]);
    return p;
}

/* All descriptors of a run, so that each process keeps its own and closes the others'. */
struct scene {
    size_t hosts, block;
    int probe[2], up[2], own[2];
    int *near, *far; /* per host: at the agent that it comes to, and with the others; -1: none */
};

static bool is_of_leader(const struct scene *s, size_t h)
{
    return s->block < s->hosts && h / s->block == 1;
}

static void set_scene(struct scene *s)
{
    int fd[2];
    s->near = take(s->hosts, sizeof *s->near);
    s->far = take(s->hosts, sizeof *s->far);
    pair_of(s->probe);
    pair_of(s->up);
    pair_of(s->own);
    for (size_t h = 0; h < s->hosts; h++) {
        s->near[h] = s->far[h] = -1;
        bool comes = h > 0 && (h < s->block || h % s->block == 0 || is_of_leader(s, h));
        if (!comes || h == s->block)
            continue;
        pair_of(fd);
        s->near[h] = fd[0];
        s->far[h] = fd[1];
    }
}

enum part { ROOT = 1, PROBE = 2, LEADER = 4, OTHERS = 8 };

static void keep_if(bool mine, int *fd)
{
    if (mine || *fd < 0)
        return;
    close(*fd);
    *fd = -1;
}

/* Closes what this process has no part in. */
static void keep(struct scene *s, enum part part)
{
    for (size_t h = 0; h < s->hosts; h++) {
        keep_if(part == (is_of_leader(s, h) ? LEADER : ROOT), &s->near[h]);
        keep_if(part == OTHERS, &s->far[h]);
    }
    keep_if(part == ROOT, &s->probe[0]);
    keep_if(part == PROBE, &s->probe[1]);
    keep_if(part == ROOT && s->block < s->hosts, &s->up[0]);
    keep_if(part == LEADER, &s->up[1]);
    keep_if(part == LEADER, &s->own[0]);
    keep_if(part == OTHERS, &s->own[1]);
    if (part == ROOT && s->block < s->hosts)
        s->near[s->block] = s->up[0];
}

static void play_others(const struct scene *s)
{
    struct others o = {.epoll = epoll_create1(EPOLL_CLOEXEC)};
    o.end = take(s->hosts, sizeof *o.end);
    o.paired = take(s->hosts, sizeof *o.paired);
    for (size_t h = 0; h < s->hosts; h++) {
        size_t left = s->hosts - h, speaks_for = s->block < s->hosts && h % s->block == 0
                                                     ? (left < s->block ? left : s->block)
                                                     : 1;
        if (s->far[h] >= 0)
            add_end(&o, s->far[h], h, speaks_for);
    }
    if (s->block < s->hosts)
        add_end(&o, s->own[1], s->block, 1);
    else
        close(s->own[1]);
    be_others(&o);
    free(o.end);
    free(o.paired);
    for (int k = 0; k < 4; k++)
        free(o.report[k / 2][k % 2].data);
    close(o.epoll);
}

static void forget(struct scene *s)
{
    keep(s, 0);
    free(s->near);
    free(s->far);
}

/* The bills of root, probe and leader; the last is empty without blocks. */
static void run(size_t hosts, size_t block, struct bill bill[3])
{
    static const enum part parts[3] = {ROOT, PROBE, LEADER};
    struct scene s = {.hosts = hosts, .block = block};
    struct played played[3] = {{0}};
    int child;
    set_scene(&s);
    for (int k = 0; k < (block < hosts ? 3 : 2); k++) {
        played[k] = play(&child);
        if (!child)
            continue;
        keep(&s, parts[k]);
        struct bill mine = k == 0   ? be_root(hosts, block, s.probe[0], s.near)
                           : k == 1 ? be_probe(s.probe[1])
                                    : be_leader(hosts, block, s.up[1], s.own[0], s.near);
        hand_in(&mine, played[k].fd);
    }
    keep(&s, OTHERS);
    play_others(&s);
    for (int k = 0; k < 3; k++)
        bill[k] = played[k].pid > 0 ? collect(&played[k]) : (struct bill){0};
    s.own[1] = -1;
    for (size_t h = 0; h < hosts; h++)
        s.far[h] = -1; /* closed with their connections */
    forget(&s);
}

static bool can_open(size_t files)
{
    struct rlimit now, more = {files, files};
    if (getrlimit(RLIMIT_NOFILE, &now) != 0)
        return false;
    if (now.rlim_max > more.rlim_max)
        more.rlim_max = now.rlim_max;
    return now.rlim_cur >= files || setrlimit(RLIMIT_NOFILE, &more) == 0;
}

static void print_row(size_t hosts, size_t block, const struct bill bill[3])
{
    const double n = ROUNDS, kb = 1024 * ROUNDS;
    size_t blocks = (hosts + block - 1) / block, conns = block - 1 + blocks - 1;
    printf("%6zu %6zu %7zu |%8.2f %8.2f %8.1f %8.1f %9.0f %9.0f |", hosts,
           block < hosts ? block : 0, conns, bill[0].cpu_s / n * 1e3, bill[1].cpu_s / n * 1e3,
           (double)bill[0].peak_kb / 1024, (double)bill[1].peak_kb / 1024, bill[0].sent / kb,
           bill[0].heard / kb);
    if (block < hosts)
        printf("%8.2f %7.1f %7.0f %7.0f |", bill[2].cpu_s / n * 1e3, (double)bill[2].peak_kb / 1024,
               bill[2].sent / kb, bill[2].heard / kb);
    else
        printf("%8s %7s %7s %7s |", "", "", "", "");
    printf("%8.1f %10.0f%s\n", bill[1].wall_s / n * 1e3, bill[1].alike / 1024,
           bill[1].lost > 0 ? "  (hosts lost)" : "");
}

/* In a process of its own: what one run has taken is not in the next one's bill. */
static void run_and_print(size_t hosts, size_t block)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct bill bill[3];
        run(hosts, block, bill);
        print_row(hosts, block, bill);
        exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        exit(4);
}

int main(void)
{
    static const size_t sizes[] = {64, 256, 1024, 4096, 16384, 65536};
    signal(SIGPIPE, SIG_IGN);
    printf(
        "A round of one pair a host, addresses of %d bytes, mean of %d. CPU in ms, memory at its\n"
        "peak in MB, bytes of the agents in KB; alike: KB that the first host without blocks would "
        "send\n"
        "a round if it told everyone everything, addresses apart\n\n"
        "                      |           the job's first host                          |"
        "    the first of a block        |\n"
        " hosts  block   conns |   agent    probe agent MB probe MB   KB sent  KB heard |"
        "   agent      MB    sent   heard | ms wall   KB alike\n",
        ADDRESS_BYTES, ROUNDS);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        size_t hosts = sizes[k];
        if (can_open(2 * hosts + 100))
            run_and_print(hosts, hosts);
        else
            printf("%6zu      0 %7zu | this system does not open so many files\n", hosts,
                   hosts - 1);
        run_and_print(hosts, hosts <= 256 ? 8 : nt_block_hosts(hosts, 0));
    }
    return 0;
}
