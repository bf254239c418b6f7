/* SPDX-License-Identifier: Apache-2.0 */
/* Which messages to measure next, from what was measured: one track's steps. Private to
 * plan/loggp.c.
 * Tests: test_loggp_plan.c. */
#ifndef NT_LOGGP_SIZES_H
#define NT_LOGGP_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "prtt.h"

enum { NT_LOGGP_REQUESTS_MAX = 64, NT_TRACK_SIZES_MAX = 64 };

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
struct nt_loggp_series {
    struct nt_prtt *m; /* owned */
    size_t n, cap;
    unsigned failures; /* in a row */
    bool closed;
};

struct nt_loggp_request {
    double bytes, delay_us, hold_us;
    uint32_t count;
    double low, high; /* it tests whether a line between these sizes holds; 0: a coarse size,
                         below 0: neither */
    bool twice;       /* already measured a second time */
};

struct nt_loggp_requests {
    size_t n, at;
    struct nt_loggp_request request[NT_LOGGP_REQUESTS_MAX];
};

int nt_loggp_series_add(struct nt_loggp_series *run, struct nt_prtt m, struct nt_err *err);

/* One way, as far as known: by the nearest sizes, beyond them in proportion; a guess without any.
 * curve: nt_prtt_curve of a run. */
double nt_curve_time_us(const struct nt_point *curve, size_t n, double bytes);

/* Those of NT_STEP_COARSE: sizes up to max_bytes, each ratio times the one before. */
void nt_loggp_requests_coarse(double max_bytes, double ratio, struct nt_loggp_requests *requests);

/* The requests of a later step. NT_STEP_BETWEEN and NT_STEP_ENDS are called again when their
 * requests have been measured, until there are none; those of NT_STEP_BETWEEN follow from the
 * requests before. runs: of the classes that are measured together. */
int nt_loggp_requests_make(enum nt_loggp_step step, const struct nt_loggp_series *runs, size_t n,
                           double max_bytes, struct nt_loggp_requests *requests,
                           struct nt_err *err);

/* No answer had come by the end of the hold: it is measured once more, with a longer one. Once for
 * all classes that it came too late for; never beyond a limit. */
void nt_loggp_requests_repeat(struct nt_loggp_requests *requests,
                              const struct nt_loggp_request *request);

#endif
