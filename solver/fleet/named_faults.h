/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that jobs find worse than their like, one after the other: what was so from the first job
 * on, or is in a figure that jobs do not have alike (the latency of a link between switches), has
 * no change point (changes.h).
 *
 * A part is stated when jobs in a row, of two users at least, name it in a finding: two jobs if
 * every job that crosses it so far did, three if not. It stays stated until jobs of two users that
 * cross it do not name it any more. One user alone neither states nor clears, and jobs of an
 * unknown user count for no second one. A job crosses a part when it has at least NT_NAMED_LIKE of
 * its like, among them this one: of fewer nobody can say which is worse. Of a latency between
 * switches NT_NAMED_NEAR of these are below the same switch, and what other jobs name does not
 * count: to a job that has no other switch below the same one, more switches in between look as a
 * slow link. A job that crosses a part and does not name it, but has a figure of it that is as the
 * named ones, says nothing. Pure.
 * Tests: test_named_faults.c. */
#ifndef NT_NAMED_FAULTS_H
#define NT_NAMED_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "changes.h"
#include "err.h"
#include "memory.h"

enum { NT_NAMED_LIKE = 3, NT_NAMED_NEAR = 2 };

struct nt_named_part {
    uint32_t part; /* as in changes.h */
    uint8_t tier, kind;
};

/* A part that a job has. */
struct nt_named_crossing {
    struct nt_named_part part;
    uint32_t among; /* any number: NT_NAMED_NEAR have the same */
    float value;    /* its figure, or what it has at least; 0: none */
};

struct nt_named_sight; /* a part in a job */

/* {0} is empty. First all findings, then the jobs, which count only for parts that are named. */
struct nt_named {
    struct nt_arena memory;
    size_t sights, room, named; /* named: of findings, the first ones, sorted by the first job */
    struct nt_named_sight *sight;
};

int nt_named_add(struct nt_named *named, struct nt_named_part part, struct nt_changes_job job,
                 double found, double expected, double confidence, struct nt_err *err);

/* The parts of one job, several times allowed; reordered. */
int nt_named_cross(struct nt_named *named, struct nt_changes_job job,
                   struct nt_named_crossing *crossing, size_t count, struct nt_err *err);
void nt_named_fini(struct nt_named *named);

/* Appends to *out (count of them; the caller's, free) what it finds, of parts and kinds that no
 * current change is of: worse, current, named. from: what is expected, to: what was found, the
 * medians. */
int nt_named_find(struct nt_named *named, struct nt_fleet_change **out, size_t *count,
                  struct nt_err *err);

#endif
