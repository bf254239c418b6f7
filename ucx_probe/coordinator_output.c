/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive_pack.h"
#include "artifacts.h"
#include "map_json.h"
#include "probe_log.h"
#include "solve.h"
#include "sweep_figures.h"

/* ---- to the agent ---- */

/* The archive goes without this job rather than the job without its map. */
static int send_archive(struct nt_oob *oob, const struct nt_artifacts *artifacts,
                        const char *record, size_t record_bytes, struct nt_err *err)
{
    char *packed;
    size_t bytes;
    struct nt_err why;
    if (artifacts->text[NT_ARTIFACT_MAP] == NULL)
        return 0;
    if (nt_archive_pack(artifacts->text[NT_ARTIFACT_MAP], artifacts->bytes[NT_ARTIFACT_MAP], record,
                        record_bytes, &packed, &bytes, &why) != 0) {
        nt_probe_log(NT_LOG_ERROR, "nothing for the archive: %s", why.text);
        return 0;
    }
    int rc = oob->ops->artifact(oob, NT_ARTIFACT_ARCHIVE, packed, bytes, err);
    free(packed);
    return rc;
}

/* By now the job has its map, and hint.env says how good it is: without memory for the record, or
 * for figures in the agent's line, it goes without them. */
static int send_record(struct nt_oob *oob, const struct nt_artifacts *artifacts,
                       const struct nt_samples *samples, bool archive, struct nt_err *err)
{
    char *record = NULL;
    size_t bytes = 0;
    struct nt_err why;
    if (nt_samples_write(samples, &record, &bytes, &why) != 0) {
        nt_probe_log(NT_LOG_ERROR, "the record is left out: %s", why.text);
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
    nt_sweep_figures_put(&text, map);
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
    int rc = nt_solve_sweep(done->samples, &done->known, &map, err);
    nt_probe_log(NT_LOG_DEBUG, "the map is %s", rc == 0 ? "made" : "not made");
    if (rc == 0)
        rc = publish_artifacts(oob, job, done, map, err);
    nt_map_destroy(map);
    if (rc != 0)
        oob->ops->done(oob, NT_STATUS_FAILED, err->text, NULL);
    return rc;
}

/* ---- by hand ---- */
static int write_all(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = write(fd, text, bytes);
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            text += n;
            bytes -= (size_t)n;
        }
    }
    return 0;
}

static int write_error(struct nt_err *err, const char *path)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "%s: %s", path, strerror(errno));
}

/* Beside the file first: a reader never sees half of it. */
static int write_file(const char *path, const char *text, size_t bytes, struct nt_err *err)
{
    char beside[4096];
    int n = snprintf(beside, sizeof beside, "%s.XXXXXX", path);
    if (n < 0 || (size_t)n >= sizeof beside)
        return nt_err_set(err, NT_ERR_USAGE, "%.64s...: the file name is too long", path);
    int fd = mkostemp(beside, O_CLOEXEC);
    if (fd < 0)
        return write_error(err, path);
    mode_t mask = umask(0);
    umask(mask);
    bool good = fchmod(fd, 0666 & ~mask) == 0 && write_all(fd, text, bytes) == 0;
    good = close(fd) == 0 && good && rename(beside, path) == 0;
    if (good)
        return 0;
    write_error(err, path);
    unlink(beside);
    return -1;
}

static int write_map(const struct nt_map *map, const char *path, int fd, struct nt_err *err)
{
    char *text = NULL;
    size_t bytes = 0;
    if (nt_map_write(map, false, &text, &bytes, err) != 0)
        return -1;
    int rc = 0;
    if (strcmp(path, "-") != 0)
        rc = write_file(path, text, bytes, err);
    else if (write_all(fd, text, bytes) != 0)
        rc = write_error(err, "standard output");
    free(text);
    return rc;
}

static int write_samples(const struct nt_samples *samples, const char *path, struct nt_err *err)
{
    char *text = NULL;
    size_t bytes = 0;
    if (nt_samples_write(samples, &text, &bytes, err) != 0)
        return -1;
    int rc = write_file(path, text, bytes, err);
    free(text);
    return rc;
}

int nt_output_to_files(const struct nt_coordinator_result *done, const char *map_path,
                       const char *samples_path, int fd, struct nt_err *err)
{
    struct nt_map *map = NULL;
    if (samples_path != NULL && write_samples(done->samples, samples_path, err) != 0)
        return -1;
    int rc = nt_solve_sweep(done->samples, &done->known, &map, err);
    if (rc == 0)
        rc = write_map(map, map_path, fd, err);
    nt_map_destroy(map);
    return rc;
}
