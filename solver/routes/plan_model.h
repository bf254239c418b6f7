/* SPDX-License-Identifier: Apache-2.0 */
/* A plan over a map: the network is known, routes are its shortest paths. */
#ifndef NT_PLAN_MODEL_H
#define NT_PLAN_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "model.h"
#include "plan.h"
#include "routes.h"

enum { NT_PLAN_PAIRS_MAX = 1 << 22 }; /* pairs whose routes are written out */

/* A minimal plan of a tree by a closed form, without enumerating all pairs: at a
 * switch with d branches one host stands for each branch, and the pairs (1,2), (2,3), ... with
 * (1,3) determine all d. Takes about the time of reading the map. NT_ERR_INPUT when the model is no
 * tree with its hosts at the ends, or has fewer than two hosts. */
int nt_plan_tree(const struct nt_model *model, struct nt_plan **out, struct nt_err *err);

/* Whether nt_plan_tree can take it. */
bool nt_plan_is_tree(const struct nt_model *model);

/* The shortest paths of all pairs by hops, the lowest vertices among equals; links are those of
 * the model. NT_ERR_INPUT over NT_PLAN_PAIRS_MAX pairs. Hosts that are not connected with others
 * have no routes. */
int nt_plan_model_routes(const struct nt_model *model, struct nt_routes **out, struct nt_err *err);

/* Any model: the closed form where it applies and no redundancy is required, else nt_plan_routes
 * over its shortest paths. */
int nt_plan_model(const struct nt_model *model, double redundancy, uint64_t seed,
                  struct nt_plan **out, struct nt_err *err);

#endif
