/* SPDX-License-Identifier: Apache-2.0 */
#include "command_line.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "decimal.h"
#include "number.h"
#include "wrap.h"

/* ---- names ---- */

enum { NAME_BYTES = 24, TYPING_ERRORS = 2, HEAD_BYTES = 128 };

/* Returns the Levenshtein distance: letters to insert, remove or replace. */
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

void nt_likely_try(struct nt_likely *l, const char *word, size_t bytes, const char *name)
{
    size_t d = distance_of(word, bytes, name);
    if (d > TYPING_ERRORS || d >= strlen(name) || (l->name != NULL && d >= l->distance))
        return;
    *l = (struct nt_likely){name, d};
}

/* ---- options ---- */

struct line {
    int argc, next;
    char **argv;
    const struct nt_flag *flags;
    char *arguments;
    size_t times[NT_COMMAND_LINE_FLAGS]; /* by flag: how often it was given */
};

static int take_flag(struct line *l, size_t k, const char *value, struct nt_err *err)
{
    const struct nt_flag *flag = &l->flags[k];
    size_t times = l->times[k]++;
    if (flag->value == NULL && value != NULL)
        return nt_err_set(err, NT_ERR_USAGE, "--%s takes no value, found \"%s\"", flag->name,
                          value);
    if (times == flag->most && times == 1)
        return nt_err_set(err, NT_ERR_USAGE, "--%s is given twice", flag->name);
    if (times == flag->most)
        return nt_err_set(err, NT_ERR_USAGE, "--%s is given more than %zu times", flag->name,
                          times);
    if (flag->value != NULL && value == NULL) {
        if (l->next >= l->argc)
            return nt_err_set(err, NT_ERR_USAGE, "--%s: missing value", flag->name);
        value = l->argv[l->next++];
    }
    char *to = l->arguments + flag->at;
    if (flag->value != NULL)
        memcpy(to + times * sizeof value, &value, sizeof value);
    else
        memcpy(to, &(bool){true}, sizeof(bool));
    return 0;
}

static int take_long(struct line *l, const char *word, struct nt_err *err)
{
    const char *name = word + 2;
    size_t bytes = strcspn(name, "=");
    for (size_t k = 0; l->flags[k].name != NULL; k++)
        if (strlen(l->flags[k].name) == bytes && memcmp(l->flags[k].name, name, bytes) == 0)
            return take_flag(l, k, name[bytes] == '=' ? name + bytes + 1 : NULL, err);
    struct nt_likely likely = {0};
    for (size_t k = 0; l->flags[k].name != NULL; k++)
        nt_likely_try(&likely, name, bytes, l->flags[k].name);
    int shown = (int)(bytes > 64 ? 64 : bytes);
    if (likely.name != NULL)
        return nt_err_set(err, NT_ERR_USAGE, "unknown option --%.*s. Did you mean --%s?", shown,
                          name, likely.name);
    return nt_err_set(err, NT_ERR_USAGE, "unknown option --%.*s; see --help", shown, name);
}

static int take_short(struct line *l, const char *word, struct nt_err *err)
{
    for (size_t k = 0; l->flags[k].name != NULL; k++) {
        if (l->flags[k].letter != word[1])
            continue;
        if (word[2] != '\0' && l->flags[k].value == NULL)
            break;
        return take_flag(l, k, word[2] != '\0' ? word + 2 : NULL, err);
    }
    return nt_err_set(err, NT_ERR_USAGE, "unknown option %.64s; see --help", word);
}

int nt_command_line_options(int argc, char **argv, const struct nt_flag *flags, void *arguments,
                            struct nt_err *err)
{
    struct line l = {.argc = argc, .next = 1, .argv = argv, .flags = flags, .arguments = arguments};
    const struct nt_flag *operands = flags;
    size_t count = 0;
    bool options = true;
    while (operands->name != NULL)
        operands++;
    while (l.next < argc) {
        const char *word = argv[l.next++];
        int rc = 0;
        if (options && strcmp(word, "--") == 0)
            options = false;
        else if (options && word[0] == '-' && word[1] == '-')
            rc = take_long(&l, word, err);
        else if (options && word[0] == '-' && word[1] != '\0')
            rc = take_short(&l, word, err);
        else if (count < operands->most)
            memcpy(l.arguments + operands->at + count++ * sizeof word, &word, sizeof word);
        else
            rc = nt_err_set(err, NT_ERR_USAGE, "too many arguments: \"%s\"", word);
        if (rc != 0)
            return -1;
    }
    return 0;
}

bool nt_command_line_asks(int argc, char **argv, const char *option, const char *letter)
{
    for (int k = 1; k < argc && strcmp(argv[k], "--") != 0; k++)
        if (strcmp(argv[k], option) == 0 || strcmp(argv[k], letter) == 0)
            return true;
    return false;
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
        snprintf(range, sizeof range, ", %.7g or more", least);
    return nt_err_set(err, NT_ERR_USAGE, "--%s %.64s: expected a number%s", option, text, range);
}

int nt_command_line_bytes(const char *option, const char *text, double least, double most,
                          double *value, struct nt_err *err)
{
    uint64_t bytes;
    if (text == NULL)
        return 0;
    if (nt_decimal_bytes(text, strlen(text), (uint64_t)most, &bytes) == 0 &&
        (double)bytes >= least) {
        *value = (double)bytes;
        return 0;
    }
    return nt_err_set(err, NT_ERR_USAGE,
                      "--%s %.64s: expected bytes from %.0f to %.0f, such as 4096, 64K or 1M",
                      option, text, least, most);
}

/* ---- --help ---- */

enum { WIDTH = 80, HEAD_MAX = 24, GAP = 2 };

void nt_command_line_entry(struct nt_strbuf *d, const char *name, const char *does, size_t head)
{
    char sign[GAP + HEAD_BYTES];
    snprintf(sign, sizeof sign, "%*s%s", (int)GAP, "", name);
    nt_text_put_entry(d, sign, does, WIDTH, head + (size_t)2 * GAP);
}

/* Formats "-o, --output FILE". A name without a letter begins at the column of the letters. */
static void put_head(char head[HEAD_BYTES], const struct nt_flag *f)
{
    char letter[8] = "";
    if (f->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", f->letter);
    snprintf(head, HEAD_BYTES, "%s--%s%s%s", letter, f->name, f->value != NULL ? " " : "",
             f->value != NULL ? f->value : "");
}

static void put_paragraphs(struct nt_strbuf *d, const char *text)
{
    struct nt_strbuf copy = {0};
    nt_strbuf_puts(&copy, text);
    nt_text_put_wrapped(d, &copy, WIDTH, 0);
}

void nt_command_line_help(const struct nt_command_help *help, struct nt_strbuf *d)
{
    size_t widest = 0;
    char head[HEAD_BYTES];
    for (const char *at = help->usage; *at != '\0'; at += *at == '\n') {
        size_t bytes = strcspn(at, "\n");
        nt_strbuf_puts(d, at == help->usage ? "Usage: " : "       ");
        nt_strbuf_put(d, at, bytes);
        nt_strbuf_puts(d, "\n");
        at += bytes;
    }
    nt_strbuf_puts(d, "\n");
    put_paragraphs(d, help->intro);
    nt_strbuf_puts(d, "\n");
    for (const struct nt_flag *f = help->flags; f->name != NULL; f++) {
        put_head(head, f);
        size_t wide = strlen(head);
        widest = wide > widest && wide <= HEAD_MAX ? wide : widest;
    }
    for (const struct nt_flag *f = help->flags; f->name != NULL; f++) {
        if (f->does == NULL)
            continue;
        put_head(head, f);
        nt_command_line_entry(d, head, f->does, widest);
    }
    nt_strbuf_print(d, "\nExample: %s\n", help->example);
}
