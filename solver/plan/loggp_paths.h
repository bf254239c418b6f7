/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the pair that represents each class of paths, and the classes that can be measured at
 * once.
 * Tests: test_loggp_plan.c. */
#ifndef NT_LOGGP_PATHS_H
#define NT_LOGGP_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "loggp.h"
#include "model.h"

enum { NT_LOGGP_CANDIDATES_MAX = 32, NT_LOGGP_HOPS_MAX = 64 };

struct nt_candidate {
    uint32_t pair[2];
    size_t links;
    uint32_t link[NT_LOGGP_HOPS_MAX]; /* on its path */
};

struct nt_path_class {
    uint32_t hops;
    size_t candidates, chosen;
    struct nt_candidate *candidate; /* room for NT_LOGGP_CANDIDATES_MAX; owned */
    size_t group;                   /* classes of one group share no host and no link */
};

struct nt_path_classes {
    size_t classes, groups;
    struct nt_path_class class[NT_LOGGP_CLASSES_MAX];
};

/* Finds the classes, nearest first. If there are too many, the farthest one replaces the last. The
 * caller frees out with nt_path_classes_fini. */
int nt_path_classes_init(struct nt_path_classes *out, const struct nt_model *model,
                         struct nt_err *err);
void nt_path_classes_fini(struct nt_path_classes *classes);

/* Selects another pair for a class that lost a host. false: there is none. */
bool nt_path_class_replace(struct nt_path_classes *classes, size_t k, const bool *lost);

#endif
