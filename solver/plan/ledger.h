/* What an adaptive sweep has read so far: pairs and logarithms of latencies. */
#ifndef NT_LEDGER_H
#define NT_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

struct nt_evidence {
    uint32_t a, b; /* seats: hosts in the order that the sweep took them */
    float ln;      /* natural logarithm of the latency in us */
};

struct nt_ledger {
    size_t count, room;
    struct nt_evidence *at; /* in the order of reading; owned */
};

int nt_ledger_add(struct nt_ledger *ledger, uint32_t a, uint32_t b, double ln, struct nt_err *err);
void nt_ledger_fini(struct nt_ledger *ledger);

#endif
