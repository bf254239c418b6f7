/* SPDX-License-Identifier: Apache-2.0 */
/* spank_nettopo.so as Slurm finds it: which line of plugstack.conf loads it, and for which release
 * of Slurm it was built. The release is the number that Slurm compares with its own; it is read
 * from the file without loading it.
 * Tests: bats/check.bats, fuzz/fuzz_plugin_version.c. */
#ifndef NT_PLUGIN_H
#define NT_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum { NT_PLUGSTACK_PATH_BYTES = 512 };

struct nt_plugstack_entry {
    char file[NT_PLUGSTACK_PATH_BYTES];   /* file that contains the line */
    char plugin[NT_PLUGSTACK_PATH_BYTES]; /* as written in the line: a path or a name */
    char conf[NT_PLUGSTACK_PATH_BYTES];   /* value of its argument conf=FILE; "": none */
    bool required;                        /* required, not optional */
};

/* Searches that file and the files that it includes, up to 4 levels and 256 files. 1: found; 0: not
 * found; -1: the first file cannot be read. */
int nt_plugstack_find(const char *path, struct nt_plugstack_entry *entry, struct nt_err *err);

/* Reads the major, minor and micro number of "plugin_version" in a shared object (64 bits, this
 * host's byte order), in the form of SLURM_VERSION_NUMBER: 22.05.8 is 0x160508. -1, NT_ERR_INPUT:
 * it is no such object, or has no such symbol. */
int nt_plugin_version_read(const void *object, size_t bytes, uint32_t *version, struct nt_err *err);

#endif
