/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a JSON text by the tables of its fields.
 *
 * What is wrong is noted with its place ("links[3].latency_us: expected ..., found ...") and
 * reading goes on, so that one pass serves both a reader who stops at the first finding and a
 * check that wants them all. A field that is absent or wrong leaves its target as it was.
 * json.c is the only file that sees json-c; its type is opaque here.
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
    bool no_memory; /* err is set */
    unsigned late;  /* the pass */
    void *base[NT_JSON_BASES];
    struct nt_json_at {
        char where[NT_JSON_WHERE_BYTES]; /* "" or "links[3]." */
        struct json_object *from;        /* NULL: nothing is there, and nothing is noted */
        struct json_object *item;        /* in_list: the item, for a field of any name */
        bool in_list;
        void *row, *value;
        size_t index;
    } at;
};

/* Strict JSON with an object at the top, at most NT_JSON_TEXT_MAX bytes and 16 deep; an error
 * names file and line. Freed by nt_json_free (NULL is fine). */
int nt_json_parse(const char *file, const char *text, size_t bytes, struct json_object **root,
                  struct nt_err *err);
void nt_json_free(struct json_object *root);

/* Reads the fields of the object at hand of the pass late, or the one with this name. */
void nt_json_read(struct nt_json_reader *r, const struct nt_json_field *fields, const char *name,
                  unsigned late);

/* For take and check: notes an error of the field key of the object at hand. */
void nt_json_wrong(struct nt_json_reader *r, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reads the field by its type into out. False: an object or a list that is absent or wrong. */
bool nt_json_take(struct nt_json_reader *r, const struct nt_json_field *f, void *out);

/* Skips a field, which repeats others. */
void nt_json_pass(struct nt_json_reader *r, const struct nt_json_field *f);

/* One field of the object at hand. A string is borrowed from the tree; NULL: none. */
void nt_json_number(struct nt_json_reader *r, const char *key, double *out);
void nt_json_whole32(struct nt_json_reader *r, const char *key, uint32_t most, uint32_t *out);
const char *nt_json_string(struct nt_json_reader *r, const struct nt_json_field *f);

/* How many items are in the list under key; nothing is noted. */
size_t nt_json_items(struct nt_json_reader *r, const char *key);

#endif
