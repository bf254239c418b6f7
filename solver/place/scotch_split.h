/* Divide tasks in two so that the least traffic is cut. The only file that sees Scotch. */
#ifndef NT_SCOTCH_SPLIT_H
#define NT_SCOTCH_SPLIT_H

#include "traffic.h"

struct nt_scotch_split;

/* The traffic must stay while it is used, and not be NT_TRAFFIC_ALL. */
int nt_scotch_split_create(const struct nt_traffic *traffic, uint64_t seed,
                           struct nt_scotch_split **out, struct nt_err *err);
void nt_scotch_split_destroy(struct nt_scotch_split *split);

/* Reorders tasks (n of them): the first c are one side, exactly; each side ascending. */
int nt_scotch_split(struct nt_scotch_split *split, uint32_t *tasks, size_t n, size_t c,
                    struct nt_err *err);

#endif
