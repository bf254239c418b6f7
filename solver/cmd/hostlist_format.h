/* SPDX-License-Identifier: Apache-2.0 */
/* Host names in few bytes, as Slurm writes them: n[1-4,07-12],login. */
#ifndef NT_HOSTLIST_FORMAT_H
#define NT_HOSTLIST_FORMAT_H

#include <stddef.h>

#include "strbuf.h"

/* Appends the names in the given order; only neighbours whose numbers rise by one share a range,
 * so the order can be read back. */
void nt_hostlist_format(struct nt_strbuf *buf, const char *const *names, size_t n);

#endif
