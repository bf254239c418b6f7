/* SPDX-License-Identifier: Apache-2.0 */
/* The texts that a job gets: the map, and what launchers and shells read of it.
 *
 * hint.env holds NAME=VALUE lines, one value a line without quotes; values that are file names
 * are bare (the reader puts the job's directory before them). The placement files place the tasks
 * that the job asked for, as far as the agent knew; for others there is `nettopo hint`.
 * Pure: makes texts, writes nothing. */
#ifndef NT_ARTIFACTS_H
#define NT_ARTIFACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "frame.h"
#include "map.h"

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

#endif
