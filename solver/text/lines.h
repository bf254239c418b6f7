/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are lines of words: one that is in memory is asked for its lines; one that comes in
 * pieces of any size gives them on, in bounded memory.
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

/* In the pattern a first * stands for any bytes, or none. */
bool nt_word_fits(struct nt_word word, struct nt_word pattern);

/* Takes what is before the first separator, or all, off the front of rest; it may be empty. */
struct nt_word nt_word_cut(struct nt_word *rest, char separator);

/* What is left of a line: words are taken from its front. Not terminated, and without zero bytes.
 */
struct nt_text_line {
    const char *file; /* NULL: errors get their place from nt_lines_feed and nt_lines_finish */
    size_t number;
    const char *at, *end; /* without its end, "\n" */
    bool own; /* of a format of ours: # before a word begins a comment, form feeds are no blanks */
};

/* Takes the next word, which blanks or tabs surround; false, and no bytes, when there is none. */
bool nt_line_next_word(struct nt_text_line *line, struct nt_word *word);

/* Takes the next word when it is this one. */
bool nt_line_take_word(struct nt_text_line *line, const char *text);

/* Takes the next words when they fit these patterns, with a blank between two; the pattern $ is the
 * end of the line. */
bool nt_line_take_words(struct nt_text_line *line, const char *patterns);

/* Does the line begin with this, byte for byte? Takes nothing. */
bool nt_line_begins(const struct nt_text_line *line, const char *text);

/* Takes the next word as a decimal that is not negative, or a whole number up to most. A decimal
 * comma is as good as a point. what is for the message. */
int nt_line_take_value(struct nt_text_line *line, const char *what, double *value,
                       struct nt_err *err);
int nt_line_take_whole(struct nt_text_line *line, const char *what, uint64_t most, uint64_t *value,
                       struct nt_err *err);

/* NT_ERR_INPUT with "file:line: " before the message; -1. */
int nt_line_fail(const struct nt_text_line *line, struct nt_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with "expected WHAT, found "WORD"", or "found nothing". */
int nt_line_fail_word(const struct nt_text_line *line, const char *what, struct nt_word word,
                      struct nt_err *err);

/* At most this many bytes of a word are shown in a message. */
static inline int nt_line_shown(size_t bytes)
{
    return (int)(bytes < 64 ? bytes : 64);
}

/* ---- a text in memory ---- */

struct nt_text {
    const char *file;
    const char *at, *end;
    size_t line; /* the one handed out last, from 1 */
};

/* A text begins: file and all its bytes. A zero byte in it is NT_ERR_INPUT, so that names and words
 * have none. */
int nt_text_begin(struct nt_text *text, const char *file, const char *at, size_t bytes,
                  struct nt_err *err);

/* The next line that is not blank, without blanks at its end; false at the end of the text (line
 * then stands behind it). */
bool nt_text_next_line(struct nt_text *text, struct nt_text_line *line);

/* ---- a text in pieces ---- */

enum { NT_LINES_FILE_BYTES = 256, NT_LINE_MAX = 1 << 20 /* bytes, where a text has no less */ };

struct nt_lines {
    char file[NT_LINES_FILE_BYTES]; /* named in errors; cut when longer */
    size_t number;                  /* of the line that is being read, from 1 */
    size_t most;                    /* bytes of a line */
    char *held;                     /* a line whose end has not come */
    size_t used, capacity;
    bool broken; /* after an error nothing more is read */
};

/* Blank lines come too. */
typedef int nt_line_take(void *to, struct nt_text_line *line, struct nt_err *err);

/* most: bytes of a line, its end not counted. */
void nt_lines_init(struct nt_lines *lines, const char *file, size_t most);
void nt_lines_fini(struct nt_lines *lines);

/* Errors get "FILE:LINE: " in front. */
int nt_lines_feed(struct nt_lines *lines, const char *text, size_t bytes, nt_line_take *take,
                  void *to, struct nt_err *err);

/* The last line need not end with a newline. */
int nt_lines_finish(struct nt_lines *lines, nt_line_take *take, void *to, struct nt_err *err);

/* A text that others read: give hands all of it to feed, in pieces of any size; an error of feed
 * ends it. */
typedef int nt_feed(void *to, const char *text, size_t bytes, struct nt_err *err);
struct nt_text_source {
    const char *file; /* named in errors */
    int (*give)(const void *from, nt_feed *feed, void *to, struct nt_err *err);
    const void *from;
};

/* All lines of a source, of at most NT_LINE_MAX bytes. *end: the number of the line behind the
 * last.
 */
int nt_lines_read(const struct nt_text_source *source, nt_line_take *take, void *to, size_t *end,
                  struct nt_err *err);

#endif
