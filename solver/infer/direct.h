/* SPDX-License-Identifier: Apache-2.0 */
/* Networks without switches: hosts are linked to each other, and a pair's latency is the overhead
 * of both ends plus one link latency a hop. The search for one; what it is made of is in
 * direct_network.h.
 * Tests: test_infer_direct.c. */
#ifndef NT_INFER_DIRECT_H
#define NT_INFER_DIRECT_H

#include "direct_network.h"

/* More hosts are not searched for. */
enum { NT_DIRECT_HOSTS_MAX = 2048 };

/* The best direct network for w, out->score INFINITY when there is none, or the effort is spent:
 * then there may be one. to_beat: a score; the search ends early where it is out of reach. */
int nt_direct_find(const struct nt_work *w, double to_beat, struct nt_direct_effort *effort,
                   struct nt_direct *out, struct nt_err *err);
/* No links; for nt_direct_fini. */
int nt_direct_init(struct nt_direct *d, size_t n, struct nt_err *err);
void nt_direct_fini(struct nt_direct *d);

/* Hops of the links; false: some host cannot be reached. Room: n, 2 * links, n + 1. */
bool nt_direct_count_hops(struct nt_direct *d, uint32_t *queue, uint32_t *neighbour, size_t *start);

/* Whether a direct network is worth the time that it takes to look for one. Under 24 hosts it is
 * nothing; else a tree that leaves no more than noise is clear, unless it has as many switches as a
 * line of hosts would need, or too many pairs are missing to tell. */
bool nt_direct_is_plausible(const struct nt_work *w, const struct nt_model *model, double misfit);

/* ---- direct_model.c ---- */

/* Its model, with the family that direct_family.c recognises and the confidence in it. hosts: of
 * the input. */
int nt_direct_model(const struct nt_work *w, const struct nt_direct *d, size_t hosts,
                    struct nt_model **out, struct nt_err *err);

#endif
