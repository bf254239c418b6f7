/* A comparison in words: for people, for machines (`compare --json`), and as the reference coloured
 * by deviation. Texts are the caller's (free). */
#ifndef NT_REPORT_H
#define NT_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "against.h"

bool nt_report_differs(const struct nt_against *against);
int nt_report_json(const struct nt_against *against, char **text, size_t *bytes,
                   struct nt_err *err);
int nt_report_people(const struct nt_against *against, size_t width, char **text, size_t *bytes,
                     struct nt_err *err);

/* P. Bannikov, A. Salnikov, section g: a link that no path uses stays plain, one whose mean time is
 * not over the ideal is red, else blue; the farther off, the fuller. laid and ideal are of
 * nt_against_redistribute. */
int nt_report_coloured(const struct nt_against *against, const double *laid_us,
                       const double *ideal_us, char **text, size_t *bytes, struct nt_err *err);

#endif
