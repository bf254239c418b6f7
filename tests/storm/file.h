/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated descriptor. Private to files.c, which moves what is sent, and calls.c, which has the
 * calls. */
#ifndef NT_STORM_FILE_H
#define NT_STORM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "files.h"

enum file_kind { FILE_SOCKET, FILE_LISTENER, FILE_STREAM, FILE_PIDFD, FILE_PIPE };

struct chunk {
    struct chunk *next;
    double at_s;
    size_t bytes, used;
    struct file *passed; /* a descriptor that comes with a packet; NULL: none */
    unsigned char data[];
};

struct file {
    enum file_kind kind;
    uint64_t id;           /* of no other file of this world */
    int fd;                /* -1: closed by its owner */
    struct process *owner; /* NULL: in a backlog, or on its way to another */
    struct process *also;  /* has it, too; NULL: nobody; the owner is woken */
    bool is_passed;        /* on its way to another process */
    bool packets;          /* a local socket of packets */
    bool carries;          /* a descriptor with what arrives, which is dropped */
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
    struct file *listener_next; /* of the same host */
    struct process *child;      /* of a pidfd */
    struct file *all_next, **all_link;
};

/* Closed by nobody yet, with no number. */
struct file *file_new(enum file_kind kind, uint32_t host);

/* Its descriptor, of that process. */
int file_number(struct file *f, struct process *owner);

/* NULL, with errno and a violation, when it is not open. */
struct file *file_of(int fd);

/* The same of any process. */
struct file *file_of_any(int fd);

/* true, with errno: the call is not made; again: EAGAIN is a reason, too. */
bool call_is_interrupted(bool again);

/* true: another process has it still; otherwise it is to be closed. */
bool file_let_go(struct file *f, struct process *p);
/* It will not arrive. */
void file_drop_passed(struct file *f);

ssize_t packets_send(struct file *f, const void *data, size_t bytes);
ssize_t packets_recvmsg(struct file *f, struct msghdr *message, int flags);

/* What a call costs that copies so many bytes. */
void charge(size_t bytes);

/* Its owner looks again at that time. */
void look_at(struct file *f, double at_s);

/* Bytes that can be read. */
size_t arrived(const struct file *f);

/* When a packet of now arrives; INFINITY: never. */
double arrival(uint32_t from, uint32_t to, bool local);

/* Bytes to the other end, at that time or after what was sent before. */
void deliver(struct file *to, const void *data, size_t bytes, double at_s);

/* A reset arrives. */
void reset_at(struct file *f, double at_s);

/* The end of what this end sends. */
void send_end(struct file *f);

/* From now on it listens, and is found. */
void file_listen(struct file *f);

/* NULL: none. */
struct file *find_listener(uint32_t host, uint16_t port);

/* Begins to connect; until a request passes, it is sent again after 1, 3, 7 s. */
void send_syn(struct file *f);

/* As the kernel closes it. */
void file_close(struct file *f);

#endif
