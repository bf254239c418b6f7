/* SPDX-License-Identifier: Apache-2.0 */
#include "pattern_file.h"

#include <stdlib.h>

#include "file_within.h"
#include "option.h"
#include "traffic.h"

/* Each pair once, ascending: the form of the record. */
static int record_traffic(const struct nt_traffic *t, struct nt_samples *samples,
                          struct nt_err *why)
{
    if (t->start[t->tasks] / 2 > NT_SAMPLES_TRAFFIC_MAX)
        return nt_err_set(why, NT_ERR_INPUT, "%zu pairs of ranks talk, at most %d in a job's hint",
                          t->start[t->tasks] / 2, (int)NT_SAMPLES_TRAFFIC_MAX);
    for (size_t a = 0; a < t->tasks; a++)
        for (size_t k = t->start[a]; k < t->start[a + 1]; k++)
            if (t->partner[k] > a && nt_samples_add_traffic(samples, (uint32_t)a, t->partner[k],
                                                            (double)t->bytes[k], why) != 0)
                return -1;
    return 0;
}

static int record_file(const char *path, int fd, double wait_s, struct nt_samples *samples,
                       struct nt_err *why)
{
    const struct nt_file_within file = {
        .path = path, .fd = fd, .bytes_max = NT_PATTERN_FILE_MAX, .wait_s = wait_s};
    char *text = NULL;
    size_t bytes = 0;
    struct nt_triples t;
    struct nt_traffic *traffic;
    if (nt_file_within_read(&file, &text, &bytes, why) != 0)
        return -1;
    int rc = nt_triples_read(nt_file_within_name(path), text, bytes, &t, why);
    free(text);
    if (rc != 0)
        return -1;
    rc = t.n == 0
             ? nt_err_set(why, NT_ERR_INPUT, "%s: no two ranks talk", nt_file_within_name(path))
             : nt_traffic_from_triples(t.ntasks, (const uint32_t(*)[2])t.pair, t.bytes, t.n,
                                       &traffic, why);
    nt_triples_fini(&t);
    if (rc != 0)
        return -1;
    rc = record_traffic(traffic, samples, why);
    nt_traffic_destroy(traffic);
    return rc;
}

int nt_pattern_file_record(const char *pattern, int fd, double wait_s, struct nt_samples *samples,
                           struct nt_err *err)
{
    struct nt_err why;
    const char *path = nt_pattern_matrix(pattern);
    if (path == NULL || record_file(path, fd, wait_s, samples, &why) == 0)
        return 0;
    nt_samples_clear_traffic(samples);
    if (nt_samples_set_word(&samples->pattern, "neighbour", err) != 0)
        return -1;
    return nt_samples_warn(samples, err, "pattern matrix: %s; the hint is for neighbour", why.text);
}
