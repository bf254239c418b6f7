/* The meeting: how the probes of one sweep find and speak with each other, apart from the network
 * that they measure. Two implementations: meet_tcp.c (started by the agent in the prolog; frames
 * of base/frame.h over one inherited fd) and meet_pmix.c (srun --mpi=pmix, mpirun).
 *
 * Everything is lock step: all ranks make the same calls in the same order. Every call has a
 * deadline of its own; a rank that stays away is absent from then on and the others go on. */
#ifndef NT_MEET_H
#define NT_MEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "frame.h"
#include "log_line.h"
#include "map.h"
#include "option.h"

struct nt_piece {
    bool present;
    size_t bytes;
    unsigned char *data; /* owned by the receiver of the pieces: nt_pieces_free */
};

/* A text for one rank alone. */
struct nt_letter {
    uint32_t rank;
    const void *data; /* borrowed; several may share it */
    size_t bytes;
};

struct nt_meet {
    const struct nt_meet_ops *ops;
    uint32_t rank, size;
    uint64_t job_id; /* 0: none */
    uint32_t restart;
    char cluster[256];
    char host[256];            /* this rank's host name; the others' come with the first gather */
    double deadline_s;         /* monotonic clock: everything must be over by then */
    uint32_t tasks, task_cpus; /* of the job; 0: not known */
    const char *cpus;          /* its CPUs by host, "4(x2),3"; "" or NULL: not known */
    bool latency_only;         /* policy: shared hosts */
    double max_load;           /* share of a link that the sweep may use on average; 0: all */
    struct nt_option option;
    enum nt_log_level log;     /* how much is said */
    size_t inline_limit_bytes; /* of NETTOPO_JSON */
    const char *const
        *host_names; /* size of them when the starter told them, else NULL; borrowed */
};

struct nt_meet_ops {
    /* Everyone's piece reaches rank 0 (pieces: size of them; NULL on the other ranks). */
    int (*gather)(struct nt_meet *meet, const void *mine, size_t bytes, double wait_s,
                  struct nt_piece *pieces, struct nt_err *err);
    /* Rank 0's text reaches everyone; *data is new memory on the others, untouched on rank 0. */
    int (*cast)(struct nt_meet *meet, const void *mine, size_t mine_bytes, unsigned char **data,
                size_t *bytes, double wait_s, struct nt_err *err);
    /* Rank 0's side of a cast in which some get a text of their own (letters: none to rank 0, at
     * most one to each) and all others mine. So what a rank needs to know of a round does not
     * grow with the number of ranks. NULL: this meeting says the same to everybody. */
    int (*scatter)(struct nt_meet *meet, const struct nt_letter *letters, size_t n,
                   const void *mine, size_t mine_bytes, struct nt_err *err);
    /* Rank 0 only, and only in the prolog: files for every host, then the end. */
    int (*paper)(struct nt_meet *meet, enum nt_artifact paper, const char *text, size_t bytes,
                 struct nt_err *err);
    int (*done)(struct nt_meet *meet, enum nt_status status, const char *reason,
                struct nt_err *err);
    void (*destroy)(struct nt_meet *meet);
};

int nt_meet_tcp_create(int fd, struct nt_meet **out, struct nt_err *err);
int nt_meet_pmix_create(struct nt_meet **out, struct nt_err *err);

void nt_pieces_free(struct nt_piece *pieces, size_t n);

#endif
