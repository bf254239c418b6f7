/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinator after the sweep: solves the record, makes the texts that a job gets, and gives
 * them to the agent or writes them to files.
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

/* Texts for the archive. Either may be NULL with 0 bytes. */
struct nt_archive_texts {
    const char *map, *record;
    size_t map_bytes, record_bytes;
};

/* Deflated, without the head of a gzip file, which the agent writes. out: the caller's (free). */
int nt_archive_pack(const struct nt_archive_texts *texts, char **out, size_t *bytes,
                    struct nt_err *err);

struct nt_artifacts {
    char *text[NT_ARTIFACT_END]; /* NULL: there is none; terminated; owned */
    size_t bytes[NT_ARTIFACT_END];
};

struct nt_artifacts_options {
    enum nt_status status;
    const char *reason; /* one line when the status is not ok */
    bool apply;         /* srun follows the hint unasked */
    bool debug;         /* there is a log beside the map: the agent's to write */
    size_t inline_limit_bytes;
    uint32_t task_cpus; /* CPUs per task; 0: not known */
};

/* map NULL: only hint.env, with the status and the reason. */
int nt_artifacts_create(const struct nt_map *map, const struct nt_artifacts_options *options,
                        struct nt_artifacts *out, struct nt_err *err);
void nt_artifacts_fini(struct nt_artifacts *artifacts);

enum { NT_SWEEP_FIGURES_HOSTS = 100 }; /* characters of names in a list */

/* "rounds=39 findings=1 missing=n3 suspect=n5,n7,+4"; lists that are empty are left out. suspect:
 * the hosts that a finding names first, and of a link between switches none. */
void nt_sweep_figures_put(struct nt_strbuf *to, const struct nt_map *map);

/* In the prolog: every artifact to the agents, then DONE, which is sent in any case: when something
 * fails, with "failed" and the reason. */
int nt_output_to_agent(struct nt_oob *oob, const struct nt_probe_job *job,
                       const struct nt_coordinator_result *done, struct nt_err *err);

/* By hand: the map to map_path, the record to samples_path (NULL: none; "-": to fd). Files are
 * written beside and renamed. */
int nt_output_to_files(const struct nt_coordinator_result *done, const char *map_path,
                       const char *samples_path, int fd, struct nt_err *err);

#endif
