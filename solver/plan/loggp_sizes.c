/* SPDX-License-Identifier: Apache-2.0 */
#include "loggp_sizes.h"

#include <math.h>
#include <stdlib.h>

#include "memory.h"
#include "sweep.h"

enum { TRAIN = 16, TRAIN_MIN = 2, SEND_TRAIN = 16, CHECKS = 6, TIMES_MAX = 4 };

/* A size in between is off when it is off by this share, and by three times its error. */
static const double OFF_SHARE = 0.04;
/* Times up to this multiple of the shortest message's are those of short messages. */
static const double SHORT_TIMES = 2;
/* Sizes closer than this share, or this many bytes, are not divided any further. */
static const double CLOSE_SHARE = 0.02, CLOSE_BYTES = 16;
/* Long trains of long messages show no more than short ones. */
static const double TRAIN_US = 100e3;
/* A sender's overhead beyond this size and a receiver's beyond that are not measured. */
static const double SEND_BYTES_MAX = 65536, RECEIVE_BYTES_MAX = 4096;
/* A hold without an answer in it becomes longer by this factor, up to this limit. */
static const double HOLD_TIMES = 4, HOLD_MAX_US = 100e3;

int nt_loggp_series_add(struct nt_loggp_series *run, struct nt_prtt m, struct nt_err *err)
{
    if (run->n == NT_PRTT_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "LogGP: more than %d measurements of one class",
                          (int)NT_PRTT_MAX);
    if (run->n == run->cap) {
        size_t cap = run->cap == 0 ? 64 : 2 * run->cap;
        struct nt_prtt *more = realloc(run->m, cap * sizeof *more);
        if (more == NULL)
            return nt_err_memory(err);
        run->m = more;
        run->cap = cap;
    }
    run->m[run->n++] = m;
    return 0;
}

double nt_curve_time_us(const struct nt_point *curve, size_t n, double bytes)
{
    if (n == 0)
        return 100 + bytes / 100; /* 100 us and 100 MB/s: the first round corrects it */
    if (bytes <= curve[0].x)
        return curve[0].y;
    for (size_t i = 1; i < n; i++)
        if (bytes <= curve[i].x) {
            double part = (bytes - curve[i - 1].x) / (curve[i].x - curve[i - 1].x);
            return curve[i - 1].y + part * (curve[i].y - curve[i - 1].y);
        }
    return curve[n - 1].y * bytes / curve[n - 1].x;
}

/* ---- the list ---- */
static void add_request(struct nt_loggp_requests *w, struct nt_loggp_request request)
{
    for (size_t k = 0; k < w->n; k++)
        if (w->request[k].bytes == request.bytes && w->request[k].count == request.count)
            return;
    if (w->n < NT_LOGGP_REQUESTS_MAX)
        w->request[w->n++] = request;
}

static int by_bytes(const void *a, const void *b)
{
    const struct nt_loggp_request *x = a, *y = b;
    return NT_ORDER(x->bytes, y->bytes, NT_ORDER(x->count, y->count, 0));
}

/* The results of all series of a step: the curve, and its regimes. */
struct known {
    struct nt_point *curve;
    size_t points;
    struct nt_line line[NT_SEGMENTS_MAX];
    size_t lines;
};

static int known_init(const struct nt_loggp_series *run, struct known *out, struct nt_arena *memory,
                      struct nt_err *err)
{
    *out = (struct known){.curve = nt_arena_array(memory, run->n, sizeof *out->curve)};
    if (nt_arena_check(memory, err) != 0)
        return -1;
    out->points = nt_prtt_curve(run->m, run->n, out->curve);
    if (out->points == 0)
        return 0;
    return nt_prtt_regimes(out->curve, out->points, out->line, &out->lines, err);
}

/* ---- 1, 2: sizes ---- */
void nt_loggp_requests_coarse(double max_bytes, double ratio, struct nt_loggp_requests *w)
{
    *w = (struct nt_loggp_requests){0};
    for (double s = 1; s < max_bytes; s *= ratio)
        add_request(w, (struct nt_loggp_request){.bytes = s, .count = 1});
    add_request(w, (struct nt_loggp_request){.bytes = max_bytes, .count = 1});
}

static void request_middle(struct nt_loggp_requests *w, double low, double high)
{
    if (high - low < CLOSE_BYTES || high / low < 1 + CLOSE_SHARE)
        return;
    add_request(w, (struct nt_loggp_request){
                       .bytes = floor(sqrt(low * high)), .count = 1, .low = low, .high = high});
}

static const struct nt_point *point_at(const struct known *k, double bytes)
{
    for (size_t i = 0; i < k->points; i++)
        if (k->curve[i].x == bytes)
            return &k->curve[i];
    return NULL;
}

static bool is_off(const struct known *k, const struct nt_loggp_request *request)
{
    const struct nt_point *low = point_at(k, request->low), *high = point_at(k, request->high);
    const struct nt_point *mid = point_at(k, request->bytes);
    if (low == NULL || high == NULL || mid == NULL)
        return false; /* a size that could not be measured: nothing to find there */
    double part = (mid->x - low->x) / (high->x - low->x);
    double off = fabs(mid->y - low->y - part * (high->y - low->y));
    return off > OFF_SHARE * mid->y && off > 3 * mid->sd;
}

/* Off once may be a disturbance: all three sizes again, and the lower values count. Off twice:
 * request the sizes on both sides. */
static void request_between(const struct known *known, size_t n,
                            const struct nt_loggp_request *request, struct nt_loggp_requests *next)
{
    bool off = false;
    for (size_t k = 0; k < n; k++)
        off = off || is_off(&known[k], request);
    if (!off)
        return;
    if (!request->twice) {
        struct nt_loggp_request again = *request;
        again.twice = true;
        add_request(next, again);
        add_request(next, (struct nt_loggp_request){.bytes = request->low, .count = 1, .low = -1});
        add_request(next, (struct nt_loggp_request){.bytes = request->high, .count = 1, .low = -1});
        return;
    }
    request_middle(next, request->low, request->bytes);
    request_middle(next, request->bytes, request->high);
}

static size_t times_measured(const struct nt_loggp_series *run, double bytes)
{
    size_t times = 0;
    for (size_t i = 0; i < run->n; i++)
        times += run->m[i].bytes == bytes && run->m[i].count == 1;
    return times;
}

/* Whether two rounds agree on the lowest time of this size. A disturbance of a whole round, such as
 * the core on which a process woke up, shows in no error within the round. */
static bool reading_agrees(const struct nt_loggp_series *run, double bytes)
{
    double lowest = INFINITY, second = INFINITY;
    for (size_t i = 0; i < run->n; i++) {
        if (run->m[i].bytes != bytes || run->m[i].count != 1)
            continue;
        second = fmin(second, fmax(lowest, run->m[i].time_us));
        lowest = fmin(lowest, run->m[i].time_us);
    }
    return second <= (1 + OFF_SHARE) * lowest;
}

/* Sizes that were measured once and are left out of the curve: once more. And short ones, in which
 * a disturbance is a large share, until two rounds agree. */
static void request_again(const struct nt_loggp_series *run, const struct known *k,
                          struct nt_loggp_requests *w)
{
    for (size_t i = 0; i < run->n; i++) {
        double bytes = run->m[i].bytes;
        size_t times = times_measured(run, bytes);
        const struct nt_point *point = point_at(k, bytes);
        bool is_short = point != NULL && point->y < SHORT_TIMES * k->curve[0].y;
        if (point == NULL ? times == 1
                          : is_short && times < TIMES_MAX && !reading_agrees(run, bytes))
            add_request(w, (struct nt_loggp_request){.bytes = bytes, .count = 1, .low = -1});
    }
}

static void request_sizes(const struct nt_loggp_series *runs, const struct known *known, size_t n,
                          struct nt_loggp_requests *w)
{
    struct nt_loggp_requests next = {0};
    size_t sizes = 0;
    for (size_t k = 0; k < n; k++)
        sizes = known[k].points > sizes ? known[k].points : sizes;
    for (size_t i = 0; i < w->n && sizes + next.n < NT_TRACK_SIZES_MAX; i++) {
        if (w->request[i].low > 0)
            request_between(known, n, &w->request[i], &next);
        else if (w->request[i].low == 0 && i + 1 < w->n) /* the coarse sizes, in order */
            request_middle(&next, w->request[i].bytes, w->request[i + 1].bytes);
    }
    for (size_t k = 0; k < n; k++)
        request_again(&runs[k], &known[k], &next);
    *w = next;
}

/* Where one regime ends and the next begins matters as far as their lines differ there. */
static void request_ends(const struct nt_loggp_series *run, const struct known *k,
                         struct nt_loggp_requests *w)
{
    for (size_t l = 0; l + 1 < k->lines && k->points < NT_TRACK_SIZES_MAX; l++) {
        const struct nt_line *a = &k->line[l], *b = &k->line[l + 1];
        double low = k->curve[b->first - 1].x, high = k->curve[b->first].x;
        double mid = floor(sqrt(low * high));
        double one = a->level + a->slope * (mid - a->at),
               other = b->level + b->slope * (mid - b->at);
        if (high - low >= CLOSE_BYTES && high / low >= 1 + CLOSE_SHARE &&
            fabs(one - other) > OFF_SHARE * fmin(one, other) && times_measured(run, mid) < 2)
            add_request(w, (struct nt_loggp_request){.bytes = mid, .count = 1, .low = -1});
    }
}

/* ---- 3: trains ---- */
/* The time of the slowest class, for which all classes that are measured together wait. */
static double slowest_us(const struct known *known, size_t n, double bytes)
{
    double time = 0;
    for (size_t k = 0; k < n; k++)
        time = fmax(time, nt_curve_time_us(known[k].curve, known[k].points, bytes));
    return time;
}

static void request_train(const struct known *known, size_t n, double bytes,
                          struct nt_loggp_requests *w)
{
    double count = TRAIN_US / slowest_us(known, n, bytes);
    count = count < TRAIN_MIN ? TRAIN_MIN : count > TRAIN ? TRAIN : floor(count);
    add_request(w, (struct nt_loggp_request){.bytes = bytes, .count = (uint32_t)count});
}

static void request_trains(const struct known *known, size_t n, struct nt_loggp_requests *w)
{
    for (size_t k = 0; k < n; k++)
        for (size_t l = 0; l < known[k].lines; l++) {
            const struct nt_line *line = &known[k].line[l];
            for (size_t part = 0; part < 3; part++)
                request_train(known, n,
                              known[k].curve[line->first + (line->count - 1) * part / 2].x, w);
        }
}

/* ---- 4, 5: overheads ---- */
/* The gap that was seen at this size; unknown: at most the time of a message. */
static double gap_us(const struct nt_loggp_series *run, const struct known *known, double bytes)
{
    double time = nt_curve_time_us(known->curve, known->points, bytes), gap = INFINITY;
    for (size_t i = 0; i < run->n; i++) {
        const struct nt_prtt *m = &run->m[i];
        if (m->bytes == bytes && m->count > 1 && m->delay_us == 0 && m->hold_us == 0)
            gap = fmin(gap, (m->time_us - 2 * time) / (m->count - 1.0));
    }
    return isfinite(gap) ? fmax(gap, 0) : time;
}

static double widest_gap_us(const struct nt_loggp_series *runs, const struct known *known, size_t n,
                            double bytes)
{
    double gap = 0;
    for (size_t k = 0; k < n; k++)
        gap = fmax(gap, gap_us(&runs[k], &known[k], bytes));
    return gap;
}

static void request_sends(const struct nt_loggp_series *runs, const struct known *known, size_t n,
                          struct nt_loggp_requests *w)
{
    for (size_t k = 0; k < n; k++)
        for (size_t l = 0; l < known[k].lines; l++) {
            double bytes = known[k].curve[known[k].line[l].first].x;
            if (bytes > SEND_BYTES_MAX)
                continue;
            add_request(w, (struct nt_loggp_request){
                               .bytes = bytes,
                               .count = SEND_TRAIN,
                               .delay_us = ceil(2 * widest_gap_us(runs, known, n, bytes)) + 20});
        }
}

/* By the end of the hold the answer must have arrived, also a slow one. */
static void request_receives(const struct known *known, size_t n, struct nt_loggp_requests *w)
{
    for (size_t k = 0; k < n; k++)
        for (size_t l = 0; l < known[k].lines; l++) {
            double bytes = known[k].curve[known[k].line[l].first].x;
            if (bytes <= RECEIVE_BYTES_MAX)
                add_request(w, (struct nt_loggp_request){
                                   .bytes = bytes,
                                   .count = 1,
                                   .hold_us = ceil(4 * slowest_us(known, n, bytes)) + 50});
        }
}

void nt_loggp_requests_repeat(struct nt_loggp_requests *requests,
                              const struct nt_loggp_request *request)
{
    struct nt_loggp_request longer = *request;
    longer.hold_us = HOLD_TIMES * request->hold_us;
    for (size_t k = requests->at; k < requests->n; k++)
        if (requests->request[k].bytes == longer.bytes &&
            requests->request[k].hold_us == longer.hold_us)
            return;
    if (request->hold_us > 0 && longer.hold_us <= HOLD_MAX_US &&
        requests->n < NT_LOGGP_REQUESTS_MAX)
        requests->request[requests->n++] = longer;
}

/* ---- 6: the check ---- */
static bool was_measured(const struct nt_loggp_series *runs, size_t n, double bytes)
{
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < runs[k].n; i++)
            if (runs[k].m[i].bytes == bytes)
                return true;
    return false;
}

/* From the size of pings on, in equal ratios, each moved to a size that was not measured. */
static void request_checks(const struct nt_loggp_series *runs, size_t n, double max_bytes,
                           struct nt_loggp_requests *w)
{
    double ratio = pow(fmax(max_bytes, NT_PING_BYTES) / NT_PING_BYTES, 1.0 / CHECKS);
    for (int k = 0; k < CHECKS; k++) {
        double bytes = floor(NT_PING_BYTES * pow(ratio, k + (k == 0 ? 0 : 0.5)));
        while (bytes < max_bytes && was_measured(runs, n, bytes))
            bytes++;
        add_request(w, (struct nt_loggp_request){.bytes = bytes, .count = 1});
    }
    /* again in another round: a disturbance of one is not an error of the prediction */
    for (size_t k = 0, sizes = w->n; k < sizes && w->n < NT_LOGGP_REQUESTS_MAX; k++)
        w->request[w->n++] = w->request[k];
}

int nt_loggp_requests_make(enum nt_loggp_step step, const struct nt_loggp_series *runs, size_t n,
                           double max_bytes, struct nt_loggp_requests *requests, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct known *known = nt_arena_array(&memory, n, sizeof *known);
    int rc = nt_arena_check(&memory, err);
    for (size_t k = 0; k < n && rc == 0; k++)
        rc = known_init(&runs[k], &known[k], &memory, err);
    if (rc == 0 && step == NT_STEP_BETWEEN) {
        request_sizes(runs, known, n, requests);
    } else if (rc == 0) {
        *requests = (struct nt_loggp_requests){0};
        for (size_t k = 0; step == NT_STEP_ENDS && k < n; k++) {
            request_ends(&runs[k], &known[k], requests);
            request_again(&runs[k], &known[k], requests);
        }
        if (step == NT_STEP_GAP)
            request_trains(known, n, requests);
        else if (step == NT_STEP_SEND)
            request_sends(runs, known, n, requests);
        else if (step == NT_STEP_RECEIVE)
            request_receives(known, n, requests);
        else if (step == NT_STEP_CHECK)
            request_checks(runs, n, max_bytes, requests);
    }
    if (rc == 0 && step != NT_STEP_CHECK)
        qsort(requests->request, requests->n, sizeof *requests->request, by_bytes);
    return rc;
}
