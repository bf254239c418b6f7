/* SPDX-License-Identifier: Apache-2.0 */
#include "loop.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "now.h"

/* ---- what is to happen when
 * --------------------------------------------------------------------*/

static bool is_before(const struct nt_fab_event *a, const struct nt_fab_event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

void nt_fab_heap_fini(struct nt_fab_heap *heap)
{
    free(heap->events);
    *heap = (struct nt_fab_heap){0};
}

int nt_fab_heap_push(struct nt_fab_heap *heap, int64_t at_ns, void *what)
{
    if (heap->count == heap->capacity) {
        size_t capacity = heap->capacity == 0 ? 1024 : heap->capacity * 2;
        if (capacity > SIZE_MAX / sizeof *heap->events)
            return -1;
        struct nt_fab_event *events = realloc(heap->events, capacity * sizeof *events);
        if (events == NULL)
            return -1;
        heap->events = events;
        heap->capacity = capacity;
    }
    struct nt_fab_event event = {.at_ns = at_ns, .order = heap->pushed++, .what = what};
    size_t hole = heap->count++;
    while (hole > 0 && is_before(&event, &heap->events[(hole - 1) / 2])) {
        heap->events[hole] = heap->events[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap->events[hole] = event;
    return 0;
}

struct nt_fab_event nt_fab_heap_pop(struct nt_fab_heap *heap)
{
    struct nt_fab_event first = heap->events[0], last = heap->events[--heap->count];
    size_t hole = 0;
    for (size_t child = 1; child < heap->count; child = 2 * hole + 1) {
        if (child + 1 < heap->count && is_before(&heap->events[child + 1], &heap->events[child]))
            child++;
        if (!is_before(&heap->events[child], &last))
            break;
        heap->events[hole] = heap->events[child];
        hole = child;
    }
    heap->events[hole] = last;
    return first;
}

/* ---- the control socket
 * ------------------------------------------------------------------------*/

enum { ANSWER_S = 5 };

static int refuse(const char *path, struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", path, strerror(errno));
}

static int make_address(const char *path, struct sockaddr_un *address, struct nt_err *err)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path)
        return nt_err_set(err, NT_ERR_SYSTEM, "%s: expected under %zu bytes", path,
                          sizeof address->sun_path);
    memcpy(address->sun_path, path, strlen(path) + 1);
    return 0;
}

int nt_fab_control_open(const char *path, struct nt_err *err)
{
    struct sockaddr_un address;
    if (make_address(path, &address, err) != 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return refuse(path, err);
    mode_t mask = umask(0177);
    int status = bind(fd, (struct sockaddr *)&address, sizeof address);
    umask(mask);
    if (status == 0)
        return fd;
    refuse(path, err);
    close(fd);
    return -1;
}

void nt_fab_control_serve(int control, struct nt_fab *fab)
{
    char text[NT_FAB_CHANGE_BYTES + 1];
    struct sockaddr_un from;
    socklen_t length = sizeof from;
    ssize_t got = recvfrom(control, text, sizeof text - 1, 0, (struct sockaddr *)&from, &length);
    if (got < 0)
        return;
    text[got] = '\0';
    struct nt_err err = {0};
    (void)nt_fab_change(fab, text, &err);
    sendto(control, err.text, strlen(err.text), MSG_DONTWAIT, (struct sockaddr *)&from, length);
}

/* A socket with a name that the kernel chose, so that there can be an answer. */
static int connect_to(const char *path, struct nt_err *err)
{
    struct sockaddr_un to, own = {.sun_family = AF_UNIX};
    struct timeval timeout = {.tv_sec = ANSWER_S};
    if (make_address(path, &to, err) != 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return refuse(path, err);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout) == 0 &&
        bind(fd, (struct sockaddr *)&own, sizeof own.sun_family) == 0 &&
        connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    refuse(path, err);
    close(fd);
    return -1;
}

int nt_fab_control_ask(const char *path, char *const *words, int count, struct nt_err *err)
{
    char text[NT_FAB_CHANGE_BYTES] = "", answer[NT_ERR_TEXT_BYTES];
    size_t length = 0;
    for (int k = 0; k < count && length < sizeof text; k++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", k > 0 ? " " : "",
                                   words[k]);
    if (length >= sizeof text)
        return nt_err_set(err, NT_ERR_INPUT, "expected under %zu bytes", sizeof text);
    int fd = connect_to(path, err);
    if (fd < 0)
        return -1;
    ssize_t got = -1;
    if (send(fd, text, length, 0) >= 0)
        got = recv(fd, answer, sizeof answer - 1, 0);
    int status = 0;
    if (got < 0) {
        status = refuse(path, err);
    } else if (got > 0) {
        answer[got] = '\0';
        status = nt_err_set(err, NT_ERR_INPUT, "%s", answer);
    }
    close(fd);
    return status;
}

/* ---- the running network
 * -----------------------------------------------------------------------*/

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
