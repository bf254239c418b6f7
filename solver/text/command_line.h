/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a command: one table from which the command line is parsed and --help is printed. The
 * completion of shells is made from --help when nettopo is built. No I/O: callers print
 * (cmd/verbs.h, ucx_probe/probe.c).
 * Tests: bats/commands.bats, bats/options.bats. */
#ifndef NT_COMMAND_LINE_H
#define NT_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "strbuf.h"

/* An option. With a value it is written as --name=V, --name V, -cV or -c V; without, it is a
 * switch. A letter has the same name in all commands. */
struct nt_flag {
    const char *name;  /* without the dashes; NULL: the operands, which end the table */
    char letter;       /* 0: none */
    const char *value; /* name of its value in --help, or all values: "text|json"; NULL: a switch */
    size_t at;   /* offset in the command's struct of arguments: a const char *, or a bool for a
                    switch */
    size_t most; /* maximum number of occurrences; at is the offset of an array of this length. 0:
                    only listed, for what nt_command_line_asks */
    const char *does; /* description for --help; NULL: not listed */
};

#define NT_AT(member) offsetof(struct arguments, member)

/* Ends a table: the operands of the command. A table without operands ends with {0}. */
#define NT_OPERANDS(member, most)                                                                  \
    {                                                                                              \
        NULL, 0, NULL, NT_AT(member), most, NULL                                                   \
    }

/* The option --output, the same in every command. */
#define NT_FLAG_OUTPUT                                                                             \
    {                                                                                              \
        "output", 'o', "FILE", NT_AT(output), 1, "Output file, written atomically (default -)"     \
    }

/* Text of --help. */
struct nt_command_help {
    const char *usage; /* a command per line */
    const char *intro; /* paragraphs, each a line */
    const struct nt_flag *flags;
    const char *example; /* a command that works as printed, with the files that it names */
};

enum { NT_COMMAND_LINE_FLAGS = 40 };

/* Parses argv[1..]: options and operands in any order. `--` ends the options, `-` is an operand.
 * flags has at most NT_COMMAND_LINE_FLAGS entries. NT_ERR_USAGE with a sentence that describes the
 * error. Values and operands are borrowed from argv. */
int nt_command_line_options(int argc, char **argv, const struct nt_flag *flags, void *arguments,
                            struct nt_err *err);

/* Parses the number of an option, from least to most (INFINITY: no limit). text NULL: *value does
 * not change. */
int nt_command_line_number(const char *option, const char *text, double least, double most,
                           double *value, struct nt_err *err);

/* As above for a whole number of bytes; the suffixes K, M and G multiply it by 2^10, 2^20 and
 * 2^30. */
int nt_command_line_bytes(const char *option, const char *text, double least, double most,
                          double *value, struct nt_err *err);

/* Returns whether the option is anywhere before "--". For --help and --version, which take
 * precedence over everything else. */
bool nt_command_line_asks(int argc, char **argv, const char *option, const char *letter);

void nt_command_line_help(const struct nt_command_help *help, struct nt_strbuf *buf);

/* Appends a name and its description in the form of --help. head: columns of the longest name. */
void nt_command_line_entry(struct nt_strbuf *buf, const char *name, const char *does, size_t head);

/* Finds the name that a word was probably meant to be. */
struct nt_likely {
    const char *name; /* NULL: no name is similar */
    size_t distance;
};
void nt_likely_try(struct nt_likely *likely, const char *word, size_t bytes, const char *name);

#endif
