/* SPDX-License-Identifier: Apache-2.0 */
/* A SPANK plugin that does nothing in each callback of nettopo's: the time that Slurm needs to call
 * a plugin. For tests/bench_prolog. */
#include <slurm/spank.h>

SPANK_PLUGIN(empty, 1)

static int nothing(spank_t spank, int ac, char **av)
{
    (void)spank;
    (void)ac;
    (void)av;
    return 0;
}

int slurm_spank_init(spank_t spank, int ac, char **av)
{
    return nothing(spank, ac, av);
}

int slurm_spank_init_post_opt(spank_t spank, int ac, char **av)
{
    return nothing(spank, ac, av);
}

int slurm_spank_job_prolog(spank_t spank, int ac, char **av)
{
    return nothing(spank, ac, av);
}

int slurm_spank_user_init(spank_t spank, int ac, char **av)
{
    return nothing(spank, ac, av);
}

int slurm_spank_job_epilog(spank_t spank, int ac, char **av)
{
    return nothing(spank, ac, av);
}
