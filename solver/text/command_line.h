/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a command: one table from which the command line is read and --help is printed.
 * Shells' completion is made from --help when nettopo is built.
 *
 * Pure. Whoever prints is in cmd/verbs.h and ucx_probe/probe.c.
 * Tests: bats/commands.bats, bats/options.bats. */
#ifndef NT_COMMAND_LINE_H
#define NT_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "strbuf.h"

/* One option. With a value it is given as --name=V, --name V, -cV or -c V; else it is a switch.
 * A letter has the same name in all commands. */
struct nt_flag {
    const char *name;  /* without the dashes; NULL ends the table */
    char letter;       /* or 0 */
    const char *value; /* what --help calls its value, or all values: "text|json"; NULL: a switch */
    size_t at;         /* in the command's struct arguments: const char *, or a switch's bool */
    size_t most;       /* how often it may be given; at has an array of so many */
    const char *does;  /* for --help; NULL: not for people */
};

#define NT_AT(member) offsetof(struct arguments, member)

/* As every command has it. */
#define NT_FLAG_OUTPUT                                                                             \
    {                                                                                              \
        "output", 'o', "FILE", NT_AT(output), 1, "Output file, written atomically (default -)"     \
    }

/* All that --help prints. */
struct nt_command_help {
    const char *usage; /* a command per line */
    const char *intro; /* paragraphs, each a line */
    const struct nt_flag *flags;
    const char *example; /* a command that works as it is printed, with the files it names */
};

enum { NT_COMMAND_LINE_FLAGS = 40 };

/* Reads argv[1..]: the options in any order with the operands, which are at most most; `--` ends
 * the options, `-` is an operand. flags has at most NT_COMMAND_LINE_FLAGS. NT_ERR_USAGE says what
 * is wrong in a sentence. Values and operands are borrowed from argv. */
int nt_command_line_options(int argc, char **argv, const struct nt_flag *flags, void *arguments,
                            const char **operands, size_t most, struct nt_err *err);

/* The number of an option, from least on and up to most (INFINITY: any); text NULL: *value stays.
 */
int nt_command_line_number(const char *option, const char *text, double least, double most,
                           double *value, struct nt_err *err);

/* The same for bytes, a whole number: K, M and G behind it are 2^10, 2^20 and 2^30 bytes. */
int nt_command_line_bytes(const char *option, const char *text, double least, double most,
                          double *value, struct nt_err *err);

/* Whether the option is anywhere before "--", where --help and --version win over all else. */
bool nt_command_line_asks(int argc, char **argv, const char *option, const char *letter);

void nt_command_line_help(const struct nt_command_help *help, struct nt_strbuf *buf);

/* A name and what it means, as --help lists them; head: columns of the longest name. */
void nt_command_line_entry(struct nt_strbuf *buf, const char *name, const char *does, size_t head);

/* The name that a word was probably meant to be. */
struct nt_likely {
    const char *name; /* NULL: none is near */
    size_t distance;
};
void nt_likely_try(struct nt_likely *likely, const char *word, size_t bytes, const char *name);

#endif
