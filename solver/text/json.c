/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

enum { DEPTH_MAX = 16 };

/* An object takes json-c some 800 bytes, any value some 60, whatever it takes in the text: far
 * above what the largest map has, and 1.5 GB at worst. */
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

/* Refuses what would take far more memory than its text, before any of it is taken. */
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
        return nt_err_set(err, NT_ERR_INPUT, "%s:%zu: expected JSON, found an error: %s", file,
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

void nt_json_wrong(struct nt_json_reader *r, const char *key, const char *format, ...)
{
    char what[NT_ERR_TEXT_BYTES / 2];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (nt_findings_add(r->findings, r->err, "%s%s: %s", r->where, key, what) != 0)
        r->no_memory = true;
}

void nt_json_lack_memory(struct nt_json_reader *r)
{
    nt_err_memory(r->err);
    r->no_memory = true;
}

/* ---- fields ---------------------------------------------------------------------------------- */

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

static json_object *find_field(struct nt_json_reader *r, json_object *from, const char *key,
                               json_type type, enum nt_json_need need)
{
    json_object *value;
    if (from == NULL)
        return NULL;
    if (!json_object_object_get_ex(from, key, &value)) {
        if (need == NT_JSON_MUST)
            nt_json_wrong(r, key, "expected %s, found nothing", type_name(type));
        return NULL;
    }
    if (type_fits(value, type))
        return value;
    nt_json_wrong(r, key, "expected %s, found %s", type_name(type),
                  type_name(json_object_get_type(value)));
    return NULL;
}

void nt_json_number_between(struct nt_json_reader *r, json_object *from, const char *key,
                            double least, double most, double *out)
{
    json_object *value = find_field(r, from, key, json_type_double, NT_JSON_MAY);
    if (value == NULL)
        return;
    double read = json_object_get_double(value);
    if (read >= least && read <= most) /* not so for NaN, which json-c lets through */
        *out = read;
    else
        nt_json_wrong(r, key, "expected %g to %g, found %g", least, most, read);
}

void nt_json_number(struct nt_json_reader *r, json_object *from, const char *key, double *out)
{
    nt_json_number_between(r, from, key, 0, figure_max, out);
}

static bool take_whole(json_object *value, uint64_t most, uint64_t *out)
{
    if (json_object_get_int64(value) < 0 || json_object_get_uint64(value) > most)
        return false;
    *out = json_object_get_uint64(value);
    return true;
}

void nt_json_whole(struct nt_json_reader *r, json_object *from, const char *key, uint64_t most,
                   uint64_t *out)
{
    json_object *value = find_field(r, from, key, json_type_int, NT_JSON_MAY);
    if (value != NULL && !take_whole(value, most, out))
        nt_json_wrong(r, key, "expected a whole number from 0 to %llu, found %.64s",
                      (unsigned long long)most, json_object_get_string(value));
}

void nt_json_whole32(struct nt_json_reader *r, json_object *from, const char *key, uint32_t most,
                     uint32_t *out)
{
    uint64_t read = *out;
    nt_json_whole(r, from, key, most, &read);
    *out = (uint32_t)read;
}

void nt_json_flag(struct nt_json_reader *r, json_object *from, const char *key, bool *out)
{
    json_object *value = find_field(r, from, key, json_type_boolean, NT_JSON_MAY);
    if (value != NULL)
        *out = json_object_get_boolean(value);
}

/* NULL (noted) when a zero byte would end it early. */
static const char *whole_string(struct nt_json_reader *r, const char *key, json_object *value)
{
    const char *text = json_object_get_string(value);
    if (strlen(text) == (size_t)json_object_get_string_len(value))
        return text;
    nt_json_wrong(r, key, "expected a text, found one with a zero byte");
    return NULL;
}

const char *nt_json_string(struct nt_json_reader *r, json_object *from, const char *key,
                           enum nt_json_need need)
{
    json_object *value = find_field(r, from, key, json_type_string, need);
    return value == NULL ? NULL : whole_string(r, key, value);
}

void nt_json_string_in(struct nt_json_reader *r, json_object *from, const char *key, char *out,
                       size_t capacity, enum nt_json_need need)
{
    const char *text = nt_json_string(r, from, key, need);
    if (text == NULL)
        return;
    if (strlen(text) >= capacity)
        nt_json_wrong(r, key, "expected at most %zu bytes, found %zu", capacity - 1, strlen(text));
    else
        memcpy(out, text, strlen(text) + 1);
}

void nt_json_string_copy(struct nt_json_reader *r, json_object *from, const char *key, char **out,
                         enum nt_json_need need)
{
    const char *text = nt_json_string(r, from, key, need);
    if (text == NULL)
        return;
    char *copy = strdup(text);
    if (copy == NULL) {
        nt_json_lack_memory(r);
        return;
    }
    free(*out);
    *out = copy;
}

json_object *nt_json_array(struct nt_json_reader *r, json_object *from, const char *key,
                           enum nt_json_need need)
{
    return find_field(r, from, key, json_type_array, need);
}

/* ---- items and places ------------------------------------------------------------------------ */

size_t nt_json_length(json_object *array)
{
    return array == NULL ? 0 : json_object_array_length(array);
}

static json_object *array_item(struct nt_json_reader *r, const char *key, json_object *array,
                               size_t k, json_type type)
{
    json_object *value = json_object_array_get_idx(array, k);
    if (type_fits(value, type))
        return value;
    nt_json_wrong(r, key, "expected %s, found %s", type_name(type),
                  type_name(json_object_get_type(value)));
    return NULL;
}

const char *nt_json_item_string(struct nt_json_reader *r, const char *key, json_object *array,
                                size_t k)
{
    json_object *value = array_item(r, key, array, k, json_type_string);
    return value == NULL ? NULL : whole_string(r, key, value);
}

int nt_json_item_whole32(struct nt_json_reader *r, const char *key, json_object *array, size_t k,
                         uint32_t most, uint32_t *out)
{
    json_object *value = array_item(r, key, array, k, json_type_int);
    uint64_t read;
    if (value == NULL)
        return -1;
    if (!take_whole(value, most, &read)) {
        nt_json_wrong(r, key, "expected a whole number from 0 to %u, found %.64s", most,
                      json_object_get_string(value));
        return -1;
    }
    *out = (uint32_t)read;
    return 0;
}

json_object *nt_json_item_array(struct nt_json_reader *r, const char *key, json_object *array,
                                size_t k, size_t length)
{
    json_object *value = array_item(r, key, array, k, json_type_array);
    if (value == NULL || json_object_array_length(value) == length)
        return value;
    nt_json_wrong(r, key, "expected %zu items, found %zu", length, json_object_array_length(value));
    return NULL;
}

json_object *nt_json_enter(struct nt_json_reader *r, const char *name, json_object *array, size_t k)
{
    snprintf(r->where, sizeof r->where, "%s[%zu]", name, k);
    json_object *value = array_item(r, "", array, k, json_type_object);
    snprintf(r->where, sizeof r->where, "%s[%zu].", name, k);
    return value;
}

json_object *nt_json_enter_object(struct nt_json_reader *r, json_object *from, const char *key)
{
    json_object *value = find_field(r, from, key, json_type_object, NT_JSON_MAY);
    size_t used = strlen(r->where);
    if (value != NULL)
        snprintf(r->where + used, sizeof r->where - used, "%s.", key);
    return value;
}

void nt_json_leave(struct nt_json_reader *r)
{
    r->where[0] = '\0';
}
