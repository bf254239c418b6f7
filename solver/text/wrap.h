/* SPDX-License-Identifier: Apache-2.0 */
/* Text in lines of a width.
 * Tests: bats/show.bats, bats/commands.bats. */
#ifndef NT_WRAP_H
#define NT_WRAP_H

#include <stddef.h>

#include "strbuf.h"

/* Columns on the screen: bytes that continue a UTF-8 character take none. */
size_t nt_text_columns(const char *text, size_t bytes);

/* The lines of from, which is freed, in at most width columns: broken at blanks, the rest set in.
 * Colours take no columns. A word that is wider stays whole. */
void nt_text_put_wrapped(struct nt_strbuf *buf, struct nt_strbuf *from, size_t width,
                         size_t indent);

/* A sign and behind it, set in, what it means; below it, if the sign leaves no room. */
void nt_text_put_entry(struct nt_strbuf *buf, const char *sign, const char *words, size_t width,
                       size_t indent);

#endif
