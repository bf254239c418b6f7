/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the archive (nettopo.conf(5)) within its bounds: files JOB.RESTART.CLUSTER.gz of root's,
 * whose head has the user of each, "... uid=1001 ...".
 *
 * Users who have more than an eighth of the bound lose their oldest files first, so that one user's
 * jobs do not push all others out; then the oldest go.
 * Tests: test_archive.c. */
#ifndef NT_ARCHIVE_PRUNE_H
#define NT_ARCHIVE_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

enum { NT_ARCHIVE_FILES_MAX = 65536, NT_ARCHIVE_SHARE = 8 };

/* The folder: -1 with an error when it is missing, not root's (or this user's), or writable by
 * others. A descriptor. */
int nt_archive_open(const char *folder, struct nt_err *err);

/* Removes files while there are more than limit_bytes or NT_ARCHIVE_FILES_MAX files, and what
 * killed agents have left. Only names that end in .gz count. until_s (nt_clock_s): when it gives
 * up, having removed nothing; INFINITY: never. *done: whether it came to an end. */
int nt_archive_prune(const char *folder, uint64_t limit_bytes, double until_s, bool *done,
                     struct nt_err *err);

#endif
