/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a JSON text by the tables of its fields. Errors are noted with their place
 * ("links[3].latency_us: expected ..., found ...") and reading continues, so that one pass serves a
 * reader who stops at the first error and a check that lists all. A field that is absent or invalid
 * leaves its target unchanged. Only json.c uses json-c, whose type is opaque here.
 * Tests: test_map_json.c. */
#ifndef NT_JSON_H
#define NT_JSON_H

#include "err.h"
#include "findings.h"
#include "json_fields.h"

struct json_object;

enum { NT_JSON_TEXT_MAX = 128 * 1024 * 1024, NT_JSON_WHERE_BYTES = 64 };

struct nt_json_reader {
    struct nt_findings *findings;
    struct nt_err *err;
    bool no_memory; /* out of memory; err is set */
    unsigned late;  /* number of the pass */
    void *base[NT_JSON_BASES];
    struct nt_json_at {
        char where[NT_JSON_WHERE_BYTES]; /* "" or "links[3]." */
        struct json_object *from;        /* NULL: absent, and no error is noted */
        struct json_object *item;        /* in_list: the item, for fields of any name */
        bool in_list;
        void *row, *value;
        size_t index;
    } at;
};

/* Parses strict JSON with an object at the top, at most NT_JSON_TEXT_MAX bytes and 16 levels; an
 * error names file and line. The caller frees *root with nt_json_free, which accepts NULL. */
int nt_json_parse(const char *file, const char *text, size_t bytes, struct json_object **root,
                  struct nt_err *err);
void nt_json_free(struct json_object *root);

/* Reads the fields of the current object that belong to the current pass, or the field with that
 * name. */
void nt_json_read(struct nt_json_reader *r, const struct nt_json_field *fields, const char *name,
                  unsigned late);

/* For the functions take and check: notes an error in the field key of the current object. */
void nt_json_note_error(struct nt_json_reader *r, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reads a field by its type into out. Returns false if it is an object or list that is absent or
 * invalid. */
bool nt_json_read_field(struct nt_json_reader *r, const struct nt_json_field *f, void *out);

/* Skips a field that repeats others. */
void nt_json_skip_field(struct nt_json_reader *r, const struct nt_json_field *f);

/* Reads one field of the current object. A string is borrowed from the tree; NULL: none. */
void nt_json_number(struct nt_json_reader *r, const char *key, double *out);
void nt_json_whole32(struct nt_json_reader *r, const char *key, uint32_t most, uint32_t *out);
const char *nt_json_string(struct nt_json_reader *r, const struct nt_json_field *f);

/* Returns the number of items in the list key, without noting errors. */
size_t nt_json_items(struct nt_json_reader *r, const char *key);

#endif
