/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are lines of words: fed in pieces of any size, one line at a time in bounded memory.
 * A word that begins with '#' begins a comment.
 * Tests: test_routes_text.c. */
#ifndef NT_LINES_H
#define NT_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

enum { NT_LINES_FILE_BYTES = 256, NT_LINE_MAX = 1 << 20 /* bytes, where a text has no less */ };

struct nt_lines {
    char file[NT_LINES_FILE_BYTES]; /* named in errors; cut when longer */
    size_t number;                  /* of the line that is being read, from 1 */
    size_t most;                    /* bytes of a line */
    char *held;                     /* a line whose end has not come */
    size_t used, capacity;
    bool broken; /* after an error nothing more is read */
};

/* A line without its end; not terminated, and without zero bytes. */
typedef int nt_line_take(void *to, const char *line, size_t bytes, struct nt_err *err);

/* most: bytes of a line, its end not counted. */
void nt_lines_init(struct nt_lines *lines, const char *file, size_t most);
void nt_lines_fini(struct nt_lines *lines);

/* Errors get "FILE:LINE: " in front. */
int nt_lines_feed(struct nt_lines *lines, const char *text, size_t bytes, nt_line_take *take,
                  void *to, struct nt_err *err);

/* The last line need not end with a newline. */
int nt_lines_finish(struct nt_lines *lines, nt_line_take *take, void *to, struct nt_err *err);

/* The next word at *at before end; its length, 0 at the end or a comment. */
size_t nt_line_word(const char **at, const char *end);

#endif
