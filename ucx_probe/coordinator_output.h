/* SPDX-License-Identifier: Apache-2.0 */
/* Results after the sweep, on rank 0: solves the samples, creates the files that the job gets, and
 * sends them to the agent or writes them to paths.
 * Tests: test_artifacts.c, test_archive.c, bats/ways.bats, bats/tells.bats. */
#ifndef NT_COORDINATOR_OUTPUT_H
#define NT_COORDINATOR_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coordinator.h"
#include "err.h"
#include "frame.h"
#include "map.h"
#include "oob.h"
#include "strbuf.h"

/* Texts for the archive. Each may be NULL with 0 bytes. */
struct nt_archive_texts {
    const char *map, *record;
    size_t map_bytes, record_bytes;
};

/* Compresses the texts (deflate) without the gzip header, which the agent writes. The caller frees
 * *out. */
int nt_archive_pack(const struct nt_archive_texts *texts, char **out, size_t *bytes,
                    struct nt_err *err);

struct nt_artifacts {
    char *text[NT_ARTIFACT_END]; /* by enum nt_artifact; terminated; NULL: none; owned */
    size_t bytes[NT_ARTIFACT_END];
};

struct nt_artifacts_options {
    enum nt_status status;
    const char *reason; /* one line if the status is not ok */
    bool apply;         /* option apply: srun follows the hint by default */
    bool debug;         /* option debug: the agent writes a log beside the map */
    size_t inline_limit_bytes;
    uint32_t task_cpus; /* CPUs per task; 0: not known */
};

/* Creates the artifacts. map NULL: only hint.env, with the status and the reason. -1 without
 * memory. */
int nt_artifacts_create(const struct nt_map *map, const struct nt_artifacts_options *options,
                        struct nt_artifacts *out, struct nt_err *err);
void nt_artifacts_fini(struct nt_artifacts *artifacts);

/* In the prolog: sends every artifact to the agents, then DONE. DONE is always sent; after an error
 * it contains "failed" and the reason. */
int nt_output_to_agent(struct nt_oob *oob, const struct nt_probe_job *job,
                       const struct nt_coordinator_result *done, struct nt_err *err);

/* Without an agent: writes the map to map_path and the samples to samples_path (NULL: none; "-": to
 * descriptor fd) as nt_file_write does. */
int nt_output_to_files(const struct nt_coordinator_result *done, const char *map_path,
                       const char *samples_path, int fd, struct nt_err *err);

#endif
