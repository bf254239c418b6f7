/* SPDX-License-Identifier: Apache-2.0 */
/* Private to import_*.c: lines, words and names of a text that is in memory.
 * Tests: test_import.c. */
#ifndef NT_IMPORT_LINES_H
#define NT_IMPORT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "matrix_csv.h"
#include "names.h"

struct import_text {
    const char *file;
    const char *at, *end;
    size_t line; /* the one handed out last, from 1 */
};

struct import_line {
    const char *file;
    size_t number;
    const char *at, *end; /* without its end, "\n" or "\r\n" */
};

/* A text begins: file and all its bytes. A zero byte in it is NT_ERR_INPUT, so that names and words
 * have none. */
int import_text_begin(struct import_text *text, const char *file, const char *at, size_t bytes,
                      struct nt_err *err);

/* The next line that is not blank; false at the end of the text (line then stands behind it). */
bool import_next_line(struct import_text *text, struct import_line *line);

/* Takes the next word, which blanks or tabs surround; false when there is none. */
bool import_next_word(struct import_line *line, const char **word, size_t *bytes);

/* Takes the next word when it is this one. */
bool import_take_word(struct import_line *line, const char *word);

/* Does the line begin with this, byte for byte? Takes nothing. */
bool import_begins(const struct import_line *line, const char *text);

/* Takes the next word as a decimal that is not negative, or a whole number up to most. A decimal
 * comma is as good as a point. what is for the message. */
int import_take_value(struct import_line *line, const char *what, double *value,
                      struct nt_err *err);
int import_take_whole(struct import_line *line, const char *what, uint64_t most, uint64_t *value,
                      struct nt_err *err);

/* NT_ERR_INPUT with "file:line: " before the message; -1. */
int import_fail(const struct import_line *line, struct nt_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* At most this many bytes of a word are shown in a message. */
static inline int import_shown(size_t bytes)
{
    return (int)(bytes < 64 ? bytes : 64);
}

/* Labels that occur once stay; those that occur more often (processes of one host) get "-0",
 * "-1", ... in order. Each becomes a host name or an error; line is for the message. */
int import_names_unique(char *const *label, size_t labels, const struct import_line *line,
                        struct nt_names *names, struct nt_err *err);

/* A table of these hosts (copies of the names) in which nothing is measured yet. */
int import_table_create(const struct nt_names *names, enum nt_matrix_kind kind,
                        struct nt_named_matrix **out, struct nt_err *err);

#endif
