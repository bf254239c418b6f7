/* SPDX-License-Identifier: Apache-2.0 */
#include "strbuf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool make_room(struct nt_strbuf *d, size_t bytes)
{
    if (d->failed || bytes > SIZE_MAX / 4 - d->used)
        return false;
    size_t need = d->used + bytes + 1;
    if (need <= d->capacity)
        return true;
    size_t capacity = need + need / 2 + 256;
    char *grown = realloc(d->text, capacity);
    if (grown == NULL)
        return false;
    d->text = grown;
    d->capacity = capacity;
    return true;
}

void nt_strbuf_put(struct nt_strbuf *d, const char *text, size_t bytes)
{
    if (!make_room(d, bytes)) {
        d->failed = true;
        return;
    }
    memcpy(d->text + d->used, text, bytes);
    d->used += bytes;
    d->text[d->used] = '\0';
}

void nt_strbuf_puts(struct nt_strbuf *d, const char *text)
{
    nt_strbuf_put(d, text, strlen(text));
}

void nt_strbuf_print(struct nt_strbuf *d, const char *format, ...)
{
    char item[1024];
    va_list args;
    va_start(args, format);
    int used = vsnprintf(item, sizeof item, format, args);
    va_end(args);
    if (used > 0)
        nt_strbuf_put(d, item, strlen(item));
}

void nt_strbuf_clean(struct nt_strbuf *d, size_t from)
{
    for (size_t k = from; !d->failed && k < d->used; k++) {
        unsigned char c = (unsigned char)d->text[k];
        if (c < 0x20 || c >= 0x7f)
            d->text[k] = '?';
    }
}

void nt_strbuf_put_line(struct nt_strbuf *d, const char *text)
{
    size_t from = d->used;
    nt_strbuf_puts(d, text);
    nt_strbuf_clean(d, from);
}

int nt_strbuf_finish(struct nt_strbuf *d, char **text, size_t *bytes, struct nt_err *err)
{
    nt_strbuf_put(d, "", 0); /* allocates an empty text */
    struct nt_strbuf was = *d;
    *d = (struct nt_strbuf){0};
    if (was.failed) {
        free(was.text);
        return nt_err_memory(err);
    }
    *text = was.text;
    if (bytes != NULL)
        *bytes = was.used;
    return 0;
}
