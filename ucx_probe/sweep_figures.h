/* SPDX-License-Identifier: Apache-2.0 */
/* What the log of the agent says of a sweep beside its status: rounds, findings, and the hosts to
 * look at. Pure.
 * Tests: bats/tells.bats. */
#ifndef NT_SWEEP_FIGURES_H
#define NT_SWEEP_FIGURES_H

#include "map.h"
#include "strbuf.h"

enum { NT_SWEEP_FIGURES_HOSTS = 100 }; /* characters of names in a list */

/* "rounds=39 findings=1 missing=n3 suspect=n5,n7,+4"; lists that are empty are left out. suspect:
 * the hosts that a finding names first, and of a link between switches none. */
void nt_sweep_figures_put(struct nt_strbuf *to, const struct nt_map *map);

#endif
