/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "fleet_job.h"
#include "prior.h"
#include "utc.h"

struct nt_store {
    struct nt_database *db;
    struct nt_names hosts; /* hosts known to this process; the number is id - 1 */
    bool open;             /* a transaction has begun */
};

enum { APPLICATION_ID = 0x6e74666c };

/* What each version adds to the version before. Steps of a released version never change. */
static const char *const step[NT_STORE_VERSION] = {
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE host(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, seen INTEGER NOT NULL);"
    "CREATE TABLE job(id INTEGER PRIMARY KEY, job INTEGER NOT NULL, restart INTEGER NOT NULL,"
    " user INTEGER, time INTEGER NOT NULL, level TEXT NOT NULL, status INTEGER NOT NULL,"
    " hosts INTEGER NOT NULL, readings BLOB, figures BLOB NOT NULL, UNIQUE(job, restart));"
    "CREATE INDEX job_time ON job(time);"
    "CREATE TABLE finding(job INTEGER NOT NULL REFERENCES job(id), host INTEGER NOT NULL,"
    " tier INTEGER NOT NULL, kind INTEGER NOT NULL, way INTEGER NOT NULL, alone INTEGER NOT NULL,"
    " found REAL NOT NULL, expected REAL NOT NULL, confidence REAL NOT NULL);"
    "CREATE INDEX finding_job ON finding(job);"
    "CREATE TABLE reading_day(day INTEGER NOT NULL, host INTEGER NOT NULL, pairs BLOB NOT NULL,"
    " PRIMARY KEY(day, host)) WITHOUT ROWID;",
    "CREATE TABLE switch_member(host INTEGER NOT NULL, tier INTEGER NOT NULL,"
    " number INTEGER NOT NULL, PRIMARY KEY(host, tier)) WITHOUT ROWID;"
    "CREATE INDEX job_unfolded ON job(time) WHERE readings IS NOT NULL;",
    /* user -1: not known; also for all rows folded before this version */
    "CREATE TABLE reading_user(day INTEGER NOT NULL, user INTEGER NOT NULL, part INTEGER NOT NULL,"
    " pairs BLOB NOT NULL, UNIQUE(day, user, part));"
    "INSERT INTO reading_user SELECT day, -1, host, pairs FROM reading_day;"
    "DROP TABLE reading_day;",
    "", /* this version allows figures that are bounds */
    /* rows are the lines of a prior (prior.h), in order */
    "CREATE TABLE loggp(id INTEGER PRIMARY KEY, job INTEGER NOT NULL REFERENCES job(id),"
    " line TEXT NOT NULL);"
    "CREATE INDEX loggp_job ON loggp(job);",
};

static const struct nt_schema schema = {APPLICATION_ID, NT_STORE_VERSION, step};

int nt_store_open(const char *file, bool read_only, struct nt_store **out, struct nt_err *err)
{
    struct nt_store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return nt_err_memory(err);
    if (nt_database_open(file, read_only, &schema, &store->db, err) != 0) {
        free(store);
        return -1;
    }
    *out = store;
    return 0;
}

void nt_store_close(struct nt_store *store)
{
    if (store == NULL)
        return;
    nt_database_close(store->db);
    nt_names_fini(&store->hosts);
    free(store);
}

/* Folded days are jobs with ids from here, which no job has. */
static const uint64_t DAY_ID = UINT64_C(1) << 62;

/* Values from a store are limited before they are used: the file may be damaged. */
static const int64_t TIME_MAX_S = INT64_C(253402300799); /* the year 9999 */
enum { TIERS_MAX = 64, NUMBERS_MAX = 1 << 24 };

static int damaged(const char *what, struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_INPUT, "the store is damaged: %s", what);
}

static uint32_t user_of(struct nt_query *q, int column)
{
    int64_t user = nt_query_is_null(q, column) ? -1 : nt_query_whole(q, column);
    return user < 0 || user >= NT_NO_USER ? NT_NO_USER : (uint32_t)user;
}

static int64_t time_of(struct nt_query *q, int column)
{
    int64_t time_s = nt_query_whole(q, column);
    return time_s < 0 ? 0 : time_s > TIME_MAX_S ? TIME_MAX_S : time_s;
}

/* ---- transactions ---- */

/* Undoes everything since the last commit. Returns -1. */
static int take_back(struct nt_store *store)
{
    nt_database_run(store->db, "ROLLBACK", NULL);
    nt_names_fini(&store->hosts); /* some may be new in this transaction */
    store->open = false;
    return -1;
}

static int learn_host(void *context, struct nt_query *row, struct nt_err *err)
{
    struct nt_store *store = context;
    const char *name = nt_query_text(row, 0);
    uint32_t index;
    return nt_names_add_copy(&store->hosts, name, strlen(name), &index, err) < 0 ? -1 : 0;
}

/* Begins a transaction unless one has begun, and reads the hosts that other processes have
 * added. */
static int begin(struct nt_store *store, struct nt_err *err)
{
    if (store->open)
        return 0;
    if (nt_database_run(store->db, "BEGIN IMMEDIATE", err) != 0)
        return -1;
    store->open = true;
    return nt_database_each(store->db, "SELECT name FROM host WHERE id>?1 ORDER BY id",
                            NT_VALUES(NT_WHOLE(store->hosts.count)), learn_host, store, err) == 0
               ? 0
               : take_back(store);
}

int nt_store_commit(struct nt_store *store, struct nt_err *err)
{
    if (!store->open)
        return 0;
    if (nt_database_run(store->db, "COMMIT", err) != 0)
        return take_back(store);
    store->open = false;
    return 0;
}

/* ---- a job comes ---- */

int nt_store_has(struct nt_store *store, uint64_t job, uint32_t restart, bool *has,
                 struct nt_err *err)
{
    int64_t found;
    int rc = nt_database_whole(store->db, "SELECT 1 FROM job WHERE job=?1 AND restart=?2",
                               NT_VALUES(NT_WHOLE(job), NT_WHOLE(restart)), 0, &found, err);
    *has = rc == 0 && found > 0;
    return rc;
}

/* Returns 1 if the row is of this cluster. */
static int compare_cluster(void *cluster, struct nt_query *row, struct nt_err *err)
{
    const char *of = nt_query_text(row, 0);
    return strcmp(of, cluster) == 0
               ? 1
               : nt_err_set(err, NT_ERR_INPUT,
                            "the map is from cluster \"%.64s\", but the store is for \"%.64s\"",
                            (const char *)cluster, of);
}

static int check_cluster(struct nt_store *store, char *cluster, struct nt_err *err)
{
    int rc = nt_database_each(store->db, "SELECT value FROM meta WHERE key='cluster'", NT_NO_VALUES,
                              compare_cluster, cluster, err);
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    return nt_database_put(store->db, "INSERT INTO meta VALUES('cluster', ?1)",
                           NT_VALUES(NT_TEXT(cluster)), err);
}

static int put_host(struct nt_store *store, const char *name, uint32_t *number, int64_t time_s,
                    struct nt_err *err)
{
    if (*number != NT_NAMES_NONE)
        return nt_database_put(store->db, "UPDATE host SET seen=?2 WHERE id=?1 AND seen<?2",
                               NT_VALUES(NT_WHOLE((int64_t)*number + 1), NT_WHOLE(time_s)), err);
    if (nt_names_add_copy(&store->hosts, name, strlen(name), number, err) < 0)
        return -1;
    return nt_database_put(
        store->db, "INSERT INTO host(id, name, seen) VALUES(?1, ?3, ?2)",
        NT_VALUES(NT_WHOLE((int64_t)*number + 1), NT_WHOLE(time_s), NT_TEXT(name)), err);
}

/* Sets number[k] to the number of the job's host k. Counts first, so that a refused job adds no
 * hosts. */
static int number_hosts(struct nt_store *store, const struct nt_fleet_job *job, uint32_t *number,
                        struct nt_err *err)
{
    size_t unknown = 0;
    for (size_t k = 0; k < job->hosts; k++) {
        number[k] = nt_names_find(&store->hosts, job->host[k], strlen(job->host[k]));
        unknown += number[k] == NT_NAMES_NONE;
    }
    if (unknown > NT_HOSTS_MAX - store->hosts.count)
        return nt_err_set(err, NT_ERR_INPUT, "more than %d hosts in one cluster",
                          (int)NT_HOSTS_MAX);
    for (size_t k = 0; k < job->hosts; k++)
        if (put_host(store, job->host[k], &number[k], job->time_s, err) != 0)
            return -1;
    return 0;
}

static double finite_or_zero(double value)
{
    return isfinite(value) ? value : 0;
}

static int put_finding(struct nt_store *store, int64_t job, uint32_t host,
                       const struct nt_fleet_finding *f, struct nt_err *err)
{
    return nt_database_put(
        store->db, "INSERT INTO finding VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        NT_VALUES(NT_WHOLE(job), NT_WHOLE(host), NT_WHOLE(f->tier), NT_WHOLE(f->kind),
                  NT_WHOLE(f->way), NT_WHOLE(f->alone), NT_NUMBER(finite_or_zero(f->found)),
                  NT_NUMBER(finite_or_zero(f->expected)), NT_NUMBER(finite_or_zero(f->confidence))),
        err);
}

static int put_loggp(struct nt_store *store, int64_t job, const struct nt_loggp *g,
                     struct nt_err *err)
{
    struct nt_strbuf line = {0};
    nt_loggp_put(&line, g);
    int rc = line.failed ? nt_err_memory(err)
                         : nt_database_put(store->db, "INSERT INTO loggp(job, line) VALUES(?1, ?2)",
                                           NT_VALUES(NT_WHOLE(job), NT_TEXT(line.text)), err);
    free(line.text);
    return rc;
}

static int put_row(struct nt_store *store, const struct nt_fleet_job *job,
                   const struct nt_strbuf *pairs, const struct nt_strbuf *figures,
                   struct nt_err *err)
{
    struct nt_value user = NT_WHOLE(job->user);
    if (job->user == NT_NO_USER)
        user.kind = NT_VALUE_NULL;
    return nt_database_put(
        store->db,
        "INSERT INTO job(job, restart, user, time, level, status, hosts, readings, figures)"
        " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        NT_VALUES(NT_WHOLE(job->job), NT_WHOLE(job->restart), user, NT_WHOLE(job->time_s),
                  NT_TEXT(job->level), NT_WHOLE(job->status), NT_WHOLE(job->hosts),
                  NT_BLOB(pairs->text, pairs->used), NT_BLOB(figures->text, figures->used)),
        err);
}

static int put_all(struct nt_store *store, const struct nt_fleet_job *job, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_strbuf pairs = {0}, figures = {0};
    uint32_t *number = nt_arena_array(&memory, job->hosts, sizeof *number);
    int rc = number == NULL ? nt_arena_check(&memory, err) : 0;
    if (rc == 0)
        rc = number_hosts(store, job, number, err);
    if (rc == 0)
        rc = nt_fleet_job_pack(job, number, &pairs, &figures, err);
    if (rc == 0)
        rc = put_row(store, job, &pairs, &figures, err);
    int64_t row = nt_database_last_row(store->db);
    for (size_t k = 0; rc == 0 && k < job->findings; k++)
        rc = put_finding(store, row, number[job->finding[k].host], &job->finding[k], err);
    for (size_t k = 0; rc == 0 && k < job->loggps; k++)
        rc = put_loggp(store, row, &job->loggp[k], err);
    free(pairs.text);
    free(figures.text);
    return rc;
}

int nt_store_put(struct nt_store *store, const struct nt_fleet_job *job, struct nt_err *err)
{
    struct nt_err why = {0};
    bool has;
    if (begin(store, err) != 0)
        return -1;
    if (nt_store_has(store, job->job, job->restart, &has, &why) == 0 &&
        (has || (check_cluster(store, job->cluster, &why) == 0 && put_all(store, job, &why) == 0)))
        return 0;
    if (why.kind != NT_ERR_INPUT)
        take_back(store);
    return nt_err_set(err, why.kind, "%s", why.text);
}

static int take_sums(void *context, struct nt_query *row, struct nt_err *err)
{
    struct nt_store_sums *sums = context;
    uint64_t *const count[] = {&sums->hosts, &sums->findings, &sums->bytes,   &sums->jobs,
                               &sums->users, &sums->ok,       &sums->partial, &sums->failed};
    enum { COUNTS = sizeof count / sizeof *count };
    const char *cluster = nt_query_text(row, 0);
    size_t n = strlen(cluster);
    (void)err;
    memcpy(sums->cluster, cluster, n < sizeof sums->cluster ? n : sizeof sums->cluster - 1);
    for (int k = 0; k < COUNTS; k++)
        *count[k] = (uint64_t)nt_query_whole(row, k + 1);
    sums->first_s = time_of(row, COUNTS + 1);
    sums->last_s = time_of(row, COUNTS + 2);
    return 0;
}

int nt_store_count(struct nt_store *store, struct nt_store_sums *out, struct nt_err *err)
{
    *out = (struct nt_store_sums){0};
    return nt_database_each(
        store->db,
        "SELECT (SELECT value FROM meta WHERE key='cluster'), (SELECT count(*) FROM host),"
        " (SELECT count(*) FROM finding),"
        " (SELECT page_count*page_size FROM pragma_page_count, pragma_page_size),"
        " count(*), count(DISTINCT ifnull(user, -1)), sum(status=0), sum(status=1), sum(status=2),"
        " min(time), max(time) FROM job",
        NT_NO_VALUES, take_sums, out, err);
}

struct host_list {
    struct nt_names *names;
    int64_t *seen_s;
};

static int take_host(void *context, struct nt_query *row, struct nt_err *err)
{
    struct host_list *list = context;
    const char *name = nt_query_text(row, 0);
    uint32_t index;
    int rc = list->names->count < NT_HOSTS_MAX && nt_host_name_check(name, NULL) == 0
                 ? nt_names_add_copy(list->names, name, strlen(name), &index, err)
                 : 1;
    if (rc > 0)
        return damaged("a host twice, too many, or none", err);
    if (rc == 0)
        list->seen_s[index] = time_of(row, 1);
    return rc;
}

int nt_store_hosts(struct nt_store *store, struct nt_names *out, int64_t **seen_s,
                   struct nt_err *err)
{
    struct host_list list = {out, calloc(NT_HOSTS_MAX, sizeof *list.seen_s)};
    int rc = list.seen_s == NULL
                 ? nt_err_memory(err)
                 : nt_database_each(store->db, "SELECT name, seen FROM host ORDER BY id",
                                    NT_NO_VALUES, take_host, &list, err);
    if (rc == 0 && seen_s != NULL)
        *seen_s = list.seen_s;
    else
        free(list.seen_s);
    return rc;
}

/* ---- evidence ---- */

/* Target of rows of id, time, user and packed pairs. For jobs each row is a job; for days rows of
 * one user and day are. */
struct filling {
    struct nt_evidence *evidence;
    uint32_t job;
    uint64_t last; /* days: the id of the previous row */
    size_t max_entries;
};

static int fill_pair(void *context, const struct nt_evidence_entry *pair, struct nt_err *err)
{
    struct filling *f = context;
    struct nt_evidence_entry entry = *pair;
    entry.job = f->job;
    return nt_evidence_add(f->evidence, &entry, err);
}

/* Adds the pairs of a row. Returns 1 when there are enough. */
static int fill_pairs(struct filling *f, struct nt_query *row, int column, struct nt_err *err)
{
    size_t n;
    const void *bytes = nt_query_blob(row, column, &n);
    if (nt_packed_visit_pairs(bytes, n, f->evidence->hosts, fill_pair, f, err) != 0)
        return -1;
    return f->evidence->entries >= f->max_entries;
}

static int fill_job(void *context, struct nt_query *row, struct nt_err *err)
{
    struct filling *f = context;
    if (nt_evidence_add_job(f->evidence, time_of(row, 1), (uint64_t)nt_query_whole(row, 0),
                            user_of(row, 2), &f->job, err) != 0)
        return -1;
    return fill_pairs(f, row, 3, err);
}

static int fill_day(void *context, struct nt_query *row, struct nt_err *err)
{
    struct filling *f = context;
    int64_t day = nt_query_whole(row, 0);
    uint32_t user = user_of(row, 1);
    if (day < 0 || day > TIME_MAX_S / NT_DAY_S)
        return damaged("no day", err);
    uint64_t id = DAY_ID + ((uint64_t)day << 32 | user);
    if (id != f->last && nt_evidence_add_job(f->evidence, day * NT_DAY_S + NT_DAY_S / 2, id, user,
                                             &f->job, err) != 0)
        return -1;
    f->last = id;
    return fill_pairs(f, row, 2, err);
}

int nt_store_evidence(struct nt_store *store, int64_t since_s, size_t max_entries,
                      struct nt_evidence *out, struct nt_err *err)
{
    struct filling f = {.evidence = out, .max_entries = max_entries};
    int64_t hosts;
    if (nt_database_whole(store->db, "SELECT count(*) FROM host", NT_NO_VALUES, 0, &hosts, err) !=
            0 ||
        nt_evidence_init(out, (size_t)hosts, err) != 0)
        return -1;
    int rc = max_entries == 0;
    if (rc == 0)
        rc = nt_database_each(
            store->db,
            "SELECT id, time, user, readings FROM job WHERE readings IS NOT NULL AND time>=?1"
            " ORDER BY time DESC, id DESC",
            NT_VALUES(NT_WHOLE(since_s)), fill_job, &f, err);
    if (rc == 0)
        rc = nt_database_each(
            store->db,
            "SELECT day, user, pairs FROM reading_user WHERE day>=?1 ORDER BY day DESC, user DESC",
            NT_VALUES(NT_WHOLE(since_s / NT_DAY_S)), fill_day, &f, err);
    if (rc < 0)
        nt_evidence_fini(out);
    return rc < 0 ? -1 : 0;
}

/* ---- jobs and findings ---- */

struct job_visit {
    nt_store_each_job *each;
    void *context;
};

static int take_job(void *context, struct nt_query *row, struct nt_err *err)
{
    struct job_visit *visit = context;
    struct nt_store_job job = {
        .id = (uint64_t)nt_query_whole(row, 0),
        .job = (uint64_t)nt_query_whole(row, 1),
        .restart = (uint32_t)nt_query_whole(row, 2),
        .user = user_of(row, 3),
        .time_s = time_of(row, 4),
    };
    job.figures = nt_query_blob(row, 5, &job.figures_bytes);
    return visit->each(visit->context, &job, err);
}

int nt_store_visit_jobs(struct nt_store *store, int64_t since_s, nt_store_each_job *each,
                        void *context, struct nt_err *err)
{
    return nt_database_each(
        store->db,
        "SELECT id, job, restart, user, time, figures FROM job WHERE time>=?1 ORDER BY time, id",
        NT_VALUES(NT_WHOLE(since_s)), take_job, &(struct job_visit){each, context}, err);
}

struct finding_visit {
    nt_store_each_finding *each;
    void *context;
};

static int take_finding(void *context, struct nt_query *row, struct nt_err *err)
{
    struct finding_visit *visit = context;
    struct nt_store_finding f = {
        .job = (uint64_t)nt_query_whole(row, 0),
        .user = user_of(row, 1),
        .time_s = time_of(row, 2),
        .finding = {.host = (uint32_t)nt_query_whole(row, 3),
                    .tier = (uint8_t)nt_query_whole(row, 4),
                    .kind = (uint8_t)nt_query_whole(row, 5),
                    .way = (uint8_t)nt_query_whole(row, 6),
                    .alone = nt_query_whole(row, 7) != 0,
                    .found = (float)nt_query_number(row, 8),
                    .expected = (float)nt_query_number(row, 9),
                    .confidence = (float)nt_query_number(row, 10)},
    };
    return visit->each(visit->context, &f, err);
}

int nt_store_visit_findings(struct nt_store *store, int64_t since_s, nt_store_each_finding *each,
                            void *context, struct nt_err *err)
{
    return nt_database_each(
        store->db,
        "SELECT j.job, j.user, j.time, f.host, f.tier, f.kind, f.way, f.alone, f.found, f.expected,"
        " f.confidence FROM job j JOIN finding f ON f.job=j.id WHERE j.time>=?1"
        " ORDER BY j.time, j.id",
        NT_VALUES(NT_WHOLE(since_s)), take_finding, &(struct finding_visit){each, context}, err);
}

/* ---- LogGP ---- */

struct loggp_visit {
    nt_store_each_loggp *each;
    void *context;
};

static int take_loggp(void *context, struct nt_query *row, struct nt_err *err)
{
    struct loggp_visit *visit = context;
    const char *text = nt_query_text(row, 3);
    struct nt_text_line line = {.at = text, .end = text + strlen(text)};
    struct nt_loggp g;
    if (nt_loggp_take(&line, &g, err) != 0)
        return damaged("no LogGP", err);
    return visit->each(visit->context, (uint64_t)nt_query_whole(row, 0), user_of(row, 1),
                       time_of(row, 2), &g, err);
}

int nt_store_visit_loggp(struct nt_store *store, int64_t since_s, size_t jobs,
                         nt_store_each_loggp *each, void *context, struct nt_err *err)
{
    return nt_database_each(
        store->db,
        "SELECT j.id, j.user, j.time, g.line FROM job j JOIN loggp g ON g.job=j.id WHERE j.id IN"
        " (SELECT id FROM job WHERE time>=?1 AND id IN (SELECT job FROM loggp)"
        " ORDER BY time DESC, id DESC LIMIT ?2) ORDER BY j.time DESC, j.id DESC, g.id",
        NT_VALUES(NT_WHOLE(since_s), NT_WHOLE(jobs)), take_loggp,
        &(struct loggp_visit){each, context}, err);
}

/* ---- names of switches ---- */

static int take_member(void *naming, struct nt_query *row, struct nt_err *err)
{
    int64_t host = nt_query_whole(row, 0), tier = nt_query_whole(row, 1);
    int64_t number = nt_query_whole(row, 2);
    if (host < 0 || host >= NT_HOSTS_MAX || tier < 1 || tier > TIERS_MAX || number < 1 ||
        number > NUMBERS_MAX)
        return damaged("no switch", err);
    return nt_switch_naming_add(
        naming, (struct nt_switch_member){(uint32_t)host, (uint32_t)tier, (uint32_t)number}, err);
}

/* Reads the largest number, stored as a text. */
static int take_last(void *context, struct nt_query *row, struct nt_err *err)
{
    struct nt_switch_naming *naming = context;
    unsigned long given = strtoul(nt_query_text(row, 0), NULL, 10);
    if (given > NUMBERS_MAX)
        return damaged("no number of switches", err);
    naming->last = given > naming->last ? (uint32_t)given : naming->last;
    return 0;
}

int nt_store_naming(struct nt_store *store, struct nt_switch_naming *out, struct nt_err *err)
{
    int rc = nt_database_each(store->db, "SELECT host, tier, number FROM switch_member",
                              NT_NO_VALUES, take_member, out, err);
    return rc != 0
               ? rc
               : nt_database_each(store->db, "SELECT value FROM meta WHERE key='switch_numbers'",
                                  NT_NO_VALUES, take_last, out, err);
}

static int put_members(struct nt_store *store, const struct nt_switch_naming *naming,
                       struct nt_err *err)
{
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < naming->members; k++)
        rc = nt_database_put(store->db, "INSERT OR REPLACE INTO switch_member VALUES(?1, ?2, ?3)",
                             NT_VALUES(NT_WHOLE(naming->member[k].host),
                                       NT_WHOLE(naming->member[k].tier),
                                       NT_WHOLE(naming->member[k].number)),
                             err);
    return rc != 0 ? rc
                   : nt_database_put(store->db,
                                     "INSERT OR REPLACE INTO meta VALUES('switch_numbers', ?1)",
                                     NT_VALUES(NT_WHOLE(naming->last)), err);
}

int nt_store_set_naming(struct nt_store *store, const struct nt_switch_naming *naming,
                        struct nt_err *err)
{
    if (begin(store, err) != 0)
        return -1;
    if (nt_database_run(store->db, "DELETE FROM switch_member", err) != 0 ||
        put_members(store, naming, err) != 0)
        return take_back(store);
    return nt_store_commit(store, err);
}

/* ---- folding ---- */

enum { PIECE = 65536 }; /* pairs in a row */

/* Reads the day's jobs and the entries folded before; a job may have arrived late. */
static int load_day(struct nt_store *store, int64_t day, struct nt_evidence *out,
                    struct nt_err *err)
{
    struct filling f = {.evidence = out, .max_entries = SIZE_MAX};
    if (nt_evidence_init(out, store->hosts.count, err) != 0)
        return -1;
    if (nt_database_each(store->db,
                         "SELECT id, 0, user, readings FROM job WHERE readings IS NOT NULL AND"
                         " time>=?1 AND time<?2",
                         NT_VALUES(NT_WHOLE(day * NT_DAY_S), NT_WHOLE((day + 1) * NT_DAY_S)),
                         fill_job, &f, err) == 0 &&
        nt_database_each(store->db, "SELECT -rowid, 0, user, pairs FROM reading_user WHERE day=?1",
                         NT_VALUES(NT_WHOLE(day)), fill_job, &f, err) == 0 &&
        nt_evidence_align(out, err) == 0)
        return 0;
    nt_evidence_fini(out);
    return -1;
}

/* Combines the entries of one pair, without the offsets of their jobs. */
static struct nt_evidence_entry fold_pair(const struct nt_evidence_entry *entry, size_t n)
{
    struct nt_evidence_entry sum = {.a = entry->a, .b = entry->b, .lowest_us = INFINITY};
    double mean = 0, square = 0;
    for (size_t k = 0; k < n; k++) {
        double scale = exp((double)entry[k].ln) / entry[k].lowest_us;
        scale = isfinite(scale) && scale > 0 ? scale : 1;
        double x = entry[k].mean_us * scale, sd = entry[k].sd_us * scale, count = entry[k].count;
        double all = sum.count + count, delta = x - mean;
        square += sd * sd * (count - 1) + delta * delta * sum.count * count / all;
        mean += delta * count / all;
        sum.lowest_us = fminf(sum.lowest_us, (float)(entry[k].lowest_us * scale));
        sum.count += entry[k].count;
    }
    sum.mean_us = fmaxf((float)mean, sum.lowest_us);
    sum.sd_us = sum.count > 1 ? (float)sqrt(square / (sum.count - 1)) : 0;
    return sum;
}

static int compare_users(const void *x, const void *y, void *jobs)
{
    const struct nt_evidence_job *job = jobs;
    const struct nt_evidence_entry *p = x, *q = y;
    return NT_ORDER(job[p->job].user, job[q->job].user,
                    NT_ORDER(p->a, q->a, NT_ORDER(p->b, q->b, 0)));
}

struct day_user {
    int64_t day, user; /* user -1: not known */
};

static int put_piece(struct nt_store *store, const struct day_user *to, int64_t part,
                     const struct nt_evidence_entry *pair, size_t n, struct nt_err *err)
{
    struct nt_strbuf buf = {0};
    nt_packed_put_pairs(&buf, pair, n);
    int rc = buf.failed
                 ? nt_err_memory(err)
                 : nt_database_put(store->db, "INSERT INTO reading_user VALUES(?1, ?2, ?3, ?4)",
                                   NT_VALUES(NT_WHOLE(to->day), NT_WHOLE(to->user), NT_WHOLE(part),
                                             NT_BLOB(buf.text, buf.used)),
                                   err);
    free(buf.text);
    return rc;
}

/* Stores the pairs of one user, folded in place. */
static int put_user(struct nt_store *store, const struct day_user *to,
                    struct nt_evidence_entry *entry, size_t n, struct nt_err *err)
{
    size_t kept = 0;
    int rc = 0;
    for (size_t from = 0, end; from < n; from = end) {
        for (end = from; end < n && entry[end].a == entry[from].a && entry[end].b == entry[from].b;)
            end++;
        entry[kept++] = fold_pair(&entry[from], end - from);
    }
    for (size_t from = 0; rc == 0 && from < kept; from += PIECE) {
        size_t left = kept - from;
        rc = put_piece(store, to, (int64_t)(from / PIECE), &entry[from],
                       left < PIECE ? left : PIECE, err);
    }
    return rc;
}

static int put_day(struct nt_store *store, int64_t day, struct nt_evidence *e, struct nt_err *err)
{
    int rc = nt_database_put(store->db, "DELETE FROM reading_user WHERE day=?1",
                             NT_VALUES(NT_WHOLE(day)), err);
    if (e->entries > 0)
        qsort_r(e->entry, e->entries, sizeof *e->entry, compare_users, e->job);
    for (size_t from = 0, end; rc == 0 && from < e->entries; from = end) {
        uint32_t user = e->job[e->entry[from].job].user;
        for (end = from; end < e->entries && e->job[e->entry[end].job].user == user;)
            end++;
        struct day_user to = {day, user == NT_NO_USER ? -1 : (int64_t)user};
        rc = put_user(store, &to, &e->entry[from], end - from, err);
    }
    return rc;
}

static int fold_day(struct nt_store *store, int64_t day, struct nt_err *err)
{
    struct nt_evidence evidence;
    if (load_day(store, day, &evidence, err) != 0)
        return -1;
    int rc = put_day(store, day, &evidence, err);
    nt_evidence_fini(&evidence);
    if (rc != 0)
        return -1;
    return nt_database_put(
        store->db,
        "UPDATE job SET readings=NULL WHERE readings IS NOT NULL AND time>=?1 AND time<?2",
        NT_VALUES(NT_WHOLE(day * NT_DAY_S), NT_WHOLE((day + 1) * NT_DAY_S)), err);
}

/* Finds the day of the first readings that are not folded; -1: none. */
static int first_unfolded(struct nt_store *store, int64_t before_s, int64_t *day,
                          struct nt_err *err)
{
    int64_t none = -NT_DAY_S, time_s;
    int rc = nt_database_whole(store->db,
                               "SELECT min(time) FROM job WHERE readings IS NOT NULL AND time<?1",
                               NT_VALUES(NT_WHOLE(before_s)), none, &time_s, err);
    *day = time_s / NT_DAY_S;
    return rc;
}

static int drop_before(struct nt_store *store, int64_t time_s, struct nt_err *err)
{
    static const char *const sql[] = {
        "DELETE FROM finding WHERE job IN (SELECT id FROM job WHERE time<?1)",
        "DELETE FROM loggp WHERE job IN (SELECT id FROM job WHERE time<?1)",
        "DELETE FROM job WHERE time<?1", "DELETE FROM reading_user WHERE day<?1/86400"};
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < sizeof sql / sizeof *sql; k++)
        rc = nt_database_put(store->db, sql[k], NT_VALUES(NT_WHOLE(time_s)), err);
    return rc;
}

int nt_store_fold(struct nt_store *store, int64_t before_s, int64_t drop_before_s,
                  struct nt_err *err)
{
    int64_t day = 0, end_s = before_s - before_s % NT_DAY_S; /* whole days */
    if (nt_store_commit(store, err) != 0)
        return -1;
    while (day >= 0) {
        if (begin(store, err) != 0)
            return -1;
        if (first_unfolded(store, end_s, &day, err) != 0 ||
            (day >= 0 && fold_day(store, day, err) != 0))
            return take_back(store);
        if (nt_store_commit(store, err) != 0)
            return -1;
    }
    if (begin(store, err) != 0)
        return -1;
    if (drop_before(store, drop_before_s, err) != 0)
        return take_back(store);
    return nt_store_commit(store, err);
}
