/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two models of the same hosts: the one found and the reference.
 *
 * Links are matched by the way in which they divide the hosts (Buneman 1971), never by the names of
 * switches; where one of the two has cycles, by their ends (division.h). Knows indices only; the
 * reference has already been reduced to the hosts of the found model. */
#ifndef NT_COMPARE_H
#define NT_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "memory.h"
#include "model.h"

enum nt_difference_kind {
    NT_DIFFERENCE_HOST_MOVED,
    NT_DIFFERENCE_HOST_MISSING,
    NT_DIFFERENCE_SWITCH_MISSING, /* expected >= 0: a division that was not found; found >= 0: one
                                     that was not expected; neither: only one has switches */
    NT_DIFFERENCE_LINK_SLOW,
    NT_DIFFERENCE_LINK_NARROW,
};

struct nt_difference {
    enum nt_difference_kind kind;
    uint32_t host;     /* HOST_*: which */
    int64_t expected;  /* link of the reference behind it, -1: none */
    int64_t found;     /* link of the found model, -1: none */
    bool back;         /* LINK_NARROW: from b to a of the found link */
    double was, is;    /* LINK_*: us or MB/s; was NaN: compared with its own class */
    double confidence; /* 0..1 that this difference is real */
};

struct nt_comparison {
    struct nt_arena memory;    /* of all arrays */
    double similarity_percent; /* P. Bannikov, A. Salnikov, section d: mean probability, over the
                                  reference's links, that the found network has the link; here
                                  times how alike its figures are (figures_percent) */
    double figures_percent;    /* mean over the links that both have: 100 where no figure differs
                                  by more than the tolerance and its errors, else the lower over
                                  the higher of the one that differs most */
    double common_percent;     /* divisions in common among all of both; 100: the same shape */
    size_t differences;
    struct nt_difference *difference;
    int64_t *matched; /* per reference link: the found link, or -1 */
    size_t reference_links;
};

/* Both models have the same hosts in the same order. tolerance: relative difference of a figure
 * that counts at all; it must also differ by more than its standard errors explain, at a false
 * alarm rate of 0.1 % over all links; where no error is known the tolerance decides alone. What
 * rests on a found switch is as sure as that switch is: a difference's confidence is the
 * probability of the link, times that of the figure's being worse where its error is known. */
int nt_compare(const struct nt_model *found, const struct nt_model *reference, double tolerance,
               struct nt_comparison **out, struct nt_err *err);
void nt_comparison_destroy(struct nt_comparison *comparison);

/* The hosts on the smaller side of a link, as flags; false where the link is on a cycle. */
bool nt_compare_side(const struct nt_model *model, uint32_t link, bool *side);

#endif
