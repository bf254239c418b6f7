/* SPDX-License-Identifier: Apache-2.0 */
/* What the terminal is like.
 * Tests: bats/commands.bats. */
#ifndef NT_TERMINAL_H
#define NT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct nt_terminal {
    size_t width;     /* columns of standard output; 80 when unknown */
    bool interactive; /* standard output is a terminal */
    bool colour;      /* a terminal, and NO_COLOR is not set */
    bool unicode;     /* the locale's characters are UTF-8 */
};

void nt_terminal_look(struct nt_terminal *terminal);

/* One line on a terminal's standard error that the next one replaces; NULL takes it away.
 * Nothing when standard error is no terminal. */
void nt_terminal_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
