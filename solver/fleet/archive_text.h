/* SPDX-License-Identifier: Apache-2.0 */
/* A file of the archive: gzip (RFC 1952) with root's line about its origin as the comment of the
 * head, and inside the map, then the record of the sweep, as the job's user's probe made them.
 * zlib is seen in archive_text.c only.
 * Tests: test_archive_text.c, fuzz/fuzz_archive_text.c. */
#ifndef NT_ARCHIVE_TEXT_H
#define NT_ARCHIVE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

enum { NT_ARCHIVE_COMMENT_MAX = 65536 };

struct nt_archive_text {
    char *comment; /* "" when there is none; owned, as is the next */
    char *text;
    size_t bytes;
    size_t map_bytes; /* the record of the sweep begins there; bytes: there is none */
};

bool nt_archive_text_is(const void *file, size_t bytes);

/* At most most bytes of text, else NT_ERR_INPUT, as for what is no such file. What follows the
 * first member is passed over: its head alone is root's. */
int nt_archive_text_read(const void *file, size_t bytes, size_t most, struct nt_archive_text *out,
                         struct nt_err *err);
void nt_archive_text_fini(struct nt_archive_text *text);

/* Where in a text of a map and a record the record begins; bytes: there is none. */
size_t nt_archive_text_split(const char *text, size_t bytes);

#endif
