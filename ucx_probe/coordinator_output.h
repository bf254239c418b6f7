/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinator after the sweep: solves the record, and gives the artifacts to the agent or
 * writes them to files.
 * Tests: bats/ways.bats. */
#ifndef NT_COORDINATOR_OUTPUT_H
#define NT_COORDINATOR_OUTPUT_H

#include "coordinator.h"
#include "oob.h"

/* In the prolog: every artifact to the agents, then DONE, which is sent in any case: when something
 * fails, with "failed" and the reason. */
int nt_output_to_agent(struct nt_oob *oob, const struct nt_probe_job *job,
                       const struct nt_coordinator_result *done, struct nt_err *err);

/* By hand: the map to map_path ("-": to fd), the record to samples_path (NULL: none). Files are
 * written beside and renamed. */
int nt_output_to_files(const struct nt_coordinator_result *done, const char *map_path,
                       const char *samples_path, int fd, struct nt_err *err);

#endif
