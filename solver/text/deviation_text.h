/* SPDX-License-Identifier: Apache-2.0 */
/* The difference between two measurements, as text, as JSON and as two rasters. The caller frees
 * the texts.
 * Tests: test_deviation.c. */
#ifndef NT_DEVIATION_TEXT_H
#define NT_DEVIATION_TEXT_H

#include <stddef.h>

#include "deviation.h"
#include "err.h"

/* All pointers are borrowed. */
struct nt_deviation_report {
    const struct nt_deviation *deviation;
    const struct nt_matrix *first, *second; /* two matrices of the same hosts */
    const char *const *host_name;
    const char *title[2]; /* names of the measurements */
    size_t alone[2];      /* number of hosts that only this measurement has */
    double tolerance;
};

int nt_deviation_text(const struct nt_deviation_report *r, char **text, size_t *bytes,
                      struct nt_err *err);
int nt_deviation_json(const struct nt_deviation_report *r, char **text, size_t *bytes,
                      struct nt_err *err);

/* Draws both measurements and their difference as SVG; darker cells are larger values. If there are
 * more hosts than cells, a cell shows the largest value of its block. */
int nt_deviation_svg(const struct nt_deviation_report *r, char **text, size_t *bytes,
                     struct nt_err *err);

#endif
