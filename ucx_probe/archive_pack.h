/* SPDX-License-Identifier: Apache-2.0 */
/* What a job leaves for the archive: its map and the record of its sweep, deflated as in a gzip
 * file (RFC 1951, 1952) whose head the agent writes: with a CRC and the length at the end. zlib is
 * seen in archive_pack.c only.
 * Tests: test_archive.c. */
#ifndef NT_ARCHIVE_PACK_H
#define NT_ARCHIVE_PACK_H

#include <stddef.h>

#include "err.h"

/* out: the caller's (free). Either text may be NULL with 0 bytes. */
int nt_archive_pack(const char *map, size_t map_bytes, const char *record, size_t record_bytes,
                    char **out, size_t *bytes, struct nt_err *err);

#endif
