/* SPDX-License-Identifier: Apache-2.0 */
/* nettopo: a table of verbs. */
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
    return nt_command_line_main(argc, argv, verbs, sizeof verbs / sizeof *verbs);
}
