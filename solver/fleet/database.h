/* SPDX-License-Identifier: Apache-2.0 */
/* An SQLite file with a versioned schema. Only database.c uses SQLite. In WAL mode readers and a
 * writer do not wait for each other; a second writer waits for the first, at most
 * NT_DATABASE_WAIT_MS. A value has at most 64 MiB. Queries are prepared once and stored by their
 * text. Does not interpret the contents of tables.
 * Tests: test_store.c. */
#ifndef NT_DATABASE_H
#define NT_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum { NT_DATABASE_WAIT_MS = 600000, NT_DATABASE_QUERIES = 32 };

struct nt_database;
struct nt_query;

struct nt_schema {
    int application; /* application_id of the file */
    int version;     /* user_version; step[k] brings version k to k + 1 */
    const char *const *step;
};

/* Opens a database. read_only: the file must exist and have this version. Otherwise the file is
 * created, or upgraded in one transaction. NT_ERR_INPUT: no such file, another program's file, or a
 * newer version. */
int nt_database_open(const char *file, bool read_only, const struct nt_schema *schema,
                     struct nt_database **out, struct nt_err *err);
void nt_database_close(struct nt_database *db);

/* Executes statements without results or values. */
int nt_database_run(struct nt_database *db, const char *sql, struct nt_err *err);
int64_t nt_database_last_row(const struct nt_database *db);

/* The values of ?1, ?2, ... in a statement; texts and blobs are borrowed until the statement
 * ends. */
struct nt_values {
    size_t count;
    const struct nt_value {
        enum { NT_VALUE_NULL, NT_VALUE_WHOLE, NT_VALUE_NUMBER, NT_VALUE_TEXT, NT_VALUE_BLOB } kind;
        int64_t whole;
        double number;
        const void *bytes;
        size_t n;
    } * at;
};
#define NT_WHOLE(x) ((struct nt_value){.kind = NT_VALUE_WHOLE, .whole = (int64_t)(x)})
#define NT_NUMBER(x) ((struct nt_value){.kind = NT_VALUE_NUMBER, .number = (x)})
#define NT_TEXT(x) ((struct nt_value){.kind = NT_VALUE_TEXT, .bytes = (x)})
#define NT_BLOB(x, size) ((struct nt_value){.kind = NT_VALUE_BLOB, .bytes = (x), .n = (size)})
#define NT_VALUES(...)                                                                             \
    ((struct nt_values){sizeof(struct nt_value[]){__VA_ARGS__} / sizeof(struct nt_value),          \
                        (const struct nt_value[]){__VA_ARGS__}})
#define NT_NO_VALUES ((struct nt_values){0, NULL})

/* Executes a statement without rows. At most NT_DATABASE_QUERIES different statements, here and
 * below. */
int nt_database_put(struct nt_database *db, const char *sql, struct nt_values values,
                    struct nt_err *err);

/* Calls take for each row and returns 0 after the last one. If take returns another value, returns
 * that at once; -1 is an error. */
typedef int nt_take_row(void *context, struct nt_query *row, struct nt_err *err);
int nt_database_each(struct nt_database *db, const char *sql, struct nt_values values,
                     nt_take_row *take, void *context, struct nt_err *err);

/* Returns the number in the first column of the first row; none if there is no row, or if it is
 * null. */
int nt_database_whole(struct nt_database *db, const char *sql, struct nt_values values,
                      int64_t none, int64_t *out, struct nt_err *err);

/* Read a column of the row, counted from 0; texts and blobs are valid until the next row. */
bool nt_query_is_null(struct nt_query *row, int column);
int64_t nt_query_whole(struct nt_query *row, int column);
double nt_query_number(struct nt_query *row, int column);
const char *nt_query_text(struct nt_query *row, int column);
const void *nt_query_blob(struct nt_query *row, int column, size_t *n);

#endif
