/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two models of the same hosts: the one found and the reference.
 *
 * In trees, links are matched by the way in which they divide the hosts (Buneman 1971), never by
 * the names of switches. If one of the two has cycles, switches are matched by the hosts and
 * switches that are attached to them. One switch and a full mesh are the same network if no pair
 * differs. Knows indices only; the reference has already been reduced to the hosts of the found
 * model. */
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
    NT_DIFFERENCE_SWITCH_MISSING, /* of the reference if an expected_* is set, of the found model if
                                     a found_* is; neither: only one of the two has switches */
    NT_DIFFERENCE_LINK_MISSING,   /* networks with cycles: expected or found, not both */
    NT_DIFFERENCE_LINK_SLOW,
    NT_DIFFERENCE_LINK_FAST,
    NT_DIFFERENCE_LINK_NARROW,
    NT_DIFFERENCE_LINK_WIDE,
};

struct nt_difference {
    enum nt_difference_kind kind;
    uint32_t host;                          /* HOST_*: which */
    int64_t expected;                       /* link of the reference behind it, -1: none */
    int64_t found;                          /* link of the found model, -1: none */
    uint32_t expected_switch, found_switch; /* SWITCH_MISSING in networks with cycles: vertex of
                                               the reference, of the found model; else UINT32_MAX */
    bool back;                              /* LINK_NARROW, _WIDE: from b to a of the found link */
    double was, is;                         /* LINK_* with figures: us or MB/s */
    double confidence;                      /* 0..1 that this difference is real */
};

/* In all three percentages a host's own link counts in part: the hosts that are on its switch in
 * both networks, over those in either. */
struct nt_comparison {
    struct nt_arena memory;    /* of all arrays */
    double similarity_percent; /* P. Bannikov, A. Salnikov, section d: mean probability, over the
                                  reference's links, that the found network has the link; times the
                                  likeness of its figures. At most common_percent */
    double figures_percent;    /* mean over the links that both have: 100 if no figure differs by
                                  more than the tolerance and its errors, else the lower over the
                                  higher of the one that differs most */
    double common_percent;     /* links that both have, among all of both; 100: the same shape */
    size_t differences;        /* 0 exactly if shape and figures are both 100 % */
    struct nt_difference *difference;
    int64_t *matched; /* per reference link: the found link, or -1 */
    size_t reference_links;
    size_t links; /* of both, those that both have once */
};

/* Both models have the same hosts in the same order. tolerance: relative difference of a figure
 * that counts at all; it must also be more than its standard errors explain, at a false alarm rate
 * of 0.1 % over all links; if no error is known the tolerance decides alone. Figures are compared
 * only of links that are the same cables in both networks. What rests on a found switch is as sure
 * as that switch is: a difference's confidence is the probability of the link, times that of the
 * figure's being different if its error is known. */
int nt_compare(const struct nt_model *found, const struct nt_model *reference, double tolerance,
               struct nt_comparison **out, struct nt_err *err);
void nt_comparison_destroy(struct nt_comparison *comparison);

/* The hosts on the smaller side of a link, as flags; false where the link is on a cycle. */
bool nt_compare_side(const struct nt_model *model, uint32_t link, bool *side);

/* The link of a tree with exactly these hosts on one side, or in any network the first link of a
 * host; -1: none. */
int64_t nt_compare_find(const struct nt_model *model, const bool *side);

#endif
