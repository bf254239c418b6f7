/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the names of switches while their hosts stay the same. A new inference numbers its switches
 * in a new order. The naming stores which hosts were below each numbered switch: a switch gets the
 * number of a switch of its tier if more than half of the hosts of either are common. Other
 * switches get new numbers.
 * Tests: test_fleet_job.c. */
#ifndef NT_SWITCH_NAMING_H
#define NT_SWITCH_NAMING_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "model.h"

/* A host that was below the switch with this tier and number; a row of a stored table. */
struct nt_switch_member {
    uint32_t host;   /* as in the evidence */
    uint32_t tier;   /* tier of the switch, from 1 */
    uint32_t number; /* number of the switch, from 1; its name is "s" and the number */
};

struct nt_switch_naming {
    uint32_t last; /* the largest number ever used */
    size_t members, capacity;
    struct nt_switch_member *member; /* in any order; owned. {0} is an empty naming */
};

void nt_switch_naming_fini(struct nt_switch_naming *naming);

int nt_switch_naming_add(struct nt_switch_naming *naming, struct nt_switch_member member,
                         struct nt_err *err);

/* Sets number, by switch of a canonical model. *after (may be NULL; may be before) is the next
 * naming: hosts that are below no switch in the model keep their entries. before is unchanged on
 * failure. In models with cycles switches are matched by their own hosts; switches without hosts
 * get new numbers. */
int nt_switch_naming_match(const struct nt_switch_naming *before, const struct nt_model *model,
                           uint32_t *number, struct nt_switch_naming *after, struct nt_err *err);

#endif
