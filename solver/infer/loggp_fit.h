/* SPDX-License-Identifier: Apache-2.0 */
/* LogGP of one class of paths over one rail from PRTT measurements (Lichei 2006, section 3.2.3).
 *
 * With t(s) = o_send + L + o_recv + (s - 1) G for the time of a message of s bytes
 *   PRTT(1, 0, s) = 2 t(s)                                                          (3.2.2.1)
 *   PRTT(n, d, s) = PRTT(1, 0, s) + (n - 1) max(o_send + d, g + (s - 1) G)          (3.2.2.3)
 * where we differ from the source:
 * - Regimes. A transport changes its protocol with the size, so t(s) is pieces of lines; where
 *   they change is found (core/prtt.h), and each piece is a LogGP of its own.
 * - Two G. Behind store-and-forward switches a single short message pays every link's rate, a
 *   train only the slowest: G_us_per_byte is the slope of t(s), gap_us_per_byte that of the train.
 * - The receiver's overhead, which the source leaves open: after its send the first end looks at
 *   nothing for a hold h, by whose end the answer has arrived, and then takes it in: from the end
 *   of the send h + o_recv, all on one clock and without any waiting (the idea of T. Kielmann et
 *   al., Fast measurement of LogP parameters, 2000, section 3, for an answer). It is what taking in
 *   a message costs that is there already. Limits: the answer to a rendezvous does
 *   not arrive before it is asked for, so it is measured for short messages only; what interrupts
 *   do while the process holds still is not in it but in L; a process that sleeps until a message
 *   comes pays for waking up besides, which is in L too.
 *   In regimes without such figures, and from a rendezvous on (the time jumps by more than half
 * that of a short message), the overheads of the regime before hold and the rest of the level is in
 * L (a rendezvous's handshake is waiting, not computing).
 * - A sum. o_send + L + o_recv is the level of the line, so that the time is what was measured.
 * - Errors. L, o and g are stated if their standard error is at most half of them. If sending or
 * receiving overlaps the flight, or noise leaves no L, the overheads are unknown and L is the whole
 * level; a level below its error is unknown too, and the line begins at 0. Pure. */
#ifndef NT_LOGGP_FIT_H
#define NT_LOGGP_FIT_H

#include <stddef.h>

#include "err.h"
#include "map.h"
#include "prtt.h"

struct nt_loggp_fit {
    size_t regimes;
    struct nt_loggp regime[NT_SEGMENTS_MAX]; /* sizes rising, without gaps between them; class_name
                                                and rail are empty */
    double check_percent;                    /* over all regimes; NaN: nothing was held out */
};

/* NT_ERR_INPUT when there is no PRTT(1, 0, s) at all. What could not be fitted is NaN. */
int nt_loggp_fit(const struct nt_prtt *m, size_t n, struct nt_loggp_fit *out, struct nt_err *err);

#endif
