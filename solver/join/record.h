/* SPDX-License-Identifier: Apache-2.0 */
/* Converts results of an order to the record of the sweep.
 * Tests: test_solve.c. */
#ifndef NT_RECORD_H
#define NT_RECORD_H

#include "samples.h"
#include "sweep.h"

/* Leaves phase, round and text to the caller (nt_samples_add). */
static inline struct nt_sample nt_record_of(const struct nt_order *order, const struct nt_result *r)
{
    static const enum nt_sample_kind kinds[] = {
        [NT_ORDER_LATENCY] = NT_SAMPLE_LATENCY,
        [NT_ORDER_BANDWIDTH] = NT_SAMPLE_BANDWIDTH,
        [NT_ORDER_PRTT] = NT_SAMPLE_PRTT,
        [NT_ORDER_KERNEL] = NT_SAMPLE_KERNEL,
    };
    bool kernel = order->kind == NT_ORDER_KERNEL;
    struct nt_sample x = {.kind = kinds[order->kind],
                          .a = kernel ? (uint32_t)order->pairs : r->a,
                          .b = kernel ? order->count : r->b,
                          .count = r->count,
                          .bytes = r->bytes,
                          .value_us = r->value_us};
    switch (x.kind) {
    case NT_SAMPLE_LATENCY:
        x.latency.se_us = r->se_us;
        x.latency.median_us = r->median_us;
        break;
    case NT_SAMPLE_PRTT:
        x.prtt.se_us = r->se_us;
        x.prtt.delay_us = order->delay_us;
        x.prtt.hold_us = order->hold_us;
        break;
    case NT_SAMPLE_KERNEL:
        x.kernel.low_us = r->median_us;
        x.kernel.high_us = r->se_us;
        break;
    case NT_SAMPLE_BANDWIDTH:
    case NT_SAMPLE_FAILED:
    case NT_SAMPLE_RESENT:
        break;
    }
    return x;
}

/* Sets the latency that was added last to its rounded value in the record, so that the sweep and
 * later readers of the record infer from equal values. */
static inline void nt_record_round(const struct nt_samples *s, struct nt_result *r)
{
    const struct nt_sample *x = &s->sample[s->samples - 1];
    if (x->kind != NT_SAMPLE_LATENCY)
        return;
    r->value_us = x->value_us;
    r->se_us = x->latency.se_us;
}

/* The retransmissions of one end of the pair, 0 or 1. */
static inline struct nt_sample nt_record_of_sent(const struct nt_result *r, int end)
{
    return (struct nt_sample){.kind = NT_SAMPLE_RESENT,
                              .a = end == 0 ? r->a : r->b,
                              .b = end == 0 ? r->b : r->a,
                              .count = r->sent[end].again,
                              .segments = r->sent[end].segments};
}

#endif
