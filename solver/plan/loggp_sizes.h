/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the next messages to measure for one set of classes on one rail, from the results so far.
 * Private to plan/loggp.c.
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

/* The results of one class on one rail. */
struct nt_loggp_series {
    struct nt_prtt *m; /* owned */
    size_t n, cap;
    unsigned failures; /* consecutive ones */
    bool closed;
};

struct nt_loggp_request {
    double bytes, delay_us, hold_us;
    uint32_t count;
    /* It tests whether a line between these sizes fits; 0: a size of step 1; below 0: neither */
    double low, high;
    bool twice; /* repeated already */
};

struct nt_loggp_requests {
    size_t n, at;
    struct nt_loggp_request request[NT_LOGGP_REQUESTS_MAX];
};

int nt_loggp_series_add(struct nt_loggp_series *run, struct nt_prtt m, struct nt_err *err);

/* Estimated one-way time: by the nearest measured sizes, proportional beyond them; a default
 * without results. curve: nt_prtt_curve of a series. */
double nt_curve_time_us(const struct nt_point *curve, size_t n, double bytes);

/* The requests of NT_STEP_COARSE: sizes up to max_bytes, each ratio times the previous one. */
void nt_loggp_requests_coarse(double max_bytes, double ratio, struct nt_loggp_requests *requests);

/* The requests of a later step. Call it again for NT_STEP_BETWEEN and NT_STEP_ENDS after their
 * requests were measured, until there are none; the requests of NT_STEP_BETWEEN depend on the
 * previous ones. runs: the series of the classes that are measured together. */
int nt_loggp_requests_make(enum nt_loggp_step step, const struct nt_loggp_series *runs, size_t n,
                           double max_bytes, struct nt_loggp_requests *requests,
                           struct nt_err *err);

/* Repeats a request, with a longer hold, if no answer arrived by the end of the hold. Once for all
 * classes; the hold has a limit. */
void nt_loggp_requests_repeat(struct nt_loggp_requests *requests,
                              const struct nt_loggp_request *request);

#endif
