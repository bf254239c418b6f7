/* SPDX-License-Identifier: Apache-2.0 */
/* Routes and measurements in files, for the verbs plan and estimate.
 * Tests: bats/commands.bats. */
#ifndef NT_ROUTES_FILES_H
#define NT_ROUTES_FILES_H

#include "err.h"
#include "measured.h"
#include "routes_text.h"

/* path "-" is standard input. Errors name file and line. */
int nt_routes_file_read(const char *path, struct nt_routes_text **out, struct nt_err *err);
int nt_measured_file_read(const char *path, const struct nt_routes_text *routes,
                          struct nt_measured **out, struct nt_err *err);

#endif
