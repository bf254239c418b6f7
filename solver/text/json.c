/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

enum { DEPTH_MAX = 16 };

/* json-c needs about 800 bytes for an object and 60 for any other value. The limits are far above
 * the largest map, and bound the memory to 1.5 GB. */
enum { OBJECTS_MAX = 1 << 20, VALUES_MAX = 1 << 23 };

static const double figure_max = 1e15;

/* ---- the text -------------------------------------------------------------------------------- */

static size_t line_at(const char *text, size_t end)
{
    size_t line = 1;
    for (size_t k = 0; k < end; k++)
        line += text[k] == '\n';
    return line;
}

/* Rejects a text that would take far more memory than its size, before it is parsed. */
static int check_size(const char *file, const char *text, size_t bytes, struct nt_err *err)
{
    size_t objects = 0, values = 0;
    bool quoted = false;
    for (size_t k = 0; k < bytes; k++) {
        char c = text[k];
        if (quoted) {
            k += c == '\\';
            quoted = c != '"';
            continue;
        }
        quoted = c == '"';
        objects += c == '{' || c == '[';
        values += c == ',' || c == ':';
        if (objects > OBJECTS_MAX || values > VALUES_MAX)
            return nt_err_set(err, NT_ERR_INPUT,
                              "%s:%zu: expected at most %d objects and %d values, found more", file,
                              line_at(text, k), (int)OBJECTS_MAX, (int)VALUES_MAX);
    }
    return 0;
}

int nt_json_parse(const char *file, const char *text, size_t bytes, struct json_object **root,
                  struct nt_err *err)
{
    if (bytes > NT_JSON_TEXT_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%s: expected at most %d bytes, found %zu", file,
                          (int)NT_JSON_TEXT_MAX, bytes);
    if (bytes == 0)
        return nt_err_set(err, NT_ERR_INPUT, "%s: the file is empty", file);
    if (check_size(file, text, bytes, err) != 0)
        return -1;
    json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    if (tokener == NULL)
        return nt_err_memory(err);
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    json_object *read = json_tokener_parse_ex(tokener, text, (int)bytes);
    enum json_tokener_error state = json_tokener_get_error(tokener);
    size_t end = json_tokener_get_parse_end(tokener);
    json_tokener_free(tokener);
    if (state != json_tokener_success)
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: not JSON: %s", file,
                          line_at(text, end < bytes ? end : bytes),
                          state == json_tokener_continue ? "the text ends too early"
                                                         : json_tokener_error_desc(state));
    if (json_object_get_type(read) != json_type_object) {
        json_object_put(read);
        return nt_err_set(err, NT_ERR_INPUT, "%s:1: expected a JSON object, found something else",
                          file);
    }
    *root = read;
    return 0;
}

void nt_json_free(struct json_object *root)
{
    json_object_put(root);
}

void nt_json_note_error(struct nt_json_reader *r, const char *key, const char *format, ...)
{
    char what[NT_ERR_TEXT_BYTES / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (nt_findings_add(r->findings, r->err, "%s%s: %s", r->at.where, key, what) != 0)
        r->no_memory = true;
}

static void note_no_memory(struct nt_json_reader *r)
{
    nt_err_memory(r->err);
    r->no_memory = true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char *type_name(json_type type)
{
    static const char *const kinds[] = {"null",      "true or false", "a number", "a whole number",
                                        "an object", "an array",      "a string"};
    return kinds[type];
}

static bool type_fits(json_object *value, json_type type)
{
    json_type found = json_object_get_type(value);
    return found == type || (type == json_type_double && found == json_type_int);
}

/* Returns value; NULL (noted) if it has another type. */
static json_object *check_type(struct nt_json_reader *r, const char *key, json_object *value,
                               json_type type)
{
    if (type_fits(value, type))
        return value;
    nt_json_note_error(r, key, "expected %s, found %s", type_name(type),
                       type_name(json_object_get_type(value)));
    return NULL;
}

static json_object *find_field(struct nt_json_reader *r, const char *key, json_type type, bool must)
{
    json_object *value = r->at.item;
    if (r->at.from == NULL)
        return NULL;
    if (r->at.in_list || json_object_object_get_ex(r->at.from, key, &value))
        return check_type(r, key, value, type);
    if (must)
        nt_json_note_error(r, key, "expected %s, found nothing", type_name(type));
    return NULL;
}

static void read_number(struct nt_json_reader *r, const char *key, double least, double most,
                        double *out)
{
    json_object *value = find_field(r, key, json_type_double, false);
    if (value == NULL)
        return;
    double read = json_object_get_double(value);
    if (read >= least && read <= most) /* false for NaN, which json-c accepts */
        *out = read;
    else
        nt_json_note_error(r, key, "expected %g to %g, found %g", least, most, read);
}

void nt_json_number(struct nt_json_reader *r, const char *key, double *out)
{
    read_number(r, key, 0, figure_max, out);
}

static void read_whole(struct nt_json_reader *r, const char *key, uint64_t most, uint64_t *out)
{
    json_object *value = find_field(r, key, json_type_int, false);
    if (value == NULL)
        return;
    if (json_object_get_int64(value) < 0 || json_object_get_uint64(value) > most)
        nt_json_note_error(r, key, "expected a whole number from 0 to %llu, found %.64s",
                           (unsigned long long)most, json_object_get_string(value));
    else
        *out = json_object_get_uint64(value);
}

void nt_json_whole32(struct nt_json_reader *r, const char *key, uint32_t most, uint32_t *out)
{
    uint64_t read = *out;
    read_whole(r, key, most, &read);
    *out = (uint32_t)read;
}

const char *nt_json_string(struct nt_json_reader *r, const struct nt_json_field *f)
{
    json_object *value = find_field(r, f->name, json_type_string, f->must);
    if (value == NULL)
        return NULL;
    const char *text = json_object_get_string(value);
    if (strlen(text) == (size_t)json_object_get_string_len(value))
        return text;
    nt_json_note_error(r, f->name, "expected a text, found one with a zero byte");
    return NULL;
}

size_t nt_json_items(struct nt_json_reader *r, const char *key)
{
    json_object *array = json_object_object_get(r->at.from, key);
    return json_object_is_type(array, json_type_array) ? json_object_array_length(array) : 0;
}

/* ---- fields by their table ------------------------------------------------------------------- */

void nt_json_skip_field(struct nt_json_reader *r, const struct nt_json_field *f)
{
    (void)r;
    (void)f;
}

static void read_text(struct nt_json_reader *r, const struct nt_json_field *f, const char *text,
                      char *out)
{
    if (strlen(text) >= f->bytes)
        nt_json_note_error(r, f->name, "expected at most %zu bytes, found %zu", f->bytes - 1,
                           strlen(text));
    else
        memcpy(out, text, strlen(text) + 1);
}

static void read_copy(struct nt_json_reader *r, const char *text, char **out)
{
    char *copy = strdup(text);
    if (copy == NULL) {
        note_no_memory(r);
        return;
    }
    free(*out);
    *out = copy;
}

static void read_word(struct nt_json_reader *r, const struct nt_json_field *f, const char *text,
                      unsigned *out)
{
    unsigned k = 0;
    while (k < f->word->words && strcmp(text, f->word->word[k]) != 0)
        k++;
    if (k < f->word->words)
        *out = k;
    else
        nt_json_note_error(r, f->name, "expected %s, found \"%.*s\"", f->word->expected,
                           f->word->shown, text);
}

static void clear_numbers(const struct nt_json_field *f, char *row)
{
    for (; f->name != NULL; f++) {
        if (f->type == NT_JSON_NUMBER)
            *(double *)nt_json_place(f, row, NULL, 0) = (double)NAN;
        else if (f->type == NT_JSON_OBJECT)
            clear_numbers(f->fields, row + f->place.at);
    }
}

static void note_given(const struct nt_json_field *f, char *value, bool given)
{
    if (f->when == NT_JSON_IF_GIVEN)
        *(bool *)(value - f->place.at + f->given_at) = given;
}

/* Reads the current object into the row. */
static void read_row(struct nt_json_reader *r, const struct nt_json_field *f, char *row)
{
    r->at.row = row;
    if (f->all_unknown && r->late == 0)
        clear_numbers(f->fields, row);
    nt_json_read(r, f->fields, NULL, r->late);
    if (f->check != NULL && r->late == 0)
        f->check(r, row);
}

static bool read_object(struct nt_json_reader *r, const struct nt_json_field *f, void *value)
{
    struct nt_json_at was = r->at;
    size_t used = strlen(was.where);
    char *row = value;
    r->at.from = find_field(r, f->name, json_type_object, f->must);
    bool found = r->at.from != NULL;
    note_given(f, value, found);
    if (found && f->bytes > 0 && (row = *(void **)value = calloc(1, f->bytes)) == NULL)
        note_no_memory(r);
    if (found && row != NULL) {
        snprintf(r->at.where + used, sizeof was.where - used, "%s.", f->name);
        read_row(r, f, row);
    }
    r->at = was;
    return found;
}

/* Returns whether a list has a fixed number of items: it is part of its struct and has no count. */
static bool is_fixed(const struct nt_json_field *f)
{
    return f->within && f->count_bytes == 0;
}

/* Allocates n items of the list at value and returns the first one; NULL without memory (noted), or
 * without items. */
static char *make_items(struct nt_json_reader *r, const struct nt_json_field *f, char *value,
                        size_t n)
{
    void **list = (void **)(void *)value;
    if (value == NULL || f->bytes == 0 || is_fixed(f))
        return value;
    if (f->made || f->keyed || r->late > 0)
        return *list;
    if (!f->within) {
        free(*list);
        *list = calloc(n + 1, f->bytes);
        if (*list == NULL) {
            note_no_memory(r);
            n = 0;
        }
    }
    char *count = value - f->place.at + f->count_at;
    if (f->count_bytes == sizeof(uint32_t))
        *(uint32_t *)(void *)count = (uint32_t)n;
    else
        *(size_t *)(void *)count = n;
    return f->within ? value : *list;
}

static void read_item(struct nt_json_reader *r, const struct nt_json_field *f, char *value)
{
    char key[NT_JSON_WHERE_BYTES];
    struct nt_json_field item = *f->item;
    snprintf(key, sizeof key, f->numbered ? "%s[%zu]" : "%s", f->name, r->at.index);
    item.name = key;
    r->at.value = value;
    if (item.take != NULL)
        item.take(r, &item);
    else
        nt_json_read_field(r, &item, value);
}

static void read_items(struct nt_json_reader *r, const struct nt_json_field *f, json_object *array,
                       char *items)
{
    const struct nt_json_at was = r->at;
    /* errors name a list in an item of another list without that item */
    int outer = strchr(was.where, '[') == NULL ? (int)strlen(was.where) : 0;
    for (size_t k = 0; k < json_object_array_length(array); k++) {
        json_object *item = json_object_array_get_idx(array, k);
        char *row = items == NULL || f->keyed ? items : items + k * f->bytes;
        r->at.index = k;
        if (f->item != NULL) {
            r->at.in_list = true;
            r->at.item = item;
            read_item(r, f, row);
            continue;
        }
        snprintf(r->at.where, sizeof was.where, "%.*s%s[%zu]", outer, was.where, f->name, k);
        r->at.from = check_type(r, "", item, json_type_object);
        snprintf(r->at.where, sizeof was.where, "%.*s%s[%zu].", outer, was.where, f->name, k);
        read_row(r, f, row);
    }
    r->at = was;
}

static bool read_list(struct nt_json_reader *r, const struct nt_json_field *f, char *value)
{
    json_object *array = find_field(r, f->name, json_type_array, f->must);
    size_t n = array == NULL ? 0 : json_object_array_length(array);
    note_given(f, value, array != NULL);
    if (array != NULL && is_fixed(f) && !f->keyed && n != f->items_max)
        nt_json_note_error(r, f->name, "expected %zu items, found %zu", f->items_max, n);
    else if (f->items_max > 0 && !f->keyed && n > f->items_max)
        nt_json_note_error(r, f->name, "expected at most %zu, found %zu", f->items_max, n);
    else if (array != NULL) {
        char *items = make_items(r, f, value, n);
        if (items != NULL || f->bytes == 0 || f->made)
            read_items(r, f, array, items);
    }
    return array != NULL;
}

static void read_string(struct nt_json_reader *r, const struct nt_json_field *f, void *out)
{
    if (f->type == NT_JSON_MARK && f->must &&
        !json_object_object_get_ex(r->at.from, f->name, NULL)) {
        nt_json_note_error(r, f->name, "expected \"%s\", found nothing", f->mark);
        return;
    }
    const char *text = nt_json_string(r, f);
    if (text == NULL)
        return;
    if (f->type == NT_JSON_WORD) {
        read_word(r, f, text, out);
    } else if (f->type == NT_JSON_TEXT) {
        read_text(r, f, text, out);
    } else if (f->type == NT_JSON_STRING) {
        read_copy(r, text, out);
    } else {
        *(bool *)out = true;
        if (strcmp(text, f->mark) != 0)
            nt_json_note_error(r, f->name, "expected \"%s\", found \"%.64s\"", f->mark, text);
    }
}

/* Stores the number in out, or compares it with out if the field repeats others. */
static void read_whole32(struct nt_json_reader *r, const struct nt_json_field *f, uint32_t *out)
{
    uint32_t read = f->when == NT_JSON_IF_KNOWN ? UINT32_MAX : *out;
    nt_json_whole32(r, f->name, NT_JSON_COUNT_MAX, &read);
    if (f->repeats == NULL)
        *out = read;
    else if (read != *out)
        nt_json_note_error(r, f->name, "expected %s, %u, found %u", f->repeats, *out, read);
}

bool nt_json_read_field(struct nt_json_reader *r, const struct nt_json_field *f, void *out)
{
    json_object *flag;
    switch (f->type) {
    case NT_JSON_NUMBER:
        read_number(r, f->name, f->least, f->most > 0 ? f->most : figure_max, out);
        return true;
    case NT_JSON_WHOLE32:
        read_whole32(r, f, out);
        return true;
    case NT_JSON_WHOLE64:
        read_whole(r, f->name, f->whole_most > 0 ? f->whole_most : INT64_MAX, out);
        return true;
    case NT_JSON_FLAG:
        flag = find_field(r, f->name, json_type_boolean, false);
        if (flag != NULL)
            *(bool *)out = json_object_get_boolean(flag);
        return true;
    case NT_JSON_TEXT:
    case NT_JSON_STRING:
    case NT_JSON_WORD:
    case NT_JSON_MARK:
        read_string(r, f, out);
        return true;
    case NT_JSON_OBJECT:
        return read_object(r, f, out);
    case NT_JSON_LIST:
        return read_list(r, f, out);
    }
    return false;
}

void nt_json_read(struct nt_json_reader *r, const struct nt_json_field *fields, const char *name,
                  unsigned late)
{
    unsigned was = r->late;
    for (const struct nt_json_field *f = fields; f->name != NULL; f++) {
        if (name != NULL ? strcmp(f->name, name) != 0 : f->late != late)
            continue;
        r->late = late;
        r->at.value = nt_json_place(f, r->at.row, r->base, r->at.index);
        if (f->take != NULL)
            f->take(r, f);
        else
            nt_json_read_field(r, f, r->at.value);
        if (f->done != NULL && late == 0)
            f->done(r);
    }
    r->late = was;
}
