/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the configuration file as root: it must belong to root and be writable by root alone.
 * Tests: bats/ways.bats. */
#ifndef NT_CONFFILE_H
#define NT_CONFFILE_H

#include <stdbool.h>

#include "conf.h"
#include "err.h"

/* is_optional: without the file the defaults hold. */
int nt_conffile_read(const char *path, bool is_optional, struct nt_conf *conf, struct nt_err *err);

#endif
