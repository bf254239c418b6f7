/* SPDX-License-Identifier: Apache-2.0 */
/* The error value: a kind and one sentence in a fixed buffer.
 *
 * Passed last; the function that fills it returns -1, so failing is one line:
 *     return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: latency %s: expected ...", ...);
 * Whoever first understands the error writes the sentence; callers add context with
 * nt_err_prefix or pass it on. Libraries never print or exit; each main does.
 * Tests: test_log_line.c. */
#ifndef NT_ERR_H
#define NT_ERR_H

#include <stdbool.h>
#include <stddef.h>

/* The kinds are the documented exit codes. */
enum nt_err_kind {
    NT_ERR_NONE = 0,
    NT_ERR_NO = 1,     /* the result is negative: maps differ, or a map is invalid */
    NT_ERR_USAGE = 2,  /* invalid command line */
    NT_ERR_INPUT = 3,  /* invalid input from a file or a peer */
    NT_ERR_SYSTEM = 4, /* the system or a library failed: I/O, memory */
};

enum { NT_ERR_TEXT_BYTES = 512 };

struct nt_err {
    enum nt_err_kind kind;
    char text[NT_ERR_TEXT_BYTES]; /* one line, no newline, always terminated */
};

/* Makes text from a file, a peer or a command line safe for terminals and logs, in place: each byte
 * of a control character (C0, DEL, and C1 as a byte or as UTF-8) and of invalid UTF-8 becomes
 * '?'. */
void nt_text_clean(char *text);

/* Returns whether nt_text_clean would change nothing. text need not be terminated. */
bool nt_text_is_clean(const char *text, size_t bytes);

/* Sets kind and text (cleaned with nt_text_clean, cut if it is too long) and returns -1. err may be
 * NULL. */
int nt_err_set(struct nt_err *err, enum nt_err_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets NT_ERR_SYSTEM with the sentence for lack of memory, and returns -1. */
int nt_err_memory(struct nt_err *err);

/* Inserts "context: " before the text and returns -1. */
int nt_err_prefix(struct nt_err *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
