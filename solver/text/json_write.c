/* SPDX-License-Identifier: Apache-2.0 */
#include "json_write.h"

#include <math.h>
#include <string.h>

#include "number.h"

static void put_newline(struct nt_json_writer *w)
{
    nt_strbuf_puts(&w->buf, "\n");
    for (unsigned k = 0; k < w->depth; k++)
        nt_strbuf_puts(&w->buf, "  ");
}

static void put_separator(struct nt_json_writer *w)
{
    if (w->depth == 0)
        return;
    bool tall = w->tall[w->depth - 1] && !w->compact;
    if (w->filled[w->depth - 1])
        nt_strbuf_puts(&w->buf, tall || w->compact ? "," : ", ");
    if (tall)
        put_newline(w);
    w->filled[w->depth - 1] = true;
}

static void put_string(struct nt_json_writer *w, const char *text)
{
    nt_strbuf_puts(&w->buf, "\"");
    for (;;) {
        size_t plain = strcspn(text, "\"\\");
        size_t from = w->buf.used;
        nt_strbuf_put(&w->buf, text, plain);
        nt_strbuf_clean(&w->buf, from);
        text += plain;
        if (*text == '\0')
            break;
        nt_strbuf_puts(&w->buf, "\\");
        nt_strbuf_put(&w->buf, text++, 1);
    }
    nt_strbuf_puts(&w->buf, "\"");
}

/* Before each item of the container that is open. */
static void put_name(struct nt_json_writer *w, const char *name)
{
    put_separator(w);
    if (name == NULL)
        return;
    put_string(w, name);
    nt_strbuf_puts(&w->buf, w->compact ? ":" : ": ");
}

void nt_json_begin(struct nt_json_writer *w, const char *name, char bracket, bool tall)
{
    put_name(w, name);
    nt_strbuf_put(&w->buf, &bracket, 1);
    w->tall[w->depth] = tall;
    w->filled[w->depth] = false;
    w->depth++;
}

void nt_json_end(struct nt_json_writer *w, char bracket)
{
    w->depth--;
    if (w->tall[w->depth] && w->filled[w->depth] && !w->compact)
        put_newline(w);
    nt_strbuf_put(&w->buf, &bracket, 1);
}

void nt_json_put_text(struct nt_json_writer *w, const char *name, const char *value)
{
    put_name(w, name);
    put_string(w, value);
}

void nt_json_put_number(struct nt_json_writer *w, const char *name, double value)
{
    char text[NT_NUMBER_BYTES];
    if (!isfinite(value))
        return;
    nt_number_plain(value, NT_JSON_DIGITS, text);
    put_name(w, name);
    nt_strbuf_puts(&w->buf, text);
}

void nt_json_put_figure(struct nt_json_writer *w, const char *name, double value, int digits)
{
    char text[NT_NUMBER_BYTES] = "null";
    if (isfinite(value))
        nt_number_plain(value, digits, text);
    put_name(w, name);
    nt_strbuf_puts(&w->buf, text);
}

void nt_json_put_whole(struct nt_json_writer *w, const char *name, uint64_t value)
{
    put_name(w, name);
    nt_strbuf_print(&w->buf, "%llu", (unsigned long long)value);
}

void nt_json_put_flag(struct nt_json_writer *w, const char *name, bool value)
{
    put_name(w, name);
    nt_strbuf_puts(&w->buf, value ? "true" : "false");
}
