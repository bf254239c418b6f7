/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a comparison as text, as JSON (compare --json), and as the reference coloured by
 * deviation. The caller frees all texts.
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

/* Writes a one-line summary of the similarity. */
void nt_comparison_report_summary(const struct nt_reference_match *match, char *text, size_t bytes);

/* The reference as Graphviz, with links coloured by deviation as in P. Bannikov, A. Salnikov,
 * section g, but red for worse as in all pictures. A link that no path uses has no colour. A link
 * whose mean time is over the ideal is red, others are blue; stronger colours mean larger
 * deviations. A link is grey if it is within a tenth of the ideal, or
 * if one of its paths is, because then other links cause the deviation. message_bytes 0: 1 MiB, or
 * 8 for a map without bandwidths. */
int nt_comparison_report_dot(const struct nt_reference_match *match, double message_bytes,
                             char **text, size_t *bytes, struct nt_err *err);

/* The differences as sentences with their places in both networks, for pictures. */
struct nt_remarks {
    size_t count; /* at most NT_REMARKS_MAX; further ones are left out */
    struct nt_remark *remark;
};

/* match: of these two maps. The caller frees out with nt_remarks_fini. */
int nt_remarks_create(const struct nt_reference_match *match, const struct nt_map *map,
                      const struct nt_map *reference, struct nt_remarks *out, struct nt_err *err);
void nt_remarks_fini(struct nt_remarks *remarks);

#endif
