/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"
#include "prior.h"
#include "strbuf.h"

static void put_word(struct nt_strbuf *d, const char *key, const char *word)
{
    if (word[0] == '\0')
        return;
    nt_strbuf_puts(d, key);
    nt_strbuf_puts(d, " ");
    nt_strbuf_put_line(d, word);
    nt_strbuf_puts(d, "\n");
}

static void put_number(struct nt_strbuf *d, double value)
{
    char text[NT_NUMBER_BYTES];
    nt_number_write(value, text);
    nt_strbuf_puts(d, " ");
    nt_strbuf_puts(d, text);
}

static void put_insides(struct nt_strbuf *d, const struct nt_samples *s)
{
    for (size_t k = 0; k < s->models; k++)
        put_word(d, "model", s->model[k]);
    for (size_t k = 0; k < s->hosts; k++) {
        const struct nt_host_inside *inside = &s->inside[k];
        if (inside->model != NT_SAMPLES_NO_MODEL)
            nt_strbuf_print(d, "inside %zu %u\n", k, inside->model);
        for (int b = 0; b < NT_BETWEEN_END; b++) {
            if (!(inside->latency_us[b] > 0))
                continue;
            nt_strbuf_print(d, "cores %zu %s", k, nt_between_name((enum nt_between)b));
            put_number(d, nt_number_round((double)inside->latency_us[b], 6));
            nt_strbuf_puts(d, "\n");
        }
    }
}

static void put_belief(struct nt_strbuf *d, const struct nt_belief *b)
{
    nt_strbuf_print(d, "prior %zu\n", b->levels);
    for (size_t h = 0; b->levels > 1 && h < b->hosts; h++) {
        if (b->cluster[h] == NT_BELIEF_LOOSE)
            continue;
        nt_strbuf_print(d, "believed %zu", h);
        for (size_t l = 0; l + 1 < b->levels; l++)
            nt_strbuf_print(d, " %u", b->cluster[l * b->hosts + h]);
        nt_strbuf_puts(d, "\n");
    }
    if (!b->taken)
        return;
    char day[16];
    nt_prior_day_write(b->oldest_day, day);
    nt_strbuf_print(d, "taken %s", day);
    put_number(d, b->support);
    for (size_t l = 0; l < b->levels; l++)
        put_number(d, b->us[l]);
    nt_strbuf_puts(d, "\n");
}

static void put_transports(struct nt_strbuf *d, const struct nt_samples *s)
{
    for (size_t k = 0; k < s->transports; k++)
        nt_strbuf_print(d, "transport %u %s\n", s->transport[k].hosts, s->transport[k].used);
}

static void put_head(struct nt_strbuf *d, const struct nt_samples *s)
{
    nt_strbuf_puts(d, "nettopo-samples/1\n");
    put_word(d, "generator", s->generator);
    if (s->job_id != 0)
        nt_strbuf_print(d, "job %llu %u\n", (unsigned long long)s->job_id, s->restart);
    put_word(d, "cluster", s->cluster);
    put_word(d, "level", s->level);
    put_word(d, "created", s->created);
    if (s->budget_s > 0) {
        nt_strbuf_puts(d, "budget");
        put_number(d, s->budget_s);
        nt_strbuf_puts(d, "\n");
    }
    put_word(d, "pattern", s->pattern);
    if (s->spare > 0)
        nt_strbuf_print(d, "spare %u\n", s->spare);
    for (size_t k = 0; k < s->hosts; k++)
        put_word(d, "host", s->host_name[k]);
    for (size_t k = 0; k < s->hosts; k++)
        if (s->slots[k] != 1)
            nt_strbuf_print(d, "room %zu %u\n", k, s->slots[k]);
    for (size_t k = 0; k < s->traffic.n; k++) {
        nt_strbuf_print(d, "traffic %u %u", s->traffic.pair[k][0], s->traffic.pair[k][1]);
        put_number(d, nt_number_round((double)s->traffic.bytes[k], 9)); /* a float's */
        nt_strbuf_puts(d, "\n");
    }
    for (size_t k = 0; k < s->hosts; k++) {
        if (s->missing[k] == NULL)
            continue;
        nt_strbuf_print(d, "missing %zu ", k);
        nt_strbuf_put_line(d, s->missing[k]);
        nt_strbuf_puts(d, "\n");
    }
    put_insides(d, s);
    if (s->belief != NULL)
        put_belief(d, s->belief);
    put_transports(d, s);
}

static void put_prtt_extras(struct nt_strbuf *d, const struct nt_samples *s,
                            const struct nt_sample *x)
{
    if (x->prtt.se_us == 0 && x->prtt.hold_us == 0 && x->text == 0)
        return;
    put_number(d, x->prtt.se_us);
    put_number(d, x->prtt.hold_us);
    if (x->text > 0)
        nt_strbuf_print(d, " %s", s->text[x->text - 1]);
}

static void put_sample(struct nt_strbuf *d, const struct nt_samples *s, const struct nt_sample *x)
{
    static const char *const words[] = {"latency", "bandwidth", "prtt",
                                        "kernel",  "failed",    "resent"};
    nt_strbuf_puts(d, words[x->kind]);
    if (x->kind == NT_SAMPLE_KERNEL)
        nt_strbuf_print(d, " %s", s->text[x->text]);
    else
        nt_strbuf_print(d, " %u %u", x->a, x->b);
    if (x->kind == NT_SAMPLE_FAILED)
        nt_strbuf_print(d, " %s", s->text[x->text]);
    else if (x->kind == NT_SAMPLE_RESENT)
        nt_strbuf_print(d, " %u %u", x->segments, x->count);
    else
        put_number(d, x->bytes);
    switch (x->kind) {
    case NT_SAMPLE_LATENCY:
        nt_strbuf_print(d, " %u", x->count);
        put_number(d, x->value_us);
        put_number(d, x->latency.se_us);
        put_number(d, x->latency.median_us);
        break;
    case NT_SAMPLE_BANDWIDTH:
        put_number(d, nt_number_round(x->value_us / 1e6, 9));
        break;
    case NT_SAMPLE_PRTT:
        nt_strbuf_print(d, " %u", x->count);
        put_number(d, x->prtt.delay_us);
        put_number(d, x->value_us);
        put_prtt_extras(d, s, x);
        break;
    case NT_SAMPLE_KERNEL:
        nt_strbuf_print(d, " %u", x->count);
        put_number(d, x->value_us);
        put_number(d, x->kernel.low_us);
        put_number(d, x->kernel.high_us);
        if (x->a > 0)
            nt_strbuf_print(d, " %u", x->a);
        if (x->b > 0)
            nt_strbuf_print(d, " %u %s", x->b, s->text[x->text + 1]);
        break;
    case NT_SAMPLE_FAILED:
    case NT_SAMPLE_RESENT:
        break;
    }
    nt_strbuf_puts(d, "\n");
}

static void put_phases(struct nt_strbuf *d, const struct nt_samples *s)
{
    size_t next = 0; /* samples are in the order of their rounds */
    uint64_t round = 0;
    for (size_t p = 0; p < s->phases; p++) {
        nt_strbuf_print(d, "phase %s", s->phase[p].name);
        if (!isnan(s->phase_begin_s[p]))
            put_number(d, s->phase_begin_s[p]);
        nt_strbuf_puts(d, "\n");
        for (uint64_t r = 0; r < s->phase[p].rounds; r++, round++) {
            nt_strbuf_puts(d, "round\n");
            for (; next < s->samples && s->sample[next].round == round; next++)
                put_sample(d, s, &s->sample[next]);
        }
        if (!isnan(s->phase[p].seconds)) {
            nt_strbuf_puts(d, "phase-end");
            put_number(d, s->phase[p].seconds);
            nt_strbuf_puts(d, "\n");
        }
    }
}

int nt_samples_write(const struct nt_samples *s, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    put_head(&d, s);
    put_phases(&d, s);
    for (size_t k = 0; k < s->warnings; k++)
        put_word(&d, "warning", s->warning[k]);
    if (s->ended) {
        nt_strbuf_print(&d, "end %s", nt_status_name(s->status));
        put_number(&d, s->seconds);
        nt_strbuf_puts(&d, "\n");
    }
    return nt_strbuf_finish(&d, text, bytes, err);
}
