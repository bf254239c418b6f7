/* SPDX-License-Identifier: Apache-2.0 */
/* plugstack.conf: which line loads spank_nettopo.so.
 * Tests: bats/check.bats. */
#ifndef NT_PLUGSTACK_H
#define NT_PLUGSTACK_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

enum { NT_PLUGSTACK_PATH_BYTES = 512 };

struct nt_plugstack_entry {
    char file[NT_PLUGSTACK_PATH_BYTES];   /* the file with that line */
    char plugin[NT_PLUGSTACK_PATH_BYTES]; /* as it is written there: a path, or a name */
    char conf[NT_PLUGSTACK_PATH_BYTES];   /* of its argument conf=FILE; "": none */
    bool required;                        /* not optional */
};

/* Looks in that file and in those that it includes, up to 4 deep and 256 files. 1: found; 0: not;
 * -1: the first file cannot be read. */
int nt_plugstack_find(const char *path, struct nt_plugstack_entry *entry, struct nt_err *err);

#endif
