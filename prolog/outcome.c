/* SPDX-License-Identifier: Apache-2.0 */
#include "outcome.h"

#include <stddef.h>

static const char *const texts[] = {
    [NT_ADVICE_NONE] = "",
    [NT_ADVICE_AGENT] = "check the kernel log of this host for a killed nettopo-prolog and for "
                        "hanging file systems, and set PrologEpilogTimeout well above the budget",
    [NT_ADVICE_BUDGET] = "give the sweep more time with --nettopo=budget=SECONDS, within "
                         "budget_max in nettopo.conf; busy hosts need more",
    [NT_ADVICE_CRASH] = "run nettopo-probe by hand in a job on this host: srun --mpi=pmix "
                        "nettopo-probe; report its output and the version of UCX",
    [NT_ADVICE_CPU_TIME] = "run nettopo-probe by hand, and report that it used more processor time "
                           "than its budget allows",
    [NT_ADVICE_JOB] = "check the environment of slurmd's prolog (SLURM_JOB_NODELIST, "
                      "SLURMD_NODENAME), and that PrologFlags in slurm.conf has Alloc",
    [NT_ADVICE_KILLED] = "check the kernel log of this host for the out-of-memory killer, and for "
                         "other programs that kill processes of this user",
    [NT_ADVICE_LEADER] = "check the log of the job's first host for this job",
    [NT_ADVICE_CONNECT] = "check munged and its key on both hosts, the clocks, the ports of "
                          "nettopo.conf in the firewall, PrologFlags=Alloc in slurm.conf, and "
                          "that the budget is not too short",
    [NT_ADVICE_NAMES] = "check that this host's resolver, or NodeAddr in slurm.conf, has an "
                        "address for the host name",
    [NT_ADVICE_PRIVILEGE] = "check that the job's user is known on this host, and the limits of "
                            "slurmd's prologs",
    [NT_ADVICE_PROBE] = "see the output of the probe below, and the log of any host that it names",
    [NT_ADVICE_PROGRAM] = "check probe in nettopo.conf, and ldd of that program on this host",
    [NT_ADVICE_PUBLISH] = "check that run_dir in nettopo.conf is writable by root only and has "
                          "free space on this host, and check publish_limit and run_dir_limit",
    [NT_ADVICE_ROOT] = "submit the job as a user who is not root",
    [NT_ADVICE_ALLOC] = "set PrologFlags=Alloc,DeferBatch in slurm.conf and restart slurmctld and "
                        "slurmd",
    [NT_ADVICE_SERIAL] = "remove Serial from PrologFlags in slurm.conf",
    [NT_ADVICE_SHARED] = "request whole hosts (--exclusive), or set shared_hosts in nettopo.conf",
    [NT_ADVICE_SYSTEM] = "check the limits of memory, file descriptors and processes on this host",
};

const char *nt_advice_text(enum nt_advice advice)
{
    return (size_t)advice < sizeof texts / sizeof *texts ? texts[advice] : "";
}
