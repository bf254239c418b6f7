/* SPDX-License-Identifier: Apache-2.0 */
/* Which host is on which switch: what the map's nodes and switches repeat of the links.
 * Tests: test_artifacts.c. */
#ifndef NT_ATTACHMENT_H
#define NT_ATTACHMENT_H

#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "model.h"

enum { NT_ATTACHMENT_NOWHERE = UINT32_MAX };

struct nt_attachment {
    uint32_t *links_at;     /* of each vertex: how many */
    uint32_t *switch_of;    /* of each host: the switch (an index from 0) of its only link, or
                               NT_ATTACHMENT_NOWHERE */
    uint32_t *hosts_on;     /* of each switch: hosts linked with it */
    struct nt_arena memory; /* of all arrays */
};

int nt_attachment_init(struct nt_attachment *attachment, const struct nt_model *model,
                       struct nt_err *err);
void nt_attachment_fini(struct nt_attachment *attachment);

#endif
