/* Small files that root wrote, read whole and never through a link. */
#ifndef NT_SPANK_FILE_H
#define NT_SPANK_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "conf.h"
#include "err.h"

/* *text is new memory (free it). *missing, when not NULL, tells a file that is not there
 * (NT_ERR_SYSTEM as for any other failure). */
int nt_file_load(const char *path, size_t max_bytes, char **text, size_t *bytes, bool *missing,
                 struct nt_err *err);

/* The configuration. path NULL: the default file, which need not be there. */
int nt_file_conf(const char *path, struct nt_conf *conf, struct nt_err *err);

#endif
