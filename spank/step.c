/* SPDX-License-Identifier: Apache-2.0 */
#include "step.h"

#include <stdlib.h>
#include <string.h>

enum argument { NONE, NEEDED, ATTACHED /* the argument is optional */ };
enum effect { NEUTRAL, TASKS, NODES, DISTRIBUTION };

/* Options of srun that do not affect the placement, and those whose value is compared. */
static const struct known {
    char letter; /* 0: none */
    const char *name;
    enum argument argument;
    enum effect effect;
} known[] = {
    {'n', "ntasks", NEEDED, TASKS},
    {'N', "nodes", NEEDED, NODES},
    {'m', "distribution", NEEDED, DISTRIBUTION},
    {'l', "label", NONE, NEUTRAL},
    {'Q', "quiet", NONE, NEUTRAL},
    {'v', "verbose", NONE, NEUTRAL},
    {'u', "unbuffered", NONE, NEUTRAL},
    {'X', "disable-status", NONE, NEUTRAL},
    {'K', "kill-on-bad-exit", ATTACHED, NEUTRAL},
    {'e', "error", NEEDED, NEUTRAL},
    {'i', "input", NEEDED, NEUTRAL},
    {'o', "output", NEEDED, NEUTRAL},
    {'J', "job-name", NEEDED, NEUTRAL},
    {'t', "time", NEEDED, NEUTRAL},
    {'D', "chdir", NEEDED, NEUTRAL},
    {'W', "wait", NEEDED, NEUTRAL},
    {'c', "cpus-per-task", NEEDED, NEUTRAL},
    {0, "mpi", NEEDED, NEUTRAL},
    {0, "pty", ATTACHED, NEUTRAL},
    {0, "export", NEEDED, NEUTRAL},
    {0, "overlap", NONE, NEUTRAL},
    {0, "cpu-bind", NEEDED, NEUTRAL},
    {0, "mem-bind", NEEDED, NEUTRAL},
    {0, "mem", NEEDED, NEUTRAL},
    {0, "mem-per-cpu", NEEDED, NEUTRAL},
    {0, "open-mode", NEEDED, NEUTRAL},
    {0, "signal", NEEDED, NEUTRAL},
    {0, "comment", NEEDED, NEUTRAL},
    {0, "prolog", NEEDED, NEUTRAL},
    {0, "epilog", NEEDED, NEUTRAL},
    {0, "task-prolog", NEEDED, NEUTRAL},
    {0, "task-epilog", NEEDED, NEUTRAL},
    {0, "propagate", ATTACHED, NEUTRAL},
    {0, "nettopo", ATTACHED, NEUTRAL},
};
enum { KNOWN = sizeof known / sizeof *known };

struct reading {
    const char *const *word;
    size_t count, at;
    const char *tasks, *nodes, *distribution;
};

static const struct known *find_letter(char letter)
{
    for (size_t k = 0; k < KNOWN; k++)
        if (known[k].letter == letter)
            return &known[k];
    return NULL;
}

static const struct known *find_name(const char *name, size_t length)
{
    for (size_t k = 0; k < KNOWN; k++)
        if (strlen(known[k].name) == length && strncmp(known[k].name, name, length) == 0)
            return &known[k];
    return NULL;
}

/* attached: the argument if it is part of the word, or NULL; then it is the next word. */
static bool take_argument(struct reading *r, const struct known *option, const char *attached)
{
    const char *value = attached;
    if (option->argument == NONE)
        return attached == NULL;
    if (option->argument == NEEDED && value == NULL) {
        if (r->at == r->count)
            return false;
        value = r->word[r->at++];
    }
    if (option->effect == TASKS)
        r->tasks = value;
    if (option->effect == NODES)
        r->nodes = value;
    if (option->effect == DISTRIBUTION)
        r->distribution = value;
    return true;
}

/* Reads a word of short options, such as "-lN4". */
static bool take_letters(struct reading *r, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        const struct known *option = find_letter(*letters);
        if (option == NULL)
            return false;
        if (option->argument == NONE)
            continue;
        return take_argument(r, option, letters[1] != '\0' ? letters + 1 : NULL);
    }
    return true;
}

static bool take_name(struct reading *r, const char *name)
{
    size_t length = strcspn(name, "=");
    const struct known *option = find_name(name, length);
    return option != NULL &&
           take_argument(r, option, name[length] == '=' ? name + length + 1 : NULL);
}

/* Reads the options before the program's name; false for an unknown option. */
static bool take_options(struct reading *r)
{
    while (r->at < r->count) {
        const char *word = r->word[r->at];
        if (word[0] != '-' || word[1] == '\0')
            return true;
        r->at++;
        if (strcmp(word, "--") == 0)
            return true;
        if (!(word[1] == '-' ? take_name(r, word + 2) : take_letters(r, word + 1)))
            return false;
    }
    return true;
}

/* A heterogeneous step has several components: "srun OPTIONS PROGRAM : OPTIONS PROGRAM". */
static bool has_components(const struct reading *r)
{
    for (size_t k = r->at; k < r->count; k++)
        if (strcmp(r->word[k], ":") == 0)
            return true;
    return false;
}

static bool is_number(const char *text, size_t value)
{
    char *end;
    unsigned long is = strtoul(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && is == value;
}

bool nt_step_is_placed(const char *const *words, size_t count, const struct nt_step_hint *hint,
                       const struct nt_step_defaults *defaults)
{
    struct reading r = {.word = words, .count = count, .at = 1};
    bool known = take_options(&r);
    if (r.distribution !=
        NULL) /* arbitrary requires the host file, every other value excludes it */
        return strcmp(r.distribution, "arbitrary") == 0;
    if (count < 2 || hint->tasks == 0 || !known || has_components(&r))
        return false;
    if (r.nodes != NULL && defaults->rejects_nodes)
        return false;
    const char *nodes = r.nodes != NULL ? r.nodes : defaults->nodes;
    const char *tasks = r.tasks != NULL ? r.tasks : defaults->tasks;
    if (nodes != NULL && !is_number(nodes, hint->hosts))
        return false;
    if (tasks != NULL)
        return is_number(tasks, hint->tasks);
    return hint->tasks == hint->hosts; /* Slurm's default: one task per host */
}

/* ---- the host file ---------------------------------------------------------------------------*/

struct line {
    const char *text;
    size_t length;
};

static int by_text(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    size_t least = x->length < y->length ? x->length : y->length;
    int order = memcmp(x->text, y->text, least);
    return order != 0 ? order : (x->length > y->length) - (x->length < y->length);
}

struct nt_step_hint nt_step_count_hosts(const char *text, size_t bytes)
{
    struct nt_step_hint hint = {0, 0};
    struct line *line =
        malloc((bytes / 2 + 1) *
               sizeof *line); /* empty lines are skipped, so a line takes at least 2 bytes */
    if (line == NULL)
        return hint;
    for (size_t at = 0; at < bytes;) {
        const char *end = memchr(text + at, '\n', bytes - at);
        size_t length = end == NULL ? bytes - at : (size_t)(end - (text + at));
        if (length > 0)
            line[hint.tasks++] = (struct line){text + at, length};
        at += length + 1;
    }
    qsort(line, hint.tasks, sizeof *line, by_text);
    for (size_t k = 0; k < hint.tasks; k++)
        hint.hosts += k == 0 || by_text(&line[k - 1], &line[k]) != 0;
    free(line);
    return hint;
}
