/* What every host of a job has, leader or member: its probe, and its part of the publication.
 *
 * The probe's frames and papers pass through; nothing here looks into them. */
#ifndef NT_SESSION_H
#define NT_SESSION_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "advice.h"
#include "child.h"
#include "conf.h"
#include "conn.h"
#include "err.h"
#include "job.h"
#include "log.h"
#include "option.h"
#include "publish.h"

enum { NT_DONE_BYTES = NT_ERR_TEXT_BYTES + 16 }; /* "partial REASON" */

enum nt_policy { NT_POLICY_UNKNOWN, NT_POLICY_FULL, NT_POLICY_LATENCY, NT_POLICY_OFF };

/* What is to be told of a job: first word ok, partial or failed, then the reason; and what to do
 * about it. */
struct nt_outcome {
    bool decided;
    char text[NT_DONE_BYTES];
    enum nt_advice advice;
};

struct nt_session {
    const struct nt_conf *conf;     /* borrowed */
    const struct nt_job *job;       /* borrowed */
    const struct nt_option *option; /* borrowed; within the configured limits */
    const struct nt_log *log;       /* borrowed; NULL: none */
    double deadline;                /* when the probe must be done (monotonic) */
    double give_up;                 /* when we publish failed */
    struct nt_child child;
    struct nt_conn probe;
    bool probe_lost;
    bool probe_hung_up;          /* it has hung up; what it said before may still be unread */
    struct nt_err probe_end;     /* how it ended, once it is lost */
    enum nt_advice probe_advice; /* none: it ended well */
    struct nt_publish publish;
    struct nt_err publish_err; /* kind other than none: this host cannot publish, and why */
    struct nt_outcome outcome;
};

/* Begins the publication and starts the probe. Never fails: what does not work is noted, the
 * host still takes part for the others. */
void nt_session_init(struct nt_session *session, const struct nt_conf *conf,
                     const struct nt_job *job, const struct nt_option *option,
                     const struct nt_log *log, double deadline, double give_up);
void nt_session_fini(struct nt_session *session);

/* Tells the probe its place. */
int nt_session_start_probe(struct nt_session *session, enum nt_policy policy,
                           const struct nt_job_use *use, struct nt_err *err);

/* Fills polls (at least 2); reads from the probe only when read is true. */
size_t nt_session_pollfds(const struct nt_session *session, bool read, struct pollfd *polls);

/* The next frame of the probe: 1, or 0 for none. When the probe has ended or broken the talk,
 * it is lost: stopped, with the reason in probe_end. */
int nt_session_probe_next(struct nt_session *session, struct nt_frame *frame,
                          const unsigned char **payload);

/* Passes a frame to the probe; one that does not take it is lost, once what it said is read. */
void nt_session_probe_send(struct nt_session *session, const struct nt_frame *frame,
                           const void *payload);

/* The same, but many small ones leave together: with nt_session_probe_flush at the latest. */
void nt_session_probe_queue(struct nt_session *session, const struct nt_frame *frame,
                            const void *payload);
void nt_session_probe_flush(struct nt_session *session);

void nt_session_lose_probe(struct nt_session *session, enum nt_advice advice, const char *why);

/* A part of a paper. What cannot be written is noted for the end. */
void nt_session_write_artifact(struct nt_session *session, const struct nt_frame *frame,
                               const void *payload);

/* The end: text is the payload of DONE. Publishes what was written, or failed and why. */
void nt_session_finish(struct nt_session *session, const char *text, size_t bytes);

/* The end for a reason of our own. */
void nt_session_fail(struct nt_session *session, enum nt_advice advice, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts the log beside what is published, when the job's option asked for it. */
void nt_session_publish_log(struct nt_publish *publish, const struct nt_option *option,
                            const struct nt_log *log, const struct nt_outcome *outcome);

#endif
