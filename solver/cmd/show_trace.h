/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of a sweep with their times: what its record contains, for people.
 * Tests: bats/commands.bats. */
#ifndef NT_SHOW_TRACE_H
#define NT_SHOW_TRACE_H

#include "err.h"
#include "strbuf.h"
#include "terminal.h"

/* path: the record; NULL: "samples" beside $NETTOPO_MAP. */
int nt_show_trace(const char *path, const struct nt_terminal *terminal, struct nt_strbuf *buf,
                  struct nt_err *err);

#endif
