/* SPDX-License-Identifier: Apache-2.0 */
#include "name_file.h"

#include <stdlib.h>
#include <string.h>

#include "lines.h"
#include "map.h"
#include "names.h"
#include "number.h"

enum { NAMES_MAX = 2 * NT_HOSTS_MAX };

bool nt_guid_read(const char *text, size_t bytes, uint64_t *guid)
{
    bool hex = bytes > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    bool node = bytes > 2 && strchr("HSR", text[0]) != NULL && text[1] == '-';
    if ((!hex && !node) || bytes > 2 + 16)
        return false;
    *guid = 0;
    for (size_t k = 2; k < bytes; k++) {
        int digit = nt_hex_digit(text[k]);
        if (digit < 0)
            return false;
        *guid = *guid << 4 | (uint64_t)digit;
    }
    return true;
}

/* Returns the text in quotes, or the rest of the line without a comment. */
static struct nt_word take_description(struct nt_text_line *line)
{
    const char *open = memchr(line->at, '"', (size_t)(line->end - line->at));
    struct nt_word name = {line->end, 0}, word;
    if (open != NULL) {
        const char *close = memchr(open + 1, '"', (size_t)(line->end - open - 1));
        line->at = close != NULL ? close + 1 : line->end;
        return (struct nt_word){open + 1, (size_t)((close != NULL ? close : line->end) - open - 1)};
    }
    while (nt_line_next_word(line, &word)) {
        name.at = name.bytes == 0 ? word.at : name.at;
        name.bytes = (size_t)(word.at + word.bytes - name.at);
    }
    return name;
}

/* hosts: the host names of the lines before. */
static int read_line(struct nt_name_file *f, struct nt_names *hosts, struct nt_text_line line,
                     struct nt_err *err)
{
    struct nt_word word, name;
    struct nt_err why = {0};
    uint64_t guid = 0;
    uint32_t index;
    line.own = true;
    if (!nt_line_next_word(&line, &word))
        return 0;
    struct nt_text_line rest = line;
    if ((nt_word_is(word, "Ca") || nt_word_is(word, "Switch") || nt_word_is(word, "Router")) &&
        nt_line_take_word(&rest, ":")) { /* ibnodes */
        line = rest;
        nt_line_next_word(&line, &word);
    }
    bool by_guid = nt_guid_read(word.at, word.bytes, &guid);
    rest = line;
    if (by_guid)
        name = take_description(&line);
    else if (nt_line_next_word(&rest, &name))
        return nt_line_fail(&line, err, "expected a name, or 0xGUID \"NAME\", found \"%.*s\"",
                            nt_line_shown((size_t)(line.end - word.at)), word.at);
    else
        name = word;
    if (by_guid && name.bytes == 0)
        return nt_line_fail(&line, err, "expected a name after the GUID, found nothing");
    if (f->count > 0 && by_guid != f->by_guid)
        return nt_line_fail(&line, err, "expected a name %s GUID, as in line %zu",
                            f->by_guid ? "after its" : "without a", f->entry[0].line);
    if (f->count == NAMES_MAX)
        return nt_line_fail(&line, err, "more than %d names", (int)NAMES_MAX);
    f->by_guid = by_guid;
    f->entry = nt_arena_grow(&f->memory, f->entry, &f->room, f->count + 1, sizeof *f->entry);
    const char *kept = nt_arena_text(&f->memory, name.at, name.bytes);
    if (nt_arena_check(&f->memory, err) != 0)
        return -1;
    if (!by_guid && nt_host_name_check(kept, &why) != 0)
        return nt_line_fail(&line, err, "%s", why.text);
    int known = by_guid ? 0 : nt_names_add(hosts, kept, &index, err);
    if (known != 0)
        return known < 0
                   ? -1
                   : nt_line_fail(&line, err, "expected each host once, found %s again", kept);
    f->entry[f->count++] = (struct nt_name_entry){guid, kept, line.number};
    return 0;
}

static int compare_entries(const void *a, const void *b)
{
    const struct nt_name_entry *x = a, *y = b;
    return NT_ORDER(x->guid, y->guid, NT_ORDER(x->line, y->line, 0));
}

int nt_name_file_read(const char *file, const char *text, size_t bytes, struct nt_name_file *out,
                      struct nt_err *err)
{
    struct nt_text lines;
    struct nt_text_line line;
    struct nt_names hosts = {0};
    *out = (struct nt_name_file){0};
    int rc = nt_text_begin(&lines, file, text, bytes, err);
    while (rc == 0 && nt_text_next_line(&lines, &line))
        rc = read_line(out, &hosts, line, err);
    nt_names_fini(&hosts);
    if (rc == 0 && out->count == 0)
        rc = nt_err_set(err, NT_ERR_INPUT, "%s: expected names, one per line, found none", file);
    if (rc != 0) {
        nt_name_file_fini(out);
        return -1;
    }
    qsort(out->entry, out->count, sizeof *out->entry, compare_entries);
    return 0;
}

void nt_name_file_fini(struct nt_name_file *names)
{
    nt_arena_fini(&names->memory);
    *names = (struct nt_name_file){0};
}

const char *nt_name_file_of(const struct nt_name_file *names, uint64_t guid)
{
    size_t low = 0, high = names != NULL && names->by_guid ? names->count : 0, end = high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (names->entry[middle].guid < guid)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end && names->entry[low].guid == guid ? names->entry[low].name : NULL;
}
