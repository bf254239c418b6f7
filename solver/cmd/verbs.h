/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of nettopo: one file each in this directory, one line each here and in nettopo.c;
 * and how a command runs and ends.
 *
 * A command never prints an error and never exits. It fills struct nt_err and returns -1; main
 * prints "nettopo VERB: text" and exits with the kind, which is the documented code. A command that
 * has already printed a negative result on standard output leaves the text empty.
 * Tests: bats/commands.bats. */
#ifndef NT_VERBS_H
#define NT_VERBS_H

#include "command_line.h"

struct nt_verb {
    const char *name;
    const char *does;                   /* one short line, for `nettopo --help` */
    const struct nt_command_help *help; /* NULL: run prints the help */
    int (*run)(int argc, char **argv, struct nt_err *err); /* argv[0] is the name of the command */
};

/* The commands of a program, or of "nettopo fleet". */
struct nt_verbs {
    const char *program; /* as typed by users */
    const char *page;    /* its manual page */
    const char *intro, *outro;
    const struct nt_verb *const *verb; /* verbs entries */
    size_t verbs;
};

/* Runs the command in argv[1], "help", --help or --version. Prints the error of a command. Returns
 * the exit code of the process. */
int nt_verbs_run(const struct nt_verbs *verbs, int argc, char **argv);

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
