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

/* Writes the separator and name before each item of the open container. */
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

/* ---- fields by their table ------------------------------------------------------------------- */

void *nt_json_place(const struct nt_json_field *f, void *row, void *const *base, size_t index)
{
    char *at = f->place.base == 0 ? row : base[f->place.base];
    if (at == NULL || f->place.stride == 0)
        return at == NULL ? NULL : at + f->place.at;
    at = *(char **)(void *)(at + f->place.at);
    return at == NULL ? NULL : at + index * f->place.stride + f->place.inner;
}

static void put_field(struct nt_json_writer *w, const struct nt_json_field *f);

static size_t list_length(const struct nt_json_field *f, const char *value)
{
    const void *count = value - f->place.at + f->count_at;
    if (f->count_bytes == 0)
        return f->items_max;
    size_t n =
        f->count_bytes == sizeof(uint32_t) ? *(const uint32_t *)count : *(const size_t *)count;
    return f->within && n > f->items_max ? f->items_max : n;
}

static void put_list(struct nt_json_writer *w, const struct nt_json_field *f, char *value)
{
    char *items = f->within || f->bytes == 0 ? value : *(char **)(void *)value;
    for (size_t k = 0; k < list_length(f, value); k++) {
        w->row = w->value = items + k * f->bytes;
        w->index = k;
        if (f->skip != NULL && f->skip(w->row))
            continue;
        if (f->item != NULL) {
            put_field(w, f->item);
            continue;
        }
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_fields(w, f->fields);
        nt_json_end(w, '}');
    }
}

/* Writes a container; removes an IF_ANY container if it is empty. */
static void put_container(struct nt_json_writer *w, const struct nt_json_field *f)
{
    const struct nt_json_writer was = *w;
    char *value = w->value;
    bool list = f->type == NT_JSON_LIST;
    if (f->when == NT_JSON_IF_GIVEN && !*(bool *)(value - f->place.at + f->given_at))
        return;
    if (!list && f->bytes > 0 && *(void **)(void *)value == NULL)
        return;
    nt_json_begin(w, f->name, list ? '[' : '{', list && w->depth == 1);
    if (list) {
        put_list(w, f, value);
    } else {
        w->row = f->bytes > 0 ? *(void **)(void *)value : value;
        nt_json_put_fields(w, f->fields);
    }
    bool filled = w->filled[w->depth - 1];
    nt_json_end(w, list ? ']' : '}');
    if (!filled && f->when == NT_JSON_IF_ANY) {
        w->buf.used = was.buf.used;
        memcpy(w->filled, was.filled, sizeof was.filled);
    }
    w->row = was.row;
    w->index = was.index;
}

static bool is_written(const struct nt_json_field *f, uint64_t value)
{
    return f->when == NT_JSON_ALWAYS ||
           (f->when == NT_JSON_IF_ANY ? value > 0 : value != UINT32_MAX);
}

static void put_text(struct nt_json_writer *w, const struct nt_json_field *f, const char *text)
{
    if (is_written(f, (unsigned char)text[0]))
        nt_json_put_text(w, f->name, text);
}

static void put_value(struct nt_json_writer *w, const struct nt_json_field *f)
{
    const void *value = w->value;
    double number;
    switch (f->type) {
    case NT_JSON_NUMBER:
        number = *(const double *)value;
        if (f->when == NT_JSON_ALWAYS || number > 0)
            nt_json_put_number(w, f->name, number);
        break;
    case NT_JSON_WHOLE32:
        if (is_written(f, *(const uint32_t *)value))
            nt_json_put_whole(w, f->name, *(const uint32_t *)value);
        break;
    case NT_JSON_WHOLE64:
        if (is_written(f, *(const uint64_t *)value))
            nt_json_put_whole(w, f->name, *(const uint64_t *)value);
        break;
    case NT_JSON_FLAG:
        if (is_written(f, *(const bool *)value))
            nt_json_put_flag(w, f->name, *(const bool *)value);
        break;
    case NT_JSON_TEXT:
        put_text(w, f, value);
        break;
    case NT_JSON_STRING:
        put_text(w, f, *(const char *const *)value);
        break;
    case NT_JSON_WORD:
        nt_json_put_text(w, f->name, f->word->word[*(const unsigned *)value]);
        break;
    case NT_JSON_MARK:
        if (*(const bool *)value)
            nt_json_put_text(w, f->name, f->mark);
        break;
    case NT_JSON_OBJECT:
    case NT_JSON_LIST:
        put_container(w, f);
        break;
    }
}

static void put_field(struct nt_json_writer *w, const struct nt_json_field *f)
{
    if (f->put != NULL)
        f->put(w, f);
    else
        put_value(w, f);
}

void nt_json_put_fields(struct nt_json_writer *w, const struct nt_json_field *fields)
{
    for (const struct nt_json_field *f = fields; f->name != NULL; f++) {
        w->value = nt_json_place(f, w->row, w->base, w->index);
        put_field(w, f);
    }
}
