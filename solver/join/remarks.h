/* SPDX-License-Identifier: Apache-2.0 */
/* The differences of a comparison as sentences with their places in both networks, for pictures.
 * Tests: test_remarks.c. */
#ifndef NT_REMARKS_H
#define NT_REMARKS_H

#include <stddef.h>

#include "err.h"
#include "picture.h"
#include "reference_match.h"

struct nt_remarks {
    size_t count; /* at most NT_REMARKS_MAX: the rest is left out */
    struct nt_remark *remark;
};

/* match is of these two maps. The sentences are those of comparison_report.h. */
int nt_remarks_create(const struct nt_reference_match *match, const struct nt_map *map,
                      const struct nt_map *reference, struct nt_remarks *out, struct nt_err *err);
void nt_remarks_fini(struct nt_remarks *remarks);

#endif
