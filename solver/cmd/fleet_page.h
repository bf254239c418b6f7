/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster as an HTML page with its history (text/picture.h): a day to choose, the list of
 * changes.
 * Tests: bats/fleet_page.bats. */
#ifndef NT_FLEET_PAGE_H
#define NT_FLEET_PAGE_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* Of the store (as in nt_fleet_open), days_s before its last job. The text is the caller's (free).
 * NT_ERR_NO: there is no map yet. */
int nt_fleet_page_write(const char *store, int64_t days_s, char **text, size_t *bytes,
                        struct nt_err *err);

#endif
