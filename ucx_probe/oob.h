/* SPDX-License-Identifier: Apache-2.0 */
/* The out-of-band exchange between the probes of one sweep, separate from the network that they
 * measure. Two implementations: oob_tcp.c (started by the agent in the prolog; frames of
 * base/frame.h over an inherited descriptor) and oob_pmix.c (srun --mpi=pmix, mpirun).
 *
 * All ranks make the same calls in the same order. Every call has its own deadline. A rank that
 * misses it has no contribution, and the others continue.
 * Tests: test_oob.c, test_coordinator.c. */
#ifndef NT_OOB_H
#define NT_OOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "frame.h"
#include "map.h"
#include "start.h"

struct nt_contribution {
    bool present;
    size_t bytes;
    unsigned char *data; /* owned by the receiver, who calls nt_contributions_free */
};

/* A text for one rank. */
struct nt_unicast {
    uint32_t rank;
    const void *data; /* borrowed; several unicasts may share it */
    size_t bytes;
};

struct nt_oob {
    const struct nt_oob_ops *ops;
    uint32_t rank, size;
    double deadline_s; /* end of the sweep (nt_clock_s) */
};

struct nt_oob_ops {
    /* Sends every rank's contribution to rank 0. contributions: one per rank on rank 0, NULL on the
     * others. */
    int (*gather)(struct nt_oob *oob, const void *mine, size_t bytes, double wait_s,
                  struct nt_contribution *contributions, struct nt_err *err);
    /* Sends rank 0's text to every other rank. */
    int (*bcast)(struct nt_oob *oob, const void *text, size_t bytes, struct nt_err *err);
    /* Receives a bcast or scatter on the other ranks. The caller frees *data. */
    int (*receive)(struct nt_oob *oob, unsigned char **data, size_t *bytes, double wait_s,
                   struct nt_err *err);
    /* Sends individual texts to some ranks (unicasts: none to rank 0, at most one per rank) and
     * mine to all others, so that the text of a round does not grow with the number of ranks. NULL:
     * this transport can only send one text to all ranks. */
    int (*scatter)(struct nt_oob *oob, const struct nt_unicast *unicasts, size_t n,
                   const void *mine, size_t mine_bytes, struct nt_err *err);
    /* Rank 0 in the prolog only: sends a file for every host. done ends the sweep. */
    int (*artifact)(struct nt_oob *oob, enum nt_artifact artifact, const char *text, size_t bytes,
                    struct nt_err *err);
    /* Sends the status and the reason. Values for the log may follow the reason after a newline
     * (prolog/job_line.h). */
    int (*done)(struct nt_oob *oob, enum nt_status status, const char *reason, struct nt_err *err);
    void (*destroy)(struct nt_oob *oob);
};

/* Both create an exchange and set the fields of *job that the starter provides. The pointers in
 * *job are valid as long as *out. */
int nt_oob_tcp_create(int fd, struct nt_oob **out, struct nt_probe_job *job, struct nt_err *err);
int nt_oob_pmix_create(struct nt_oob **out, struct nt_probe_job *job, struct nt_err *err);

void nt_contributions_free(struct nt_contribution *contributions, size_t n);

#endif
