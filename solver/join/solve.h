/* SPDX-License-Identifier: Apache-2.0 */
/* From measurements to a map: the whole solver in one call, for the probe and for nettopo solve. */
#ifndef NT_SOLVE_H
#define NT_SOLVE_H

#include <stdint.h>

#include "err.h"
#include "infer.h"
#include "map.h"
#include "matrix.h"
#include "samples.h"

/* Equal samples give equal maps, byte for byte when written. The map marks hosts that did not
 * answer as missing, and has the warnings and status of the samples and a placement for their
 * pattern.
 *
 * Memory is linear in the readings, not in all pairs: the verified record of an adaptive sweep is
 * solved without a matrix, and so is a record with too few pairs to determine a network. Records
 * with most pairs need matrices. method: replaces the built-in inference; NULL: built-in. known:
 * the network that the sweep inferred already (infer.h), which gives the same map; or NULL. The
 * caller frees *out. */
int nt_solve_samples(const struct nt_samples *samples, const struct nt_method *method,
                     const struct nt_inferred *known, struct nt_map **out, struct nt_err *err);

/* For shorter messages, fixed costs per message are as long as the time on a link, or longer: at
 * 12.5 GB/s, 64 KiB take 5 us. */
#define NT_SOLVE_RATE_BYTES 65536.0

/* Measurements from any source. All pointers are borrowed. */
struct nt_solve_input {
    /* of the smallest message; NULL: in samples, or there are only bandwidths */
    const struct nt_matrix *latency;
    const struct nt_matrix *const *larger; /* of larger messages, ascending, the same hosts: they */
    size_t larger_sizes;                   /* change the probabilities of links; 0: none */
    const struct nt_matrix *bandwidth;     /* of pairs, hosts as in latency; NULL: not measured */
    /* All hosts sent at the same time: bandwidths of links between switches are lower bounds */
    bool contended;
    /* Minimum size of the messages behind bandwidth; below NT_SOLVE_RATE_BYTES all bandwidths are
     * lower bounds. NaN or 0: unknown. */
    double rate_bytes;
    const char *const *host_name;   /* of the hosts of latency or samples, in any order */
    char *const *missing;           /* per host NULL or the reason why it did not answer; or NULL */
    const uint32_t *slots;          /* tasks per host; NULL: one each */
    const char *pattern;            /* "": neighbour; matrix:PATH: the matrix in samples */
    const struct nt_method *method; /* replaces the built-in inference; NULL: built-in */
    const struct nt_samples *samples; /* replaces the matrices by a record; NULL: none */
    const struct nt_inferred *known;  /* see infer.h; or NULL */
};

/* As above from any measurements: status ok, or partial if hosts are missing. Hosts are sorted by
 * name. NT_ERR_USAGE: more sizes than the method can combine. The caller frees *out. */
int nt_solve_measured(const struct nt_solve_input *measured, struct nt_map **out,
                      struct nt_err *err);

#endif
