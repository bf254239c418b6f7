/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two models of the same hosts: the found model and the reference. In trees, links are
 * matched by the hosts on their two sides (Buneman 1971), never by the names of switches. If one of
 * the models has cycles, switches are matched by the hosts and switches that are connected to them.
 * One switch and a full mesh are the same network if the latencies of no pair differ. Uses indices,
 * not names. The reference has been reduced to the hosts of the found model. */
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
                                     a found_* is set; neither: only one of the two has switches */
    NT_DIFFERENCE_LINK_MISSING,   /* networks with cycles: only one of expected and found is set */
    NT_DIFFERENCE_LINK_SLOW,
    NT_DIFFERENCE_LINK_FAST,
    NT_DIFFERENCE_LINK_NARROW,
    NT_DIFFERENCE_LINK_WIDE,
};

struct nt_difference {
    enum nt_difference_kind kind;
    uint32_t host;    /* HOST_*: the host */
    int64_t expected; /* link of the reference, -1: none */
    int64_t found;    /* link of the found model, -1: none */
    uint32_t expected_switch,
        found_switch;  /* SWITCH_MISSING in networks with cycles: vertex of the reference or of the
                          found model; otherwise UINT32_MAX */
    bool back;         /* LINK_NARROW, _WIDE: the direction from b to a of the found link */
    double was, is;    /* LINK_* with values: expected and found, us or MB/s */
    double confidence; /* probability that this difference is real */
};

/* In all three percentages, a host's own link is weighted: the number of hosts on its switch in
 * both networks, divided by the number in either. */
struct nt_comparison {
    struct nt_arena memory; /* all arrays */
    /* P. Bannikov, A. Salnikov, section d: mean over the reference's links of the probability that
     * the found network has the link, times the similarity of its values. At most
     * common_percent. */
    double similarity_percent;
    /* Mean over common links: 100 if no value differs by more than the tolerance and its errors,
     * otherwise the lower divided by the higher of the value that differs most */
    double figures_percent;
    double common_percent; /* share of common links among all links of both; 100: the same shape */
    size_t differences;    /* 0 if and only if shape and values are 100 % */
    struct nt_difference *difference;
    int64_t *matched; /* by link of the reference: the found link, or -1 */
    size_t reference_links;
    size_t links; /* number of links of both, common links counted once */
};

/* Compares two models with the same hosts in the same order. tolerance: relative difference that a
 * value must exceed. The difference must also exceed what its standard errors explain, at a false
 * alarm rate of 0.1 % over all links; without errors the tolerance alone decides. Values are
 * compared only for links that are the same cables in both networks. The confidence of a difference
 * is the probability of the link (at most that of the switches that it depends on), times the
 * probability that the value differs if its error is known. */
int nt_compare(const struct nt_model *found, const struct nt_model *reference, double tolerance,
               struct nt_comparison **out, struct nt_err *err);
void nt_comparison_destroy(struct nt_comparison *comparison);

/* Sets flags for the hosts on the smaller side of a link; false if the link is on a cycle. */
bool nt_compare_side(const struct nt_model *model, uint32_t link, bool *side);

/* Returns the link of a tree with exactly these hosts on one side, or in any network the first link
 * of a host; -1: none. */
int64_t nt_compare_find(const struct nt_model *model, const bool *side);

#endif
