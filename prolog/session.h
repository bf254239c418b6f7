/* SPDX-License-Identifier: Apache-2.0 */
/* One host's part of a sweep, whatever its role: its side of the probe and of the job's files.
 *
 * Frames and artifacts of the probe are passed on unread. */
#ifndef NT_SESSION_H
#define NT_SESSION_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "client.h"
#include "conf.h"
#include "conn.h"
#include "err.h"
#include "job.h"
#include "log.h"
#include "option.h"
#include "outcome.h"

enum nt_policy { NT_POLICY_UNKNOWN, NT_POLICY_FULL, NT_POLICY_LATENCY, NT_POLICY_OFF };

struct nt_session {
    const struct nt_conf *conf;     /* borrowed */
    const struct nt_job *job;       /* borrowed */
    const struct nt_option *option; /* borrowed; within the configured limits */
    const char *cut;                /* what limits have changed; borrowed; NULL: nothing */
    const struct nt_log *log;       /* borrowed; NULL: none */
    double deadline;                /* when the probe must be done (nt_clock_s) */
    double give_up;                 /* when the agents publish failed */
    struct nt_client client;
    struct nt_conn probe;
    int probe_pidfd; /* borrowed; readable once the probe has ended; -1: none */
    bool probe_lost;
    bool probe_hung_up;                  /* it closed its end; frames that it sent may be unread */
    struct nt_err probe_end;             /* why it is lost */
    enum nt_advice probe_advice;         /* none: it exited with status 0 */
    struct nt_artifact_files *artifacts; /* borrowed */
    struct nt_err publish_err;           /* kind other than none: why this host cannot publish */
    struct nt_outcome outcome;
};

/* From what the service has: it may be a copy, in a process that was forked from the service's.
 * client_fd: the socket to the service, borrowed; -1: the service is in this process. */
void nt_session_init(struct nt_session *session, struct nt_service *service, int client_fd);
void nt_session_fini(struct nt_session *session);

/* Sends START to the probe: rank, hosts, deadline, option. use: NULL when not known, and for all
 * but the job's first host. */
int nt_session_start_probe(struct nt_session *session, enum nt_policy policy,
                           const struct nt_job_use *use, struct nt_err *err);

/* Fills polls (room for 2); waits for input of the probe only when read is true. */
size_t nt_session_pollfds(const struct nt_session *session, bool read, struct pollfd *polls);

/* The next frame of the probe: 1, or 0 for none. When the probe has exited or broken the protocol
 * it is stopped and lost, with the reason in probe_end. */
int nt_session_probe_next(struct nt_session *session, struct nt_frame *frame,
                          const unsigned char **payload);

/* Sends a frame to the probe. On failure the probe is lost, after what it has sent is read. */
void nt_session_probe_send(struct nt_session *session, const struct nt_frame *frame,
                           const void *payload);

/* The same, but sent at the latest by nt_session_probe_flush: many small frames leave together. */
void nt_session_probe_queue(struct nt_session *session, const struct nt_frame *frame,
                            const void *payload);
void nt_session_probe_flush(struct nt_session *session);

/* Stops the probe and records why, once. */
void nt_session_lose_probe(struct nt_session *session, enum nt_advice advice, const char *why);

/* A part of an artifact. An error is kept in publish_err for the end. */
void nt_session_write_artifact(struct nt_session *session, const struct nt_frame *frame,
                               const void *payload);

/* Ends the session and settles it with the service. text: the payload of DONE, with figures after a
 * newline (job_line.h). The service publishes the files, or the failure with its reason. */
void nt_session_finish(struct nt_session *session, const char *text, size_t bytes);

/* Ends the session as failed for a reason of the agent's own. */
void nt_session_fail(struct nt_session *session, enum nt_advice advice, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Until when the last frames may be passed on: for so many seconds, and not so long after give_up
 * that the worker ends the relay. */
double nt_session_drain_until(const struct nt_session *session, double seconds);

/* ---- the two roles of an agent: each runs the event loop of its role and returns when the
 * session's outcome is decided, at the latest shortly after session->give_up ---- */
/* The leader, on the job's first host: accepts the others, collects gathers for rank 0, and sends
 * its broadcasts and artifacts to all. */
void nt_leader_run(struct nt_session *session);

/* A member, on every other host: connects to its leader and relays frames between it and the probe;
 * the first host of a block also relays for its block. */
void nt_member_run(struct nt_session *session);

#endif
