/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a map that a placement may rely on: values that differ by less than their errors
 * become equal, so that noise decides nothing, and uncertain groups are removed.
 * Tests: test_equal_parts.c, test_supported_tree.c. */
#ifndef NT_EQUAL_PARTS_H
#define NT_EQUAL_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "model.h"

/* Creates *out, a copy of the model in which the values of similar links are equal: the links
 * between the same two tiers are sorted by a value; a chain of neighbours that differ by less than
 * 8 % or 4 standard errors gets its median. Links with a finding keep their values. */
int nt_equal_figures_create(const struct nt_model *model, struct nt_model **out,
                            struct nt_err *err);

/* On a tree, selects one of the placements that differ only in equivalent parts (with the same
 * links and capacity below): in it the part with the lower rank has the lower host. Changes
 * rank_host; does nothing on other networks. capacity: by host, the number of tasks that fit. */
int nt_equal_parts_order(const struct nt_model *equalised, const uint32_t *capacity, size_t ntasks,
                         uint32_t *rank_host, struct nt_err *err);

/* Creates *out, a copy of the model without switches with a support below NT_SUPPORT_USED. The
 * children of such a switch are connected to the next certain switch above, by a link with the
 * latency of the whole path and its lowest bandwidth. So paths to all other hosts keep their
 * length, and hosts below the switch are as far from each other as from any other host: placing
 * tasks in a group that may not exist brings no gain. Vertices keep their indices; a removed switch
 * has no link. *out is NULL if every switch is certain, or if none has a support. */
int nt_supported_tree_create(const struct nt_model *model, struct nt_model **out,
                             struct nt_err *err);

#endif
