/* SPDX-License-Identifier: Apache-2.0 */
#include "command_line.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

/* ---- options ----------------------------------------------------------------------------------
 */

enum { FLAGS_MAX = 128 };

struct line {
    int argc, next;
    char **argv;
    const struct nt_flag *flags;
    size_t n;
    bool seen[FLAGS_MAX]; /* n of them */
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
    return nt_err_set(err, NT_ERR_USAGE, "unknown option --%.*s; see --help",
                      (int)(bytes > 64 ? 64 : bytes), name);
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
            rc = nt_err_set(err, NT_ERR_USAGE, "expected at most %zu operand%s, found \"%s\" too",
                            most, most == 1 ? "" : "s", word);
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

static void print_help(const struct nt_verb *const *verbs, size_t n)
{
    printf("usage: nettopo VERB [OPTION...] [FILE...]\n\n"
           "The network of a job, from measurements: its switches and links, and where to put\n"
           "which task. Everything here works on files; the sweep itself is nettopo-probe.\n\n");
    for (size_t k = 0; k < n; k++)
        printf("  %-10s %s\n", verbs[k]->name, verbs[k]->does);
    printf("\nA map defaults to $NETTOPO_MAP; - is standard input or output.\n"
           "`nettopo VERB --help` tells more, nettopo(1) all.\n"
           "Exit: 0 done, 1 the answer is no, 2 usage, 3 bad input, 4 the system refused.\n");
}

static int finish_verb(const char *verb, int rc, const struct nt_err *err)
{
    if (rc == 0 && (fflush(stdout) != 0 || ferror(stdout))) {
        fprintf(stderr, "nettopo %s: standard output: expected to write, it refused\n", verb);
        return NT_ERR_SYSTEM;
    }
    if (rc == 0)
        return 0;
    fflush(stdout);
    if (err->text[0] != '\0')
        fprintf(stderr, "nettopo %s: %s\n", verb, err->text);
    return err->kind == NT_ERR_NONE ? NT_ERR_SYSTEM : (int)err->kind;
}

/* --help or --version anywhere before "--" wins over whatever else is on the line. */
static bool asks_for(int argc, char **argv, const char *option)
{
    for (int k = 1; k < argc && strcmp(argv[k], "--") != 0; k++)
        if (strcmp(argv[k], option) == 0)
            return true;
    return false;
}

static int run_verb(const struct nt_verb *verb, int argc, char **argv)
{
    struct nt_err err = {0};
    if (verb->help != NULL && (asks_for(argc, argv, "--help") || asks_for(argc, argv, "-h"))) {
        fputs(verb->help, stdout);
        return finish_verb(verb->name, 0, &err);
    }
    if (asks_for(argc, argv, "--version")) {
        puts("nettopo " NT_VERSION);
        return finish_verb(verb->name, 0, &err);
    }
    return finish_verb(verb->name, verb->run(argc, argv, &err), &err);
}

int nt_command_line_main(int argc, char **argv, const struct nt_verb *const *verbs, size_t n)
{
    struct nt_err none = {0};
    if (argc < 2) {
        fprintf(stderr, "nettopo: expected a verb, found nothing; see --help\n");
        return NT_ERR_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_help(verbs, n);
        return finish_verb("--help", 0, &none);
    }
    if (strcmp(word, "--version") == 0) {
        puts("nettopo " NT_VERSION);
        return finish_verb("--version", 0, &none);
    }
    for (size_t k = 0; k < n; k++)
        if (strcmp(word, verbs[k]->name) == 0)
            return run_verb(verbs[k], argc - 1, argv + 1);
    nt_err_set(&none, NT_ERR_USAGE, "unknown %s %.64s; see --help",
               word[0] == '-' ? "option" : "verb", word);
    fprintf(stderr, "nettopo: %s\n", none.text);
    return NT_ERR_USAGE;
}
