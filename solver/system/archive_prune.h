/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the archive (nettopo.conf(5)) within its limits: files JOB.RESTART.CLUSTER.gz of root,
 * whose header contains the user, "... uid=1001 ...". Files of users with more than an eighth of
 * the limit are removed first, the oldest first, so that one user's jobs do not displace all
 * others; then the oldest files of all users.
 * Tests: test_archive.c. */
#ifndef NT_ARCHIVE_PRUNE_H
#define NT_ARCHIVE_PRUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"

enum { NT_ARCHIVE_FILES_MAX = 65536, NT_ARCHIVE_SHARE = 8 };

/* Opens the directory and returns its descriptor; -1 with an error: it is missing, does not belong
 * to root or to this user, or is writable by other users. */
int nt_archive_open(const char *folder, struct nt_err *err);

/* Removes files while there are more than limit_bytes or NT_ARCHIVE_FILES_MAX files, and the
 * temporary files of killed agents. Only names that end in .gz count. At until_s (nt_clock_s;
 * INFINITY: never) it gives up before it removes a file. *done: whether it finished. */
int nt_archive_prune(const char *folder, uint64_t limit_bytes, double until_s, bool *done,
                     struct nt_err *err);

#endif
