/* SPDX-License-Identifier: Apache-2.0 */
/* One host's part of a sweep, for both roles: the connection to its probe, and the job's files.
 * Passes on frames and artifacts without reading their contents. */
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
    const struct nt_option *option; /* borrowed; limits are applied */
    const char *limit_note;         /* how limits changed the option; borrowed; NULL: not at all */
    const struct nt_log *log;       /* borrowed; NULL: no log */
    double deadline;                /* when the probe must have finished (nt_clock_s) */
    double give_up;                 /* when the agents publish failed (nt_clock_s) */
    struct nt_client client;
    struct nt_conn probe;
    int probe_pidfd; /* borrowed; readable after the probe has ended; -1: none */
    bool probe_lost;
    bool probe_hung_up;          /* the probe closed its end; frames that it sent may be unread */
    struct nt_err probe_end;     /* why the probe is lost */
    enum nt_advice probe_advice; /* NT_ADVICE_NONE: it exited with status 0 */
    struct nt_artifact_files *artifacts; /* borrowed */
    struct nt_err publish_err;           /* if set: why this host cannot publish */
    struct nt_outcome outcome;
};

/* Initializes the session with the values of service, which may be a copy in a process forked from
 * the service's. client_fd: the socket to the service, borrowed; -1: the service is in this
 * process. */
void nt_session_init(struct nt_session *session, struct nt_service *service, int client_fd);
void nt_session_fini(struct nt_session *session);

/* Sends START (ucx_probe/start.h) to the probe. use: NULL if it is not known, and on all hosts
 * except the job's first. */
int nt_session_start_probe(struct nt_session *session, enum nt_policy policy,
                           const struct nt_job_use *use, struct nt_err *err);

/* Fills polls (room for 2) and returns their number. Waits for input of the probe only if read is
 * true. */
size_t nt_session_pollfds(const struct nt_session *session, bool read, struct pollfd *polls);

/* Returns 1 with the next frame of the probe, or 0 if there is none. If the probe has exited or
 * violated the protocol, it is stopped and lost, with the reason in probe_end. */
int nt_session_probe_next(struct nt_session *session, struct nt_frame *frame,
                          const unsigned char **payload);

/* Sends a frame to the probe. If that fails, the probe is lost after the frames that it sent are
 * read. */
void nt_session_probe_send(struct nt_session *session, const struct nt_frame *frame,
                           const void *payload);

/* Queues a frame for the probe. nt_session_probe_flush sends it at the latest, so that many small
 * frames are sent together. */
void nt_session_probe_queue(struct nt_session *session, const struct nt_frame *frame,
                            const void *payload);
void nt_session_probe_flush(struct nt_session *session);

/* Stops the probe and stores the reason; later calls have no effect. */
void nt_session_lose_probe(struct nt_session *session, enum nt_advice advice, const char *why);

/* Writes a part of an artifact. An error is stored in publish_err until the end. */
void nt_session_write_artifact(struct nt_session *session, const struct nt_frame *frame,
                               const void *payload);

/* Ends the session and reports the result to the service, which publishes the files, or the failure
 * with its reason. text: the payload of DONE; values of the sweep may follow a newline
 * (job_line.h). If an agent failed (NT_FRAME_AGENT), no artifact is published, because hint.env has
 * the status of rank 0. */
void nt_session_finish(struct nt_session *session, const struct nt_frame *done, const char *text);

/* Ends the session as failed, for a reason of the agent. */
void nt_session_fail(struct nt_session *session, enum nt_advice advice, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns until when the last frames may be passed on (nt_clock_s): for the given seconds, but not
 * so long after give_up that the worker ends the relay. */
double nt_session_drain_until(const struct nt_session *session, double seconds);

/* ---- the two roles of an agent: each runs the event loop of its role and returns when the
 * session's outcome is decided, at the latest shortly after session->give_up ---- */
/* Runs the leader, on the job's first host: accepts the other hosts, collects gathers for rank 0,
 * and sends its broadcasts and artifacts to all hosts. */
void nt_leader_run(struct nt_session *session);

/* Runs a member, on every other host: connects to its leader and relays frames between the leader
 * and the probe. The first host of a block also relays for the other hosts of its block. */
void nt_member_run(struct nt_session *session);

#endif
