/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: hosts are linked to each other, or switches are, each with its hosts. A pair's latency is
 * the overhead of both ends plus one link latency per hop. The search for one; its steps are in
 * direct_network.h. What the caller has for a host may stand for the hosts of one switch
 * (switch_graph.c), and the caller decides by the score of graph_score.h.
 * Tests: test_infer_direct.c. */
#ifndef NT_INFER_DIRECT_H
#define NT_INFER_DIRECT_H

#include "direct_network.h"

/* More hosts are not searched for. */
enum { NT_DIRECT_HOSTS_MAX = 2048 };

/* The best direct network for w, out->score INFINITY when there is none, or the effort is spent:
 * then there may be one. */
int nt_direct_find(const struct nt_work *w, struct nt_direct_effort *effort, struct nt_direct *out,
                   struct nt_err *err);
/* No links; for nt_direct_fini. */
int nt_direct_init(struct nt_direct *d, size_t n, struct nt_err *err);
void nt_direct_fini(struct nt_direct *d);

/* Hops of the links; false: some host cannot be reached. Room: n, 2 * links, n + 1. */
bool nt_direct_count_hops(struct nt_direct *d, uint32_t *queue, uint32_t *neighbour, size_t *start);

/* ---- direct_model.c ---- */

/* Its model, with the family that direct_family.c recognises and the confidence in it. hosts: of
 * the input. */
int nt_direct_model(const struct nt_work *w, const struct nt_direct *d, size_t hosts,
                    struct nt_model **out, struct nt_err *err);

/* r2, rms_us and pairs_off of a graph's model, from all readings of w. A pair is off if one in a
 * hundred networks of good pairs has such a one. */
int nt_direct_quality(const struct nt_work *w, struct nt_model *model, struct nt_err *err);

#endif
