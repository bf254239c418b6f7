/* SPDX-License-Identifier: Apache-2.0 */
/* The participant: one rank's part in a round, the same on rank 0 and on all others, and what every
 * rank but 0 does by it until END. What fails in a round stands in the report to rank 0; the calls
 * themselves do not fail.
 * Tests: test_coordinator.c. */
#ifndef NT_PARTICIPANT_H
#define NT_PARTICIPANT_H

#include "oob.h"
#include "pair.h"
#include "wire.h"

struct nt_participant {
    struct nt_pair *pair;       /* NULL: no network here; borrowed */
    const char *no_pair_reason; /* then why: for the greeting */
    uint32_t rank;
    double deadline_s;
    bool own_core_known; /* whether it has a core of its own: set once, as the pair may learn better
                          */
    bool keeps;          /* the connection of the round, as reported */
    bool used_told;      /* rank 0 knows what the connections go over */
    char hardware[NT_MACHINE_TEXT_BYTES]; /* for the greeting, machine_text.h; "": not known */
    double core_us[NT_BETWEEN_END];
    char networks[NT_WIRE_NETWORKS_BYTES]; /* likewise, device_network.h; "": not known */
    unsigned char *table_bytes;            /* the table's bytes; owned */
    struct nt_peer_table table;            /* empty where a round brings its addresses itself */
};

void nt_participant_init(struct nt_participant *participant, const struct nt_oob *oob,
                         struct nt_pair *pair, const char *no_pair_reason);
void nt_participant_fini(struct nt_participant *participant);

/* Describes the hardware of this host and, when cores_s is not 0, measures for so long in all
 * between its cores. */
void nt_participant_inspect_host(struct nt_participant *participant, double cores_s);

/* This rank's GREETING. */
int nt_participant_greeting(const struct nt_participant *participant,
                            const struct nt_probe_job *job, struct nt_bytes *out,
                            struct nt_err *err);

/* Decodes a TABLE message and takes it over, also when that fails. */
int nt_participant_set_table(struct nt_participant *participant, unsigned char *bytes_of_table,
                             size_t bytes, struct nt_err *err);

void nt_participant_connect(struct nt_participant *participant, const struct nt_round *round,
                            struct nt_report *report);
void nt_participant_measure(struct nt_participant *participant, const struct nt_round *round,
                            const struct nt_go *go, struct nt_report *report);

/* All of a round of turns: this rank's, one after another, each as soon as its two ends are there.
 * Those whose time does not come within series_s: idle. Returns how many reports there are, one for
 * each turn in which this rank has a pair. */
size_t nt_participant_series(struct nt_participant *participant, const struct nt_round *round,
                             struct nt_report report[NT_WIRE_TURNS_MAX]);

void nt_participant_disconnect(struct nt_participant *participant); /* at the end of a round */

/* 0: the sweep is over; -1: the out-of-band exchange failed, or the deadline passed. */
int nt_participant_run(struct nt_oob *oob, const struct nt_probe_job *job,
                       struct nt_participant *participant, struct nt_err *err);

/* Only contributes the greeting: of a rank without a network. */
int nt_participant_send_greeting(struct nt_oob *oob, const struct nt_probe_job *job,
                                 struct nt_participant *participant, struct nt_err *err);

#endif
