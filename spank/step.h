/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether the job's placement hint applies to a step. SLURM_HOSTFILE is set for the whole
 * job, but a step with other tasks, other hosts or its own placement options would fail or run on
 * other hosts. Does not use Slurm's library.
 * Tests: test_step.c. */
#ifndef NT_SPANK_STEP_H
#define NT_SPANK_STEP_H

#include <stdbool.h>
#include <stddef.h>

/* The size of the placement hint. */
struct nt_step_hint {
    size_t tasks, hosts; /* number of lines in the host file; number of different hosts */
};

/* Values that apply if the command line has no such option; NULL: not set. */
struct nt_step_defaults {
    const char *tasks, *nodes; /* SLURM_NTASKS, SLURM_NNODES */
    bool rejects_nodes;        /* Slurm 23.11 and later reject -N with a host file */
};

/* words: srun's command line, starting with the program's name. Returns true if the step has the
 * same number of tasks and hosts as the hint, and no option that affects the placement; an unknown
 * option counts as one that does. Also returns true if the step has --distribution=arbitrary, which
 * requires a host file. */
bool nt_step_is_placed(const char *const *words, size_t count, const struct nt_step_hint *hint,
                       const struct nt_step_defaults *defaults);

/* Counts the lines and the different hosts in the text of a host file with one host per line. All
 * zeros without memory. */
struct nt_step_hint nt_step_count_hosts(const char *text, size_t bytes);

#endif
