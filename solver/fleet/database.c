/* SPDX-License-Identifier: Apache-2.0 */
#include "database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

static const char CACHE[] = "PRAGMA cache_size=-65536"; /* KiB */
enum { RETRY_MS = 20, VALUE_MAX = 64 << 20 };

struct nt_query {
    sqlite3_stmt *statement;
};

struct nt_database {
    sqlite3 *db;
    char *file;
    size_t queries;
    struct nt_query query[NT_DATABASE_QUERIES];
};

static int database_error(struct nt_database *db, struct nt_err *err)
{
    int code = sqlite3_errcode(db->db);
    if (code == SQLITE_NOTADB)
        return nt_err_set(err, NT_ERR_INPUT, "%s is not a store of nettopo", db->file);
    if (code == SQLITE_IOERR && sqlite3_system_errno(db->db) == EISDIR)
        return nt_err_set(err, NT_ERR_INPUT, "cannot read store %s: Is a directory", db->file);
    return nt_err_set(err, code == SQLITE_CORRUPT ? NT_ERR_INPUT : NT_ERR_SYSTEM, "store %s: %s",
                      db->file, sqlite3_errmsg(db->db));
}

int nt_database_run(struct nt_database *db, const char *sql, struct nt_err *err)
{
    return sqlite3_exec(db->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : database_error(db, err);
}

int64_t nt_database_last_row(const struct nt_database *db)
{
    return sqlite3_last_insert_rowid(db->db);
}

/* ---- opening ---- */

static int run_format(struct nt_database *db, const char *format, int value, struct nt_err *err)
{
    char *sql = sqlite3_mprintf(format, value);
    int rc = sql != NULL ? nt_database_run(db, sql, err) : nt_err_memory(err);
    sqlite3_free(sql);
    return rc;
}

/* Upgrades the schema. Reads the version again, because another process may have upgraded it in the
 * meantime. */
static int migrate(struct nt_database *db, const struct nt_schema *schema, struct nt_err *err)
{
    int64_t version;
    if (nt_database_run(db, "BEGIN IMMEDIATE", err) != 0 ||
        nt_database_whole(db, "PRAGMA user_version", NT_NO_VALUES, 0, &version, err) != 0)
        return -1;
    for (; version < schema->version; version++)
        if (nt_database_run(db, schema->step[version], err) != 0)
            return -1;
    if (run_format(db, "PRAGMA application_id=%d", schema->application, err) != 0 ||
        run_format(db, "PRAGMA user_version=%d", (int)version, err) != 0)
        return -1;
    return nt_database_run(db, "COMMIT", err);
}

static int check_version(struct nt_database *db, bool read_only, const struct nt_schema *schema,
                         struct nt_err *err)
{
    int64_t version, application;
    if (nt_database_whole(db, "PRAGMA user_version", NT_NO_VALUES, 0, &version, err) != 0 ||
        nt_database_whole(db, "PRAGMA application_id", NT_NO_VALUES, 0, &application, err) != 0)
        return -1;
    if (application != schema->application && (version != 0 || application != 0 || read_only))
        return nt_err_set(err, NT_ERR_INPUT, "%s is not a store of nettopo", db->file);
    if (version > schema->version)
        return nt_err_set(err, NT_ERR_INPUT,
                          "store store %s: expected version %d or older, found %d. Use a newer "
                          "nettopo.. Use a newer nettopo.",
                          db->file, schema->version, (int)version);
    if (version == schema->version)
        return 0;
    if (read_only)
        return nt_err_set(
            err, NT_ERR_INPUT,
            "store %s has version %d. \"nettopo fleet ingest\" converts it to version %d.",
            db->file, (int)version, schema->version);
    return migrate(db, schema, err);
}

/* Prepares writing. Both files of the WAL remain, because readers without rights in the directory
 * need them. */
static int prepare_writing(struct nt_database *db, struct nt_err *err)
{
    int keep = 1, rc;
    sqlite3_file_control(db->db, NULL, SQLITE_FCNTL_PERSIST_WAL, &keep);
    /* SQLite does not wait if another process changes the mode or creates the file */
    for (int waited_ms = 0;; waited_ms += RETRY_MS) {
        rc = sqlite3_exec(db->db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
        if (rc != SQLITE_BUSY || waited_ms >= NT_DATABASE_WAIT_MS)
            break;
        sqlite3_sleep(RETRY_MS);
    }
    return rc == SQLITE_OK ? nt_database_run(db, "PRAGMA synchronous=NORMAL", err)
                           : database_error(db, err);
}

static int open_file(struct nt_database *db, bool read_only, struct nt_err *err)
{
    int flags = read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int rc = sqlite3_open_v2(db->file, &db->db, flags, NULL);
    int reason = rc == SQLITE_CANTOPEN ? sqlite3_system_errno(db->db) : 0;
    if ((reason == ENOENT || reason == ENOTDIR) && read_only)
        return nt_err_set(err, NT_ERR_INPUT, "cannot read store %s: No such file or directory",
                          db->file);
    if (reason != 0)
        return nt_err_set(err, NT_ERR_SYSTEM, "cannot %s store %s: %s", read_only ? "read" : "open",
                          db->file, strerror(reason));
    if (rc != SQLITE_OK)
        return database_error(db, err);
    sqlite3_busy_timeout(db->db, NT_DATABASE_WAIT_MS);
    /* a foreign file must not call functions from its schema */
    sqlite3_db_config(db->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_limit(db->db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
    return nt_database_run(db, CACHE, err);
}

int nt_database_open(const char *file, bool read_only, const struct nt_schema *schema,
                     struct nt_database **out, struct nt_err *err)
{
    struct nt_database *db = calloc(1, sizeof *db);
    if (db == NULL || (db->file = strdup(file)) == NULL) {
        free(db);
        return nt_err_memory(err);
    }
    int rc = open_file(db, read_only, err);
    if (rc == 0 && !read_only)
        rc = prepare_writing(db, err);
    if (rc == 0)
        rc = check_version(db, read_only, schema, err);
    if (rc != 0) {
        nt_database_close(db);
        return -1;
    }
    *out = db;
    return 0;
}

void nt_database_close(struct nt_database *db)
{
    if (db == NULL)
        return;
    for (size_t k = 0; k < db->queries; k++)
        sqlite3_finalize(db->query[k].statement);
    sqlite3_close(db->db);
    free(db->file);
    free(db);
}

/* ---- queries ---- */

static struct nt_query *prepare(struct nt_database *db, const char *sql, struct nt_err *err)
{
    for (size_t k = 0; k < db->queries; k++)
        if (strcmp(sqlite3_sql(db->query[k].statement), sql) == 0)
            return &db->query[k];
    struct nt_query *query = &db->query[db->queries];
    if (db->queries == NT_DATABASE_QUERIES)
        nt_err_set(err, NT_ERR_SYSTEM, "more than %d queries", NT_DATABASE_QUERIES);
    else if (sqlite3_prepare_v3(db->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &query->statement,
                                NULL) != SQLITE_OK)
        database_error(db, err);
    else
        return db->queries++, query;
    return NULL;
}

static void bind(sqlite3_stmt *s, struct nt_values values)
{
    for (int k = 0; k < (int)values.count; k++) {
        const struct nt_value *v = &values.at[k];
        switch (v->kind) {
        case NT_VALUE_NULL:
            break; /* unchanged */
        case NT_VALUE_WHOLE:
            sqlite3_bind_int64(s, k + 1, v->whole);
            break;
        case NT_VALUE_NUMBER:
            sqlite3_bind_double(s, k + 1, v->number);
            break;
        case NT_VALUE_TEXT:
            sqlite3_bind_text(s, k + 1, v->bytes, -1, SQLITE_STATIC);
            break;
        case NT_VALUE_BLOB:
            sqlite3_bind_blob64(s, k + 1, v->n > 0 ? v->bytes : "", v->n, SQLITE_STATIC);
            break;
        }
    }
}

int nt_database_each(struct nt_database *db, const char *sql, struct nt_values values,
                     nt_take_row *take, void *context, struct nt_err *err)
{
    struct nt_query *query = prepare(db, sql, err);
    int rc = 0, step = SQLITE_ROW;
    if (query == NULL)
        return -1;
    bind(query->statement, values);
    while (rc == 0 && (step = sqlite3_step(query->statement)) == SQLITE_ROW)
        rc = take(context, query, err);
    if (step != SQLITE_ROW && step != SQLITE_DONE)
        rc = database_error(db, err);
    sqlite3_reset(query->statement);
    sqlite3_clear_bindings(query->statement);
    return rc;
}

static int take_first(void *context, struct nt_query *row, struct nt_err *err)
{
    int64_t *out = context;
    (void)err;
    if (out != NULL && !nt_query_is_null(row, 0))
        *out = nt_query_whole(row, 0);
    return 1;
}

int nt_database_put(struct nt_database *db, const char *sql, struct nt_values values,
                    struct nt_err *err)
{
    return nt_database_each(db, sql, values, take_first, NULL, err) < 0 ? -1 : 0;
}

int nt_database_whole(struct nt_database *db, const char *sql, struct nt_values values,
                      int64_t none, int64_t *out, struct nt_err *err)
{
    *out = none;
    return nt_database_each(db, sql, values, take_first, out, err) < 0 ? -1 : 0;
}

bool nt_query_is_null(struct nt_query *query, int column)
{
    return sqlite3_column_type(query->statement, column) == SQLITE_NULL;
}

int64_t nt_query_whole(struct nt_query *query, int column)
{
    return sqlite3_column_int64(query->statement, column);
}

double nt_query_number(struct nt_query *query, int column)
{
    return sqlite3_column_double(query->statement, column);
}

const char *nt_query_text(struct nt_query *query, int column)
{
    const char *text = (const char *)sqlite3_column_text(query->statement, column);
    return text != NULL ? text : "";
}

const void *nt_query_blob(struct nt_query *query, int column, size_t *n)
{
    const void *bytes = sqlite3_column_blob(query->statement, column);
    *n = (size_t)sqlite3_column_bytes(query->statement, column);
    return bytes != NULL ? bytes : "";
}
