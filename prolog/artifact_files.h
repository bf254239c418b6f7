/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a map while they are written: open descriptors, and no names.
 *
 * publish.c creates them; the relay writes what rank 0 sends, and says which are complete. The
 * total size is bounded.
 * Tests: test_publish.c. */
#ifndef NT_ARTIFACT_FILES_H
#define NT_ARTIFACT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "frame.h"

struct nt_artifact_files {
    int fd[NT_ARTIFACT_END];        /* by enum nt_artifact; -1: none; owned */
    bool complete[NT_ARTIFACT_END]; /* the last part is written */
    uint64_t used_bytes, limit_bytes;
    bool keeps_room; /* the file system keeps room for others (space.h) */
    bool dropped[NT_ARTIFACT_END];
};

/* No files. */
void nt_artifact_files_init(struct nt_artifact_files *artifacts, uint64_t limit_bytes);
/* Closes them. */
void nt_artifact_files_fini(struct nt_artifact_files *artifacts);

/* Appends a part of an artifact (enum nt_artifact); more: another one follows. A record of
 * measurements over the limit, or what is for the archive, is dropped and no error: the map says
 * more. */
int nt_artifact_files_write(struct nt_artifact_files *artifacts, uint32_t artifact, bool more,
                            const void *data, size_t bytes, struct nt_err *err);

/* Writes all bytes; -1 with errno set. */
int nt_write_all(int fd, const void *from, size_t bytes);

#endif
