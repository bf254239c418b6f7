/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of lines and words: reads a text in memory line by line, or a text in pieces of any size in
 * bounded memory.
 * Tests: test_routes_text.c, test_import.c. */
#ifndef NT_LINES_H
#define NT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

/* ---- words ---- */

/* A part of a text; not terminated. */
struct nt_word {
    const char *at;
    size_t bytes;
};

bool nt_word_is(struct nt_word word, const char *text);

/* Returns whether a word matches a pattern, in which a leading * matches any text. */
bool nt_word_fits(struct nt_word word, struct nt_word pattern);

/* Removes the text before the first separator, or all of it, from the front of rest and returns it;
 * it may be empty. */
struct nt_word nt_word_cut(struct nt_word *rest, char separator);

/* The rest of a line: words are taken from its front. Not terminated, and without zero bytes. */
struct nt_text_line {
    const char *file; /* NULL: nt_lines_feed and nt_lines_finish add the place to errors */
    size_t number;
    const char *at, *end; /* without "\n" */
    /* In a format of nettopo: # before a word starts a comment, and a form feed is not a space */
    bool own;
};

/* Takes the next word between spaces or tabs; false, and an empty word, if there is none. */
bool nt_line_next_word(struct nt_text_line *line, struct nt_word *word);

/* Takes the next word if it equals text. */
bool nt_line_take_word(struct nt_text_line *line, const char *text);

/* Takes the next words if they match these patterns, separated by a space; the pattern $ is the end
 * of the line. */
bool nt_line_take_words(struct nt_text_line *line, const char *patterns);

/* Returns whether the line starts with exactly this text. Takes nothing. */
bool nt_line_begins(const struct nt_text_line *line, const char *text);

/* Takes the next word as a decimal number of at least 0, or as a whole number up to most. A decimal
 * comma is accepted. what is the name in errors. */
int nt_line_take_value(struct nt_text_line *line, const char *what, double *value,
                       struct nt_err *err);
int nt_line_take_whole(struct nt_text_line *line, const char *what, uint64_t most, uint64_t *value,
                       struct nt_err *err);

/* Sets NT_ERR_INPUT with "file:line: " before the message and returns -1. */
int nt_line_fail(const struct nt_text_line *line, struct nt_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets the error "expected WHAT, found "WORD"", or "found nothing", and returns -1. */
int nt_line_fail_word(const struct nt_text_line *line, const char *what, struct nt_word word,
                      struct nt_err *err);

/* Limits the bytes of a word that a message shows. */
static inline int nt_line_shown(size_t bytes)
{
    return (int)(bytes < 64 ? bytes : 64);
}

/* ---- a text in memory ---- */

struct nt_text {
    const char *file;
    const char *at, *end;
    size_t line; /* number of the last line returned, from 1 */
};

/* Starts to read a text. NT_ERR_INPUT if it contains a zero byte, so that names and words contain
 * none. */
int nt_text_begin(struct nt_text *text, const char *file, const char *at, size_t bytes,
                  struct nt_err *err);

/* Returns the next non-empty line without trailing spaces; false at the end of the text (line is
 * then behind it). */
bool nt_text_next_line(struct nt_text *text, struct nt_text_line *line);

/* ---- a text in pieces ---- */

enum {
    NT_LINES_FILE_BYTES = 256,
    NT_LINE_MAX = 1 << 20 /* bytes, unless a text has a lower limit */
};

struct nt_lines {
    char file[NT_LINES_FILE_BYTES]; /* name in errors, cut if it is longer */
    size_t number;                  /* number of the current line, from 1 */
    size_t most;                    /* maximum bytes of a line */
    char *held;                     /* an incomplete line */
    size_t used, capacity;
    bool broken; /* an error has occurred; nothing more is read */
};

/* Called for each line, including empty ones. */
typedef int nt_line_take(void *to, struct nt_text_line *line, struct nt_err *err);

/* most: maximum bytes of a line without its end. */
void nt_lines_init(struct nt_lines *lines, const char *file, size_t most);
void nt_lines_fini(struct nt_lines *lines);

/* Reads a piece of the text. Adds "FILE:LINE: " to errors. */
int nt_lines_feed(struct nt_lines *lines, const char *text, size_t bytes, nt_line_take *take,
                  void *to, struct nt_err *err);

/* Reads the last line, which need not end with a newline. */
int nt_lines_finish(struct nt_lines *lines, nt_line_take *take, void *to, struct nt_err *err);

/* A text that another module reads: give passes all of it to feed, in pieces of any size. An error
 * of feed ends it. */
typedef int nt_feed(void *to, const char *text, size_t bytes, struct nt_err *err);
struct nt_text_source {
    const char *file; /* name in errors */
    int (*give)(const void *from, nt_feed *feed, void *to, struct nt_err *err);
    const void *from;
};

/* Reads all lines of a source, of at most NT_LINE_MAX bytes each. *end: the number of lines plus
 * 1. */
int nt_lines_read(const struct nt_text_source *source, nt_line_take *take, void *to, size_t *end,
                  struct nt_err *err);

#endif
