/* SPDX-License-Identifier: Apache-2.0 */
/* nettopo: the table of its commands. */
#include "verbs.h"

/* clang-format off */
static const struct nt_verb *const verbs[] = {
    &nt_verb_solve,
    &nt_verb_show,
    &nt_verb_hint,
    &nt_verb_compare,
    &nt_verb_export,
    &nt_verb_plan,
    &nt_verb_estimate,
    &nt_verb_simulate,
    &nt_verb_validate,
    &nt_verb_fleet,
    &nt_verb_stats,
};
/* clang-format on */

int main(int argc, char **argv)
{
    static const struct nt_verbs all = {
        .program = "nettopo",
        .page = "nettopo(1)",
        .intro =
            "Build a map of the network between hosts from measurements, and suggest where to\n"
            "place the tasks of a job. nettopo-probe(1) measures.\n",
        .outro = "MAP defaults to $NETTOPO_MAP, and - is standard input or output.\n"
                 "Exit status: 0 done, 1 the answer is no, 2 usage, 3 bad input, 4 system error.\n",
        .verb = verbs,
        .verbs = sizeof verbs / sizeof *verbs};
    return nt_verbs_run(&all, argc, argv);
}
