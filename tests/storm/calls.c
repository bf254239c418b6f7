/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the program that reach the simulated kernel: --wrap gives them these names. */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cluster.h"
#include "faults.h"
#include "file.h"

/* ---- calls that fail ---- */

bool call_is_interrupted(bool again)
{
    const struct call_faults *faults = &world.running->faults;
    if (faults->interrupted > 0 && draw_chance(faults->interrupted)) {
        errno = EINTR;
        return true;
    }
    if (again && faults->again > 0 && draw_chance(faults->again)) {
        errno = EAGAIN;
        return true;
    }
    return false;
}

/* How many of so many bytes a read or a write moves at the most. */
static size_t part_of(size_t bytes)
{
    double chance = world.running->faults.in_part;
    return chance > 0 && bytes > 1 && draw_chance(chance) ? 1 + nt_rng_below(&world.rng, bytes - 1)
                                                          : bytes;
}

static bool has_too_many_files(void)
{
    size_t max = world.running->faults.files_max;
    errno = EMFILE;
    return max > 0 && world.running->files >= max;
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
    if (f->peer == NULL || f->peer->queued < cluster.window_bytes)
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
    charge(0);
    process_spend(3e-8 * (double)n); /* to look at each */
    double until = timeout_ms < 0 ? INFINITY : process_time() + timeout_ms * 1e-3;
    for (;;) {
        int ready = poll_now(fds, n);
        if (ready > 0 || process_time() >= until)
            return ready;
        if (call_is_interrupted(false))
            return -1;
        process_wait(until);
    }
}

/* What FORTIFY makes of it where it does not know the table's size. */
int __wrap___poll_chk(struct pollfd *fds, nfds_t n, int timeout_ms, size_t bytes);
int __wrap___poll_chk(struct pollfd *fds, nfds_t n, int timeout_ms, size_t bytes)
{
    (void)bytes;
    return __wrap_poll(fds, n, timeout_ms);
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
    if (world.running->faults.no_random) {
        errno = ENOSYS;
        return -1;
    }
    for (size_t k = 0; k < n; k++)
        at[k] = (unsigned char)nt_rng_next(&world.rng);
    return (ssize_t)n;
}

int __wrap_socket(int family, int type, int protocol);
int __wrap_socket(int family, int type, int protocol)
{
    (void)type;
    (void)protocol;
    charge(0);
    if (has_too_many_files())
        return -1;
    if (family == AF_INET6 && world.running->faults.no_ipv6) {
        errno = EAFNOSUPPORT;
        return -1;
    }
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

/* Of an IPv6 address the last part is the IPv4 one. */
static uint32_t host_of(const struct sockaddr *address)
{
    uint32_t at = ((const struct sockaddr_in *)address)->sin_addr.s_addr;
    if (address->sa_family == AF_INET6)
        memcpy(&at, ((const struct sockaddr_in6 *)address)->sin6_addr.s6_addr + 12, sizeof at);
    return ntohl(at) & 0xffffff;
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
    file_listen(f);
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
    if (world.running->faults.no_route) {
        errno = ENETUNREACH;
        return -1;
    }
    files_peak.connects++;
    f->kind = FILE_STREAM;
    f->connecting = true;
    f->source_port = f->port != 0 ? f->port : (uint16_t)(32768 + nt_rng_below(&world.rng, 28000));
    f->port = port_of(address);
    f->peer_host = host_of(address);
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
    if (listener == NULL || call_is_interrupted(true))
        return -1;
    struct file *f = listener->backlog_first;
    if (f != NULL && has_too_many_files())
        return -1;
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
    bool was_full = f->queued >= cluster.window_bytes;
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
    bool stream = f != NULL && f->kind == FILE_STREAM && !f->local;
    if (f == NULL || call_is_interrupted(stream))
        return -1;
    ssize_t got = read_stream(f, data, stream ? part_of(room) : room);
    charge(got > 0 ? (size_t)got : 0);
    return got;
}

ssize_t __wrap___read_chk(int fd, void *bytes, size_t n, size_t room);
ssize_t __wrap___read_chk(int fd, void *bytes, size_t n, size_t room)
{
    (void)room;
    return __wrap_read(fd, bytes, n);
}

ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags);
ssize_t __wrap_recvmsg(int fd, struct msghdr *message, int flags)
{
    struct file *f = file_of_any(fd);
    charge(0);
    if (f != NULL && f->packets)
        return call_is_interrupted(false) ? -1 : packets_recvmsg(f, message, flags);
    message->msg_controllen = f != NULL && f->carries ? CMSG_SPACE(sizeof(int)) : 0;
    if (f != NULL)
        f->carries = false;
    return __wrap_read(fd, message->msg_iov[0].iov_base, message->msg_iov[0].iov_len);
}

static ssize_t send_stream(struct file *f, const void *data, size_t bytes)
{
    if (f->reset_at_s <= world.now_s || f->sent_end || (f->local && f->peer == NULL)) {
        errno = EPIPE;
        return -1;
    }
    if (f->peer == NULL) { /* closed at the other end, which answers with a reset */
        fault_loses_bytes(f->host, f->peer_host);
        reset_at(f, arrival(f->host, f->peer_host, false));
        return (ssize_t)bytes;
    }
    size_t room =
        f->peer->queued < cluster.window_bytes ? cluster.window_bytes - f->peer->queued : 0;
    if (room == 0) {
        errno = EAGAIN;
        return -1;
    }
    if (bytes > room)
        bytes = room;
    deliver(f->peer, data, bytes, arrival(f->host, f->peer_host, f->local));
    bool own = f->local && world.running->kind == PROCESS_AGENT; /* nobody is between */
    double altered = own ? 0 : world.running->faults.altered;
    if (altered > 0 && bytes > 0 && draw_chance(altered))
        f->peer->last->data[nt_rng_below(&world.rng, bytes)] ^=
            (unsigned char)(1 << nt_rng_below(&world.rng, 8));
    return (ssize_t)bytes;
}

ssize_t __wrap_send(int fd, const void *data, size_t bytes, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t bytes, int flags)
{
    struct file *f = file_of(fd);
    (void)flags;
    charge(bytes);
    if (f == NULL || call_is_interrupted(!f->packets))
        return -1;
    return f->packets ? packets_send(f, data, bytes) : send_stream(f, data, part_of(bytes));
}

ssize_t __real_write(int fd, const void *data, size_t bytes);
ssize_t __wrap_write(int fd, const void *data, size_t bytes);
ssize_t __wrap_write(int fd, const void *data, size_t bytes)
{
    return fd < FILES_FIRST ? __real_write(fd, data, bytes) : __wrap_send(fd, data, bytes, 0);
}

/* What an agent has not read of its leader or its probe. What came before a reset can be read after
 * it. */
static void note_unread(const struct file *f)
{
    if (f->kind != FILE_STREAM || world.running->kind != PROCESS_AGENT)
        return;
    size_t unread = f->first != NULL && f->first->at_s <= f->reset_at_s ? arrived(f) : 0;
    if (f->local)
        this_host()->unread_of_probe = unread;
    else if (f->peer_host == 0)
        this_host()->unread_of_leader = unread;
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
    note_unread(f);
    file_close(f);
    return 0;
}

int __real_fcntl(int fd, int what, ...);
int __wrap_fcntl(int fd, int what, ...);
int __wrap_fcntl(int fd, int what, ...)
{
    va_list args;
    va_start(args, what);
    void *value = va_arg(args, void *); /* of a lock, where gcov writes; otherwise a number */
    va_end(args);
    if (fd < FILES_FIRST)
        return __real_fcntl(fd, what, value);
    return file_of(fd) == NULL ? -1 : 0;
}
