/* SPDX-License-Identifier: Apache-2.0 */
/* A text in memory as a source, in pieces of a size. */
#ifndef NT_TESTS_IN_PIECES_H
#define NT_TESTS_IN_PIECES_H

#include "lines.h"

struct in_pieces {
    const char *text;
    size_t bytes, piece; /* 0: whole */
};

static inline int give_pieces(const void *from, nt_feed *feed, void *to, struct nt_err *err)
{
    const struct in_pieces *p = from;
    size_t piece = p->piece == 0 ? p->bytes : p->piece, n;
    int rc = 0;
    for (size_t at = 0; at < p->bytes && rc == 0; at += n) {
        n = p->bytes - at < piece ? p->bytes - at : piece;
        rc = feed(to, p->text + at, n, err);
    }
    return rc;
}

static inline struct nt_text_source pieces_source(const char *file, const struct in_pieces *pieces)
{
    return (struct nt_text_source){file, give_pieces, pieces};
}

#endif
