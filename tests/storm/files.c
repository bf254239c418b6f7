/* SPDX-License-Identifier: Apache-2.0 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW_BYTES = 131072, BACKLOG_MAX = 1024, HOSTS_MAX = 4096, CUTS_MAX = 65536 };

/* What a call costs, and a byte that is copied. */
static const double CALL_S = 1.5e-6, BYTE_S = 2.5e-10;
static const double DELAY_S = 45e-6, JITTER_S = 15e-6;
static const double SYN_AGAIN_S = 1.0, RESEND_S = 0.2, CONNECT_GIVEN_UP_S = 130;

enum file_kind { FILE_SOCKET, FILE_LISTENER, FILE_STREAM, FILE_PIDFD, FILE_PIPE };

struct chunk {
    struct chunk *next;
    double at_s;
    size_t bytes, used;
    unsigned char data[];
};

struct file {
    enum file_kind kind;
    uint64_t id;           /* of no other file of this world */
    int fd;                /* -1: closed by its owner */
    struct process *owner; /* NULL: in a backlog */
    uint32_t host, peer_host;
    uint16_t port, source_port;
    bool local; /* a local socket, not TCP */
    /* a stream */
    struct file *peer; /* NULL: the other end is gone */
    struct chunk *first, *last;
    size_t queued;     /* bytes in chunks */
    double last_at_s;  /* when the newest arrives */
    double end_at_s;   /* the other's end of stream arrives; INFINITY: none */
    double reset_at_s; /* a reset arrives; INFINITY: none */
    bool sent_end;
    bool connecting;
    double settled_at_s; /* of a connect: when its result is known */
    int error;
    /* a listener */
    struct file *backlog_first, *backlog_last, *backlog_next;
    size_t backlog;
    struct process *child; /* of a pidfd */
    struct file *all_next, **all_link;
};

struct cut {
    uint32_t from, to;
    double until_s;
};

static struct {
    struct file *all;
    struct file **by_fd;
    size_t fds, first_free;
    uint64_t last_id;
    struct cut *cut;
    size_t cuts;
    double delay_s[HOSTS_MAX];
    bool down[HOSTS_MAX];
} net;

struct files_peak files_peak;

static void *must(void *p)
{
    if (p == NULL) {
        fputs("storm: out of memory\n", stderr);
        abort();
    }
    return p;
}

/* ---- descriptors ---- */

static struct file *file_new(enum file_kind kind, uint32_t host)
{
    struct file *f = must(calloc(1, sizeof *f));
    *f = (struct file){.kind = kind, .id = ++net.last_id, .fd = -1, .host = host};
    f->end_at_s = f->reset_at_s = f->settled_at_s = INFINITY;
    f->all_next = net.all;
    f->all_link = &net.all;
    if (net.all != NULL)
        net.all->all_link = &f->all_next;
    net.all = f;
    return f;
}

static void file_free(struct file *f)
{
    for (struct chunk *c = f->first, *next; c != NULL; c = next) {
        next = c->next;
        free(c);
    }
    *f->all_link = f->all_next;
    if (f->all_next != NULL)
        f->all_next->all_link = f->all_link;
    free(f);
}

static int file_number(struct file *f, struct process *owner)
{
    size_t k = net.first_free, open = 0;
    while (k < net.fds && net.by_fd[k] != NULL)
        k++;
    if (k == net.fds) {
        net.by_fd = must(realloc(net.by_fd, (2 * net.fds + 64) * sizeof *net.by_fd));
        memset(net.by_fd + net.fds, 0, (net.fds + 64) * sizeof *net.by_fd);
        net.fds = 2 * net.fds + 64;
    }
    net.by_fd[k] = f;
    net.first_free = k + 1;
    f->fd = FILES_FIRST + (int)k;
    f->owner = owner;
    if (owner != NULL) {
        open = ++owner->files;
        if (open > files_peak.open)
            files_peak.open = open;
    }
    return f->fd;
}

static struct file *file_of(int fd)
{
    size_t k = (size_t)(fd - FILES_FIRST);
    struct file *f = fd < FILES_FIRST || k >= net.fds ? NULL : net.by_fd[k];
    if (f == NULL) {
        errno = EBADF;
        world_violation("a call for descriptor %d, which is not open", fd);
    } else if (world.running != NULL && f->owner != world.running) {
        world_violation("n%u: a call for descriptor %d of another process", world.running->host + 1,
                        fd);
    }
    return f;
}

void files_begin(void)
{
    files_end();
    memset(&files_peak, 0, sizeof files_peak);
}

void files_end(void)
{
    while (net.all != NULL)
        file_free(net.all);
    free(net.by_fd);
    free(net.cut);
    memset(&net, 0, sizeof net);
}

static void charge(size_t bytes)
{
    process_spend(CALL_S + BYTE_S * (double)bytes);
}

/* The file of an event that was planned for it: NULL once it is closed. */
static struct file *file_planned(void *fd, uint64_t id)
{
    size_t k = (size_t)((intptr_t)fd - FILES_FIRST);
    struct file *f = k < net.fds ? net.by_fd[k] : NULL;
    return f != NULL && f->id == id ? f : NULL;
}

static void plan(struct file *f, world_event *happen, double at_s)
{
    world_at(at_s, happen, (void *)(intptr_t)f->fd, f->id);
}

static void look(void *fd, uint64_t id)
{
    struct file *f = file_planned(fd, id);
    if (f != NULL && f->owner != NULL)
        process_wake(f->owner, world.now_s);
}

/* Its owner looks again at that time. */
static void look_at(struct file *f, double at_s)
{
    if (f->fd >= 0)
        plan(f, look, at_s);
}

void file_changed(struct file *f)
{
    look_at(f, world.now_s);
}

/* ---- the network ---- */

void network_cut(uint32_t from, uint32_t to, double until_s)
{
    net.cut = must(realloc(net.cut, (net.cuts + 1) * sizeof *net.cut));
    net.cut[net.cuts++] = (struct cut){from, to, until_s};
}

/* When the way from one host to the other is open; INFINITY: never again. */
static double open_at(uint32_t from, uint32_t to, double now)
{
    double at = now;
    for (size_t k = 0; k < net.cuts; k++)
        if (net.cut[k].from == from && net.cut[k].to == to && net.cut[k].until_s > at)
            at = net.cut[k].until_s;
    return net.down[from] || net.down[to] ? INFINITY : at;
}

bool network_is_cut(uint32_t from, uint32_t to)
{
    return open_at(from, to, world.now_s) > world.now_s;
}

void network_delay(uint32_t from, double delay_s)
{
    net.delay_s[from] = delay_s;
}

void network_host_down(uint32_t host)
{
    net.down[host] = true;
}

bool network_host_is_down(uint32_t host)
{
    return net.down[host];
}

/* When a packet of now arrives: at once, or when the link is back and it is sent again. */
static double arrival(uint32_t from, uint32_t to, bool local)
{
    double now = process_time(), open = local ? now : open_at(from, to, now);
    if (local)
        return now; /* whoever sees its sender's end sees it, too */
    double at = open + net.delay_s[from] + DELAY_S - JITTER_S * log(nt_rng_uniform(&world.rng));
    return open > now ? at + draw_between(0, RESEND_S) : at;
}

/* ---- streams ---- */

static size_t arrived(const struct file *f)
{
    size_t bytes = 0;
    for (const struct chunk *c = f->first; c != NULL && c->at_s <= world.now_s; c = c->next)
        bytes += c->bytes - c->used;
    return bytes;
}

static double in_order(struct file *to, double at_s)
{
    if (at_s < to->last_at_s)
        at_s = to->last_at_s;
    to->last_at_s = at_s;
    return at_s;
}

static void deliver(struct file *to, const void *data, size_t bytes, double at_s)
{
    struct chunk *c = must(malloc(sizeof *c + bytes));
    *c = (struct chunk){.at_s = in_order(to, at_s), .bytes = bytes};
    memcpy(c->data, data, bytes);
    if (to->first == NULL)
        to->first = c;
    else
        to->last->next = c;
    to->last = c;
    to->queued += bytes;
    if (to->queued > files_peak.queued_bytes)
        files_peak.queued_bytes = to->queued;
    if (isfinite(c->at_s))
        look_at(to, c->at_s);
}

static void reset_at(struct file *f, double at_s)
{
    if (at_s < f->reset_at_s)
        f->reset_at_s = at_s;
    if (isfinite(at_s))
        look_at(f, at_s);
}

static void send_end(struct file *f)
{
    if (f->sent_end || f->peer == NULL)
        return;
    f->sent_end = true;
    f->peer->end_at_s = in_order(f->peer, arrival(f->host, f->peer_host, f->local));
    if (isfinite(f->peer->end_at_s))
        look_at(f->peer, f->peer->end_at_s);
}

static void close_stream(struct file *f)
{
    struct file *peer = f->peer;
    if (peer == NULL)
        return;
    if (arrived(f) > 0)
        reset_at(peer, arrival(f->host, f->peer_host, f->local));
    else
        send_end(f);
    peer->peer = NULL;
}

static void close_listener(struct file *f)
{
    for (struct file *b = f->backlog_first, *next; b != NULL; b = next) {
        next = b->backlog_next;
        if (b->peer != NULL) {
            reset_at(b->peer, arrival(b->host, b->peer_host, false));
            b->peer->peer = NULL;
        }
        file_free(b);
    }
}

static void file_close(struct file *f)
{
    size_t k = (size_t)(f->fd - FILES_FIRST);
    net.by_fd[k] = NULL;
    if (k < net.first_free)
        net.first_free = k;
    if (f->owner != NULL)
        f->owner->files--;
    if (f->kind == FILE_STREAM)
        close_stream(f);
    else if (f->kind == FILE_LISTENER)
        close_listener(f);
    else if (f->kind == FILE_PIDFD && f->child->pidfd == f)
        f->child->pidfd = NULL;
    file_free(f);
}

void files_close_all(struct process *p)
{
    for (struct file *f = net.all, *next; f != NULL; f = next) {
        next = f->all_next;
        if (f->owner != p || f->fd < 0)
            continue;
        file_close(f);
        next = net.all; /* a backlog is freed with its listener */
    }
}

size_t files_open(const struct process *p)
{
    return p->files;
}

int files_local_pair(struct process *other, int fd[2])
{
    struct process *self = world.running;
    struct file *a = file_new(FILE_STREAM, self->host), *b = file_new(FILE_STREAM, self->host);
    a->peer = b;
    b->peer = a;
    a->local = b->local = true;
    a->peer_host = b->peer_host = self->host;
    fd[0] = file_number(a, self);
    fd[1] = file_number(b, other);
    return 0;
}

int files_pidfd(struct process *child)
{
    struct file *f = file_new(FILE_PIDFD, child->host);
    f->child = child;
    child->pidfd = f;
    return file_number(f, world.running);
}

int files_pipe(const void *data, size_t bytes, double at_s)
{
    struct file *f = file_new(FILE_PIPE, world.running->host);
    int fd = file_number(f, world.running);
    if (data != NULL)
        deliver(f, data, bytes, at_s);
    f->end_at_s = at_s;
    look_at(f, at_s);
    return fd;
}

void files_reset_connections(struct process *p)
{
    for (struct file *f = net.all; f != NULL; f = f->all_next)
        if (f->owner == p && f->kind == FILE_STREAM && !f->local) {
            reset_at(f, world.now_s);
            if (f->peer != NULL)
                reset_at(f->peer, world.now_s);
        }
}

void files_inject(struct process *p, const void *data, size_t bytes)
{
    for (struct file *f = net.all; f != NULL; f = f->all_next)
        if (f->owner == p && f->kind == FILE_STREAM && !f->local && f->peer != NULL) {
            deliver(f, data, bytes, world.now_s);
            return;
        }
}

/* ---- connecting ---- */

static struct file *find_listener(uint32_t host, uint16_t port)
{
    for (struct file *f = net.all; f != NULL; f = f->all_next)
        if (f->kind == FILE_LISTENER && f->host == host && f->port == port)
            return f;
    return NULL;
}

static void connect_settle(struct file *f, int error, double at_s)
{
    f->error = error;
    f->settled_at_s = at_s;
    if (isfinite(at_s))
        look_at(f, at_s);
}

/* The request to connect arrives. */
static void syn(void *fd, uint64_t id)
{
    struct file *f = file_planned(fd, id);
    if (f == NULL || f->peer != NULL || isfinite(f->settled_at_s))
        return;
    struct file *listener = find_listener(f->peer_host, f->port);
    double back = arrival(f->peer_host, f->host, false);
    if (listener != NULL && listener->backlog >= BACKLOG_MAX) {
        plan(f, syn, world.now_s + SYN_AGAIN_S);
        return;
    }
    if (listener == NULL) {
        connect_settle(f, ECONNREFUSED, back);
        return;
    }
    struct file *end = file_new(FILE_STREAM, f->peer_host);
    end->peer_host = f->host;
    end->port = f->port;
    end->source_port = f->source_port;
    end->peer = f;
    f->peer = end;
    if (listener->backlog_first == NULL)
        listener->backlog_first = end;
    else
        listener->backlog_last->backlog_next = end;
    listener->backlog_last = end;
    listener->backlog++;
    connect_settle(f, 0, back);
    file_changed(listener);
}

/* Until a request passes, it is sent again after 1, 3, 7 s. */
static void send_syn(struct file *f)
{
    double now = process_time(), open = open_at(f->host, f->peer_host, now), wait = 0;
    while (now + wait < open && wait < CONNECT_GIVEN_UP_S)
        wait = 2 * wait + SYN_AGAIN_S;
    if (wait < CONNECT_GIVEN_UP_S)
        plan(f, syn,
             now + wait + net.delay_s[f->host] + DELAY_S -
                 JITTER_S * log(nt_rng_uniform(&world.rng)));
}

/* ---- poll ---- */

static short stream_events(const struct file *f)
{
    double now = world.now_s;
    bool reset = f->reset_at_s <= now, end = f->end_at_s <= now;
    short got = 0;
    if (f->connecting && f->settled_at_s > now)
        return 0;
    if (f->connecting && f->error != 0)
        return POLLIN | POLLOUT | POLLERR | POLLHUP;
    if (arrived(f) > 0 || reset || end)
        got |= POLLIN;
    if (reset)
        got |= POLLERR | POLLHUP | POLLOUT;
    if (end && (f->local || f->sent_end))
        got |= POLLHUP;
    if (f->peer == NULL || f->peer->queued < WINDOW_BYTES)
        got |= POLLOUT;
    return got;
}

static short events_of(const struct file *f)
{
    switch (f->kind) {
    case FILE_STREAM:
        return stream_events(f);
    case FILE_LISTENER:
        return f->backlog > 0 ? POLLIN : 0;
    case FILE_PIDFD:
        return f->child->alive ? 0 : POLLIN;
    case FILE_PIPE:
        return (short)((arrived(f) > 0 ? POLLIN : 0) | (f->end_at_s <= world.now_s ? POLLHUP : 0));
    case FILE_SOCKET:
        break;
    }
    return POLLOUT | POLLHUP;
}

static int poll_now(struct pollfd *fds, nfds_t n)
{
    int ready = 0;
    for (nfds_t k = 0; k < n; k++) {
        fds[k].revents = 0;
        if (fds[k].fd < 0)
            continue;
        const struct file *f = file_of(fds[k].fd);
        short got = f == NULL ? POLLNVAL : events_of(f);
        fds[k].revents = (short)(got & (fds[k].events | POLLERR | POLLHUP | POLLNVAL));
        ready += fds[k].revents != 0;
    }
    return ready;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    process_spend(CALL_S + 3e-8 * (double)n);
    double until = timeout_ms < 0 ? INFINITY : process_time() + timeout_ms * 1e-3;
    for (;;) {
        int ready = poll_now(fds, n);
        if (ready > 0 || process_time() >= until)
            return ready;
        process_wait(until);
    }
}

/* ---- the calls ---- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    (void)clock;
    process_spend(5e-8);
    double now = process_time(), whole = floor(now);
    *t = (struct timespec){(time_t)whole, (long)((now - whole) * 1e9)};
    return 0;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
    (void)left;
    process_sleep((double)t->tv_sec + (double)t->tv_nsec * 1e-9);
    return 0;
}

ssize_t __wrap_getrandom(void *bytes, size_t n, unsigned flags);
ssize_t __wrap_getrandom(void *bytes, size_t n, unsigned flags)
{
    unsigned char *at = bytes;
    (void)flags;
    for (size_t k = 0; k < n; k++)
        at[k] = (unsigned char)nt_rng_next(&world.rng);
    return (ssize_t)n;
}

int __wrap_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol)
{
    (void)family;
    (void)type;
    (void)protocol;
    charge(0);
    return file_number(file_new(FILE_SOCKET, world.running->host), world.running);
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t bytes);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t bytes)
{
    (void)level;
    (void)name;
    (void)value;
    (void)bytes;
    return file_of(fd) == NULL ? -1 : 0;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *bytes);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *bytes)
{
    const struct file *f = file_of(fd);
    (void)level;
    (void)name;
    (void)bytes;
    charge(0);
    if (f == NULL)
        return -1;
    *(int *)value = f->settled_at_s <= world.now_s ? f->error : 0;
    return 0;
}

static uint16_t port_of(const struct sockaddr *address)
{
    return ntohs(address->sa_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_port
                                                : ((const struct sockaddr_in *)address)->sin_port);
}

int __wrap_bind(int fd, const struct sockaddr *address, socklen_t bytes);
int __wrap_bind(int fd, const struct sockaddr *address, socklen_t bytes)
{
    struct file *f = file_of(fd);
    (void)bytes;
    charge(0);
    if (f == NULL)
        return -1;
    uint16_t port = port_of(address);
    if (f->host == world.running->host && port < 1024 && world.running->kind != PROCESS_AGENT) {
        errno = EACCES;
        return -1;
    }
    if (find_listener(f->host, port) != NULL) {
        errno = EADDRINUSE;
        return -1;
    }
    f->port = port;
    return 0;
}

int __wrap_listen(int fd, int backlog);
int __wrap_listen(int fd, int backlog)
{
    struct file *f = file_of(fd);
    (void)backlog;
    if (f == NULL)
        return -1;
    f->kind = FILE_LISTENER;
    return 0;
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t bytes);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t bytes)
{
    struct file *f = file_of(fd);
    (void)bytes;
    charge(0);
    if (f == NULL)
        return -1;
    files_peak.connects++;
    f->kind = FILE_STREAM;
    f->connecting = true;
    f->source_port = f->port != 0 ? f->port : (uint16_t)(32768 + nt_rng_below(&world.rng, 28000));
    f->port = port_of(address);
    f->peer_host = ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) & 0xffffff;
    send_syn(f);
    errno = EINPROGRESS;
    return -1;
}

int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *bytes, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *bytes, int flags)
{
    struct file *listener = file_of(fd);
    (void)flags;
    charge(0);
    if (listener == NULL)
        return -1;
    struct file *f = listener->backlog_first;
    if (f == NULL) {
        errno = EAGAIN;
        return -1;
    }
    listener->backlog_first = f->backlog_next;
    listener->backlog--;
    if (address != NULL) {
        struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = htons(f->source_port)};
        from.sin_addr.s_addr = htonl(10U << 24 | f->peer_host);
        memcpy(address, &from, sizeof from);
        *bytes = sizeof from;
    }
    return file_number(f, world.running);
}

int __wrap_shutdown(int fd, int how);
int __wrap_shutdown(int fd, int how)
{
    struct file *f = file_of(fd);
    (void)how;
    charge(0);
    if (f == NULL)
        return -1;
    send_end(f);
    return 0;
}

static ssize_t read_stream(struct file *f, void *data, size_t room)
{
    unsigned char *to = data;
    size_t got = 0;
    bool was_full = f->queued >= WINDOW_BYTES;
    for (struct chunk *c; got < room && (c = f->first) != NULL && c->at_s <= world.now_s;) {
        size_t n = c->bytes - c->used < room - got ? c->bytes - c->used : room - got;
        memcpy(to + got, c->data + c->used, n);
        c->used += n;
        got += n;
        f->queued -= n;
        if (c->used == c->bytes) {
            f->first = c->next;
            free(c);
        }
    }
    if (got > 0) {
        if (was_full && f->peer != NULL)
            look_at(f->peer, arrival(f->host, f->peer_host, f->local));
        return (ssize_t)got;
    }
    if (f->reset_at_s <= world.now_s) {
        errno = ECONNRESET;
        return -1;
    }
    if (f->end_at_s <= world.now_s)
        return 0;
    errno = EAGAIN;
    return -1;
}

ssize_t __real_read(int fd, void *data, size_t room);
ssize_t __wrap_read(int fd, void *data, size_t room);
ssize_t __wrap_read(int fd, void *data, size_t room)
{
    if (fd < FILES_FIRST)
        return __real_read(fd, data, room);
    struct file *f = file_of(fd);
    if (f == NULL)
        return -1;
    ssize_t got = read_stream(f, data, room);
    charge(got > 0 ? (size_t)got : 0);
    return got;
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    (void)flags;
    message->msg_controllen = 0;
    return __wrap_read(fd, message->msg_iov[0].iov_base, message->msg_iov[0].iov_len);
}

static ssize_t send_stream(struct file *f, const void *data, size_t bytes)
{
    if (f->reset_at_s <= world.now_s || f->sent_end || (f->local && f->peer == NULL)) {
        errno = EPIPE;
        return -1;
    }
    if (f->peer == NULL) { /* closed at the other end, which answers with a reset */
        reset_at(f, arrival(f->host, f->peer_host, false) + DELAY_S);
        return (ssize_t)bytes;
    }
    size_t room = f->peer->queued < WINDOW_BYTES ? WINDOW_BYTES - f->peer->queued : 0;
    if (room == 0) {
        errno = EAGAIN;
        return -1;
    }
    if (bytes > room)
        bytes = room;
    deliver(f->peer, data, bytes, arrival(f->host, f->peer_host, f->local));
    return (ssize_t)bytes;
}

ssize_t __wrap_send(int fd, const void *data, size_t bytes, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t bytes, int flags)
{
    struct file *f = file_of(fd);
    (void)flags;
    charge(bytes);
    return f == NULL ? -1 : send_stream(f, data, bytes);
}

ssize_t __real_write(int fd, const void *data, size_t bytes);
ssize_t __wrap_write(int fd, const void *data, size_t bytes);
ssize_t __wrap_write(int fd, const void *data, size_t bytes)
{
    return fd < FILES_FIRST ? __real_write(fd, data, bytes) : __wrap_send(fd, data, bytes, 0);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    if (fd < FILES_FIRST)
        return __real_close(fd);
    struct file *f = file_of(fd);
    charge(0);
    if (f == NULL)
        return -1;
    file_close(f);
    return 0;
}

int __real_fcntl(int fd, int what, ...);
int __wrap_fcntl(int fd, int what, ...);
int __wrap_fcntl(int fd, int what, ...)
{
    va_list args;
    va_start(args, what);
    int value = va_arg(args, int);
    va_end(args);
    if (fd < FILES_FIRST)
        return __real_fcntl(fd, what, value);
    return file_of(fd) == NULL ? -1 : 0;
}
