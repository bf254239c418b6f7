/* SPDX-License-Identifier: Apache-2.0 */
/* Host lists as Slurm writes them: "n[1-3,07],m2,rack[0-1]n[1-8]-ib".
 *
 * A number keeps the width of its range's first bound: n[08-10] is n08, n09, n10. At most eight
 * brackets a name and NT_HOSTS_MAX names in all, counted before the first is made. */
#ifndef NT_HOSTLIST_H
#define NT_HOSTLIST_H

#include <stddef.h>

#include "err.h"
#include "strbuf.h"

/* Called with each name in order; -1 (with err set) ends the visit. */
typedef int nt_hostlist_each(void *context, const char *name, struct nt_err *err);

/* text need not be terminated; no blanks in it. Names come as nt_host_name_check wants them.
 * NT_ERR_INPUT says which part of the list is wrong; some names may have been given before. */
int nt_hostlist_visit(const char *text, size_t bytes, nt_hostlist_each *each, void *context,
                      struct nt_err *err);

/* Appends the names in the given order, in few bytes; only neighbours whose numbers rise by one
 * share a range, so the order can be read back. */
void nt_hostlist_format(struct nt_strbuf *buf, const char *const *names, size_t n);

#endif
