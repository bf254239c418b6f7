/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a JSON object as a table. Reading (json.h) and writing (json_write.h) use it, and
 * tests compare it with the schema and the manual. A field is stated once, in the order of writing.
 * A table ends with a field without a name.
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
    NT_JSON_WHOLE32, /* uint32_t, or int32_t with -1 as the only negative value */
    NT_JSON_WHOLE64, /* uint64_t */
    NT_JSON_FLAG,    /* bool */
    NT_JSON_TEXT,    /* char[bytes] */
    NT_JSON_STRING,  /* char *, owned by its struct */
    NT_JSON_WORD,    /* an enum, written as its name */
    NT_JSON_MARK,    /* bool: whether the only possible word is present */
    NT_JSON_OBJECT,
    NT_JSON_LIST,
};

enum nt_json_when {
    NT_JSON_ALWAYS,
    NT_JSON_IF_ANY,   /* written unless 0, "", false or empty */
    NT_JSON_IF_KNOWN, /* written unless all bits are set, the value of an absent field */
    NT_JSON_IF_GIVEN, /* written if the flag at given_at is set; reading the field sets it */
};

struct nt_json_words {
    const char *const *word; /* by value of the enum */
    size_t words;
    const char *expected; /* expected value, for errors */
    int shown;            /* characters of an invalid value in an error */
};

enum { NT_JSON_BASES = 4, NT_JSON_COUNT_MAX = 1 << 27 };

/* The place of a value: at bytes after a base. Base 0 is the current row, others belong to the
 * whole text. With a stride, a pointer to an array is at this place, and the value is inner bytes
 * into its current item. */
struct nt_json_spot {
    unsigned base;
    size_t at, stride, inner;
};

struct nt_json_field {
    const char *name;
    enum nt_json_type type;
    enum nt_json_when when;
    size_t given_at;
    bool must;     /* required */
    unsigned late; /* the only pass that reads it; 0 is the first */

    struct nt_json_spot place;

    double least, most;               /* limits of a number; 0 and 0: from 0 to 1e15 */
    uint64_t whole_most;              /* limit of a WHOLE64; 0: INT64_MAX */
    const struct nt_json_words *word; /* for a WORD */
    const char *mark;                 /* for a MARK */
    const char
        *repeats; /* description of a whole number that other fields determine, so it is compared */

    /* An object: its fields, and the size of the struct that the pointer at its place owns, or 0. A
     * list: the fields of its items, or the field that each item is, and the size of an item; 0:
     * the fields of its items are columns. */
    const struct nt_json_field *fields, *item;
    size_t bytes;     /* size of a text, too */
    size_t items_max; /* maximum number of items; 0: any */
    /* Place of the number of items after the same base; 0 bytes: always items_max */
    size_t count_at, count_bytes;
    bool within;      /* items are at the list's place, not at a pointer there */
    bool made;        /* allocated already, with as many items as the text has */
    bool keyed;       /* allocated already; the first field selects the row of an item */
    bool numbered;    /* errors contain the number of the item */
    bool all_unknown; /* numbers of the object or its items are NaN before reading */
    bool (*skip)(const void *item); /* returns whether the item is not written */

    /* These functions replace reading and writing by type; the value is in the reader or writer. */
    void (*put)(struct nt_json_writer *w, const struct nt_json_field *f);
    void (*take)(struct nt_json_reader *r, const struct nt_json_field *f);
    void (*check)(struct nt_json_reader *r,
                  void *row);               /* called after the fields of an object or item */
    void (*done)(struct nt_json_reader *r); /* called after the whole object or list */
};

/* Returns the address of a value; NULL if its array is absent. row: base 0. */
void *nt_json_place(const struct nt_json_field *f, void *row, void *const *base, size_t index);

#endif
