/* SPDX-License-Identifier: Apache-2.0 */
#include "verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void put_commands(const struct nt_verbs *t, struct nt_strbuf *d)
{
    static const char version[] = "-V, --version";
    nt_strbuf_print(d, "Usage: %s COMMAND [OPTION...] [FILE...]\n\n%s\n", t->program, t->intro);
    for (size_t k = 0; k < t->verbs; k++)
        nt_command_line_entry(d, t->verb[k]->name, t->verb[k]->does, strlen(version));
    nt_strbuf_puts(d, "\n");
    nt_command_line_entry(d, "-h, --help", "print this help, or after a command its help",
                          strlen(version));
    nt_command_line_entry(d, version, "print the version", strlen(version));
    nt_strbuf_print(d, "\n%s\"%s help COMMAND\" describes a command, and %s all commands.\n",
                    t->outro, t->program, t->page);
}

/* Ends a command. verb: name for the message; empty: none. */
static int finish(const struct nt_verbs *t, const char *verb, int rc, const struct nt_err *err)
{
    const char *space = *verb == '\0' ? "" : " ";
    if (rc == 0 && (fflush(stdout) != 0 || ferror(stdout))) {
        fprintf(stderr, "%s%s%s: cannot write standard output: %s\n", t->program, space, verb,
                strerror(errno));
        return NT_ERR_SYSTEM;
    }
    if (rc == 0)
        return 0;
    fflush(stdout);
    if (err->text[0] != '\0')
        fprintf(stderr, "%s%s%s: %s\n", t->program, space, verb, err->text);
    return err->kind == NT_ERR_NONE ? NT_ERR_SYSTEM : (int)err->kind;
}

/* Prints help. verb NULL: the list of commands. */
static int print_help(const struct nt_verbs *t, const struct nt_verb *verb)
{
    struct nt_strbuf d = {0};
    struct nt_err err = {0};
    if (verb != NULL)
        nt_command_line_help(verb->help, &d);
    else
        put_commands(t, &d);
    if (d.failed)
        nt_err_memory(&err);
    else
        fputs(d.text, stdout);
    free(d.text);
    return finish(t, verb != NULL ? verb->name : "", err.kind == NT_ERR_NONE ? 0 : -1, &err);
}

static int print_version(const struct nt_verbs *t)
{
    puts("nettopo " NT_VERSION);
    return finish(t, "", 0, NULL);
}

static int run_verb(const struct nt_verbs *t, const struct nt_verb *verb, int argc, char **argv)
{
    struct nt_err err = {0};
    if (verb->help != NULL && nt_command_line_asks(argc, argv, "--help", "-h"))
        return print_help(t, verb);
    if (nt_command_line_asks(argc, argv, "--version", "-V"))
        return print_version(t);
    return finish(t, verb->name, verb->run(argc, argv, &err), &err);
}

static int unknown(const struct nt_verbs *t, const char *word)
{
    struct nt_likely likely = {0};
    struct nt_err err = {0};
    const char *kind = word[0] == '-' ? "option" : "command";
    for (size_t k = 0; k < t->verbs; k++)
        nt_likely_try(&likely, word, strlen(word), t->verb[k]->name);
    if (likely.name != NULL)
        nt_err_set(&err, NT_ERR_USAGE, "unknown %s \"%.64s\". Did you mean \"%s\"?", kind, word,
                   likely.name);
    else
        nt_err_set(&err, NT_ERR_USAGE, "unknown %s \"%.64s\". Run \"%s --help\" for a list.", kind,
                   word, t->program);
    return finish(t, "", -1, &err);
}

int nt_verbs_run(const struct nt_verbs *t, int argc, char **argv)
{
    static char ask[] = "--help";
    struct nt_err err = {0};
    if (argc < 2) {
        nt_err_set(&err, NT_ERR_USAGE, "missing command. Run \"%s --help\" for a list.",
                   t->program);
        return finish(t, "", -1, &err);
    }
    const char *word = argv[1];
    bool help = strcmp(word, "help") == 0;
    if ((help && argc == 2) || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return print_help(t, NULL);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return print_version(t);
    if (help) { /* "help VERB" is "VERB --help", and "help fleet VERB" is "fleet VERB --help" */
        char *asked[] = {argv[0], argv[2], argc > 3 ? argv[3] : ask, argc > 3 ? ask : NULL, NULL};
        return nt_verbs_run(t, argc > 3 ? 4 : 3, asked);
    }
    for (size_t k = 0; k < t->verbs; k++)
        if (strcmp(word, t->verb[k]->name) == 0)
            return run_verb(t, t->verb[k], argc - 1, argv + 1);
    return unknown(t, word);
}
