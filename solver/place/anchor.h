/* SPDX-License-Identifier: Apache-2.0 */
/* Orders that cost the same as a given one, or nearly, and have rank 0 on a given host: job scripts
 * take the job's first host as the master. Which of them costs least is for the caller to find out.
 * Tests: test_place.c. */
#ifndef NT_ANCHOR_H
#define NT_ANCHOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "distance.h"
#include "err.h"

enum nt_anchor {
    NT_ANCHOR_ROTATE,   /* a ring begins elsewhere */
    NT_ANCHOR_REFLECT,  /* and runs the other way round */
    NT_ANCHOR_XOR,      /* recursive doubling, of 2^k ranks */
    NT_ANCHOR_NEAREST,  /* on a tree: the first host's switch first, then the switch above, ... */
    NT_ANCHOR_MOVE,     /* hosts change places so that all distances stay: a torus is shifted */
    NT_ANCHOR_EXCHANGE, /* the hosts of rank 0 and the first one change places */
    NT_ANCHORS
};

/* Fills to (ntasks of them) with from, changed so that rank 0 is on host first. capacity: tasks
 * that fit on each host; first holds at least one. *made: false if this change leads to no such
 * order; to is then undefined. */
int nt_anchor(enum nt_anchor way, const struct nt_distance *distance, const struct nt_model *model,
              const uint32_t *capacity, uint32_t first, const uint32_t *from, size_t ntasks,
              uint32_t *to, bool *made, struct nt_err *err);

#endif
