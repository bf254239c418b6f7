/* SPDX-License-Identifier: Apache-2.0 */
#include "pairs.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"
#include "stats.h"

/* Relative values as integers, whose sums do not depend on their order */
#define FIXED_POINT 16777216.0

struct one { /* of a pair: its value */
    uint32_t a, b;
    double us;
    float weight, upper_us;
};

/* Readings by pairs. */
struct stream {
    const struct nt_pair_source *source;
    struct nt_arena *memory;
    struct nt_pair_value ahead; /* the first of the next pair */
    bool more;
    struct nt_pair_value *at; /* of this pair, the lowest first */
    size_t count, room;
};

double nt_pairs_tail_limit(double sd)
{
    double odds = M_PI * NT_TAIL_SCALE * (1 + NT_TAIL_RATE_PRIOR) / (2 * sd * sqrt(2 * M_PI));
    return odds > 1 ? sqrt(2 * log(odds)) : 0;
}

static int by_pair(const void *x, const void *y)
{
    const struct nt_pair_value *a = x, *b = y;
    return NT_ORDER(a->a, b->a, NT_ORDER(a->b, b->b, NT_ORDER(a->us, b->us, 0)));
}

static double median(float *values, size_t n)
{
    return n > 0 ? (double)nt_stats_select(values, n, n / 2) : 0;
}

static void rewind_stream(struct stream *s)
{
    s->source->rewind(s->source->of);
    s->more = s->source->next(s->source->of, &s->ahead);
}

/* The next pair's readings; whether there are any. */
static bool next_pair(struct stream *s)
{
    s->count = 0;
    while (s->more && (s->count == 0 || (s->ahead.a == s->at[0].a && s->ahead.b == s->at[0].b))) {
        if (s->count == s->room) {
            void *grown = nt_arena_grow(s->memory, s->at, &s->room, s->count + 1, sizeof *s->at);
            if (grown == NULL)
                return false;
            s->at = grown;
        }
        size_t k = s->count++;
        for (; k > 0 && s->at[k - 1].us > s->ahead.us; k--)
            s->at[k] = s->at[k - 1];
        s->at[k] = s->ahead;
        s->more = s->source->next(s->source->of, &s->ahead);
    }
    return s->count > 0;
}

/* The sd of one reading: from differences of a pair's two lowest, and from standard errors, which
 * count as a few more pairs. *error: the median of these; 0: none. */
static double noise_of(struct stream *s, float *differ, size_t pairs, float *room, double *error)
{
    const double errors = 3 / NT_MAD_EFFICIENCY;
    size_t n = 0;
    double apart = pairs > 0 ? NT_SD_OF_MEDIAN * median(differ, pairs) / M_SQRT2 : 0;
    for (rewind_stream(s); s->source->errors && next_pair(s);)
        for (size_t k = 0; k < s->count; k++)
            if (s->at[k].se_us > 0)
                room[n++] = (float)s->at[k].se_us;
    double own = *error = median(room, n), share = (double)pairs / ((double)pairs + errors);
    if (!(apart > 0) || !(own > 0))
        return fmax(apart, own);
    return exp(share * log(apart) + (1 - share) * log(own));
}

/* Readings with a standard error well above the usual one have less weight. Their variance is
 * shrunk to the usual one with equal weights, since an error comes from few readings (Smyth
 * 2004). */
static double weight_of(const struct nt_pair_value *v, double usual)
{
    const double far = 2; /* smaller errors are part of the noise of all readings */
    double weight = v->weight > 0 && v->weight < 1 ? v->weight : 1, part = v->se_us / usual;
    return part > far ? weight * 2 / (1 + part * part) : weight;
}

/* A length that is a multiple of the step, and its possible error. */
struct measure {
    double value, error;
};

/* The largest step of which both are multiples, by Euclid's algorithm, as far as errors allow. */
static struct measure common(struct measure a, struct measure b)
{
    while (b.value > 2 * b.error) {
        double times = round(a.value / b.value);
        struct measure rest = {fabs(a.value - b.value * times), a.error + b.error * times};
        if (rest.error > b.value / 4) /* too far to count */
            return (struct measure){0, 0};
        if (rest.value <= 2 * rest.error) /* a multiple, which determines the step better */
            return times > 0 && a.error / times < b.error
                       ? (struct measure){a.value / times, a.error / times}
                       : b;
        a = b;
        b = rest;
    }
    return a;
}

/* The common step of sorted values: first of their differences, from the smallest, then of the
 * values. A float has six to seven digits. */
static double step_of_sorted(const float *value, size_t count, double part, float *room)
{
    const double digits = 1.5e-7;
    double largest = count > 0 ? (double)value[count - 1] : 0;
    struct measure step = {0, 0};
    size_t n = 0;
    for (size_t k = 1; k < count; k++)
        room[n++] = value[k] - value[k - 1];
    qsort(room, n, sizeof *room, nt_compare_floats);
    for (size_t k = 0; k < n + count; k++) {
        struct measure next = {(double)(k < n ? room[k] : value[k - n]), digits * largest};
        if (next.value <= 2 * next.error)
            continue;
        step = step.value > 0 ? common(next, step) : next;
        if (step.value < part * largest)
            return 0;
    }
    return count > 1 ? step.value : 0;
}

/* Multiples of more than this part of a latency are exact readings of few levels: no timer is so
 * coarse. */
static const double coarsest = 0.125;

double nt_pairs_step(float *value, size_t count, double part, float *room)
{
    enum { FEW = 64 };
    float few[FEW] = {0};
    if (count == 0)
        return 0;
    size_t n = count < FEW ? count : FEW;
    for (size_t k = 0; k < n; k++)
        few[k] = value[k * (count / n)];
    qsort(few, n, sizeof *few, nt_compare_floats);
    if (step_of_sorted(few, n, part, room) <= 0 && few[0] < few[n - 1])
        return 0; /* few readings show that there is none */
    qsort(value, count, sizeof *value, nt_compare_floats);
    return step_of_sorted(value, count, part, room);
}

/* One value per pair into at[]; their number. Tails are upward: readings over the lowest by more
 * than the tail's limit do not count. usual: the noise of most. */
static size_t merge(struct stream *s, struct one *at, double sd, double scale, double usual)
{
    double limit = sd > 0 ? nt_pairs_tail_limit(sd * M_SQRT2 / scale) * sd * M_SQRT2 : 0;
    size_t pairs = 0;
    for (rewind_stream(s); next_pair(s);) {
        double sum = 0, weight = 0, all = 0;
        size_t kept = 0;
        for (size_t k = 0; k < s->count; k++) {
            all += s->at[k].us;
            if (sd <= 0 || s->at[k].us <= s->at[0].us + limit) {
                sum += s->at[k].us;
                weight += weight_of(&s->at[k], usual);
                kept++;
            }
        }
        float upper =
            kept < s->count ? (float)((all - sum) / (double)(s->count - kept)) : (float)NAN;
        at[pairs++] = (struct one){.a = s->at[0].a,
                                   .b = s->at[0].b,
                                   .us = sum / (double)kept,
                                   .weight = (float)(weight / (double)kept),
                                   .upper_us = upper};
    }
    return pairs;
}

uint64_t nt_pairs_mix(uint64_t z)
{
    struct nt_rng rng = {z};
    return nt_rng_next(&rng);
}

struct key {
    double mean;
    uint64_t colour;
    uint32_t host;
};

static int by_key(const void *x, const void *y)
{
    const struct key *a = x, *b = y;
    return NT_ORDER(a->mean, b->mean,
                    NT_ORDER(a->colour, b->colour, NT_ORDER(a->host, b->host, 0)));
}

static int by_number(const void *x, const void *y)
{
    const struct key *a = x, *b = y;
    return NT_ORDER(a->host, b->host, 0);
}

static int64_t fixed(double us, double scale)
{
    return llround(us / scale * FIXED_POINT);
}

/* key[hosts] in the order of readings; hosts without any have mean infinity. */
static void order_hosts(const struct nt_pairs *p, const struct one *at, struct key *key,
                        int64_t *sum, uint64_t *next)
{
    size_t pairs = p->count;
    uint32_t hosts = p->all;
    double scale = p->scale_us;
    uint32_t *degree = (uint32_t *)next; /* used before next is */
    for (uint32_t h = 0; h < hosts; h++)
        key[h] = (struct key){.host = h};
    for (size_t k = 0; k < pairs; k++) {
        int64_t v = fixed(at[k].us, scale);
        sum[at[k].a] += v;
        sum[at[k].b] += v;
        degree[at[k].a]++;
        degree[at[k].b]++;
    }
    for (uint32_t h = 0; h < hosts; h++)
        key[h].mean = degree[h] > 0 ? (double)sum[h] / degree[h] : (double)INFINITY;
    qsort(key, hosts, sizeof *key, by_key);
    bool tie = false;
    for (uint32_t h = 1; h < hosts; h++)
        tie = tie || (isfinite(key[h].mean) && key[h].mean <= key[h - 1].mean);
    if (!tie)
        return;
    qsort(key, hosts, sizeof *key, by_number);
    for (int round = 0; round < 3; round++) {
        memset(next, 0, hosts * sizeof *next);
        for (size_t k = 0; k < pairs; k++) {
            uint64_t v = (uint64_t)fixed(at[k].us, scale);
            next[at[k].a] += nt_pairs_mix(v ^ nt_pairs_mix(key[at[k].b].colour));
            next[at[k].b] += nt_pairs_mix(v ^ nt_pairs_mix(key[at[k].a].colour));
        }
        for (uint32_t h = 0; h < hosts; h++)
            key[h].colour = next[h];
    }
    qsort(key, hosts, sizeof *key, by_key);
}

/* The pairs of each host as the second, in the order of hosts: second[first[host]...]. */
static void list_seconds(const struct one *at, size_t pairs, uint32_t hosts, size_t *first,
                         size_t *second)
{
    for (size_t k = 0; k < pairs; k++)
        first[at[k].b + 1]++;
    for (uint32_t h = 0; h < hosts; h++)
        first[h + 1] += first[h];
    for (size_t k = 0; k < pairs; k++)
        second[first[at[k].b]++] = k;
    for (uint32_t h = hosts; h > 0; h--)
        first[h] = first[h - 1];
    first[0] = 0;
}

static void add_entry(struct nt_pairs *p, size_t k, uint32_t host, const struct one *pair)
{
    p->entry[k] = (struct nt_pair_entry){host, (float)(pair->us / p->scale_us - 1)};
    if (p->weight != NULL)
        p->weight[k] = pair->weight;
    if (p->upper != NULL)
        p->upper[k] = pair->upper_us / (float)p->scale_us - 1;
}

static int make_arrays(struct nt_pairs *p, const struct one *at, struct nt_err *err)
{
    bool weights = false;
    for (size_t k = 0; k < p->count; k++) {
        weights = weights || at[k].weight < 1;
        p->uppers += at[k].upper_us > 0;
    }
    p->start = nt_arena_array(&p->memory, (size_t)p->hosts + 1, sizeof *p->start);
    p->entry = nt_arena_array(&p->memory, 2 * p->count, sizeof *p->entry);
    p->origin = nt_arena_array(&p->memory, p->hosts, sizeof *p->origin);
    p->weight = weights ? nt_arena_array(&p->memory, 2 * p->count, sizeof *p->weight) : NULL;
    p->upper = p->uppers > 0 ? nt_arena_array(&p->memory, 2 * p->count, sizeof *p->upper) : NULL;
    return nt_arena_check(&p->memory, err);
}

/* Pairs of a host by the seat of the other one. */
struct row {
    const struct one **pair;
    uint64_t *filled; /* bits of seats */
};

static void put(struct row *row, uint32_t seat, const struct one *pair)
{
    row->pair[seat] = pair;
    row->filled[seat / 64] |= UINT64_C(1) << seat % 64;
}

/* Appends the pairs of a row, in the order of seats, and empties it. */
static void take_row(struct nt_pairs *p, struct row *row, size_t k)
{
    for (uint32_t word = 0; word <= p->hosts / 64; word++)
        for (uint64_t left = row->filled[word]; left != 0; left &= left - 1) {
            uint32_t seat = 64 * word + (uint32_t)__builtin_ctzll(left);
            add_entry(p, k++, seat, row->pair[seat]);
        }
    memset(row->filled, 0, (p->hosts / 64 + 1) * sizeof *row->filled);
}

static int fill_rows(struct nt_pairs *p, const struct one *at, const struct key *key,
                     struct nt_arena *memory, struct nt_err *err)
{
    uint32_t hosts = p->all, *seat = nt_arena_array(memory, hosts, sizeof *seat);
    size_t *first = nt_arena_array(memory, (size_t)hosts + 1, sizeof *first);
    size_t *second = nt_arena_array(memory, p->count, sizeof *second), k = 0;
    size_t *begin = nt_arena_array(memory, (size_t)hosts + 1, sizeof *begin);
    struct row row = {nt_arena_array(memory, hosts, sizeof *row.pair),
                      nt_arena_array(memory, hosts / 64 + 1, sizeof *row.filled)};
    while (p->hosts < hosts && isfinite(key[p->hosts].mean))
        p->hosts++;
    if (nt_arena_check(memory, err) != 0 || make_arrays(p, at, err) != 0)
        return -1;
    for (uint32_t h = 0; h < p->hosts; h++) {
        p->origin[h] = key[h].host;
        seat[key[h].host] = h;
    }
    list_seconds(at, p->count, hosts, first, second);
    for (uint32_t h = 0; h < hosts; h++) {
        begin[h] = k;
        while (k < p->count && at[k].a == h)
            k++;
    }
    begin[hosts] = k;
    for (uint32_t h = 0; h < p->hosts; h++) {
        uint32_t i = p->origin[h];
        p->start[h + 1] = p->start[h] + begin[i + 1] - begin[i] + first[i + 1] - first[i];
    }
    /* in the order of readings, whose memory is near then */
    for (uint32_t i = 0; i < hosts; i++) {
        for (k = begin[i]; k < begin[i + 1]; k++)
            put(&row, seat[at[k].b], &at[k]);
        for (k = first[i]; k < first[i + 1]; k++)
            put(&row, seat[at[second[k]].a], &at[second[k]]);
        take_row(p, &row, p->start[seat[i]]);
    }
    return 0;
}

static int make(struct nt_pairs *p, const struct nt_pair_source *source, struct nt_arena *memory,
                struct nt_err *err)
{
    uint32_t hosts = p->all;
    struct stream stream = {.source = source, .memory = memory};
    struct nt_arena_block *mark = nt_arena_mark(memory);
    float *room = nt_arena_array(memory, source->most, sizeof *room);
    float *differ = nt_arena_array(memory, source->most / 2, sizeof *differ);
    float *steps = nt_arena_array(memory, source->most, sizeof *steps);
    size_t count = 0, several = 0, most = 0; /* most: readings of a pair */
    double error;
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (rewind_stream(&stream); next_pair(&stream);) {
        p->count++;
        for (size_t k = 0; k < stream.count; k++)
            room[count++] = (float)stream.at[k].us;
        if (stream.count > 1)
            differ[several++] = (float)(stream.at[1].us - stream.at[0].us);
        most = stream.count > most ? stream.count : most;
    }
    /* below a thousandth, a timer is negligible in the noise */
    double step = nt_pairs_step(room, count, 1e-3, steps);
    p->scale_us = median(room, count);
    double sd = noise_of(&stream, differ, several, room, &error);
    if (sd > 0 && most == 2) /* the lowest two of more have another distribution */
        p->wide = nt_wide_noise_fit(differ, several, sd, NT_TAIL_SCALE * p->scale_us);
    nt_arena_release(memory, mark);
    stream.at = NULL;
    stream.room = 0;
    struct one *at = nt_arena_array(memory, p->count, sizeof *at);
    struct key *key = nt_arena_array(memory, hosts, sizeof *key);
    int64_t *sum = nt_arena_array(memory, hosts, sizeof *sum);
    uint64_t *next = nt_arena_array(memory, hosts, sizeof *next);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    if (merge(&stream, at, sd, p->scale_us, fmax(sd, error)) != p->count)
        return nt_arena_check(memory, err);
    /* directions that never differ are one reading, given twice */
    double per_pair = p->count > 0 && sd > 0 ? (double)count / (double)p->count : 1;
    p->noise = count > 0 ? sd / sqrt(per_pair) / p->scale_us : 0;
    p->usual = count > 0 ? fmax(sd, error) / sqrt(per_pair) / p->scale_us : 0;
    if (step > coarsest * p->scale_us)
        step = 0;
    p->quantum = count > 0 ? step / sqrt(per_pair) / p->scale_us : 0;
    order_hosts(p, at, key, sum, next);
    return fill_rows(p, at, key, memory, err);
}

int nt_pairs_read(uint32_t hosts, const struct nt_pair_source *source, struct nt_pairs **out,
                  struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_pairs *p = nt_object_create(sizeof *p, err);
    if (p == NULL)
        return -1;
    p->all = hosts;
    if (make(p, source, &memory, err) != 0) {
        nt_pairs_destroy(p);
        return -1;
    }
    *out = p;
    return 0;
}

void nt_pairs_reweigh(struct nt_pairs *p, double noise)
{
    double part = p->usual * p->usual / (noise * noise);
    for (size_t k = 0; p->weight != NULL && p->usual > 0 && k < 2 * p->count; k++)
        p->weight[k] = (float)(1 / (1 + part * (1 / (double)p->weight[k] - 1)));
    p->usual = p->usual > 0 ? noise : 0;
}

int nt_pairs_weigh_hosts(struct nt_pairs *p, const double *factor, struct nt_err *err)
{
    if (p->weight == NULL) {
        p->weight = nt_arena_array(&p->memory, 2 * p->count, sizeof *p->weight);
        for (size_t k = 0; p->weight != NULL && k < 2 * p->count; k++)
            p->weight[k] = 1;
    }
    for (uint32_t i = 0; p->weight != NULL && i < p->hosts; i++)
        for (size_t k = p->start[i]; k < p->start[i + 1]; k++)
            p->weight[k] *= (float)(factor[i] * factor[p->entry[k].host]);
    return nt_arena_check(&p->memory, err);
}

struct list {
    struct nt_pair_value *value;
    size_t count, at;
};

static void rewind_list(void *of)
{
    ((struct list *)of)->at = 0;
}

static bool next_of_list(void *of, struct nt_pair_value *value)
{
    struct list *l = of;
    if (l->at == l->count)
        return false;
    *value = l->value[l->at++];
    return true;
}

int nt_pairs_create(uint32_t hosts, const struct nt_pair_value *values, size_t count,
                    struct nt_pairs **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct list list = {.value = nt_arena_array(&memory, count, sizeof *values), .count = count};
    struct nt_pair_source source = {&list, rewind_list, next_of_list, count, true};
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < count; k++) {
        const struct nt_pair_value *v = &values[k];
        if (v->a >= hosts || v->b >= hosts || v->a == v->b)
            return nt_err_set(err, NT_ERR_INPUT, "reading %zu: hosts %u and %u: expected two of %u",
                              k, v->a, v->b, hosts);
        if (!isfinite(v->us) || v->us <= 0)
            return nt_err_set(err, NT_ERR_INPUT, "reading %zu: %g us: expected a positive number",
                              k, v->us);
        list.value[k] = *v;
        list.value[k].a = v->a < v->b ? v->a : v->b;
        list.value[k].b = v->a < v->b ? v->b : v->a;
    }
    qsort(list.value, count, sizeof *list.value, by_pair);
    return nt_pairs_read(hosts, &source, out, err);
}

void nt_pairs_destroy(struct nt_pairs *pairs)
{
    nt_object_destroy(pairs);
}

const struct nt_pair_entry *nt_pairs_find(const struct nt_pairs *pairs, uint32_t a, uint32_t b)
{
    size_t low = pairs->start[a], high = pairs->start[a + 1];
    if (high - low + 1 == pairs->hosts) /* all others */
        return a != b ? &pairs->entry[low + b - (b > a)] : NULL;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pairs->entry[middle].host < b)
            low = middle + 1;
        else
            high = middle;
    }
    return low < pairs->start[a + 1] && pairs->entry[low].host == b ? &pairs->entry[low] : NULL;
}
