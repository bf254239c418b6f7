/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "heap.h"
#include "now.h"
#include "stamp.h"

enum {
    ETHERNET_BYTES = 14,
    HEAD_BYTES = ETHERNET_BYTES + 20, /* and IPv4 */
    FRAMING_BYTES = 24, /* preamble, checksum and gap, which take time on a wire too */
    FRAME_BYTES = NT_FAB_MTU + 36,
    FRAMES_MAX = 1 << 16, /* 100 MB under way: a flood, not a measurement */
    EVENTS_A_TURN = 16,   /* then look at the cards again */
    FRAMES_A_TURN = 64,   /* from one card, then the others */
    READY_A_TURN = 64,
    STOP = -1, /* the event of the stop descriptor; a card's is its port */
    CONTROL = -2,
};

struct frame {
    struct frame *next; /* in the list of free ones, or of those that wait */
    int to_port, node;  /* where it goes, where it is */
    uint32_t bytes;
    unsigned char data[FRAME_BYTES];
};

/* What a host has for its link, which takes one frame for each receiver in turn, as Linux's own
 * queues share a card between flows (fq_codel; RFC 8290, 1.2), but in frames and without drops. */
struct sender {
    struct frame *first[NT_FAB_PORTS_MAX], *last[NT_FAB_PORTS_MAX]; /* by receiver, oldest first */
    size_t waiting;
    int turn;          /* the receiver whose turn it is */
    bool woken;        /* mark is in the heap, for when the link is free */
    struct frame mark; /* to_port is -1, node the port */
};

struct loop {
    struct nt_fab *fab;
    const struct nt_fab_routes *routes;
    const struct nt_fab_tap *taps;
    int control;
    int64_t spin_ns;
    unsigned short dice[3];            /* what lossy links lose; erand48's state */
    int64_t free_ns[NT_FAB_LINKS_MAX]; /* of each queue's sender */
    struct sender sender[NT_FAB_PORTS_MAX];
    struct nt_fab_heap heap;
    struct frame *unused;
    size_t frame_count;
    struct nt_fab_counts *counts;
};

static struct frame *take_frame(struct loop *loop)
{
    struct frame *frame = loop->unused;
    if (frame != NULL) {
        loop->unused = frame->next;
    } else if (loop->frame_count < FRAMES_MAX) {
        frame = malloc(sizeof *frame);
        loop->frame_count += frame != NULL;
    }
    return frame;
}

static void give_back(struct loop *loop, struct frame *frame)
{
    frame->next = loop->unused;
    loop->unused = frame;
}

static void deliver(struct loop *loop, struct frame *frame, int64_t late_ns)
{
    const struct nt_fab_port *port = &loop->fab->ports[frame->to_port];
    nt_fab_tap_mac(port->host, port->rail, frame->data);
    ssize_t sent;
    do
        sent = write(loop->taps[frame->to_port].frames, frame->data, frame->bytes);
    while (sent < 0 && errno == EINTR);
    if (sent < 0) {
        loop->counts->refused++;
    } else {
        loop->counts->out++;
        loop->counts->bytes += frame->bytes;
    }
    if (late_ns > loop->counts->late_max_ns)
        loop->counts->late_max_ns = late_ns;
    give_back(loop, frame);
}

/* Puts the frame, which is at a node at that time, on its next link. */
static void forward(struct loop *loop, struct frame *frame, int64_t at_ns)
{
    int l = loop->routes->next[frame->node][frame->to_port];
    const struct nt_fab_link *link = &loop->fab->links[l];
    if (link->down || (link->mtu > 0 && frame->bytes > link->mtu + ETHERNET_BYTES) ||
        (link->loss > 0 && erand48(loop->dice) < link->loss)) {
        loop->counts->lost++;
        give_back(loop, frame);
        return;
    }
    frame->node = link->to;
    int64_t out =
        nt_fab_link_pass(link, &loop->free_ns[link->queue], at_ns, frame->bytes + FRAMING_BYTES);
    if (nt_fab_heap_push(&loop->heap, out, frame) != 0) {
        loop->counts->dropped++;
        give_back(loop, frame);
    }
}

static void wait_in_turn(struct sender *s, struct frame *frame)
{
    int to = frame->to_port;
    frame->next = NULL;
    *(s->first[to] == NULL ? &s->first[to] : &s->last[to]->next) = frame;
    s->last[to] = frame;
    s->waiting++;
}

/* Gives the link what it takes by at_ns, and comes again when it is free. */
static void send_in_turn(struct loop *loop, int port, int64_t at_ns)
{
    struct sender *s = &loop->sender[port];
    while (s->waiting > 0) {
        while (s->first[s->turn] == NULL)
            s->turn = (s->turn + 1) % NT_FAB_PORTS_MAX;
        struct frame *frame = s->first[s->turn];
        int l = loop->routes->next[frame->node][frame->to_port];
        int64_t free_ns = loop->free_ns[loop->fab->links[l].queue];
        if (free_ns > at_ns) {
            s->mark.to_port = -1;
            s->mark.node = port;
            s->woken = s->woken || nt_fab_heap_push(&loop->heap, free_ns, &s->mark) == 0;
            return;
        }
        s->first[s->turn] = frame->next;
        s->turn = (s->turn + 1) % NT_FAB_PORTS_MAX;
        s->waiting--;
        forward(loop, frame, at_ns);
    }
}

/* Where the frame wants to go, or -1: not IPv4, or to nobody on this rail. */
static int find_port(const struct loop *loop, const struct frame *frame, int rail)
{
    const unsigned char *data = frame->data;
    if (frame->bytes < HEAD_BYTES || data[12] != 8 || data[13] != 0)
        return -1;
    int host = nt_fab_tap_host_of(data + 30, rail);
    return host >= 0 && host < loop->fab->host_count ? loop->fab->hosts[host].ports[rail] : -1;
}

static void receive(struct loop *loop, int from_port)
{
    for (int k = 0; k < FRAMES_A_TURN; k++) {
        struct frame *frame = take_frame(loop);
        unsigned char lost[FRAME_BYTES];
        ssize_t got =
            read(loop->taps[from_port].frames, frame != NULL ? frame->data : lost, FRAME_BYTES);
        if (frame == NULL) {
            loop->counts->dropped += got > 0;
            return;
        }
        if (got <= 0) {
            give_back(loop, frame);
            return;
        }
        const struct nt_fab_port *port = &loop->fab->ports[from_port];
        frame->bytes = (uint32_t)got;
        frame->to_port = find_port(loop, frame, port->rail);
        if (frame->to_port < 0 || frame->to_port == from_port) {
            loop->counts->refused++;
            give_back(loop, frame);
            continue;
        }
        loop->counts->in++;
        frame->node = port->node;
        wait_in_turn(&loop->sender[from_port], frame);
        send_in_turn(loop, from_port, nt_fab_stamp_read(frame->data, now_ns()));
    }
}

/* Handles what is due; true when more may be. */
static bool run_events(struct loop *loop)
{
    for (int k = 0; k < EVENTS_A_TURN; k++) {
        int64_t now = now_ns();
        if (loop->heap.count == 0 || loop->heap.events[0].at_ns > now)
            return false;
        struct nt_fab_event event = nt_fab_heap_pop(&loop->heap);
        struct frame *frame = event.what;
        if (frame->to_port < 0) {
            loop->sender[frame->node].woken = false;
            send_in_turn(loop, frame->node, event.at_ns);
        } else if (loop->fab->nodes[frame->node].port == frame->to_port) {
            deliver(loop, frame, now - event.at_ns);
        } else {
            forward(loop, frame, event.at_ns);
        }
    }
    return true;
}

/* Sleeping alone is 40 us late, spinning alone takes the core that the hosts need. */
static int wait_ready(const struct loop *loop, int poll, bool more, struct epoll_event *ready)
{
    if (!more && loop->heap.count == 0)
        return epoll_wait(poll, ready, READY_A_TURN, -1);
    int64_t left = more ? 0 : loop->heap.events[0].at_ns - now_ns() - loop->spin_ns;
    if (left <= 0)
        return epoll_wait(poll, ready, READY_A_TURN, 0);
    struct timespec pause = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    return epoll_pwait2(poll, ready, READY_A_TURN, &pause, NULL);
}

static int run(struct loop *loop, int poll, struct nt_err *err)
{
    for (;;) {
        bool more = run_events(loop);
        struct epoll_event ready[READY_A_TURN];
        int count = wait_ready(loop, poll, more, ready);
        if (count < 0 && errno != EINTR)
            return nt_err_set(err, NT_ERR_SYSTEM, "epoll: %s", strerror(errno));
        for (int k = 0; k < count; k++) {
            if (ready[k].data.fd == STOP)
                return 0;
            if (ready[k].data.fd == CONTROL)
                nt_fab_control_serve(loop->control, loop->fab);
            else
                receive(loop, ready[k].data.fd);
        }
    }
}

static int watch_one(int poll, int fd, int what, struct nt_err *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = what};
    if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "epoll: %s", strerror(errno));
    return 0;
}

static int watch(int poll, const struct loop *loop, int stop, struct nt_err *err)
{
    for (int port = 0; port < loop->fab->port_count; port++)
        if (watch_one(poll, loop->taps[port].frames, port, err) != 0)
            return -1;
    if (loop->control >= 0 && watch_one(poll, loop->control, CONTROL, err) != 0)
        return -1;
    return watch_one(poll, stop, STOP, err);
}

static void drop_waiting(struct loop *loop, struct sender *s)
{
    for (int to = 0; to < NT_FAB_PORTS_MAX; to++)
        while (s->first[to] != NULL) {
            struct frame *frame = s->first[to];
            s->first[to] = frame->next;
            give_back(loop, frame);
        }
}

static void free_frames(struct loop *loop)
{
    while (loop->heap.count > 0) {
        struct frame *frame = nt_fab_heap_pop(&loop->heap).what;
        if (frame->to_port >= 0)
            give_back(loop, frame);
    }
    for (int port = 0; port < loop->fab->port_count; port++)
        drop_waiting(loop, &loop->sender[port]);
    while (loop->unused != NULL) {
        struct frame *next = loop->unused->next;
        free(loop->unused);
        loop->unused = next;
    }
    nt_fab_heap_fini(&loop->heap);
}

int nt_fab_loop(struct nt_fab *fab, const struct nt_fab_routes *routes,
                const struct nt_fab_tap *taps, int stop, int control, int64_t spin_ns,
                struct nt_fab_counts *counts, struct nt_err *err)
{
    int status = -1;
    struct loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory");
    loop->fab = fab;
    loop->routes = routes;
    loop->taps = taps;
    loop->control = control;
    loop->spin_ns = spin_ns;
    loop->counts = counts;
    int poll = epoll_create1(EPOLL_CLOEXEC);
    if (poll < 0) {
        nt_err_set(err, NT_ERR_SYSTEM, "epoll: %s", strerror(errno));
        goto free_loop;
    }
    status = watch(poll, loop, stop, err);
    if (status == 0)
        status = run(loop, poll, err);
    close(poll);
free_loop:
    free_frames(loop);
    free(loop);
    return status;
}
