/* SPDX-License-Identifier: Apache-2.0 */
#include "pair_failures.h"

#include <stdio.h>
#include <stdlib.h>

#include "bandwidth.h"
#include "memory.h"

/* The results of the attempts of one pair. */
struct attempts {
    struct nt_pair_failure pair;
    bool flow_failed, answers, flows; /* answers: a latency was measured; flows: so was a flow */
};

static int by_pair(const void *x, const void *y)
{
    const struct nt_pair_failure *a = &((const struct attempts *)x)->pair;
    const struct nt_pair_failure *b = &((const struct attempts *)y)->pair;
    return NT_ORDER(a->a, b->a, NT_ORDER(a->b, b->b, 0));
}

static bool is_of_pair(const struct nt_samples *s, const struct nt_sample *x)
{
    return x->kind != NT_SAMPLE_KERNEL && x->kind != NT_SAMPLE_RESENT && x->a < s->hosts &&
           x->b < s->hosts && s->missing[x->a] == NULL && s->missing[x->b] == NULL;
}

static struct attempts of_pair(const struct nt_sample *x)
{
    return (struct attempts){.pair = {x->a < x->b ? x->a : x->b, x->a < x->b ? x->b : x->a, NULL}};
}

/* Each pair with a failure, once, in the order of hosts. */
static size_t list_failed(const struct nt_samples *s, struct attempts *list)
{
    size_t n = 0, kept = 0;
    for (size_t k = 0; k < s->samples; k++)
        if (s->sample[k].kind == NT_SAMPLE_FAILED && is_of_pair(s, &s->sample[k]))
            list[n++] = of_pair(&s->sample[k]);
    qsort(list, n, sizeof *list, by_pair);
    for (size_t k = 0; k < n; k++)
        if (kept == 0 || by_pair(&list[kept - 1], &list[k]) != 0)
            list[kept++] = list[k];
    return kept;
}

static void note_attempt(const struct nt_samples *s, const struct nt_sample *x, struct attempts *a)
{
    const char *phase = x->phase < s->phases ? s->phase[x->phase].name : "";
    if (x->kind == NT_SAMPLE_FAILED && a->pair.reason == NULL)
        a->pair.reason = s->text[x->text];
    a->flow_failed |= x->kind == NT_SAMPLE_FAILED && nt_bandwidth_is_phase(phase);
    a->answers |= x->kind == NT_SAMPLE_LATENCY;
    a->flows |= x->kind == NT_SAMPLE_BANDWIDTH;
}

static void add_failure(const struct nt_pair_failure *pair, size_t *n,
                        struct nt_pair_failure list[NT_PAIRS_NAMED_MAX])
{
    if (*n < NT_PAIRS_NAMED_MAX)
        list[*n] = *pair;
    ++*n;
}

int nt_pair_failures_find(const struct nt_samples *s, struct nt_pair_failures *out,
                          struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t failed = 0;
    *out = (struct nt_pair_failures){0};
    for (size_t k = 0; k < s->samples; k++)
        failed += s->sample[k].kind == NT_SAMPLE_FAILED;
    struct attempts *list = nt_arena_array(&memory, failed + 1, sizeof *list);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    size_t n = list_failed(s, list);
    for (size_t k = 0; k < s->samples && n > 0; k++) {
        struct attempts wanted = of_pair(&s->sample[k]), *found = NULL;
        if (is_of_pair(s, &s->sample[k]))
            found = bsearch(&wanted, list, n, sizeof *list, by_pair);
        if (found != NULL)
            note_attempt(s, &s->sample[k], found);
    }
    for (size_t k = 0; k < n; k++) {
        if (!list[k].answers && !list[k].flows)
            add_failure(&list[k].pair, &out->apart, out->apart_pair);
        else if (list[k].answers && !list[k].flows && list[k].flow_failed)
            add_failure(&list[k].pair, &out->stuck, out->stuck_pair);
    }
    return 0;
}

static int put_pair(const struct nt_samples *s, const struct nt_pair_failure *pair, bool stuck,
                    char *text, size_t room)
{
    const char *a = s->host_name[pair->a], *b = s->host_name[pair->b];
    return stuck ? snprintf(text, room,
                            "between %.48s and %.48s small messages pass and large ones do not. "
                            "Compare the MTU of both hosts and of the switches between them.",
                            a, b)
                 : snprintf(text, room, "%.64s and %.64s could not reach each other: %.120s", a, b,
                            pair->reason);
}

void nt_pair_failures_text(const struct nt_samples *s, const struct nt_pair_failures *f, bool stuck,
                           char text[NT_PAIR_FAILURE_BYTES])
{
    size_t n = stuck ? f->stuck : f->apart;
    text[0] = '\0';
    if (n == 0)
        return;
    int used =
        put_pair(s, stuck ? f->stuck_pair : f->apart_pair, stuck, text, NT_PAIR_FAILURE_BYTES);
    if (n > 1)
        snprintf(text + used, NT_PAIR_FAILURE_BYTES - (size_t)used, "; and %zu more pair%s", n - 1,
                 n == 2 ? "" : "s");
}

static int warn_of(const struct nt_samples *s, const struct nt_pair_failure *pair, size_t n,
                   bool stuck, struct nt_map *map, struct nt_err *err)
{
    char text[NT_PAIR_FAILURE_BYTES];
    for (size_t k = 0; k < n && k < NT_PAIRS_NAMED_MAX; k++) {
        put_pair(s, &pair[k], stuck, text, sizeof text);
        if (nt_map_warn(map, err, "%s", text) != 0)
            return -1;
    }
    if (n <= NT_PAIRS_NAMED_MAX)
        return 0;
    return nt_map_warn(map, err, "%zu more pairs %s", n - NT_PAIRS_NAMED_MAX,
                       stuck ? "pass small messages only" : "could not reach each other");
}

int nt_map_pair_failures(const struct nt_samples *samples, struct nt_map *map, struct nt_err *err)
{
    struct nt_pair_failures f;
    if (nt_pair_failures_find(samples, &f, err) != 0 ||
        warn_of(samples, f.apart_pair, f.apart, false, map, err) != 0 ||
        warn_of(samples, f.stuck_pair, f.stuck, true, map, err) != 0)
        return -1;
    if (f.apart + f.stuck > 0 && map->status == NT_STATUS_OK)
        map->status = NT_STATUS_PARTIAL;
    return 0;
}
