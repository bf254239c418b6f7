/* SPDX-License-Identifier: Apache-2.0 */
/* For which Slurm a plugin was built: the number that Slurm compares with its own, read from the
 * file, without loading it. Pure.
 * Tests: bats/check.bats, fuzz/fuzz_plugin_version.c. */
#ifndef NT_PLUGIN_VERSION_H
#define NT_PLUGIN_VERSION_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* Major, minor and micro of "plugin_version" in a shared object (64 bits, of this byte order), as
 * SLURM_VERSION_NUMBER has them: 22.05.8 is 0x160508. NT_ERR_INPUT: it is none, or has no such
 * symbol. */
int nt_plugin_version_read(const void *object, size_t bytes, uint32_t *version, struct nt_err *err);

#endif
