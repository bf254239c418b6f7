/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces spank_nettopo.so in plugstack.conf at submission and accepts any option, as a user can
 * do with a plugstack.conf of their own, to pass anything to root's part. */
#include <slurm/spank.h>

SPANK_PLUGIN(nettopo, 1)

static struct spank_option option = {
    .name = "nettopo",
    .arginfo = "ANYTHING",
    .usage = "anything",
    .has_arg = 2,
};

int slurm_spank_init(spank_t spank, int ac, char **av)
{
    (void)ac;
    (void)av;
    spank_option_register(spank, &option);
    return 0;
}
