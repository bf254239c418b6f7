/* SPDX-License-Identifier: Apache-2.0 */
#include "err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The text may hold bytes from a peer or a file: it is kept one printable line. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f)
            *text = '?';
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
    make_printable(err->text);
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
    make_printable(err->text);
    return -1;
}
