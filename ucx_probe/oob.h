/* SPDX-License-Identifier: Apache-2.0 */
/* The out-of-band exchange between the probes of one sweep, apart from the network that they
 * measure. Two implementations: oob_tcp.c (started by the agent in the prolog; frames
 * of base/frame.h over one inherited fd) and oob_pmix.c (srun --mpi=pmix, mpirun).
 *
 * All ranks make the same calls in the same order. Every call has a deadline of its own; of a rank
 * that misses it there is no contribution, and the others go on.
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
    unsigned char *data; /* owned by the receiver: nt_contributions_free */
};

/* A text for one rank alone. */
struct nt_unicast {
    uint32_t rank;
    const void *data; /* borrowed; several may share it */
    size_t bytes;
};

struct nt_oob {
    const struct nt_oob_ops *ops;
    uint32_t rank, size;
    double deadline_s; /* monotonic clock: everything must be over by then */
};

struct nt_oob_ops {
    /* Every rank's contribution reaches rank 0 (contributions: size of them; NULL on the others).
     */
    int (*gather)(struct nt_oob *oob, const void *mine, size_t bytes, double wait_s,
                  struct nt_contribution *contributions, struct nt_err *err);
    /* Rank 0's text to every rank. */
    int (*bcast)(struct nt_oob *oob, const void *text, size_t bytes, struct nt_err *err);
    /* The other ranks' side of a bcast; *data is new memory. */
    int (*receive)(struct nt_oob *oob, unsigned char **data, size_t *bytes, double wait_s,
                   struct nt_err *err);
    /* Rank 0's side of a bcast in which some ranks get a text of their own (unicasts: none to rank
     * 0, at most one to each) and all others mine. So the text of a round does not grow with the
     * number of ranks. NULL: this transport only has one text for all. */
    int (*scatter)(struct nt_oob *oob, const struct nt_unicast *unicasts, size_t n,
                   const void *mine, size_t mine_bytes, struct nt_err *err);
    /* Rank 0 only, and only in the prolog: files for every host, then the end. */
    int (*artifact)(struct nt_oob *oob, enum nt_artifact artifact, const char *text, size_t bytes,
                    struct nt_err *err);
    /* Behind reason a newline and figures for the log may stand (prolog/job_line.h). */
    int (*done)(struct nt_oob *oob, enum nt_status status, const char *reason, struct nt_err *err);
    void (*destroy)(struct nt_oob *oob);
};

/* Both also fill *job in as far as the starter tells it; what it points to lives as long as *out.
 */
int nt_oob_tcp_create(int fd, struct nt_oob **out, struct nt_probe_job *job, struct nt_err *err);
int nt_oob_pmix_create(struct nt_oob **out, struct nt_probe_job *job, struct nt_err *err);

void nt_contributions_free(struct nt_contribution *contributions, size_t n);

#endif
