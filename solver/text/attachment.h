/* SPDX-License-Identifier: Apache-2.0 */
/* Which host is connected to which switch: derived from the links, for the fields of a map that
 * repeat them.
 * Tests: test_artifacts.c. */
#ifndef NT_ATTACHMENT_H
#define NT_ATTACHMENT_H

#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "model.h"

enum { NT_ATTACHMENT_NOWHERE = UINT32_MAX };

struct nt_attachment {
    uint32_t *links_at; /* by vertex: number of links */
    /* By host: the switch (index from 0) of its only link, or NT_ATTACHMENT_NOWHERE */
    uint32_t *switch_of;
    uint32_t *hosts_on;     /* by switch: number of hosts linked to it */
    struct nt_arena memory; /* all arrays */
};

int nt_attachment_init(struct nt_attachment *attachment, const struct nt_model *model,
                       struct nt_err *err);
void nt_attachment_fini(struct nt_attachment *attachment);

#endif
