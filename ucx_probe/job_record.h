/* SPDX-License-Identifier: Apache-2.0 */
/* The record's data that are not measured, on rank 0: the prior of the hosts, the traffic between
 * ranks, the slots of each host, the level that is measured, and whether the hosts' devices are in
 * one network.
 *
 * The files are the administrator's and the user's. They are read within a time and a size, only
 * when they are regular ones: the file system behind them may hang, and a sweep may not. Under the
 * agent a process of the file's user reads it (prolog/child.h), and this process has the end of a
 * pipe. Whatever is wrong with a file costs a warning in the record and never the sweep.
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

/* What earlier jobs said of the record's hosts. */
struct nt_prior_found {
    struct nt_belief *belief; /* NULL where nothing is known of most of them; owned */
    struct nt_prior_facts facts;
};

/* path NULL or "": nothing is found, as where the file is wrong. fd: of the pipe with it; 0: path
 * is opened. The record gets the belief, too. -1 only when the record cannot be kept. */
int nt_prior_file_record(const char *path, int fd, double wait_s, struct nt_samples *samples,
                         struct nt_prior_found *found, struct nt_err *err);

/* The plan in the file (text/plan_json.h) for the record's hosts, *out: nt_plan_destroy by the
 * caller. Pairs and hosts that the other does not have are a warning in the record. */
int nt_planned_file_record(const char *path, double wait_s, struct nt_samples *samples,
                           struct nt_plan **out, struct nt_err *err);

enum { NT_PATTERN_FILE_MAX = 4194304 }; /* bytes */

/* pattern matrix:PATH (fd: of the pipe with it; 0: PATH is opened): the record gets the traffic in
 * PATH, at most NT_SAMPLES_TRAFFIC_MAX pairs, or a warning that names the file and the line and
 * "neighbour" for its pattern. Others: nothing. -1 only when the record itself cannot be kept. */
int nt_pattern_file_record(const char *pattern, int fd, double wait_s, struct nt_samples *samples,
                           struct nt_err *err);

/* Spreads tasks over hosts as evenly as their CPUs allow; cpus (hosts of them, NULL: not known) at
 * task_cpus each bound a host, unless they cannot hold all tasks together. No tasks: one each. */
void nt_slots_spread(uint32_t tasks, uint32_t task_cpus, const uint32_t *cpus, uint32_t *slots,
                     size_t hosts);

/* The same for the job as the agent describes it, into the record. */
int nt_slots_record(const struct nt_probe_job *job, struct nt_samples *samples, struct nt_err *err);

struct nt_level_choice {
    enum nt_level level; /* that is measured */
    bool taken;          /* nothing is measured: the network is the belief */
};

/* samples has the record's beginning. */
int nt_level_choose(const struct nt_probe_job *job, const struct nt_membership *membership,
                    const struct nt_prior_found *found, struct nt_samples *samples,
                    struct nt_level_choice *out, struct nt_err *err);

enum { NT_NETWORKS_WARNING_BYTES = 400 };

/* Compares the hosts' lists of networks (device_network.h; NULL or "": not known). warning: a
 * sentence if they differ, else "". Hosts with one device of the same name can be in different
 * networks: packets between these are routed. */
void nt_networks_judge(const char *const *host, const char *const *list, size_t hosts,
                       char warning[NT_NETWORKS_WARNING_BYTES]);

#endif
