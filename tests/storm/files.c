/* SPDX-License-Identifier: Apache-2.0 */
#include "file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"

enum { BACKLOG_MAX = 1024, HOSTS_MAX = 4096 };

/* What a call costs, and a byte that is copied. */
static const double CALL_S = 1.5e-6, BYTE_S = 2.5e-10;
static const double DELAY_S = 45e-6, JITTER_S = 15e-6;
static const double SYN_AGAIN_S = 1.0, RESEND_S = 0.2, CONNECT_GIVEN_UP_S = 130;

struct cut {
    uint32_t to;
    double until_s;
};

/* Of a job of 1,000 hosts there are tens of thousands of files and of cuts, and what a packet meets
 * is looked for by its host. */

static struct {
    struct file *all;
    struct file **by_fd;
    size_t fds, first_free;
    uint64_t last_id;
    struct file *listener[HOSTS_MAX];
    struct {
        struct cut *cut;
        size_t n;
    } cut_from[HOSTS_MAX];
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

struct file *file_new(enum file_kind kind, uint32_t host)
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
        if (c->passed != NULL)
            file_drop_passed(c->passed);
        free(c);
    }
    *f->all_link = f->all_next;
    if (f->all_next != NULL)
        f->all_next->all_link = f->all_link;
    free(f);
}

int file_number(struct file *f, struct process *owner)
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

struct file *file_of_any(int fd)
{
    size_t k = (size_t)(fd - FILES_FIRST);
    return fd < FILES_FIRST || k >= net.fds ? NULL : net.by_fd[k];
}

struct file *file_of(int fd)
{
    struct file *f = file_of_any(fd);
    if (f == NULL) {
        errno = EBADF;
        world_violation("a call for descriptor %d, which is not open", fd);
    } else if (world.running != NULL && f->owner != world.running && f->also != world.running) {
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
    for (struct file *f = net.all; f != NULL; f = f->all_next)
        for (struct chunk *c = f->first; c != NULL; c = c->next)
            c->passed = NULL;
    while (net.all != NULL)
        file_free(net.all);
    free(net.by_fd);
    for (size_t k = 0; k < HOSTS_MAX; k++)
        free(net.cut_from[k].cut);
    memset(&net, 0, sizeof net);
}

void charge(size_t bytes)
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
void look_at(struct file *f, double at_s)
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
    size_t n = net.cut_from[from].n++;
    struct cut *cut = must(realloc(net.cut_from[from].cut, (n + 1) * sizeof *cut));
    cut[n] = (struct cut){to, until_s};
    net.cut_from[from].cut = cut;
}

/* When the way from one host to the other is open; INFINITY: never again. */
static double open_at(uint32_t from, uint32_t to, double now)
{
    const struct cut *cut = net.cut_from[from].cut;
    double at = now;
    for (size_t k = 0; k < net.cut_from[from].n; k++)
        if (cut[k].to == to && cut[k].until_s > at)
            at = cut[k].until_s;
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
double arrival(uint32_t from, uint32_t to, bool local)
{
    double now = process_time(), open = local ? now : open_at(from, to, now);
    if (local)
        return now; /* whoever sees its sender's end sees it, too */
    double at = open + net.delay_s[from] + DELAY_S - JITTER_S * log(nt_rng_uniform(&world.rng));
    return open > now ? at + draw_between(0, RESEND_S) : at;
}

/* ---- streams ---- */

size_t arrived(const struct file *f)
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

void deliver(struct file *to, const void *data, size_t bytes, double at_s)
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

void reset_at(struct file *f, double at_s)
{
    if (at_s < f->reset_at_s)
        f->reset_at_s = at_s;
    if (isfinite(at_s))
        look_at(f, at_s);
}

void send_end(struct file *f)
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
    struct file **link = &net.listener[f->host];
    while (*link != f)
        link = &(*link)->listener_next;
    *link = f->listener_next;
    for (struct file *b = f->backlog_first, *next; b != NULL; b = next) {
        next = b->backlog_next;
        if (b->peer != NULL) {
            reset_at(b->peer, arrival(b->host, b->peer_host, false));
            b->peer->peer = NULL;
        }
        file_free(b);
    }
}

void file_close(struct file *f)
{
    if (world.running != NULL && (f->owner == world.running || f->also == world.running) &&
        file_let_go(f, world.running))
        return;
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
    for (struct file *f = net.all, *next; f != NULL && p->files > 0; f = next) {
        next = f->all_next;
        if ((f->owner != p && f->also != p) || f->fd < 0 || file_let_go(f, p))
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

size_t files_queued(const struct process *p)
{
    size_t bytes = 0;
    for (const struct file *f = net.all; f != NULL; f = f->all_next)
        bytes += f->owner == p && f->kind == FILE_STREAM && !f->local ? f->queued : 0;
    return bytes;
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

void file_listen(struct file *f)
{
    f->kind = FILE_LISTENER;
    f->listener_next = net.listener[f->host];
    net.listener[f->host] = f;
}

struct file *find_listener(uint32_t host, uint16_t port)
{
    struct file *f = net.listener[host];
    while (f != NULL && f->port != port)
        f = f->listener_next;
    return f;
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
void send_syn(struct file *f)
{
    double now = process_time(), open = open_at(f->host, f->peer_host, now), wait = 0;
    while (now + wait < open && wait < CONNECT_GIVEN_UP_S)
        wait = 2 * wait + SYN_AGAIN_S;
    if (wait < CONNECT_GIVEN_UP_S)
        plan(f, syn,
             now + wait + net.delay_s[f->host] + DELAY_S -
                 JITTER_S * log(nt_rng_uniform(&world.rng)));
}
