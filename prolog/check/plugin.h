/* SPDX-License-Identifier: Apache-2.0 */
/* spank_nettopo.so as Slurm finds it: which line of plugstack.conf loads it, and for which Slurm it
 * was built: the number that Slurm compares with its own, read from the file, without loading it.
 * Tests: bats/check.bats, fuzz/fuzz_plugin_version.c. */
#ifndef NT_PLUGIN_H
#define NT_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Major, minor and micro of "plugin_version" in a shared object (64 bits, of this byte order), as
 * SLURM_VERSION_NUMBER has them: 22.05.8 is 0x160508. NT_ERR_INPUT: it is none, or has no such
 * symbol. */
int nt_plugin_version_read(const void *object, size_t bytes, uint32_t *version, struct nt_err *err);

#endif
