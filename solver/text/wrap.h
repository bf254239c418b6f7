/* SPDX-License-Identifier: Apache-2.0 */
/* Breaks text into lines of a given width.
 * Tests: bats/show.bats, bats/commands.bats. */
#ifndef NT_WRAP_H
#define NT_WRAP_H

#include <stddef.h>

#include "strbuf.h"

/* Returns the number of columns on the screen: continuation bytes of a UTF-8 character take
 * none. */
size_t nt_text_columns(const char *text, size_t bytes);

/* Appends the lines of from, in at most width columns, and frees from. Lines break at spaces;
 * continuation lines are indented. Colours take no columns. A word that is wider is not broken. */
void nt_text_put_wrapped(struct nt_strbuf *buf, struct nt_strbuf *from, size_t width,
                         size_t indent);

/* Appends a sign and after it, indented, its meaning; on the next line if the sign leaves no
 * room. */
void nt_text_put_entry(struct nt_strbuf *buf, const char *sign, const char *words, size_t width,
                       size_t indent);

#endif
