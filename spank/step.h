/* SPDX-License-Identifier: Apache-2.0 */
/* Whether srun's hint can place a step: with SLURM_HOSTFILE set for the whole job, a step with
 * other tasks, other hosts or a placement of its own would fail or run elsewhere. Tests:
 * test_step.c. */
#ifndef NT_SPANK_STEP_H
#define NT_SPANK_STEP_H

#include <stdbool.h>
#include <stddef.h>

/* What the hint is for. */
struct nt_step_hint {
    size_t tasks, hosts; /* lines of the host file, and different ones */
};

/* What the environment says where the command does not; NULL: nothing. */
struct nt_step_defaults {
    const char *tasks, *nodes; /* SLURM_NTASKS, SLURM_NNODES */
    bool refuses_nodes;        /* from Slurm 23.11 on a host file excludes -N */
};

/* words: srun's command line, its name first. True when the step has as many tasks and hosts as the
 * hint and no option that says where tasks go; an option that is not known is taken for one. Also
 * when it asks for --distribution=arbitrary itself, which wants a host file. */
bool nt_step_is_placed(const char *const *words, size_t count, const struct nt_step_hint *hint,
                       const struct nt_step_defaults *defaults);

/* From the text of a host file, a host a line; nothing without memory. */
struct nt_step_hint nt_step_count_hosts(const char *text, size_t bytes);

#endif
