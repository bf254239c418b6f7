/* SPDX-License-Identifier: Apache-2.0 */
/* The participant: one rank's part in a round, the same on rank 0 and on all others, and the loop
 * of every other rank until END. Failures in a round are part of the report to rank 0; the
 * functions themselves do not fail. Independent of the plan of the sweep.
 * Tests: test_coordinator.c. */
#ifndef NT_PARTICIPANT_H
#define NT_PARTICIPANT_H

#include "oob.h"
#include "pair.h"
#include "wire.h"

struct nt_participant {
    struct nt_pair *pair;       /* NULL: no network on this host; borrowed */
    const char *no_pair_reason; /* reason in the greeting if pair is NULL */
    uint32_t rank;
    double deadline_s;
    bool own_core_known;      /* nt_pair_set_own_core was called, which is done once */
    bool keeps;               /* the connection of the round will be kept, as reported */
    bool transports_reported; /* the transports were reported to rank 0 */
    char hardware[NT_MACHINE_TEXT_BYTES]; /* for the greeting: machine_text.h; "": not known */
    double core_us[NT_BETWEEN_END];
    char networks[NT_WIRE_NETWORKS_BYTES]; /* for the greeting: device_network.h; "": not known */
    unsigned char *table_bytes;            /* encoded table; owned */
    struct nt_peer_table table;            /* empty if each round contains its addresses */
};

void nt_participant_init(struct nt_participant *participant, const struct nt_oob *oob,
                         struct nt_pair *pair, const char *no_pair_reason);
void nt_participant_fini(struct nt_participant *participant);

/* Detects the hardware of this host. If cores_s is not 0, measures the latencies between its cores
 * for that many seconds in total. */
void nt_participant_inspect_host(struct nt_participant *participant, double cores_s);

/* Encodes this rank's GREETING. */
int nt_participant_greeting(const struct nt_participant *participant,
                            const struct nt_probe_job *job, struct nt_bytes *out,
                            struct nt_err *err);

/* Decodes a TABLE message. Takes ownership of its bytes, also on error. */
int nt_participant_set_table(struct nt_participant *participant, unsigned char *bytes_of_table,
                             size_t bytes, struct nt_err *err);

void nt_participant_connect(struct nt_participant *participant, const struct nt_round *round,
                            struct nt_report *report);
void nt_participant_measure(struct nt_participant *participant, const struct nt_round *round,
                            const struct nt_go *go, struct nt_report *report);

/* Runs this rank's turns of a series in sequence, each as soon as both of its ends are ready. A
 * turn that does not start within series_s is reported as idle. Returns the number of reports: one
 * per turn in which this rank has a pair. */
size_t nt_participant_series(struct nt_participant *participant, const struct nt_round *round,
                             struct nt_report report[NT_WIRE_TURNS_MAX]);

void nt_participant_disconnect(struct nt_participant *participant); /* ends a round */

/* Runs a rank other than 0 until END. 0: the sweep is over; -1: the out-of-band exchange failed, or
 * the deadline passed. */
int nt_participant_run(struct nt_oob *oob, const struct nt_probe_job *job,
                       struct nt_participant *participant, struct nt_err *err);

/* Contributes only the greeting, for a rank without a network. */
int nt_participant_send_greeting(struct nt_oob *oob, const struct nt_probe_job *job,
                                 struct nt_participant *participant, struct nt_err *err);

#endif
