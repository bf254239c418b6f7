/* SPDX-License-Identifier: Apache-2.0 */
#include "findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void nt_findings_fini(struct nt_findings *f)
{
    for (size_t k = 0; k < f->count; k++)
        free(f->line[k]);
    free(f->line);
    *f = (struct nt_findings){0};
}

static int add_finding(struct nt_findings *f, const char *text, struct nt_err *err)
{
    if (f->count >= NT_FINDINGS_MAX) {
        f->more = true;
        return 0;
    }
    char **grown = realloc(f->line, (f->count + 1) * sizeof *grown);
    if (grown != NULL)
        f->line = grown;
    char *copy = grown == NULL ? NULL : strdup(text);
    if (copy == NULL)
        return nt_err_memory(err);
    for (char *c = copy; *c != '\0'; c++)
        if (*c < 0x20 || *c >= 0x7f)
            *c = '?';
    f->line[f->count++] = copy;
    return 0;
}

int nt_findings_add(struct nt_findings *f, struct nt_err *err, const char *format, ...)
{
    char text[NT_ERR_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return add_finding(f, text, err);
}
