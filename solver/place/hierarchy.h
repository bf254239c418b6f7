/* The hosts of a model as nested groups, near ones together: what constructive placement divides
 * tasks over. A tree's groups are its switches. Another network's are made by halving: hosts are
 * ordered between two far ends and cut in the middle. */
#ifndef NT_HIERARCHY_H
#define NT_HIERARCHY_H

#include <stddef.h>
#include <stdint.h>

#include "distance.h"
#include "err.h"

struct nt_group {
    uint32_t first_child, children; /* child groups stand together; 0 children: a host */
    uint32_t host;                  /* of a group without children */
    uint64_t capacity;              /* tasks that fit below */
};

struct nt_hierarchy {
    size_t groups;
    struct nt_group *group; /* group 0 holds everything */
};

/* Hosts of capacity 0 are left out. Children are ordered by their smallest host, so that a
 * depth-first walk keeps natural order where nothing speaks against it. */
int nt_hierarchy_create(const struct nt_model *model, const struct nt_distance *distance,
                        const uint32_t *capacity, struct nt_hierarchy **out, struct nt_err *err);
void nt_hierarchy_destroy(struct nt_hierarchy *hierarchy);

#endif
