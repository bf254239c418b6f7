/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts whose own link is slow in all jobs: everything is farther from them by the same.
 *
 * Among nested tiers such a host fits nowhere but at the top. Of the switches of its partners it is
 * at the one where all its readings, less one offset, are what that place has; then the offset is
 * taken out of its readings. A host that is slow since some day, or has moved, has no such place.
 * Tests: test_cluster_map.c. */
#ifndef NT_SLOW_LINKS_H
#define NT_SLOW_LINKS_H

#include "cluster_tiers.h"
#include "err.h"
#include "evidence.h"

/* If more than one host in eight differs from the others of its place, the hosts of the cluster are
 * not equally deep. */
enum { NT_UNEVEN_ONE_IN = 8 };

/* Changes ln of entries. extra_us[hosts]: of such hosts their offset, else 0. *count: of them. */
int nt_slow_links_take_out(struct nt_evidence *evidence, const struct nt_cluster_tiers *tiers,
                           double *extra_us, size_t *count, struct nt_err *err);

#endif
