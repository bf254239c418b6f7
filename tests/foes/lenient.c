/* Stands in plugstack.conf where spank_nettopo.so should, at submission only, and takes any
 * option: what a user can bring before root's part with a plugstack.conf of his own. */
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
