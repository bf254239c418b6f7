/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "err.h"

enum { WIDTH_DEFAULT = 80, WIDTH_LEAST = 40, WIDTH_MOST = 400, PROGRESS_BYTES = 4200 };

static size_t terminal_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    unsigned long wide = WIDTH_DEFAULT;
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        wide = size.ws_col;
    else if (columns != NULL && columns[0] >= '1' && columns[0] <= '9')
        wide = strtoul(columns, NULL, 10);
    return wide < WIDTH_LEAST ? WIDTH_LEAST : wide > WIDTH_MOST ? WIDTH_MOST : wide;
}

void nt_terminal_look(struct nt_terminal *terminal)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    terminal->width = terminal_width();
    terminal->interactive = isatty(STDOUT_FILENO);
    terminal->colour = terminal->interactive && (no_colour == NULL || no_colour[0] == '\0') &&
                       term != NULL && strcmp(term, "dumb") != 0;
    /* characters only: numbers are written with a point everywhere */
    terminal->unicode =
        setlocale(LC_CTYPE, "") != NULL && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

void nt_terminal_progress(const char *format, ...)
{
    if (!isatty(STDERR_FILENO))
        return;
    fputs("\r\033[K", stderr);
    if (format != NULL) {
        char text[PROGRESS_BYTES];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        nt_text_clean(text); /* may hold a path */
        fputs(text, stderr);
    }
    fflush(stderr);
}
