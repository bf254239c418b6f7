#include "advice.h"

#include <stddef.h>

static const char *const texts[] = {
    [NT_ADVICE_NONE] = "",
    [NT_ADVICE_AGENT] = "look in the kernel's log of this host for a killed nettopo-prolog and for "
                        "file systems that hang; is PrologEpilogTimeout well above the budget?",
    [NT_ADVICE_BUDGET] = "give the sweep more time: --nettopo=budget=SECONDS, and budget_max in "
                         "nettopo.conf; hosts under load answer late",
    [NT_ADVICE_CRASH] = "run nettopo-probe by hand in a job on this host: srun --mpi=pmix "
                        "nettopo-probe; report it with what it says and UCX's version",
    [NT_ADVICE_CPU_TIME] = "the probe used more processor time than its budget allows: run it by "
                           "hand and report it",
    [NT_ADVICE_JOB] = "check what slurmd gives its prolog (SLURM_JOB_NODELIST, SLURMD_NODENAME), "
                      "and that PrologFlags of slurm.conf has Alloc",
    [NT_ADVICE_KILLED] = "look in the kernel's log of this host for the out-of-memory killer, and "
                         "for whoever else ends processes of this user",
    [NT_ADVICE_LEADER] = "look at this job in the log of its first host",
    [NT_ADVICE_MEET] = "check munged and its key on both hosts, the clocks, the ports of "
                       "nettopo.conf in the firewall, and PrologFlags=Alloc in slurm.conf",
    [NT_ADVICE_NAMES] =
        "the host's name must have an address here: check the resolver, or NodeAddr "
        "in slurm.conf",
    [NT_ADVICE_PRIVILEGE] = "check that this host knows the job's user, and the limits of slurmd's "
                            "prologs",
    [NT_ADVICE_PROBE] =
        "see what the probe says below, and of a host that it names that host's log",
    [NT_ADVICE_PROGRAM] = "check \"probe\" in nettopo.conf and ldd of that program on this host",
    [NT_ADVICE_PUBLISH] =
        "check run_dir of nettopo.conf on this host: root's alone, with room; and "
        "publish_limit",
    [NT_ADVICE_SHARED] = "ask for whole hosts (--exclusive), or set shared_hosts in nettopo.conf",
    [NT_ADVICE_SYSTEM] = "this host lacks memory, descriptors or processes: check its limits",
};

const char *nt_advice_text(enum nt_advice advice)
{
    return (size_t)advice < sizeof texts / sizeof *texts ? texts[advice] : "";
}
