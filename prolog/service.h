/* SPDX-License-Identifier: Apache-2.0 */
/* What the worker, which is root, does for the relay, which is not: the job's directory, the probe,
 * credentials and lookups. The relay talks to other hosts and to the probe; what it asks is a
 * struct of a fixed size, and all of it is checked here. Claims are built from this host's own
 * facts of the job, so that a relay that has been taken over can speak for this host in this job
 * alone.
 * Tests: test_service.c. */
#ifndef NT_SERVICE_H
#define NT_SERVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth.h"
#include "child.h"
#include "conf.h"
#include "err.h"
#include "job.h"
#include "lookup.h"
#include "outcome.h"
#include "publish.h"

enum {
    NT_SERVICE_LOOKUPS = 4,  /* a job */
    NT_PROBE_END_BYTES = 48, /* "killed by signal 11" */
    NT_DIRECTIONS = NT_TO_MEMBER,
};

/* What may block the worker without end. */
enum nt_service_wait { NT_WAIT_NONE, NT_WAIT_MUNGE, NT_WAIT_FILES };
#define NT_MUNGED_IS_SILENT "munged on this host did not answer"

enum nt_service_kind {
    NT_SERVICE_PROVE = 1,  /* handshake, secret -> credential */
    NT_SERVICE_CHECK,      /* handshake, credential -> secret */
    NT_SERVICE_ADDRESSES,  /* host -> descriptor: struct nt_addresses will be read from it */
    NT_SERVICE_USE,        /* -> descriptor: struct nt_job_use */
    NT_SERVICE_PROBE_END,  /* -> whether the probe has ended, and how */
    NT_SERVICE_STOP_PROBE, /* ends the probe */
    NT_SERVICE_SETTLE,     /* settlement; once */
};

/* What both sides of a connection know of it. */
struct nt_handshake {
    uint32_t direction; /* enum nt_direction: of the proof */
    uint32_t peer;      /* index of the host at the other end */
    uint16_t port;      /* of the leader */
    unsigned char leader_nonce[NT_NONCE_BYTES], member_nonce[NT_NONCE_BYTES];
};

/* The end of a sweep as the relay sees it. */
struct nt_settlement {
    uint8_t failed;       /* the map is not published */
    uint8_t probe_failed; /* this host's probe did */
    uint8_t complete[NT_ARTIFACT_END];
    uint32_t advice; /* enum nt_advice */
    char text[NT_DONE_BYTES];
    struct nt_job_figures figures;
};

struct nt_service_request {
    uint32_t kind; /* enum nt_service_kind */
    uint32_t host;
    struct nt_handshake handshake;
    unsigned char secret[NT_SECRET_BYTES];
    char credential[NT_CREDENTIAL_MAX];
    struct nt_settlement settlement;
};

struct nt_service_reply {
    int32_t rc;
    uint8_t ended;   /* the probe */
    uint32_t advice; /* enum nt_advice, for its end */
    char end[NT_PROBE_END_BYTES];
    unsigned char secret[NT_SECRET_BYTES];
    char credential[NT_CREDENTIAL_MAX];
    struct nt_err err; /* when rc is not 0 */
};

struct nt_service {
    const struct nt_conf *conf;     /* borrowed */
    const struct nt_job *job;       /* borrowed */
    const struct nt_option *option; /* borrowed; within the configured limits */
    const char *cut;                /* what limits have changed; borrowed; NULL: nothing */
    const struct nt_log *log;       /* borrowed; NULL: none */
    double deadline;                /* when the probe must be done (nt_clock_s) */
    double give_up;                 /* when the agents publish failed */
    struct nt_child child;
    int probe_socket;        /* the other end of the probe's; -1: none */
    struct nt_err probe_err; /* kind other than none: why there is no probe */
    struct nt_publish publish;
    struct nt_err publish_err; /* kind other than none: why this host cannot publish */
    struct nt_lookup lookup[NT_SERVICE_LOOKUPS];
    size_t lookups;
    struct nt_lookup over; /* whether the job has ended; the worker's */
    bool settled;
    struct nt_settlement settlement;
    struct nt_outcome outcome; /* of nt_service_publish */
    bool munged_is_late;       /* it answered after give_up, or not at all */
    atomic_uint *waits_on; /* enum nt_service_wait, for the monitor; borrowed; NULL: nobody asks */
};

/* Creates the directory and starts the probe. The caller has set the borrowed pointers and the
 * times; all other fields are zero. Never fails: errors are kept in publish_err and probe_err, and
 * the host still relays for the others. */
void nt_service_init(struct nt_service *service);
/* Ends the probe and the lookups. Whoever uses probe_socket closes it. */
void nt_service_fini(struct nt_service *service);

/* *fd: a descriptor to pass on with the reply, or -1. */
void nt_service_handle(struct nt_service *service, const struct nt_service_request *request,
                       struct nt_service_reply *reply, int *fd);

/* Answers one request of the relay from that socket; false when there will be no more. */
bool nt_service_answer(struct nt_service *service, int socket);

/* Publishes what was settled, and failed when nothing was; when the relay has ended. */
void nt_service_publish(struct nt_service *service);

/* Publishes failed and that reason, whatever was settled. */
void nt_service_publish_failed(struct nt_service *service, enum nt_advice advice,
                               const char *reason);

/* Writes the log beside the map when the job's option has debug. */
void nt_service_publish_log(struct nt_publish *publish, const struct nt_option *option,
                            const struct nt_log *log, const struct nt_outcome *outcome);

#endif
