/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs: one file each in this folder, one line each here and in nettopo.c.
 * Tests: bats/commands.bats. */
#ifndef NT_VERBS_H
#define NT_VERBS_H

#include "command_line.h"

extern const struct nt_verb nt_verb_solve;
extern const struct nt_verb nt_verb_show;
extern const struct nt_verb nt_verb_hint;
extern const struct nt_verb nt_verb_compare;
extern const struct nt_verb nt_verb_export;
extern const struct nt_verb nt_verb_plan;
extern const struct nt_verb nt_verb_estimate;
extern const struct nt_verb nt_verb_simulate;
extern const struct nt_verb nt_verb_validate;
extern const struct nt_verb nt_verb_fleet;
extern const struct nt_verb nt_verb_stats;

#endif
