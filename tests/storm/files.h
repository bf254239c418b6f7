/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of the simulated cluster: descriptors, TCP between hosts, local sockets, clock.
 *
 * The calls that the program makes reach this by the linker (--wrap, see WRAPPED in the Makefile):
 * the code under test is the code that is installed. A descriptor of FILES_FIRST or more is
 * simulated, any other is the real one.
 *
 * TCP: a byte stream in order, with a window, delayed by the link; a reset when a host answers for
 * what it does not know or closes with input unread; nothing at all from a host that is down or
 * behind a link that is cut, whose bytes come late when the link is back. */
#ifndef NT_STORM_FILES_H
#define NT_STORM_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "world.h"

enum { FILES_FIRST = 100000 };

void files_begin(void);
void files_end(void);

/* Of a process that ends; what it has open is closed as the kernel does. */
void files_close_all(struct process *process);
size_t files_open(const struct process *process);

/* Its owner, if it waits, looks again. */
void file_changed(struct file *file);

/* Two connected local sockets: the first is the running process's, the second that of other. */
int files_local_pair(struct process *other, int fd[2]);
/* What is sent next passes a descriptor along, as a probe can. */
void files_pass_along(int fd);
/* The same, of packets, which pass descriptors along. */
int files_packet_pair(struct process *other, int fd[2]);
/* As a fork does: the other has the descriptor, too, and is woken for it. */
void files_share(int fd, struct process *with);
/* Readable when the process has ended. */
int files_pidfd(struct process *process);
/* A pipe's end from which bytes can be read at that time; NULL: closed without any. */
int files_pipe(const void *data, size_t bytes, double at_s);
/* Resets all connections of a process, as a middlebox does. */
void files_reset_connections(struct process *process);
/* Bytes that are on their way to it from other hosts, or wait for it: lost when it ends. */
size_t files_queued(const struct process *process);
/* Bytes of another's making, in the middle of a stream that this process reads. */
void files_inject(struct process *process, const void *data, size_t bytes);

/* ---- the network between hosts ---- */
/* Nothing passes from one to the other until then; what was sent comes afterwards. */
void network_cut(uint32_t from, uint32_t to, double until_s);
bool network_is_cut(uint32_t from, uint32_t to);
/* Every packet from that host is so much later. */
void network_delay(uint32_t from, double delay_s);
/* The host's power is off: nothing leaves it and nothing is answered. */
void network_host_down(uint32_t host);
bool network_host_is_down(uint32_t host);

/* The most that was ever open or queued, of one process. */
struct files_peak {
    size_t open, queued_bytes, connects;
};
extern struct files_peak files_peak;

#endif
