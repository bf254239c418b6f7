/* Which messages to measure next, from what was measured: one track's steps. Private to
 * plan/loggp.c. */
#ifndef NT_LOGGP_SIZES_H
#define NT_LOGGP_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "prtt.h"

enum { NT_WANTS_MAX = 64, NT_TRACK_SIZES_MAX = 64 };

enum nt_loggp_step {
    NT_STEP_COARSE,
    NT_STEP_BETWEEN,
    NT_STEP_ENDS,
    NT_STEP_GAP,
    NT_STEP_SEND,
    NT_STEP_RECEIVE,
    NT_STEP_CHECK,
    NT_STEP_DONE,
};

/* What was measured of one class on one rail. */
struct nt_run {
    struct nt_prtt *m; /* owned */
    size_t n, cap;
    unsigned failures; /* in a row */
    bool closed;
};

struct nt_want {
    double bytes, delay_us, hold_us;
    uint32_t count;
    double low, high; /* it asks whether a line between these sizes holds; 0: a coarse size,
                         below 0: neither */
    bool twice;       /* already measured a second time */
};

struct nt_wants {
    size_t n, at;
    struct nt_want want[NT_WANTS_MAX];
};

int nt_run_add(struct nt_run *run, struct nt_prtt m, struct nt_err *err);

/* One way, as far as known: by the nearest sizes, beyond them in proportion; a guess without any.
 * curve: nt_prtt_curve of a run. */
double nt_curve_time_us(const struct nt_point *curve, size_t n, double bytes);

/* The wants of a step. NT_STEP_BETWEEN and NT_STEP_ENDS are asked again when their wants have been
 * measured, until there are none; those of NT_STEP_BETWEEN follow from the wants of before. runs:
 * of the classes that are measured together. */
int nt_loggp_wants(enum nt_loggp_step step, const struct nt_run *runs, size_t n, double max_bytes,
                   struct nt_wants *wants, struct nt_err *err);

/* No answer had come by the end of the hold: it is asked for once more, with a longer one. Once
 * for all classes that it came too late for; never beyond a limit. */
void nt_loggp_want_longer(struct nt_wants *wants, const struct nt_want *want);

#endif
