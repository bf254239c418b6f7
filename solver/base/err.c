/* SPDX-License-Identifier: Apache-2.0 */
#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Returns the number of bytes of the character at text (room bytes long); 0: a control character,
 * or no valid UTF-8 (RFC 3629, section 4). U+0080 to U+009F are control characters: terminals may
 * interpret U+009B or the byte 0x9b as ESC [. */
static size_t printable_bytes(const unsigned char *text, size_t room)
{
    unsigned char first = text[0], low = 0x80, high = 0xbf;
    size_t bytes = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first < 0x20 || first == 0x7f || first > 0xf4 || bytes > room)
        return 0;
    if (first == 0xc2 || first == 0xe0)
        low = 0xa0; /* below: C1 or an overlong form */
    if (first == 0xf0)
        low = 0x90; /* overlong */
    if (first == 0xed)
        high = 0x9f; /* above: surrogates */
    if (first == 0xf4)
        high = 0x8f; /* above U+10FFFF */
    for (size_t k = 1; k < bytes; k++, low = 0x80, high = 0xbf)
        if (text[k] < low || text[k] > high)
            return 0;
    return bytes;
}

bool nt_text_is_clean(const char *text, size_t bytes)
{
    size_t at = 0, step = 1;
    for (; at < bytes && step > 0; at += step)
        step = printable_bytes((const unsigned char *)text + at, bytes - at);
    return step > 0;
}

void nt_text_clean(char *text)
{
    for (size_t left = strlen(text), step; left > 0; text += step, left -= step) {
        step = printable_bytes((const unsigned char *)text, left);
        if (step == 0) {
            *text = '?';
            step = 1;
        }
    }
}

int nt_err_set(struct nt_err *err, enum nt_err_kind kind, const char *format, ...)
{
    if (err == NULL)
        return -1;
    va_list args;
    va_start(args, format);
    err->kind = kind;
    if (vsnprintf(err->text, sizeof err->text, format, args) < 0)
        err->text[0] = '\0';
    va_end(args);
    nt_text_clean(err->text);
    return -1;
}

int nt_err_memory(struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "out of memory");
}

int nt_err_prefix(struct nt_err *err, const char *format, ...)
{
    if (err == NULL)
        return -1;
    char old[NT_ERR_TEXT_BYTES];
    memcpy(old, err->text, sizeof old);
    va_list args;
    va_start(args, format);
    int used = vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t at = used < 0 ? 0 : (size_t)used;
    if (at + 2 < sizeof err->text) {
        memcpy(err->text + at, ": ", 2);
        size_t room = sizeof err->text - at - 3, rest = strnlen(old, sizeof old);
        memcpy(err->text + at + 2, old, rest < room ? rest : room);
        err->text[at + 2 + (rest < room ? rest : room)] = '\0';
    }
    nt_text_clean(err->text);
    return -1;
}
