/* SPDX-License-Identifier: Apache-2.0 */
/* The work that the worker, which is root, does for the relay, which is not: the job's directory,
 * the probe, credentials and lookups. The relay communicates with other hosts and with the probe.
 * Its requests are structs of a fixed size, and all values in them are checked here. Claims are
 * built from this host's own facts about the job, so that an attacker who has taken over the relay
 * can only act as this host in this job.
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
    NT_SERVICE_LOOKUPS = 4,  /* maximum per job */
    NT_PROBE_END_BYTES = 48, /* "killed by signal 11" */
    NT_DIRECTIONS = NT_TO_MEMBER,
};

/* Calls that may block the worker forever. */
enum nt_service_wait { NT_WAIT_NONE, NT_WAIT_MUNGE, NT_WAIT_FILES };
#define NT_MUNGED_IS_SILENT "munged on this host did not answer"

enum nt_service_kind {
    NT_SERVICE_PROVE = 1, /* request: handshake, secret; reply: credential */
    NT_SERVICE_CHECK,     /* request: handshake, credential; reply: secret */
    /* Request: host; reply: a descriptor from which a struct nt_addresses can be read */
    NT_SERVICE_ADDRESSES,
    NT_SERVICE_USE,        /* reply: a descriptor from which a struct nt_job_use can be read */
    NT_SERVICE_PROBE_END,  /* reply: whether the probe has ended, and how */
    NT_SERVICE_STOP_PROBE, /* kills the probe */
    NT_SERVICE_RESULT,     /* request: result; accepted once */
};

/* The facts that both sides of a connection know. */
struct nt_handshake {
    uint32_t direction; /* enum nt_direction of the proof */
    uint32_t peer;      /* index of the host at the other end */
    uint16_t port;      /* port of the leader */
    unsigned char leader_nonce[NT_NONCE_BYTES], member_nonce[NT_NONCE_BYTES];
};

/* The result of a sweep, from the relay. */
struct nt_relay_result {
    uint8_t failed;       /* no map is published */
    uint8_t probe_failed; /* the probe of this host failed */
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
    struct nt_relay_result result;
};

struct nt_service_reply {
    int32_t rc;
    uint8_t ended;   /* the probe has ended */
    uint32_t advice; /* enum nt_advice, for the end of the probe */
    char end[NT_PROBE_END_BYTES];
    unsigned char secret[NT_SECRET_BYTES];
    char credential[NT_CREDENTIAL_MAX];
    struct nt_err err; /* set if rc is not 0 */
};

struct nt_service {
    const struct nt_conf *conf;     /* borrowed */
    const struct nt_job *job;       /* borrowed */
    const struct nt_option *option; /* borrowed; limits are applied */
    const char *limit_note;         /* how limits changed the option; borrowed; NULL: not at all */
    const struct nt_log *log;       /* borrowed; NULL: no log */
    double deadline;                /* when the probe must have finished (nt_clock_s) */
    double give_up;                 /* when the agents publish failed (nt_clock_s) */
    struct nt_child child;
    int probe_socket;        /* the agent's end of the probe's socket; -1: none */
    struct nt_err probe_err; /* if set: why there is no probe */
    struct nt_publish publish;
    struct nt_err publish_err; /* if set: why this host cannot publish */
    struct nt_lookup lookup[NT_SERVICE_LOOKUPS];
    size_t lookups;
    struct nt_lookup over; /* lookup whether the job has ended; used by the worker */
    bool has_result;
    struct nt_relay_result result;
    struct nt_outcome outcome; /* set by nt_service_publish */
    bool munged_is_late;       /* munged answered after give_up, or not at all */
    atomic_uint
        *waits_on; /* enum nt_service_wait, read by the monitor; borrowed; NULL: no reader */
};

/* Creates the job's directory and starts the probe. The caller has set the borrowed pointers and
 * the times; all other fields are zero. Never fails: errors are stored in publish_err and
 * probe_err, and the host still relays for other hosts. */
void nt_service_init(struct nt_service *service);
/* Ends the probe and the lookups. The user of probe_socket closes it. */
void nt_service_fini(struct nt_service *service);

/* Handles a request. *fd: a descriptor to send with the reply, or -1. */
void nt_service_handle(struct nt_service *service, const struct nt_service_request *request,
                       struct nt_service_reply *reply, int *fd);

/* Receives and answers one request of the relay on that socket. Returns false if there will be no
 * more. */
bool nt_service_answer(struct nt_service *service, int socket);

/* Publishes the result that the relay reported, or failed without one. Call it after the relay has
 * ended. */
void nt_service_publish(struct nt_service *service);

/* Publishes failed with that reason, whatever the relay reported. */
void nt_service_publish_failed(struct nt_service *service, enum nt_advice advice,
                               const char *reason);

/* Writes the log beside the map if the job's option contains debug. */
void nt_service_publish_log(struct nt_publish *publish, const struct nt_option *option,
                            const struct nt_log *log, const struct nt_outcome *outcome);

#endif
