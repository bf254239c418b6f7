/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a JSON text, looked up one by one and judged as they are taken.
 *
 * What is wrong is noted with its place ("links[3].latency_us: expected ..., found ...") and
 * reading goes on, so that one pass serves both a reader who stops at the first finding and a
 * check that wants them all. A field that is absent or wrong leaves its target as it was.
 * json.c is the only file that sees json-c; its type is opaque here.
 * Tests: test_map_json.c. */
#ifndef NT_JSON_H
#define NT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "findings.h"

struct json_object;

enum { NT_JSON_TEXT_MAX = 128 * 1024 * 1024, NT_JSON_WHERE_BYTES = 64 };
enum nt_json_need { NT_JSON_MAY, NT_JSON_MUST };

struct nt_json_reader {
    struct nt_findings *findings;
    struct nt_err *err;
    bool no_memory;                  /* err says where */
    char where[NT_JSON_WHERE_BYTES]; /* "" or "links[3]." */
};

/* Strict JSON with an object at the top, at most NT_JSON_TEXT_MAX bytes and 16 deep; an error
 * names file and line. Freed by nt_json_free (NULL is fine). */
int nt_json_parse(const char *file, const char *text, size_t bytes, struct json_object **root,
                  struct nt_err *err);
void nt_json_free(struct json_object *root);

/* Notes what is wrong with the field key of the place where the reading stands. */
void nt_json_wrong(struct nt_json_reader *r, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Notes that memory ran out. */
void nt_json_lack_memory(struct nt_json_reader *r);

/* from may be NULL everywhere: then nothing is there, and nothing is noted. Strings are borrowed
 * from the tree. Numbers are finite: from 0 to 1e15, or as said. */
void nt_json_number(struct nt_json_reader *r, struct json_object *from, const char *key,
                    double *out);
void nt_json_number_between(struct nt_json_reader *r, struct json_object *from, const char *key,
                            double least, double most, double *out);
void nt_json_whole(struct nt_json_reader *r, struct json_object *from, const char *key,
                   uint64_t most, uint64_t *out);
void nt_json_whole32(struct nt_json_reader *r, struct json_object *from, const char *key,
                     uint32_t most, uint32_t *out);
void nt_json_flag(struct nt_json_reader *r, struct json_object *from, const char *key, bool *out);
const char *nt_json_string(struct nt_json_reader *r, struct json_object *from, const char *key,
                           enum nt_json_need need);
void nt_json_string_in(struct nt_json_reader *r, struct json_object *from, const char *key,
                       char *out, size_t capacity, enum nt_json_need need);
void nt_json_string_copy(struct nt_json_reader *r, struct json_object *from, const char *key,
                         char **out, enum nt_json_need need); /* frees what *out was */
struct json_object *nt_json_array(struct nt_json_reader *r, struct json_object *from,
                                  const char *key, enum nt_json_need need);

/* Items of an array (NULL: none). The item functions note at key and give NULL or -1. */
size_t nt_json_length(struct json_object *array);
const char *nt_json_item_string(struct nt_json_reader *r, const char *key,
                                struct json_object *array, size_t k);
int nt_json_item_whole32(struct nt_json_reader *r, const char *key, struct json_object *array,
                         size_t k, uint32_t most, uint32_t *out);
struct json_object *nt_json_item_array(struct nt_json_reader *r, const char *key,
                                       struct json_object *array, size_t k, size_t length);

/* Goes to item k of the array called name, or to the object under key: what is noted next names
 * it. NULL (noted) when it is no object. leave goes back to the top. */
struct json_object *nt_json_enter(struct nt_json_reader *r, const char *name,
                                  struct json_object *array, size_t k);
struct json_object *nt_json_enter_object(struct nt_json_reader *r, struct json_object *from,
                                         const char *key);
void nt_json_leave(struct nt_json_reader *r);

#endif
