/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of packets between a relay and its worker, which pass descriptors along. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "file.h"

/* ---- descriptors of two processes ---- */

void files_share(int fd, struct process *with)
{
    struct file *f = file_of(fd);
    f->also = f->owner;
    f->owner = with;
    with->files++;
}

void files_pass_along(int fd)
{
    struct file *f = file_of(fd);
    if (f != NULL && f->peer != NULL)
        f->peer->carries = true;
}

bool file_let_go(struct file *f, struct process *p)
{
    if (f->also == NULL && !f->is_passed)
        return false;
    if (f->owner == p) {
        f->owner = f->also;
        f->also = NULL;
    } else if (f->also == p) {
        f->also = NULL;
    }
    p->files--;
    return true;
}

void file_drop_passed(struct file *f)
{
    f->is_passed = false;
    if (f->owner == NULL)
        file_close(f);
}

int files_packet_pair(struct process *other, int fd[2])
{
    files_local_pair(other, fd);
    file_of_any(fd[0])->packets = true;
    file_of_any(fd[1])->packets = true;
    return 0;
}

/* ---- the calls ---- */

static ssize_t packet_send(struct file *f, const void *data, size_t bytes, struct file *passed)
{
    if (f->peer == NULL) {
        errno = EPIPE;
        return -1;
    }
    deliver(f->peer, data, bytes, process_time());
    f->peer->last->passed = passed;
    if (passed != NULL)
        passed->is_passed = true;
    return (ssize_t)bytes;
}

static struct file *take_passed(struct file *f)
{
    struct file *passed = f->first->passed;
    f->first->passed = NULL;
    if (passed != NULL) {
        passed->is_passed = false;
        passed->also = passed->owner;
        passed->owner = world.running;
        world.running->files++;
    }
    return passed;
}

static ssize_t packet_receive(struct file *f, void *data, size_t room, bool waits,
                              struct file **passed)
{
    *passed = NULL;
    while (f->first == NULL || f->first->at_s > world.now_s) {
        if (f->reset_at_s <= world.now_s) {
            errno = ECONNRESET;
            return -1;
        }
        if (f->end_at_s <= world.now_s)
            return 0;
        if (!waits) {
            errno = EAGAIN;
            return -1;
        }
        process_wait(INFINITY);
    }
    struct chunk *c = f->first;
    size_t bytes = c->bytes < room ? c->bytes : room;
    memcpy(data, c->data, bytes);
    *passed = take_passed(f);
    f->first = c->next;
    f->queued -= c->bytes;
    free(c);
    return (ssize_t)bytes;
}

ssize_t packets_send(struct file *f, const void *data, size_t bytes)
{
    return packet_send(f, data, bytes, NULL);
}

ssize_t packets_recvmsg(struct file *f, struct msghdr *message, int flags)
{
    struct file *passed;
    ssize_t got = packet_receive(f, message->msg_iov[0].iov_base, message->msg_iov[0].iov_len,
                                 (flags & MSG_DONTWAIT) == 0, &passed);
    if (passed == NULL || message->msg_controllen < CMSG_SPACE(sizeof(int))) {
        message->msg_controllen = 0;
        return got;
    }
    struct cmsghdr *c = CMSG_FIRSTHDR(message);
    *c = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(c), &passed->fd, sizeof(int));
    message->msg_controllen = CMSG_SPACE(sizeof(int));
    return got;
}

ssize_t __wrap_recv(int fd, void *data, size_t room, int flags);
ssize_t __wrap_recv(int fd, void *data, size_t room, int flags)
{
    struct file *f = file_of(fd), *passed;
    charge(0);
    if (f == NULL || call_is_interrupted(false))
        return -1;
    ssize_t got = packet_receive(f, data, room, (flags & MSG_DONTWAIT) == 0, &passed);
    charge(got > 0 ? (size_t)got : 0);
    return got;
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct file *f = file_of(fd), *passed = NULL;
    const struct cmsghdr *c = message->msg_controllen > 0 ? CMSG_FIRSTHDR(message) : NULL;
    int passed_fd;
    (void)flags;
    charge(message->msg_iov[0].iov_len);
    if (c != NULL) {
        memcpy(&passed_fd, CMSG_DATA(c), sizeof passed_fd);
        passed = file_of(passed_fd);
    }
    return f == NULL
               ? -1
               : packet_send(f, message->msg_iov[0].iov_base, message->msg_iov[0].iov_len, passed);
}
