/* The texts that a job gets: the map, and what launchers and shells read of it.
 *
 * hint.env holds NAME=VALUE lines, one value a line without quotes; values that are file names
 * are bare (the reader puts the job's directory before them). The placement files seat the tasks
 * that the job asked for, as far as the agent knew; for others there is `nettopo hint`.
 * Pure: makes texts, writes nothing. */
#ifndef NT_PAPERS_H
#define NT_PAPERS_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "frame.h"
#include "map.h"

struct nt_papers {
    char *text[NT_ARTIFACT_END]; /* NULL: there is none; terminated; owned */
    size_t bytes[NT_ARTIFACT_END];
};

struct nt_papers_plan {
    enum nt_status status;
    const char *reason; /* one line when the status is not ok */
    bool apply;         /* srun follows the hint unasked */
    bool debug;         /* there is a log beside the map: the agent's to write */
    size_t inline_limit_bytes;
};

/* map NULL: only hint.env, with the status and the reason. */
int nt_papers_create(const struct nt_map *map, const struct nt_papers_plan *plan,
                     struct nt_papers *out, struct nt_err *err);
void nt_papers_fini(struct nt_papers *papers);

#endif
