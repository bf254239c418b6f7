/* A text that grows. Failing is kept inside: write everything, then ask once at the end. */
#ifndef NT_DRAFT_H
#define NT_DRAFT_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

struct nt_draft {
    char *text;
    size_t used, room;
    bool failed; /* no memory: everything since is lost */
};

/* {0} is an empty draft. */
void nt_draft_put(struct nt_draft *draft, const char *text, size_t bytes);
void nt_draft_puts(struct nt_draft *draft, const char *text);

/* At most 1,023 bytes an item; longer ones are cut, so give names with a bound or by puts. */
void nt_draft_print(struct nt_draft *draft, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One line: control characters and bytes beyond ASCII become '?'. */
void nt_draft_put_line(struct nt_draft *draft, const char *text);

/* The same for all bytes from there on. */
void nt_draft_clean(struct nt_draft *draft, size_t from);

/* Hands the text over (free it; terminated, *bytes without the end; bytes may be NULL), or says
 * that memory ran out. The draft is empty afterwards in both cases. */
int nt_draft_finish(struct nt_draft *draft, char **text, size_t *bytes, struct nt_err *err);

#endif
