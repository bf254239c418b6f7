/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator_output.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "faults_text.h"
#include "file_write.h"
#include "launch.h"
#include "log_line.h"
#include "map_json.h"
#include "memory.h"
#include "probe_log.h"
#include "rails.h"
#include "solve.h"
#include "strbuf.h"

/* ---- for the archive: deflated as in a gzip file (RFC 1951, 1952) whose head the agent writes
 * ---- */

enum { RAW_WINDOW = -15, LEVEL = 1, MEMORY = 8, TAIL_BYTES = 8, TEXT_MAX = 1 << 30 };

static int deflate_text(z_stream *z, const char *text, size_t bytes, int flush)
{
    z->next_in = (unsigned char *)text;
    z->avail_in = (unsigned)bytes;
    int rc = deflate(z, flush);
    return rc == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) && z->avail_in == 0 ? 0 : -1;
}

static void put_little(unsigned char *at, unsigned long value)
{
    for (int k = 0; k < 4; k++)
        at[k] = (unsigned char)(value >> 8 * k & 0xff);
}

int nt_archive_pack(const struct nt_archive_texts *t, char **out, size_t *bytes, struct nt_err *err)
{
    z_stream z = {0};
    if (t->map_bytes > TEXT_MAX || t->record_bytes > TEXT_MAX)
        return nt_err_set(err, NT_ERR_SYSTEM, "the map or the samples are larger than %d bytes",
                          TEXT_MAX);
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, RAW_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return nt_err_memory(err);
    size_t room = deflateBound(&z, t->map_bytes + t->record_bytes);
    char *packed = malloc(room + TAIL_BYTES);
    z.next_out = (unsigned char *)packed;
    z.avail_out = packed != NULL ? (unsigned)room : 0;
    if (packed == NULL ||
        (t->map_bytes > 0 && deflate_text(&z, t->map, t->map_bytes, Z_NO_FLUSH) != 0) ||
        deflate_text(&z, t->record, t->record_bytes, Z_FINISH) != 0) {
        deflateEnd(&z);
        free(packed);
        return nt_err_memory(err);
    }
    size_t used = room - z.avail_out;
    unsigned long crc = crc32(0, (const unsigned char *)t->map, (unsigned)t->map_bytes);
    if (t->map_bytes == 0)
        crc = crc32(0, NULL, 0);
    if (t->record_bytes > 0)
        crc = crc32(crc, (const unsigned char *)t->record, (unsigned)t->record_bytes);
    put_little((unsigned char *)packed + used, crc);
    put_little((unsigned char *)packed + used + 4, (unsigned long)(t->map_bytes + t->record_bytes));
    deflateEnd(&z);
    *out = packed;
    *bytes = used + TAIL_BYTES;
    return 0;
}

/* ---- the texts of a job ---- */
enum {
    VALUE_MAX = 122880, /* Linux limits a variable to 128 KiB */
    FINDINGS_MAX = 4096 /* the limit in spank/environ.c */
};

/* Sets the number of cores per rank: the cores of a task's CPUs, which are hardware threads if a
 * core has several. Fewer if a host does not have that many cores for each of its ranks, because
 * mpirun rejects a core that does not exist. */
static int count_cores(const struct nt_map *map, uint32_t task_cpus, uint32_t *cores,
                       struct nt_err *err)
{
    const struct nt_placement *p = map->placement;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *ranks = nt_arena_array(&memory, map->model->hosts + 1, sizeof *ranks);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t r = 0; r < p->ntasks; r++)
        ranks[p->rank_host[r]]++;
    *cores = task_cpus > 0 ? task_cpus : 1;
    for (uint32_t h = 0; map->machine_of != NULL && h < map->model->hosts; h++) {
        if (ranks[h] == 0 || map->machine_of[h] == NT_MAP_NO_MACHINE)
            continue;
        const struct nt_machine *m = &map->machine[map->machine_of[h]];
        uint32_t each = m->cores > 0 && m->threads > m->cores ? m->threads / m->cores : 1;
        uint32_t wanted = (task_cpus + each - 1) / each, room = m->cores / ranks[h];
        wanted = m->cores > 0 && room < wanted ? room : wanted;
        *cores = wanted >= *cores ? *cores : wanted > 0 ? wanted : 1;
    }
    return 0;
}

/* ---- hosts in hint order ---- */
static int write_placement(const struct nt_map *map, uint32_t task_cpus,
                           struct nt_artifacts *artifacts, struct nt_err *err)
{
    const struct nt_placement *p = map->placement;
    if (p == NULL || p->ntasks == 0)
        return 0; /* the plugin writes Slurm's order for the job */
    struct nt_launch_placement seating = {.ntasks = p->ntasks,
                                          .hosts = map->model->hosts,
                                          .rank_host = p->rank_host,
                                          .host_name = (const char *const *)map->host_name,
                                          .cores = 1};
    if (count_cores(map, task_cpus, &seating.cores, err) != 0)
        return -1;
    static const struct {
        enum nt_artifact artifact;
        int (*write)(const struct nt_launch_placement *, char **, size_t *, struct nt_err *);
    } files[] = {{NT_ARTIFACT_HOSTFILE, nt_launch_hostfile},
                 {NT_ARTIFACT_RANKFILE, nt_launch_rankfile},
                 {NT_ARTIFACT_RANK_ORDER, nt_launch_mpich}};
    int rc = 0;
    for (size_t k = 0; rc == 0 && k < sizeof files / sizeof *files; k++)
        rc = files[k].write(&seating, &artifacts->text[files[k].artifact],
                            &artifacts->bytes[files[k].artifact], err);
    return rc;
}

/* ---- hint.env ---- */
/* Appends a value as one line, whatever it contains. */
static void put_line_value(struct nt_strbuf *page, const char *name, const char *value)
{
    size_t at = page->used;
    nt_strbuf_puts(page, name);
    nt_strbuf_puts(page, "=");
    nt_strbuf_puts(page, value);
    if (!page->failed)
        nt_text_clean(page->text + at);
    nt_strbuf_puts(page, "\n");
}

static void put_hosts(struct nt_strbuf *page, const char *name, const struct nt_map *map,
                      const uint32_t *host, size_t hosts)
{
    struct nt_strbuf value = {0};
    for (size_t k = 0; k < hosts; k++)
        nt_strbuf_print(&value, "%s%s", k > 0 ? "," : "", map->host_name[host[k]]);
    if (value.failed)
        page->failed = true;
    else if (value.used > 0 && value.used <= VALUE_MAX)
        put_line_value(page, name, value.text);
    free(value.text);
}

/* Appends the findings: empty without findings, nothing if the map was not judged. */
static void put_findings(struct nt_strbuf *page, const struct nt_map *map)
{
    struct nt_strbuf value = {0};
    if (!map->judged)
        return;
    nt_faults_put_line(&value, map, FINDINGS_MAX);
    if (value.failed)
        page->failed = true;
    else
        put_line_value(page, "NETTOPO_FINDINGS", value.text == NULL ? "" : value.text);
    free(value.text);
}

static int put_inline_map(struct nt_strbuf *page, const struct nt_map *map, size_t limit,
                          struct nt_err *err)
{
    char *text = NULL;
    size_t bytes = 0;
    if (nt_map_write(map, true, &text, &bytes, err) != 0)
        return -1;
    if (bytes < limit && bytes <= VALUE_MAX)
        put_line_value(page, "NETTOPO_JSON", text);
    free(text);
    return 0;
}

static int write_env(const struct nt_map *map, const struct nt_artifacts_options *options,
                     struct nt_artifacts *artifacts, struct nt_err *err)
{
    static const struct {
        const char *name;
        enum nt_artifact artifact;
    } files[] = {{"NETTOPO_MAP", NT_ARTIFACT_MAP},
                 {"NETTOPO_HOSTFILE", NT_ARTIFACT_HOSTFILE},
                 {"NETTOPO_RANKFILE", NT_ARTIFACT_RANKFILE},
                 {"NETTOPO_RANK_ORDER", NT_ARTIFACT_RANK_ORDER}};
    struct nt_strbuf page = {0};
    char devices[NT_RAILS_DEVICES_BYTES];
    int rc = 0;
    put_line_value(&page, "NETTOPO_STATUS", nt_status_name(options->status));
    if (options->status != NT_STATUS_OK)
        put_line_value(&page, "NETTOPO_REASON", options->reason);
    if (options->debug)
        put_line_value(&page, "NETTOPO_LOG", NT_LOG_FILE);
    if (map != NULL) {
        const struct nt_placement *p = map->placement;
        for (size_t k = 0; k < sizeof files / sizeof *files; k++)
            if (artifacts->text[files[k].artifact] != NULL)
                put_line_value(&page, files[k].name, nt_artifact_name((uint32_t)files[k].artifact));
        put_findings(&page, map);
        if (p != NULL) {
            put_hosts(&page, "NETTOPO_NODE_ORDER", map, p->order, p->hosts);
            put_hosts(&page, "NETTOPO_SPARES", map, p->spare, p->spares);
            nt_strbuf_print(&page, "NETTOPO_GAIN=%.3g\n", p->gain);
        }
        nt_rails_devices(map, devices);
        if (devices[0] != '\0')
            put_line_value(&page, "NETTOPO_NET_DEVICES", devices);
        if (options->apply && artifacts->text[NT_ARTIFACT_HOSTFILE] != NULL)
            nt_strbuf_print(&page, "SLURM_HOSTFILE=%s\nSLURM_DISTRIBUTION=arbitrary\n",
                            nt_artifact_name(NT_ARTIFACT_HOSTFILE));
        rc = put_inline_map(&page, map, options->inline_limit_bytes, err);
    }
    if (rc != 0) {
        free(page.text);
        return -1;
    }
    return nt_strbuf_finish(&page, &artifacts->text[NT_ARTIFACT_ENV],
                            &artifacts->bytes[NT_ARTIFACT_ENV], err);
}

int nt_artifacts_create(const struct nt_map *map, const struct nt_artifacts_options *options,
                        struct nt_artifacts *out, struct nt_err *err)
{
    struct nt_artifacts artifacts = {0};
    int rc = 0;
    bool with_map = map != NULL && map->model->hosts > 0;
    if (with_map) {
        rc = nt_map_write(map, false, &artifacts.text[NT_ARTIFACT_MAP],
                          &artifacts.bytes[NT_ARTIFACT_MAP], err);
        if (rc == 0)
            rc = write_placement(map, options->task_cpus, &artifacts, err);
    }
    if (rc == 0)
        rc = write_env(with_map ? map : NULL, options, &artifacts, err);
    if (rc != 0) {
        nt_artifacts_fini(&artifacts);
        return -1;
    }
    *out = artifacts;
    return 0;
}

void nt_artifacts_fini(struct nt_artifacts *artifacts)
{
    for (size_t k = 0; k < NT_ARTIFACT_END; k++)
        free(artifacts->text[k]);
    *artifacts = (struct nt_artifacts){0};
}

/* ---- figures for the log ---- */

enum { HOST_LIST_BYTES = 100 }; /* maximum length of a list of host names */

/* A list of hosts with a limited length: whole names, then the number of omitted ones. */
struct hosts {
    struct nt_strbuf *to;
    const char *key;
    size_t bytes, names, left_out;
};

static void add_host(struct hosts *list, const char *name)
{
    size_t bytes = strlen(name) + 1;
    if (list->left_out > 0 || list->bytes + bytes > HOST_LIST_BYTES) {
        list->left_out++;
        return;
    }
    if (list->names++ == 0)
        nt_strbuf_print(list->to, " %s=", list->key);
    else
        nt_strbuf_puts(list->to, ",");
    nt_strbuf_puts(list->to, name);
    list->bytes += bytes;
}

static void end_hosts(const struct hosts *list)
{
    if (list->left_out == 0)
        return;
    if (list->names == 0)
        nt_strbuf_print(list->to, " %s=", list->key);
    nt_strbuf_print(list->to, "%s+%zu", list->names > 0 ? "," : "", list->left_out);
}

static bool is_suspect(const struct nt_map *map, uint32_t host)
{
    for (size_t k = 0; k < map->faults; k++)
        if (map->fault[k].part.a == host || map->fault[k].part.b == host)
            return true;
    return false;
}

/* Appends "rounds=39 findings=1 missing=n3 suspect=n5,n7,+4" without empty lists. suspect: the
 * first host of each finding, none for a link between switches. */
static void put_figures(struct nt_strbuf *to, const struct nt_map *map)
{
    const struct nt_model *m = map->model;
    struct hosts missing = {.to = to, .key = "missing"}, suspect = {.to = to, .key = "suspect"};
    nt_strbuf_print(to, "rounds=%zu findings=%zu", (size_t)map->sweep.rounds, map->faults);
    for (uint32_t h = 0; h < m->hosts; h++)
        if (m->missing != NULL && m->missing[h])
            add_host(&missing, map->host_name[h]);
    end_hosts(&missing);
    for (uint32_t h = 0; h < m->hosts && map->faults > 0; h++)
        if (is_suspect(map, h))
            add_host(&suspect, map->host_name[h]);
    end_hosts(&suspect);
}

/* ---- to the agent ---- */

/* Sends the text for the archive. Without memory the archive lacks this job, but the job still gets
 * its map. */
static int send_archive(struct nt_oob *oob, const struct nt_artifacts *artifacts,
                        const char *record, size_t record_bytes, struct nt_err *err)
{
    char *packed;
    size_t bytes;
    struct nt_err why;
    if (artifacts->text[NT_ARTIFACT_MAP] == NULL)
        return 0;
    const struct nt_archive_texts texts = {artifacts->text[NT_ARTIFACT_MAP], record,
                                           artifacts->bytes[NT_ARTIFACT_MAP], record_bytes};
    if (nt_archive_pack(&texts, &packed, &bytes, &why) != 0) {
        nt_probe_log(NT_LOG_ERROR, "the map is not archived: %s", why.text);
        return 0;
    }
    int rc = oob->ops->artifact(oob, NT_ARTIFACT_ARCHIVE, packed, bytes, err);
    free(packed);
    return rc;
}

/* Sends the samples. By now the job has its map and its status, so without memory the samples are
 * omitted. */
static int send_record(struct nt_oob *oob, const struct nt_artifacts *artifacts,
                       const struct nt_samples *samples, bool archive, struct nt_err *err)
{
    char *record = NULL;
    size_t bytes = 0;
    struct nt_err why;
    if (nt_samples_write(samples, &record, &bytes, &why) != 0) {
        nt_probe_log(NT_LOG_ERROR, "the samples are omitted: %s", why.text);
        return 0;
    }
    int rc = oob->ops->artifact(oob, NT_ARTIFACT_SAMPLES, record, bytes, err);
    if (rc == 0 && archive)
        rc = send_archive(oob, artifacts, record, bytes, err);
    free(record);
    return rc;
}

static int send_artifacts(struct nt_oob *oob, const struct nt_artifacts *artifacts,
                          const struct nt_samples *samples, bool archive, struct nt_err *err)
{
    for (uint32_t k = 1; k < NT_ARTIFACT_END; k++)
        if (artifacts->text[k] != NULL &&
            oob->ops->artifact(oob, (enum nt_artifact)k, artifacts->text[k], artifacts->bytes[k],
                               err) != 0)
            return -1;
    return send_record(oob, artifacts, samples, archive, err);
}

static int send_done(struct nt_oob *oob, const struct nt_coordinator_result *done,
                     const struct nt_map *map, struct nt_err *err)
{
    struct nt_strbuf text = {0};
    char *whole = NULL;
    nt_strbuf_puts(&text, done->reason);
    nt_strbuf_puts(&text, "\n");
    put_figures(&text, map);
    bool has_figures = nt_strbuf_finish(&text, &whole, NULL, NULL) == 0;
    int rc = oob->ops->done(oob, done->samples->status, has_figures ? whole : done->reason, err);
    free(whole);
    return rc;
}

static int publish_artifacts(struct nt_oob *oob, const struct nt_probe_job *job,
                             const struct nt_coordinator_result *done, const struct nt_map *map,
                             struct nt_err *err)
{
    struct nt_artifacts artifacts;
    struct nt_artifacts_options options = {.status = done->samples->status,
                                           .reason = done->reason,
                                           .apply = job->option.apply,
                                           .debug = job->option.debug,
                                           .inline_limit_bytes = job->inline_limit_bytes,
                                           .task_cpus = job->task_cpus};
    if (nt_artifacts_create(options.status == NT_STATUS_FAILED ? NULL : map, &options, &artifacts,
                            err) != 0)
        return -1;
    int rc = send_artifacts(oob, &artifacts, done->samples, job->archive, err);
    nt_artifacts_fini(&artifacts);
    return rc == 0 ? send_done(oob, done, map, err) : -1;
}

int nt_output_to_agent(struct nt_oob *oob, const struct nt_probe_job *job,
                       const struct nt_coordinator_result *done, struct nt_err *err)
{
    struct nt_map *map = NULL;
    int rc = nt_solve_samples(done->samples, NULL, &done->known, &map, err);
    nt_probe_log(NT_LOG_DEBUG, "the map is %s", rc == 0 ? "made" : "not made");
    if (rc == 0)
        rc = publish_artifacts(oob, job, done, map, err);
    nt_map_destroy(map);
    if (rc != 0)
        oob->ops->done(oob, NT_STATUS_FAILED, err->text, NULL);
    return rc;
}

/* ---- by hand ---- */

/* Writes the text, and frees it. Standard output is the user's meanwhile, also as /dev/stdout. */
static int write_text(char *text, size_t bytes, const char *path, int fd, struct nt_err *err)
{
    int rc = dup2(fd, STDOUT_FILENO) < 0
                 ? nt_err_set(err, NT_ERR_SYSTEM, "standard output: %s", strerror(errno))
                 : nt_file_write(path, text, bytes, err);
    dup2(STDERR_FILENO, STDOUT_FILENO); /* UCX logs to it until the process ends */
    free(text);
    return rc;
}

int nt_output_to_files(const struct nt_coordinator_result *done, const char *map_path,
                       const char *samples_path, int fd, struct nt_err *err)
{
    struct nt_map *map = NULL;
    char *text;
    size_t bytes;
    if (samples_path != NULL && (nt_samples_write(done->samples, &text, &bytes, err) != 0 ||
                                 write_text(text, bytes, samples_path, fd, err) != 0))
        return -1;
    if (map_path == NULL)
        return 0;
    int rc = nt_solve_samples(done->samples, NULL, &done->known, &map, err);
    if (rc == 0)
        rc = nt_map_write(map, false, &text, &bytes, err);
    if (rc == 0)
        rc = write_text(text, bytes, map_path, fd, err);
    nt_map_destroy(map);
    return rc;
}
