/* LogGP of one class of paths over one rail from PRTT measurements (seed 003, section 3.2.3).
 *
 * With t(s) = o_send + L + o_recv + (s - 1) G for the time of a message of s bytes
 *   PRTT(1, 0, s) = 2 t(s)                                                          (3.2.2.1)
 *   PRTT(n, d, s) = PRTT(1, 0, s) + (n - 1) max(o_send + d, g + (s - 1) G)          (3.2.2.3)
 * where we differ from the source:
 * - Regimes. A transport changes its protocol with the size, so t(s) is pieces of lines; where
 *   they change is found (core/prtt.h), and each piece is a LogGP of its own.
 * - Two G. Behind store-and-forward switches a single short message pays every link's rate, a
 *   train only the slowest: G_us_per_byte is the slope of t(s), gap_us_per_byte that of the train.
 * - The receiver's overhead, which the source leaves open: the answering end looks at nothing for a
 *   hold h, by whose end all n messages have arrived; then it takes them in one after the other.
 *   PRTT_h(n, 0, s) - PRTT_h(1, 0, s) = (n - 1) o_recv. It is what taking in a message costs that
 *   is there already. Limits: messages of a rendezvous do not arrive before they are taken, so it
 *   is measured for short ones only; what an interrupt does while the process holds still is not
 *   in it but in L; the message taken in together with others may be cheaper than alone.
 *   In regimes without such figures the overheads of the regime before hold and the rest of the
 *   level is in L (a rendezvous's handshake is waiting, not computing).
 * Pure. */
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

/* NT_ERR_INPUT when there is no PRTT(1, 0, s) at all. What could not be fitted is NaN. L may come
 * out below 0 where sending overlaps the flight: then o + L + o is still the time. */
int nt_loggp_fit(const struct nt_prtt *m, size_t n, struct nt_loggp_fit *out, struct nt_err *err);

#endif
