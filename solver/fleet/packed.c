/* SPDX-License-Identifier: Apache-2.0 */
#include "packed.h"

#include <math.h>
#include <stdint.h>

static const double STEPS = 1000;      /* of a logarithm: 0.1 % each */
static const int64_t STEP_MAX = 40000; /* of 1e17 */

/* ---- writing ---- */

static void put_whole(struct nt_strbuf *buf, uint64_t value)
{
    char bytes[10];
    size_t n = 0;
    do {
        bytes[n] = (char)(value & 0x7f);
        value >>= 7;
        if (value != 0)
            bytes[n] = (char)(bytes[n] | (char)0x80);
        n++;
    } while (value != 0);
    nt_strbuf_put(buf, bytes, n);
}

/* Small numbers of either sign are small. */
static void put_signed(struct nt_strbuf *buf, int64_t value)
{
    put_whole(buf, value < 0 ? (uint64_t)(-(value + 1)) * 2 + 1 : (uint64_t)value * 2);
}

static int64_t steps_of(double value)
{
    double steps = round(log(value) * STEPS);
    return steps > (double)STEP_MAX    ? STEP_MAX
           : steps < -(double)STEP_MAX ? -STEP_MAX
                                       : (int64_t)steps;
}

void nt_packed_put_pairs(struct nt_strbuf *buf, const struct nt_evidence_entry *pair, size_t n)
{
    uint32_t a = 0, b = 0;
    int64_t last = 0;
    for (size_t k = 0; k < n; k++) {
        const struct nt_evidence_entry *p = &pair[k];
        int64_t lowest = steps_of(p->lowest_us), mean = steps_of(p->mean_us);
        if (k == 0 || p->a != a)
            b = p->a;
        put_whole(buf, p->a - a);
        put_whole(buf, p->b - b);
        put_whole(buf, p->count);
        put_signed(buf, lowest - last);
        if (p->count > 1) {
            put_whole(buf, mean > lowest ? (uint64_t)(mean - lowest) : 0);
            put_whole(buf, (uint64_t)fmin(1e6, round(p->sd_us / p->mean_us * STEPS)));
        }
        a = p->a;
        b = p->b;
        last = lowest;
    }
}

void nt_packed_put_figures(struct nt_strbuf *buf, const struct nt_fleet_figure *figure, size_t n)
{
    uint32_t host = 0;
    int64_t last[NT_FIGURE_KINDS] = {0};
    for (size_t k = 0; k < n; k++) {
        const struct nt_fleet_figure *f = &figure[k];
        int64_t steps = steps_of(f->value);
        put_whole(buf, f->host - host);
        put_whole(buf, (uint64_t)f->tier | (uint64_t)f->kind << 3 | (uint64_t)f->shared << 5 |
                           (uint64_t)f->bound << 6);
        put_signed(buf, steps - last[f->kind]);
        host = f->host;
        last[f->kind] = steps;
    }
}

/* ---- reading ---- */

struct reader {
    const unsigned char *at, *end;
    bool bad;
};

static uint64_t take_whole(struct reader *r, uint64_t most)
{
    uint64_t value = 0;
    for (unsigned shift = 0; r->at < r->end && shift < 63; shift += 7) {
        unsigned char byte = *r->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            r->bad |= value > most;
            return r->bad ? 0 : value;
        }
    }
    r->bad = true;
    return 0;
}

static int64_t take_steps(struct reader *r, int64_t last)
{
    uint64_t value = take_whole(r, 8 * (uint64_t)STEP_MAX);
    int64_t steps = last + (value % 2 == 1 ? -(int64_t)(value / 2) - 1 : (int64_t)(value / 2));
    r->bad |= steps > STEP_MAX || steps < -STEP_MAX;
    return r->bad ? 0 : steps;
}

static float value_of(int64_t steps)
{
    return (float)exp((double)steps / STEPS);
}

static int bad_bytes(struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_INPUT, "the store has packed readings that cannot be read");
}

int nt_packed_visit_pairs(const void *bytes, size_t n, size_t hosts, nt_packed_each_pair *each,
                          void *context, struct nt_err *err)
{
    struct reader r = {bytes, (const unsigned char *)bytes + n, false};
    uint64_t a = 0, b = 0;
    int64_t last = 0;
    while (r.at < r.end) {
        struct nt_evidence_entry p = {0};
        uint64_t more = take_whole(&r, UINT32_MAX);
        if (more != 0 || r.at == (const unsigned char *)bytes + 1)
            b = a + more;
        a += more;
        b += take_whole(&r, UINT32_MAX);
        p.count = (uint32_t)take_whole(&r, UINT32_MAX);
        last = take_steps(&r, last);
        p.lowest_us = p.mean_us = value_of(last);
        if (p.count > 1) {
            p.mean_us = value_of(last + (int64_t)take_whole(&r, (uint64_t)STEP_MAX));
            p.sd_us = p.mean_us * (float)((double)take_whole(&r, 1000000) / STEPS);
        }
        if (r.bad || a >= b || b >= hosts || p.count == 0)
            return bad_bytes(err);
        p.a = (uint32_t)a;
        p.b = (uint32_t)b;
        if (each(context, &p, err) != 0)
            return -1;
    }
    return 0;
}

int nt_packed_visit_figures(const void *bytes, size_t n, size_t hosts, nt_packed_each_figure *each,
                            void *context, struct nt_err *err)
{
    struct reader r = {bytes, (const unsigned char *)bytes + n, false};
    uint64_t host = 0;
    int64_t last[NT_FIGURE_KINDS] = {0};
    while (r.at < r.end) {
        host += take_whole(&r, UINT32_MAX);
        uint64_t what = take_whole(&r, 127), kind = what >> 3 & 3;
        if (r.bad || host >= hosts || kind >= NT_FIGURE_KINDS)
            return bad_bytes(err);
        last[kind] = take_steps(&r, last[kind]);
        struct nt_fleet_figure f = {.host = (uint32_t)host,
                                    .tier = (uint8_t)(what & 7),
                                    .kind = (uint8_t)kind,
                                    .shared = (what >> 5 & 1) != 0,
                                    .bound = what >> 6 != 0,
                                    .value = value_of(last[kind])};
        if (r.bad)
            return bad_bytes(err);
        if (each(context, &f, err) != 0)
            return -1;
    }
    return 0;
}
