/* SPDX-License-Identifier: Apache-2.0 */
/* Any map with a record after it, as a file of the archive has them: an error, or a job that is
 * within bounds. */
#include "fleet_job.h"
#include "fuzz.h"
#include "map_json.h"
#include "origin.h"
#include "samples.h"

static const int64_t NOW_S = INT64_C(1800000000);

static struct nt_samples *read_record(const char *text, size_t bytes)
{
    struct nt_samples_reader *r;
    struct nt_samples *s = NULL;
    struct nt_err err;
    if (nt_samples_reader_create("fuzz", &r, &err) != 0)
        return NULL;
    if (nt_samples_reader_feed(r, text, bytes, &err) != 0 ||
        nt_samples_reader_finish(r, &s, &err) != 0)
        s = NULL;
    nt_samples_reader_destroy(r);
    return s;
}

static void check_job(const struct nt_fleet_job *job)
{
    if (job->pairs > NT_FLEET_PAIRS_MAX || job->findings > NT_FLEET_FINDINGS_MAX ||
        job->time_s < 0 || job->time_s > NOW_S + 86400)
        abort();
    for (size_t k = 0; k < job->pairs; k++)
        if (job->pair[k].a >= job->pair[k].b || job->pair[k].b >= job->hosts ||
            job->pair[k].count == 0 || !(job->pair[k].lowest_us > 0))
            abort();
    for (size_t k = 0; k < job->figures; k++)
        if (job->figure[k].host >= job->hosts || job->figure[k].tier >= NT_FLEET_TIERS ||
            job->figure[k].kind >= NT_FIGURE_KINDS || !(job->figure[k].value > 0))
            abort();
    for (size_t k = 0; k < job->findings; k++)
        if (job->finding[k].host >= job->hosts || job->finding[k].tier >= NT_FLEET_TIERS)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    size_t map_bytes = nt_archive_text_split(text, size);
    struct nt_map *map;
    struct nt_fleet_job *job;
    struct nt_origin origin = NT_ORIGIN_NONE;
    struct nt_err err;
    if (nt_map_read("fuzz", text, map_bytes, &map, &err) != 0)
        return 0;
    struct nt_samples *samples =
        map_bytes < size ? read_record(text + map_bytes, size - map_bytes) : NULL;
    if ((map_bytes == size || samples != NULL) &&
        nt_fleet_job_create(map, samples, &origin, NOW_S, &job, &err) == 0) {
        check_job(job);
        nt_fleet_job_destroy(job);
    }
    nt_samples_destroy(samples);
    nt_map_destroy(map);
    return 0;
}
