/* SPDX-License-Identifier: Apache-2.0 */
/* A growing text. It stores errors: write everything, then check once at the end.
 * Tests: test_samples.c, test_hostlist.c. */
#ifndef NT_STRBUF_H
#define NT_STRBUF_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct nt_strbuf {
    char *text;
    size_t used, capacity;
    bool failed; /* out of memory; later text is lost */
};

/* Appends bytes. {0} is an empty buffer. */
void nt_strbuf_put(struct nt_strbuf *buf, const char *text, size_t bytes);
void nt_strbuf_puts(struct nt_strbuf *buf, const char *text);

/* Appends formatted text of at most 1,023 bytes; longer text is cut, so append long names with
 * nt_strbuf_puts. */
void nt_strbuf_print(struct nt_strbuf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends text as one line: control characters and bytes other than ASCII become '?'. */
void nt_strbuf_put_line(struct nt_strbuf *buf, const char *text);

/* Replaces such bytes by '?' in the text from there on. */
void nt_strbuf_clean(struct nt_strbuf *buf, size_t from);

/* Transfers the text to the caller, who frees it (terminated; *bytes without the terminator; bytes
 * may be NULL), or fails without memory. The buffer is empty afterwards in both cases. */
int nt_strbuf_finish(struct nt_strbuf *buf, char **text, size_t *bytes, struct nt_err *err);

#endif
