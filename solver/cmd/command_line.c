/* SPDX-License-Identifier: Apache-2.0 */
#include "command_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

/* ---- names ------------------------------------------------------------------------------------
 */

enum { NAME_BYTES = 24, TYPING_ERRORS = 2 };

/* Levenshtein's distance: letters to insert, remove or replace. */
static size_t distance_of(const char *a, size_t a_bytes, const char *b)
{
    size_t row[NAME_BYTES + 1], b_bytes = strlen(b);
    if (a_bytes > NAME_BYTES || b_bytes > NAME_BYTES)
        return NAME_BYTES;
    for (size_t j = 0; j <= b_bytes; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_bytes; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_bytes; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            size_t other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replaced < other ? replaced : other;
        }
    }
    return row[b_bytes];
}

/* The name that a word was probably meant to be. */
struct likely {
    const char *name; /* NULL: none is near */
    size_t distance;
};

static void try_name(struct likely *l, const char *word, size_t bytes, const char *name)
{
    size_t d = distance_of(word, bytes, name);
    if (d > TYPING_ERRORS || d >= strlen(name) || (l->name != NULL && d >= l->distance))
        return;
    *l = (struct likely){name, d};
}

/* ---- options ----------------------------------------------------------------------------------
 */

struct line {
    int argc, next;
    char **argv;
    const struct nt_flag *flags;
    size_t n;
    bool seen[NT_COMMAND_LINE_FLAGS];
};

/* The first entry of this option that is still free, from k on; n when all were taken. */
static size_t free_entry(const struct line *l, size_t k, struct nt_err *err)
{
    size_t times = 0;
    const char *name = l->flags[k].name;
    for (; k < l->n; k++) {
        if (strcmp(l->flags[k].name, name) != 0)
            continue;
        if (!l->seen[k])
            return k;
        times++;
    }
    if (times == 1)
        nt_err_set(err, NT_ERR_USAGE, "option --%s: expected once, found again", name);
    else
        nt_err_set(err, NT_ERR_USAGE, "option --%s: expected at most %zu times", name, times);
    return l->n;
}

static int take_flag(struct line *l, size_t k, const char *value, struct nt_err *err)
{
    k = free_entry(l, k, err);
    if (k == l->n)
        return -1;
    const struct nt_flag *flag = &l->flags[k];
    l->seen[k] = true;
    if (flag->value != NULL && value == NULL) {
        if (l->next >= l->argc)
            return nt_err_set(err, NT_ERR_USAGE, "option --%s: expected a value, found nothing",
                              flag->name);
        value = l->argv[l->next++];
    }
    if (flag->value == NULL && value != NULL)
        return nt_err_set(err, NT_ERR_USAGE, "option --%s: expected no value, found \"%s\"",
                          flag->name, value);
    if (flag->value != NULL)
        *flag->value = value;
    if (flag->given != NULL)
        *flag->given = true;
    return 0;
}

static int take_long(struct line *l, const char *word, struct nt_err *err)
{
    const char *name = word + 2;
    size_t bytes = strcspn(name, "=");
    for (size_t k = 0; k < l->n; k++)
        if (strlen(l->flags[k].name) == bytes && memcmp(l->flags[k].name, name, bytes) == 0)
            return take_flag(l, k, name[bytes] == '=' ? name + bytes + 1 : NULL, err);
    struct likely likely = {0};
    for (size_t k = 0; k < l->n; k++)
        try_name(&likely, name, bytes, l->flags[k].name);
    int shown = (int)(bytes > 64 ? 64 : bytes);
    if (likely.name != NULL)
        return nt_err_set(err, NT_ERR_USAGE, "unknown option --%.*s. Did you mean --%s?", shown,
                          name, likely.name);
    return nt_err_set(err, NT_ERR_USAGE, "unknown option --%.*s; see --help", shown, name);
}

static int take_short(struct line *l, const char *word, struct nt_err *err)
{
    for (size_t k = 0; k < l->n; k++) {
        if (l->flags[k].letter != word[1])
            continue;
        if (word[2] != '\0' && l->flags[k].value == NULL)
            break;
        return take_flag(l, k, word[2] != '\0' ? word + 2 : NULL, err);
    }
    return nt_err_set(err, NT_ERR_USAGE, "unknown option %.64s; see --help", word);
}

int nt_command_line_options(int argc, char **argv, const struct nt_flag *flags, size_t n,
                            const char **operands, size_t most, struct nt_err *err)
{
    struct line l = {.argc = argc, .next = 1, .argv = argv, .flags = flags, .n = n};
    size_t count = 0;
    bool options = true;
    while (l.next < argc) {
        const char *word = argv[l.next++];
        int rc = 0;
        if (options && strcmp(word, "--") == 0)
            options = false;
        else if (options && word[0] == '-' && word[1] == '-')
            rc = take_long(&l, word, err);
        else if (options && word[0] == '-' && word[1] != '\0')
            rc = take_short(&l, word, err);
        else if (count < most)
            operands[count++] = word;
        else
            rc = nt_err_set(err, NT_ERR_USAGE, "too many arguments: \"%s\"", word);
        if (rc != 0)
            return -1;
    }
    return 0;
}

int nt_command_line_number(const char *option, const char *text, double least, double most,
                           double *value, struct nt_err *err)
{
    double read;
    if (text == NULL)
        return 0;
    const char *end = text + strlen(text);
    if (nt_number_read(text, end, &read) == end && read >= least && read <= most) {
        *value = read;
        return 0;
    }
    char range[64] = "";
    if (isfinite(most))
        snprintf(range, sizeof range, " from %.7g to %.7g", least, most);
    else if (isfinite(least))
        snprintf(range, sizeof range, " from %.7g on", least);
    return nt_err_set(err, NT_ERR_USAGE, "--%s %.64s: expected a number%s", option, text, range);
}

/* ---- main -------------------------------------------------------------------------------------
 */

static void print_help(const struct nt_verbs *t)
{
    printf("usage: %s COMMAND [OPTION...] [FILE...]\n\n%s\n", t->program, t->intro);
    for (size_t k = 0; k < t->verbs; k++)
        printf("  %-10s %s\n", t->verb[k]->name, t->verb[k]->does);
    printf("\n\"%s help COMMAND\" describes a command, and %s all commands.\n%s", t->program,
           t->page, t->outro);
}

/* verb: for the message; empty: none. */
static int finish(const struct nt_verbs *t, const char *verb, int rc, const struct nt_err *err)
{
    const char *space = *verb == '\0' ? "" : " ";
    if (rc == 0 && (fflush(stdout) != 0 || ferror(stdout))) {
        fprintf(stderr, "%s%s%s: cannot write to standard output\n", t->program, space, verb);
        return NT_ERR_SYSTEM;
    }
    if (rc == 0)
        return 0;
    fflush(stdout);
    if (err->text[0] != '\0')
        fprintf(stderr, "%s%s%s: %s\n", t->program, space, verb, err->text);
    return err->kind == NT_ERR_NONE ? NT_ERR_SYSTEM : (int)err->kind;
}

/* An option anywhere before "--" wins over whatever else is on the line. */
static bool asks_for(int argc, char **argv, const char *option, const char *letter)
{
    for (int k = 1; k < argc && strcmp(argv[k], "--") != 0; k++)
        if (strcmp(argv[k], option) == 0 || strcmp(argv[k], letter) == 0)
            return true;
    return false;
}

static int run_verb(const struct nt_verbs *t, const struct nt_verb *verb, int argc, char **argv)
{
    struct nt_err err = {0};
    if (verb->help != NULL && asks_for(argc, argv, "--help", "-h")) {
        fputs(verb->help, stdout);
        return finish(t, verb->name, 0, &err);
    }
    if (asks_for(argc, argv, "--version", "-V")) {
        puts("nettopo " NT_VERSION);
        return finish(t, verb->name, 0, &err);
    }
    return finish(t, verb->name, verb->run(argc, argv, &err), &err);
}

static int unknown(const struct nt_verbs *t, const char *word)
{
    struct likely likely = {0};
    struct nt_err err = {0};
    const char *kind = word[0] == '-' ? "option" : "command";
    for (size_t k = 0; k < t->verbs; k++)
        try_name(&likely, word, strlen(word), t->verb[k]->name);
    if (likely.name != NULL)
        nt_err_set(&err, NT_ERR_USAGE, "unknown %s \"%.64s\". Did you mean \"%s\"?", kind, word,
                   likely.name);
    else
        nt_err_set(&err, NT_ERR_USAGE, "unknown %s \"%.64s\". Run \"%s --help\" for a list.", kind,
                   word, t->program);
    return finish(t, "", -1, &err);
}

int nt_command_line_run(const struct nt_verbs *t, int argc, char **argv)
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
    if ((help && argc == 2) || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_help(t);
        return finish(t, word, 0, &err);
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        puts("nettopo " NT_VERSION);
        return finish(t, word, 0, &err);
    }
    char *asked[] = {argv[0], ask, NULL}; /* "help VERB" is "VERB --help" */
    for (size_t k = 0; k < t->verbs; k++)
        if (strcmp(help ? argv[2] : word, t->verb[k]->name) == 0)
            return help ? run_verb(t, t->verb[k], 2, asked)
                        : run_verb(t, t->verb[k], argc - 1, argv + 1);
    return unknown(t, help ? argv[2] : word);
}
