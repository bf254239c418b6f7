/* What a result of an order is in the record of its sweep. */
#ifndef NT_RECORD_H
#define NT_RECORD_H

#include "samples.h"
#include "sweep.h"

/* Its phase, round and text are still to come (nt_samples_add). */
static inline struct nt_sample nt_record_of(const struct nt_order *order, const struct nt_result *r)
{
    static const enum nt_sample_kind kinds[] = {
        [NT_ORDER_LATENCY] = NT_SAMPLE_LATENCY,
        [NT_ORDER_BANDWIDTH] = NT_SAMPLE_BANDWIDTH,
        [NT_ORDER_PRTT] = NT_SAMPLE_PRTT,
        [NT_ORDER_KERNEL] = NT_SAMPLE_KERNEL,
    };
    bool prtt = order->kind == NT_ORDER_PRTT, kernel = order->kind == NT_ORDER_KERNEL;
    return (struct nt_sample){.kind = kinds[order->kind],
                              .a = kernel ? (uint32_t)order->pairs : r->a,
                              .b = kernel ? order->count : r->b,
                              .count = r->count,
                              .bytes = r->bytes,
                              .value_us = r->value_us,
                              .se_us = r->se_us,
                              .median_us = prtt ? order->delay_us : r->median_us,
                              .hold_us = prtt ? order->hold_us : 0};
}

#endif
