/* SPDX-License-Identifier: Apache-2.0 */
/* Host lists in Slurm's format: "n[1-3,07],m2,rack[0-1]n[1-8]-ib". A number has the width of the
 * first number of its range: n[08-10] is n08, n09, n10. At most eight brackets per name and
 * NT_HOSTS_MAX names, which are counted before the first is created. */
#ifndef NT_HOSTLIST_H
#define NT_HOSTLIST_H

#include <stddef.h>

#include "err.h"
#include "strbuf.h"

/* Called with each name in order. -1 (with err set) ends the visit. */
typedef int nt_hostlist_each(void *context, const char *name, struct nt_err *err);

/* Calls each for every name of the list. text need not be terminated and must not contain spaces.
 * Names satisfy nt_host_name_check. NT_ERR_INPUT: the error names the invalid part; some names may
 * have been visited before. */
int nt_hostlist_visit(const char *text, size_t bytes, nt_hostlist_each *each, void *context,
                      struct nt_err *err);

/* Appends the names in the given order as a short list. Only neighbours with consecutive numbers
 * share a range, so that the order can be restored. */
void nt_hostlist_format(struct nt_strbuf *buf, const char *const *names, size_t n);

#endif
