/* SPDX-License-Identifier: Apache-2.0 */
/* A text that grows. Errors are kept inside: write everything, then check once at the end.
 * Tests: test_samples.c, test_hostlist.c. */
#ifndef NT_STRBUF_H
#define NT_STRBUF_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct nt_strbuf {
    char *text;
    size_t used, capacity;
    bool failed; /* no memory: everything since is lost */
};

/* {0} is empty. */
void nt_strbuf_put(struct nt_strbuf *buf, const char *text, size_t bytes);
void nt_strbuf_puts(struct nt_strbuf *buf, const char *text);

/* At most 1,023 bytes an item; longer ones are cut, so give names with a bound or by puts. */
void nt_strbuf_print(struct nt_strbuf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One line: control characters and bytes beyond ASCII become '?'. */
void nt_strbuf_put_line(struct nt_strbuf *buf, const char *text);

/* The same for all bytes from there on. */
void nt_strbuf_clean(struct nt_strbuf *buf, size_t from);

/* Hands the text over (free it; terminated, *bytes without the end; bytes may be NULL), or fails
 * for want of memory. The buffer is empty afterwards in both cases. */
int nt_strbuf_finish(struct nt_strbuf *buf, char **text, size_t *bytes, struct nt_err *err);

#endif
