/* SPDX-License-Identifier: Apache-2.0 */
/* Readings and figures in few bytes, as the store keeps them.
 *
 * Numbers are LEB128 varints (DWARF 4, section 7.6), indices differences to the last one, and
 * latencies and bandwidths logarithms in steps of 0.1 %: about ten bytes a pair, five a figure.
 * Tests: test_packed.c, fuzz/fuzz_packed.c. */
#ifndef NT_PACKED_H
#define NT_PACKED_H

#include <stddef.h>

#include "err.h"
#include "evidence.h"
#include "fleet_job.h"
#include "strbuf.h"

/* Appends to buf. pair: by a, then b. */
void nt_packed_put_pairs(struct nt_strbuf *buf, const struct nt_evidence_entry *pair, size_t n);
/* figure: by host, tier, kind. */
void nt_packed_put_figures(struct nt_strbuf *buf, const struct nt_fleet_figure *figure, size_t n);

/* Called with each in order; -1 (with err set) ends the visit. */
typedef int nt_packed_each_pair(void *context, const struct nt_evidence_entry *pair,
                                struct nt_err *err);
typedef int nt_packed_each_figure(void *context, const struct nt_fleet_figure *figure,
                                  struct nt_err *err);

/* hosts: every index is below it, else NT_ERR_INPUT, as for bytes that are none of these. */
int nt_packed_visit_pairs(const void *bytes, size_t n, size_t hosts, nt_packed_each_pair *each,
                          void *context, struct nt_err *err);
int nt_packed_visit_figures(const void *bytes, size_t n, size_t hosts, nt_packed_each_figure *each,
                            void *context, struct nt_err *err);

#endif
