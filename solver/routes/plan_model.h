/* SPDX-License-Identifier: Apache-2.0 */
/* Plans for a known network: the routes are the shortest paths of a model. */
#ifndef NT_PLAN_MODEL_H
#define NT_PLAN_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "model.h"
#include "plan.h"
#include "routes.h"

enum { NT_PLAN_PAIRS_MAX = 1 << 22 }; /* pairs whose routes are enumerated */

/* Makes a minimal plan of a tree by a closed form, without enumerating all pairs. At a switch with
 * d branches, one host represents each branch, and the pairs (1,2), (2,3), ... with (1,3) determine
 * all d. Takes about the time of reading the map. NT_ERR_INPUT: the model is not a tree with hosts
 * as leaves, or has fewer than two hosts. The caller frees *out. */
int nt_plan_tree(const struct nt_model *model, struct nt_plan **out, struct nt_err *err);

/* Whether nt_plan_tree accepts the model. */
bool nt_plan_is_tree(const struct nt_model *model);

/* Makes the paths with the fewest hops of all pairs; among equal ones those over the lowest
 * vertices. Links have the indices of the model. Hosts without a connection have no routes.
 * NT_ERR_INPUT: more than NT_PLAN_PAIRS_MAX pairs. The caller frees *out. */
int nt_plan_model_routes(const struct nt_model *model, struct nt_routes **out, struct nt_err *err);

/* Makes a plan of any model: by the closed form if it applies and no redundancy is required, else
 * by nt_plan_routes over the shortest paths. The caller frees *out. */
int nt_plan_model(const struct nt_model *model, double redundancy, uint64_t seed,
                  struct nt_plan **out, struct nt_err *err);

#endif
