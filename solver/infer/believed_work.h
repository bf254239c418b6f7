/* SPDX-License-Identifier: Apache-2.0 */
/* Inside believed*.c: what they share.
 * Tests: test_sweep_prior.c. */
#ifndef NT_BELIEVED_WORK_H
#define NT_BELIEVED_WORK_H

#include "believed.h"

enum nt_believed_fit { NT_BELIEVED_FITS, NT_BELIEVED_AGAIN, NT_BELIEVED_OFF };

/* The readings of one pair, and what they say. */
struct nt_believed_pair {
    uint32_t a, b;
    size_t from, till; /* readings */
    float lowest;      /* ln; of those that count */
};

struct nt_believed_work {
    struct nt_believed *b;
    const struct nt_readings *readings;
    size_t pairs;
    struct nt_believed_pair *pair;
    bool *loose, *placed; /* hosts of them */
    size_t *first;        /* hosts + 1: of a host, places in next */
    uint32_t *next;       /* pairs of a host */
};

/* What the readings of a pair say of a level. */
enum nt_believed_fit nt_believed_fit_pair(const struct nt_believed_work *work,
                                          const struct nt_believed_pair *pair, size_t level);

/* The level that the readings of a pair are of; -1: not clear, -2: of none. */
int nt_believed_level_of(const struct nt_believed_work *work, const struct nt_believed_pair *pair);

int nt_believed_recheck(struct nt_believed_work *work, uint32_t a, uint32_t b);

void nt_believed_refute(struct nt_believed *believed, const char *why);

/* Places loose hosts, as far as readings say where; wishes for what they do not. */
void nt_believed_place(struct nt_believed_work *work);

/* What is joined and what is apart by now, and how much is open. */
int nt_believed_cover(struct nt_believed_work *work, struct nt_err *err);

#endif
