/* SPDX-License-Identifier: Apache-2.0 */
/* What every verb of `nettopo` has in common: how a command line is read, and how it ends.
 *
 * A verb never prints an error and never exits: it fills struct nt_err and returns -1, main prints
 * "nettopo VERB: text" and exits with the kind, which is the documented code. A verb that has
 * already reported "no" on standard output leaves the text empty.
 * Tests: bats/commands.bats. */
#ifndef NT_COMMAND_LINE_H
#define NT_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct nt_verb {
    const char *name;
    const char *does; /* half a line, for `nettopo --help` */
    const char *help; /* all that `nettopo VERB --help` prints; NULL: run does that itself */
    int (*run)(int argc, char **argv, struct nt_err *err); /* argv[0] is the verb */
};

/* One option. value: takes one, given as --name=V, --name V, -cV or -c V; else a switch. */
struct nt_flag {
    const char *name;   /* without the dashes */
    char letter;        /* or 0 */
    const char **value; /* NULL for a switch */
    bool *given;        /* may be NULL */
};

/* The commands of a program, or of "nettopo fleet". */
struct nt_verbs {
    const char *program; /* as users type it */
    const char *page;    /* its manual page */
    const char *intro, *outro;
    const struct nt_verb *const *verb; /* verbs of them */
    size_t verbs;
};

enum { NT_COMMAND_LINE_FLAGS = 128 };

/* Reads the options of argv[1..] in any order with the operands, which are at most most; `--`
 * ends the options, `-` is an operand. An option may be given as often as it stands in flags (n is
 * at most NT_COMMAND_LINE_FLAGS). NT_ERR_USAGE says what is wrong in a sentence. Values and
 * operands are borrowed from argv. */
int nt_command_line_options(int argc, char **argv, const struct nt_flag *flags, size_t n,
                            const char **operands, size_t most, struct nt_err *err);

/* The number of an option, from least on and up to most (INFINITY: any); text NULL: *value stays.
 */
int nt_command_line_number(const char *option, const char *text, double least, double most,
                           double *value, struct nt_err *err);

/* Runs the command that argv[1] names, "help", --help or --version. Prints the error of a command;
 * the exit code of the process. */
int nt_command_line_run(const struct nt_verbs *verbs, int argc, char **argv);

#endif
