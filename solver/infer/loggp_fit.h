/* SPDX-License-Identifier: Apache-2.0 */
/* LogGP parameters of one class of paths over one rail from PRTT measurements (Lichei 2006, section
 * 3.2.3).
 *
 * With t(s) = o_send + L + o_recv + (s - 1) G, the time of a message of s bytes:
 * - PRTT(1, 0, s) = 2 t(s) (3.2.2.1)
 * - PRTT(n, d, s) = PRTT(1, 0, s) + (n - 1) max(o_send + d, g + (s - 1) G) (3.2.2.3)
 *
 * Differences from the source:
 * - Regimes. A transport changes its protocol with the size, so t(s) is piecewise linear. The
 *   changes are found (core/prtt.h), and each piece has its own LogGP parameters.
 * - Two G. Behind store-and-forward switches a single short message pays the rate of every link, a
 *   train only the slowest one: G_us_per_byte is the slope of t(s), gap_us_per_byte that of the
 *   train.
 * - The overhead of the receiver, which the source leaves open. After its send the first host does
 *   not poll for a hold h, by whose end the answer has arrived, and then receives it. From the end
 *   of the send this takes h + o_recv, on one clock and without waiting (an idea of T. Kielmann et
 *   al., Fast measurement of LogP parameters, 2000, section 3, for an answer). So o_recv is the
 *   cost of receiving a message that has arrived. Limits: the answer of a rendezvous arrives only
 *   on request, so o_recv is measured for short messages only. Work of interrupts during the hold,
 *   and the wake-up of a process that sleeps until a message arrives, are part of L. Regimes
 *   without such measurements, and regimes from a rendezvous on (the time jumps by more than half
 *   that of a short message), take the overheads of the regime before; the rest of the level is L,
 *   since the handshake of a rendezvous is waiting.
 * - The sum. o_send + L + o_recv is the level of the line, so that predictions equal the measured
 *   times.
 * - Errors. L, o and g are reported if their standard error is at most half of them. If sending or
 *   receiving overlaps the flight, or noise leaves no L, the overheads are unknown and L is the
 *   whole level. A level below its error is unknown, too, and the line begins at 0.
 *
 * Pure. */
#ifndef NT_LOGGP_FIT_H
#define NT_LOGGP_FIT_H

#include <stddef.h>

#include "err.h"
#include "map.h"
#include "prtt.h"

struct nt_loggp_fit {
    size_t regimes;
    /* ascending sizes without gaps; class_name and rail are empty */
    struct nt_loggp regime[NT_SEGMENTS_MAX];
    double check_percent; /* over all regimes; NaN: no measurement was held out */
};

/* NT_ERR_INPUT: there is no PRTT(1, 0, s). Parameters that could not be fitted are NaN. */
int nt_loggp_fit(const struct nt_prtt *m, size_t n, struct nt_loggp_fit *out, struct nt_err *err);

#endif
