/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts on a longer link than the others: everything is further from them by the same.
 *
 * Among nested tiers such a host fits nowhere, though its network is one of nested tiers with one
 * number more. So it is left out, the others are merged without it, and then it is placed: of all
 * switches that it could be attached to, the one that its readings are likeliest at, each with the
 * offset that fits best there. A host that is closer to a few others than to the rest is at
 * their switch, however long its link is: that difference is what tells a long link from a switch
 * of its own (the four-point condition). Where readings cannot show it the host stays unplaced.
 * Tests: test_slow_hosts.c. */
#ifndef NT_SLOW_H
#define NT_SLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "class_fit.h"
#include "clustering.h"
#include "err.h"
#include "readings.h"

enum { NT_SLOW_MAX = 8 };

struct nt_slow_host {
    uint32_t seat;
    bool placed;
    size_t level;             /* where it is placed: of the switch, */
    uint32_t beside;          /* and a seat below that */
    double us;                /* its link is longer by that, */
    double variance;          /* known to that, us^2 */
    double error_probability; /* the chance that it hangs elsewhere */
};

struct nt_slow {
    size_t count;
    struct nt_slow_host host[NT_SLOW_MAX];
};

/* How many of so many hosts may be slow: with more the network is another one. */
size_t nt_slow_max(size_t seats);

bool nt_slow_has(const struct nt_slow *slow, uint32_t seat);
bool nt_slow_all_placed(const struct nt_slow *slow);

/* Not there already, and no more than NT_SLOW_MAX. */
void nt_slow_add(struct nt_slow *slow, uint32_t seat);

/* Adds those with several pairs in the calibration (which has none of those that are there already)
 * that are of no class, or of one that a few hosts have for themselves. None when they are too many
 * or contradict each other. Whom it adds without need is placed with an offset of about 0. */
int nt_slow_find(const struct nt_calibration *calibration, const struct nt_classes *classes,
                 const bool *lost, struct nt_slow *slow, struct nt_err *err);

/* What is known by now of a network of nested tiers; all borrowed. */
struct nt_found_tree {
    size_t seats;
    const bool *lost; /* seats of them */
    const struct nt_classes *classes;
    struct nt_clusters *clusters; /* of all but slow hosts that are not placed */
    const struct nt_slow *slow;
    const struct nt_readings *readings; /* all; sorted for verify.h */
    double noise;                       /* relative sd of a reading in calibration, */
    double pings; /* of so many; 0: unknown, later ones are as the classes say */
};

/* Places hosts one by one, where that is certain, and puts them into the tree's clusters. slow is
 * the tree's. */
int nt_slow_place(const struct nt_found_tree *tree, struct nt_slow *slow, struct nt_err *err);

enum { NT_SLOW_NONE = UINT32_MAX };

/* Who, of those not busy, is to be read with an unplaced host so that it tells most of where that
 * hangs; NT_SLOW_NONE: nobody is left. *late: it only tells between places that were read. */
int nt_slow_partner(const struct nt_found_tree *tree, uint32_t seat, const bool *busy,
                    uint32_t *partner, bool *late, struct nt_err *err);

/* The same before anything is known: another unplaced host, or the first from a seat on that it was
 * not read with. */
int nt_slow_any_partner(const struct nt_found_tree *tree, uint32_t seat, uint32_t from,
                        const bool *busy, uint32_t *partner, struct nt_err *err);

#endif
