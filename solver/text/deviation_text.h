/* SPDX-License-Identifier: Apache-2.0 */
/* How two measurements deviate, as text, as JSON and as rasters beside each other. Texts are the
 * caller's (free).
 * Tests: test_deviation.c. */
#ifndef NT_DEVIATION_TEXT_H
#define NT_DEVIATION_TEXT_H

#include <stddef.h>

#include "deviation.h"
#include "err.h"

/* All is borrowed. */
struct nt_deviation_report {
    const struct nt_deviation *deviation;
    const struct nt_matrix *first, *second; /* of the same hosts */
    const char *const *host_name;
    const char *title[2]; /* what the measurements are called */
    size_t alone[2];      /* hosts that only one of them has */
    double tolerance;
};

int nt_deviation_text(const struct nt_deviation_report *r, char **text, size_t *bytes,
                      struct nt_err *err);
int nt_deviation_json(const struct nt_deviation_report *r, char **text, size_t *bytes,
                      struct nt_err *err);

/* SVG: both measurements, the darker the larger, and what differs. Of more hosts than the cells
 * that fit, a cell is the largest of its block. */
int nt_deviation_svg(const struct nt_deviation_report *r, char **text, size_t *bytes,
                     struct nt_err *err);

#endif
