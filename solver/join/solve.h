/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements to map: the whole solver as one call, the same for the probe and for
 * `nettopo solve`. */
#ifndef NT_SOLVE_H
#define NT_SOLVE_H

#include <stdint.h>

#include "err.h"
#include "infer.h"
#include "map.h"
#include "matrix.h"
#include "samples.h"

/* Deterministic: the same samples give the same map, byte for byte once written. The map names
 * hosts that did not answer as missing, carries the samples' warnings and status, and a placement
 * for the samples' pattern.
 *
 * Memory follows the readings, not the pairs that there could be: the record of an adaptive sweep
 * that was verified is solved without a matrix, and so is one with too few pairs to determine a
 * network; matrices are made of a record that holds most pairs. method: instead of ours; NULL:
 * ours. known: a network that the sweep inferred of them already (infer.h), which gives the same
 * map; or NULL. */
int nt_solve_samples(const struct nt_samples *samples, const struct nt_method *method,
                     const struct nt_inferred *known, struct nt_map **out, struct nt_err *err);

/* Of shorter messages each has a cost of its own that is as long as a link's time for it, or
 * longer: at 12.5 GB/s, 64 KiB take 5 us. */
#define NT_SOLVE_RATE_BYTES 65536.0

/* What was measured, from wherever it came. Everything is borrowed. */
struct nt_solve_input {
    const struct nt_matrix *latency;       /* of the smallest message; NULL: taken from samples, or
                                              there are bandwidths alone */
    const struct nt_matrix *const *larger; /* of larger messages, ascending, the same hosts; or */
    size_t larger_sizes;                   /* none: they determine how certain each link is */
    const struct nt_matrix *bandwidth;     /* of pairs; NULL: not measured; hosts as in latency */
    bool contended;                        /* all hosts sent at the same time: of links between
                                              switches bandwidths are lower bounds */
    double rate_bytes;                     /* that bandwidths are of messages of, or larger ones;
                                              under NT_SOLVE_RATE_BYTES all are lower bounds. NaN
                                              or 0: not known */
    const char *const *host_name;          /* of latency, or of samples; any order */
    char *const *missing;                  /* of each host NULL or why it did not answer; or NULL */
    const uint32_t *slots;                 /* tasks that each host is for; NULL: one each */
    const char *pattern;                   /* "": neighbour; matrix:PATH: what samples hold of it */
    const struct nt_method *method;        /* instead of ours; NULL: ours */
    const struct nt_samples *samples;      /* instead of matrices, the record that holds them and
                                              more; NULL: none */
    const struct nt_inferred *known;       /* infer.h; or NULL */
};

/* The same from matrices: status ok, or partial when hosts are missing. Hosts come out sorted by
 * name. NT_ERR_USAGE: more sizes than the method can unite. */
int nt_solve_measured(const struct nt_solve_input *measured, struct nt_map **out,
                      struct nt_err *err);

#endif
