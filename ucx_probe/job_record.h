/* SPDX-License-Identifier: Apache-2.0 */
/* The data in the samples that are not measured, on rank 0: the hosts' prior, the traffic between
 * ranks, the slots of each host, the level, and whether the hosts' devices are in one network.
 *
 * The files belong to the administrator and the user. They are read within limits of time and size,
 * and only if they are regular files: the file system may block, but a sweep may not. Under the
 * agent a process of the file's user reads each file (prolog/child.h), and this process has the end
 * of a pipe. An invalid or unreadable file causes a warning in the samples and never ends the
 * sweep.
 * Tests: test_job_record.c, test_level_auto.c, test_solve.c. */
#ifndef NT_JOB_RECORD_H
#define NT_JOB_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "belief.h"
#include "err.h"
#include "membership.h"
#include "plan.h"
#include "prior.h"
#include "samples.h"
#include "start.h"

/* The prior of the job's hosts. */
struct nt_prior_found {
    struct nt_belief *belief; /* NULL if most of the hosts are not in the prior; owned */
    struct nt_prior_facts facts;
};

/* Reads the prior and adds the belief to the samples. path NULL or "": there is none; an invalid
 * file counts as none. fd: pipe with the file; 0: open path. -1 only if the samples cannot be
 * extended. */
int nt_prior_file_record(const char *path, int fd, double wait_s, struct nt_samples *samples,
                         struct nt_prior_found *found, struct nt_err *err);

/* Reads a plan (text/plan_json.h) for the job's hosts. The caller frees *out with nt_plan_destroy.
 * Pairs and hosts that are only in the plan, or only in the job, cause a warning in the samples. */
int nt_planned_file_record(const char *path, double wait_s, struct nt_samples *samples,
                           struct nt_plan **out, struct nt_err *err);

enum { NT_PATTERN_FILE_MAX = 4194304 }; /* bytes */

/* For the pattern matrix:PATH, reads the traffic matrix (fd: pipe with the file; 0: open PATH) and
 * adds at most NT_SAMPLES_TRAFFIC_MAX pairs to the samples. If the file is invalid, adds a warning
 * with its name and line, and sets the pattern to "neighbour". Does nothing for other patterns. -1
 * only if the samples cannot be extended. */
int nt_pattern_file_record(const char *pattern, int fd, double wait_s, struct nt_samples *samples,
                           struct nt_err *err);

/* Distributes tasks over hosts as evenly as their CPUs allow. A host gets at most cpus / task_cpus
 * tasks (cpus: one per host; NULL: not known), unless the hosts cannot hold all tasks together.
 * tasks 0: one per host. */
void nt_slots_spread(uint32_t tasks, uint32_t task_cpus, const uint32_t *cpus, uint32_t *slots,
                     size_t hosts);

/* Distributes the tasks of the job that the agent describes, and adds the slots to the samples. */
int nt_slots_record(const struct nt_probe_job *job, struct nt_samples *samples, struct nt_err *err);

struct nt_level_choice {
    enum nt_level level; /* the level to measure */
    bool taken;          /* nothing is measured; the prior becomes the map */
};

/* Decides on the level of the sweep. samples contains the job and its hosts. */
int nt_level_choose(const struct nt_probe_job *job, const struct nt_membership *membership,
                    const struct nt_prior_found *found, struct nt_samples *samples,
                    struct nt_level_choice *out, struct nt_err *err);

enum { NT_NETWORKS_WARNING_BYTES = 400 };

/* Compares the hosts' lists of networks (device_network.h; NULL or "": not known). warning: a
 * sentence if they differ, otherwise "". Hosts whose devices have the same name can be in different
 * networks; packets between them are routed. */
void nt_networks_compare(const char *const *host, const char *const *list, size_t hosts,
                         char warning[NT_NETWORKS_WARNING_BYTES]);

#endif
