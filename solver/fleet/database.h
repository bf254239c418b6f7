/* SPDX-License-Identifier: Apache-2.0 */
/* An SQLite file with a schema that has a version; database.c alone sees SQLite.
 *
 * In WAL mode readers and a writer do not wait for each other; a second writer waits for the first,
 * at most NT_DATABASE_WAIT_MS. A value has at most 64 MiB. Queries are prepared once and kept by
 * their text.
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

/* read_only: the file must be there and of this version. Else it is made, and brought up to date in
 * one transaction. NT_ERR_INPUT: no such file, another program's, of a newer version. */
int nt_database_open(const char *file, bool read_only, const struct nt_schema *schema,
                     struct nt_database **out, struct nt_err *err);
void nt_database_close(struct nt_database *db);

/* Statements without results. */
int nt_database_run(struct nt_database *db, const char *sql, struct nt_err *err);
int64_t nt_database_last_row(const struct nt_database *db);

/* At most NT_DATABASE_QUERIES different ones; NULL with an error. Nothing is bound. */
struct nt_query *nt_database_query(struct nt_database *db, const char *sql, struct nt_err *err);

/* Parameters from 1 on; texts and blobs are borrowed until the query has ended. */
void nt_query_set_whole(struct nt_query *query, int at, int64_t value);
void nt_query_set_number(struct nt_query *query, int at, double value);
void nt_query_set_text(struct nt_query *query, int at, const char *text);
void nt_query_set_blob(struct nt_query *query, int at, const void *bytes, size_t n);
void nt_query_set_null(struct nt_query *query, int at);

/* 1: a row; 0: it has ended; -1: an error. After the last two it can be used again. */
int nt_query_step(struct nt_query *query, struct nt_err *err);
/* The same for what gives no rows: 0 or -1. */
int nt_query_run(struct nt_query *query, struct nt_err *err);
/* Ends it before its last row; NULL is fine. */
void nt_query_end(struct nt_query *query);

/* Columns of the row from 0 on; texts and blobs live until the next step. */
bool nt_query_is_null(struct nt_query *query, int column);
int64_t nt_query_whole(struct nt_query *query, int column);
double nt_query_number(struct nt_query *query, int column);
const char *nt_query_text(struct nt_query *query, int column);
const void *nt_query_blob(struct nt_query *query, int column, size_t *n);

#endif
