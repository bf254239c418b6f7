/* SPDX-License-Identifier: Apache-2.0 */
/* Names of switches that stay the same from day to day, while their hosts do.
 *
 * A network that is inferred anew numbers its switches anew. The naming remembers which hosts stood
 * below each numbered switch: a switch gets the number of the one of its tier whose hosts it has
 * most of, more than half of either. Others get numbers that none has had.
 * Tests: test_fleet_job.c. */
#ifndef NT_SWITCH_NAMING_H
#define NT_SWITCH_NAMING_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "model.h"

/* This host was below the switch of that tier and number; a row of a table that is kept. */
struct nt_switch_member {
    uint32_t host;   /* as in the evidence */
    uint32_t tier;   /* of the switch, from 1 */
    uint32_t number; /* of the switch, from 1: its name is "s" and that */
};

struct nt_switch_naming {
    uint32_t last; /* the largest number that was ever given */
    size_t members, capacity;
    struct nt_switch_member *member; /* any order; owned. {0} is an empty naming */
};

void nt_switch_naming_fini(struct nt_switch_naming *naming);

int nt_switch_naming_add(struct nt_switch_naming *naming, struct nt_switch_member member,
                         struct nt_err *err);

/* number[model->switches]: of each switch of a canonical model. *after (may be NULL; may be before)
 * is the naming from now on: hosts that the model does not have below any switch keep what was
 * known of them. before is not changed on failure. Models with cycles: by the hosts that are
 * attached to a switch, else new numbers each time. */
int nt_switch_naming_match(const struct nt_switch_naming *before, const struct nt_model *model,
                           uint32_t *number, struct nt_switch_naming *after, struct nt_err *err);

#endif
