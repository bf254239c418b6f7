/* The configuration file, read by root: it must belong to root and to nobody else's pen. */
#ifndef NT_CONFFILE_H
#define NT_CONFFILE_H

#include <stdbool.h>

#include "conf.h"
#include "err.h"

/* is_optional: a file that is not there leaves the defaults. */
int nt_conffile_read(const char *path, bool is_optional, struct nt_conf *conf, struct nt_err *err);

#endif
