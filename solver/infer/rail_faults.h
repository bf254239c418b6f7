/* SPDX-License-Identifier: Apache-2.0 */
/* A host and its cables told apart, by what each rail shows alone.
 *
 * A host's link on a rail: from short messages its latency, the lowest over its partners of theirs
 * together less the partner's own, which is half of that partner's lowest; from long ones its
 * bandwidth, the highest over its partners. Those of a rail are held against each other like the
 * links of the model (faults.h). A host that is worse on one rail and sound on another has a bad
 * cable (or port) there: the finding names the rail, and the host is no alternative. One that is
 * worse on every rail by about the same (within a factor of two of the logarithm) is found itself.
 * Of anything between nothing is changed.
 * Tests: test_faults.c. */
#ifndef NT_INFER_RAIL_FAULTS_H
#define NT_INFER_RAIL_FAULTS_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "fault.h"
#include "model.h"

/* One way between two hosts over one rail. */
struct nt_rail_seen {
    uint32_t rail, a, b;
    double bytes, us, se_us; /* of the message; se_us NaN: not known */
};

/* Refines the findings of hosts' links in fault, of which there are *count, and adds those that
 * only one rail shows; fault: room for NT_FAULTS_MAX. name: of the rails. Nothing with fewer than
 * two rails. */
int nt_rail_faults_find(const struct nt_model *model, const struct nt_rail_seen *seen,
                        size_t seen_count, const char *const *name, size_t rails,
                        struct nt_fault *fault, size_t *count, struct nt_err *err);

#endif
