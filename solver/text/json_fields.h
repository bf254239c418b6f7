/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a JSON object as a table: reading (json.h) and writing (json_write.h) go by it, and
 * tests hold the schema and the manual against it. A field is stated once, in the order in which it
 * is written. A table ends with a field without a name.
 * Tests: test_map_json.c. */
#ifndef NT_JSON_FIELDS_H
#define NT_JSON_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nt_json_reader;
struct nt_json_writer;

enum nt_json_type {
    NT_JSON_NUMBER,  /* double; NaN: not known, absent in the text */
    NT_JSON_WHOLE32, /* uint32_t, or int32_t of which -1 is the only negative one */
    NT_JSON_WHOLE64, /* uint64_t */
    NT_JSON_FLAG,    /* bool */
    NT_JSON_TEXT,    /* char[bytes] */
    NT_JSON_STRING,  /* char *, owned by its struct */
    NT_JSON_WORD,    /* an enum, by its name */
    NT_JSON_MARK,    /* bool: the one word is there */
    NT_JSON_OBJECT,
    NT_JSON_LIST,
};

enum nt_json_when {
    NT_JSON_ALWAYS,
    NT_JSON_IF_ANY,   /* written if not 0, "", false or without content */
    NT_JSON_IF_KNOWN, /* not all bits set, which is what an absent field is read as */
    NT_JSON_IF_GIVEN, /* the flag at given_at; set when the field is read */
};

struct nt_json_words {
    const char *const *word; /* by the enum */
    size_t words;
    const char *expected; /* for an error */
    int shown;            /* characters of a wrong one */
};

enum { NT_JSON_BASES = 4, NT_JSON_COUNT_MAX = 1 << 27 };

/* Where a value is: at bytes behind a base. Base 0 is the row at hand, others belong to the whole
 * text. With a stride a pointer to an array is there, and the value is inner bytes into its item at
 * hand. */
struct nt_json_spot {
    unsigned base;
    size_t at, stride, inner;
};

struct nt_json_field {
    const char *name;
    enum nt_json_type type;
    enum nt_json_when when;
    size_t given_at;
    bool must;     /* a text without it is refused */
    unsigned late; /* read in this pass only; 0 is the first */

    struct nt_json_spot place;

    double least, most;               /* of a number; 0 and 0: from 0 to 1e15 */
    uint64_t whole_most;              /* of a WHOLE64; 0: INT64_MAX */
    const struct nt_json_words *word; /* of a WORD */
    const char *mark;                 /* of a MARK */
    const char *repeats; /* the whole number in words: other fields give it, so it is compared */

    /* An object: its fields, and the bytes of the struct that the pointer at its place owns, or 0.
     * A list: the fields of its items, or the field that each item is, and the bytes of an item; 0:
     * the fields of its items are columns. */
    const struct nt_json_field *fields, *item;
    size_t bytes;                   /* of a text too */
    size_t items_max;               /* 0: any */
    size_t count_at, count_bytes;   /* how many, behind the same base; 0 bytes: always items_max */
    bool within;                    /* items are at the list's place, not behind a pointer there */
    bool made;                      /* there already, as many as the text has */
    bool keyed;                     /* there already; the first field selects the row of an item */
    bool numbered;                  /* errors name the item */
    bool all_unknown;               /* numbers of items, or of the object, are read onto NaN */
    bool (*skip)(const void *item); /* one that is not written */

    /* These replace the work of the type; the value is in the reader or writer. */
    void (*put)(struct nt_json_writer *w, const struct nt_json_field *f);
    void (*take)(struct nt_json_reader *r, const struct nt_json_field *f);
    void (*check)(struct nt_json_reader *r, void *row); /* after the fields of an object or item */
    void (*done)(struct nt_json_reader *r);             /* after the whole object or list */
};

/* The place of a value; NULL when its array is not there. row: base 0. */
void *nt_json_place(const struct nt_json_field *f, void *row, void *const *base, size_t index);

#endif
