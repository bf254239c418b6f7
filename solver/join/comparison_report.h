/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as text, as JSON (`compare --json`), and as the reference coloured by deviation.
 * Texts are the caller's (free).
 * Tests: test_compare.c. */
#ifndef NT_REPORT_H
#define NT_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "picture.h"
#include "reference_match.h"

bool nt_comparison_report_differs(const struct nt_reference_match *match);
int nt_comparison_report_json(const struct nt_reference_match *match, char **text, size_t *bytes,
                              struct nt_err *err);
int nt_comparison_report_text(const struct nt_reference_match *match, char **text, size_t *bytes,
                              struct nt_err *err);

/* How alike the two are, in a line. */
void nt_comparison_report_summary(const struct nt_reference_match *match, char *text, size_t bytes);

/* The reference as Graphviz. P. Bannikov, A. Salnikov, section g: a link that no path uses stays
 * plain, one whose mean time is not over the ideal is red, else blue; the farther off, the
 * stronger. Grey is a link within a tenth of the ideal, and one with a path that is: then other
 * links of its paths are off. message_bytes 0: 1 MiB, and 8 for a map without bandwidths. */
int nt_comparison_report_dot(const struct nt_reference_match *match, double message_bytes,
                             char **text, size_t *bytes, struct nt_err *err);

/* The differences as sentences with their places in both networks, for pictures. */
struct nt_remarks {
    size_t count; /* at most NT_REMARKS_MAX: the rest is left out */
    struct nt_remark *remark;
};

/* match is of these two maps. */
int nt_remarks_create(const struct nt_reference_match *match, const struct nt_map *map,
                      const struct nt_map *reference, struct nt_remarks *out, struct nt_err *err);
void nt_remarks_fini(struct nt_remarks *remarks);

#endif
