/* SPDX-License-Identifier: Apache-2.0 */
#include "job_figures.h"

#include <string.h>

#include "decimal.h"

static bool is_list(const char *list)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789._-,+";
    const char *end = memchr(list, '\0', NT_JOB_FIGURES_HOSTS_BYTES);
    return end != NULL && list + strspn(list, allowed) == end;
}

bool nt_job_figures_are_valid(const struct nt_job_figures *figures)
{
    return is_list(figures->missing) && is_list(figures->suspect);
}

static bool read_number(const char *text, size_t bytes, uint32_t *number)
{
    uint64_t value;
    if (nt_decimal_whole(text, bytes, UINT32_MAX, &value) != 0)
        return false;
    *number = (uint32_t)value;
    return true;
}

static bool read_list(const char *text, size_t bytes, char list[NT_JOB_FIGURES_HOSTS_BYTES])
{
    if (bytes >= NT_JOB_FIGURES_HOSTS_BYTES)
        return false;
    memcpy(list, text, bytes);
    list[bytes] = '\0';
    return is_list(list);
}

static bool read_word(const char *word, size_t bytes, struct nt_job_figures *f)
{
    const char *value = memchr(word, '=', bytes);
    if (value == NULL)
        return false;
    size_t key = (size_t)(value++ - word), rest = bytes - key - 1;
    if (key == 6 && memcmp(word, "rounds", key) == 0)
        return read_number(value, rest, &f->rounds);
    if (key == 8 && memcmp(word, "findings", key) == 0)
        return read_number(value, rest, &f->findings);
    if (key == 7 && memcmp(word, "missing", key) == 0)
        return read_list(value, rest, f->missing);
    return key == 7 && memcmp(word, "suspect", key) == 0 && read_list(value, rest, f->suspect);
}

void nt_job_figures_parse(const char *text, size_t bytes, struct nt_job_figures *figures)
{
    struct nt_job_figures read = {.known = bytes > 0};
    for (size_t at = 0; at < bytes && read.known;) {
        const char *blank = memchr(text + at, ' ', bytes - at);
        size_t word = blank != NULL ? (size_t)(blank - text) - at : bytes - at;
        read.known = read_word(text + at, word, &read);
        at += word + 1;
    }
    *figures = read.known ? read : (struct nt_job_figures){0};
}
