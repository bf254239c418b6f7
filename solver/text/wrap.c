/* SPDX-License-Identifier: Apache-2.0 */
#include "wrap.h"

#include <stdlib.h>
#include <string.h>

size_t nt_text_columns(const char *text, size_t bytes)
{
    size_t wide = 0;
    for (size_t k = 0; k < bytes; k++)
        wide += ((unsigned char)text[k] & 0xc0) != 0x80;
    return wide;
}

/* Returns the columns of a word; *bytes: its length. */
static size_t word_columns(const char *text, size_t *bytes)
{
    size_t wide = 0;
    *bytes = strcspn(text, " \n");
    for (size_t k = 0; k < *bytes; k++)
        if (text[k] == '\033')
            k += strcspn(text + k, "m");
        else
            wide += nt_text_columns(text + k, 1);
    return wide;
}

void nt_text_put_wrapped(struct nt_strbuf *d, struct nt_strbuf *from, size_t width, size_t indent)
{
    const char *text = from->failed || from->text == NULL ? "" : from->text;
    size_t column = 0;
    d->failed |= from->failed;
    while (*text != '\0') {
        size_t bytes, wide = word_columns(text, &bytes);
        if (column > indent && bytes > 0 && column + wide > width) {
            while (!d->failed && d->used > 0 && d->text[d->used - 1] == ' ')
                d->used--;
            nt_strbuf_print(d, "\n%*s", (int)indent, "");
            column = indent;
        }
        nt_strbuf_put(d, text, bytes);
        column += wide;
        text += bytes;
        if (*text == '\n')
            column = 0;
        else if (*text == ' ')
            column++;
        if (*text != '\0')
            nt_strbuf_put(d, text++, 1);
    }
    free(from->text);
    *from = (struct nt_strbuf){0};
}

void nt_text_put_entry(struct nt_strbuf *d, const char *sign, const char *words, size_t width,
                       size_t indent)
{
    struct nt_strbuf line = {0};
    size_t wide = nt_text_columns(sign, strlen(sign));
    nt_strbuf_puts(&line, sign);
    nt_strbuf_print(&line, "%s%*s", wide < indent ? "" : "\n",
                    (int)(wide < indent ? indent - wide : indent), "");
    nt_strbuf_puts(&line, words);
    nt_strbuf_puts(&line, "\n");
    nt_text_put_wrapped(d, &line, width, indent);
}
