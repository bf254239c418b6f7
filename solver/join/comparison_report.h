/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison as text, as JSON (`compare --json`), and as the reference coloured by deviation.
 * Texts are the caller's (free).
 * Tests: test_compare.c. */
#ifndef NT_REPORT_H
#define NT_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "reference_match.h"
#include "strbuf.h"

bool nt_comparison_report_differs(const struct nt_reference_match *match);
int nt_comparison_report_json(const struct nt_reference_match *match, char **text, size_t *bytes,
                              struct nt_err *err);
int nt_comparison_report_text(const struct nt_reference_match *match, size_t width, char **text,
                              size_t *bytes, struct nt_err *err);

/* How alike the two are, in a line. */
void nt_comparison_report_summary(const struct nt_reference_match *match, char *text, size_t bytes);

/* Difference k of the comparison: "n5: expected with n6 n7, found with n1 n2 (0.97)". */
int nt_comparison_report_sentence(const struct nt_reference_match *match, size_t k,
                                  struct nt_strbuf *to, struct nt_err *err);

/* P. Bannikov, A. Salnikov, section g: a link that no path uses stays plain, one whose mean time is
 * not over the ideal is red, else blue; the farther off, the stronger. Grey is a link within a
 * tenth of the ideal, and one with a path that is: then other links of its paths are off. laid,
 * ideal and least_off are those of nt_reference_match_redistribute. */
int nt_comparison_report_dot(const struct nt_reference_match *match, const double *laid_us,
                             const double *ideal_us, const double *least_off, char **text,
                             size_t *bytes, struct nt_err *err);

#endif
