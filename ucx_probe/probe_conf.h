/* SPDX-License-Identifier: Apache-2.0 */
/* nettopo.conf as a probe by hand reads it, as a user: whoever owns it, and whether there is one.
 * Tests: bats/check.bats. */
#ifndef NT_PROBE_CONF_H
#define NT_PROBE_CONF_H

#include "conf.h"
#include "err.h"

/* path NULL: the usual one. The defaults, without an error, when that cannot be read. */
int nt_probe_conf_read(const char *path, struct nt_conf *conf, struct nt_err *err);

#endif
