/* SPDX-License-Identifier: Apache-2.0 */
#include "solve_prior.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "believed.h"
#include "believed_taken.h"
#include "memory.h"
#include "noise_shown.h"
#include "prior.h"

/* Of the phase, in the order of taking. */
static int take_readings(const struct nt_samples *s, struct nt_readings *out,
                         struct nt_noise_shown *shown, struct nt_err *err)
{
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (x->kind != NT_SAMPLE_LATENCY || x->count == 0 ||
            strcmp(s->phase[x->phase].name, NT_BELIEVED_PHASE) != 0)
            continue;
        if (nt_readings_note(out, x->a, x->b, x->count, x->value_us, err) < 0 ||
            nt_noise_shown_note(shown, x->value_us, x->latency.se_us, x->count, err) < 0)
            return -1;
    }
    return 0;
}

/* What was found, with the hosts in the order of names: it was judged in the record's order, as the
 * sweep did. */
static int reorder(const struct nt_believed *from, const struct nt_readings *readings,
                   const uint32_t *order, struct nt_believed *to, struct nt_readings *out,
                   struct nt_err *err)
{
    size_t n = from->hosts, rows = from->levels > 1 ? from->levels - 1 : 0;
    *to = *from;
    to->memory = (struct nt_arena){0};
    to->cluster = nt_arena_array(&to->memory, rows * n + 1, sizeof *to->cluster);
    to->away = nt_arena_array(&to->memory, n + 1, sizeof *to->away);
    uint32_t *place = nt_arena_array(&to->memory, n + 1, sizeof *place);
    if (nt_arena_check(&to->memory, err) != 0)
        return -1;
    for (uint32_t k = 0; k < n; k++) {
        place[order[k]] = k;
        to->away[k] = from->away[order[k]];
        for (size_t l = 0; l < rows; l++)
            to->cluster[l * n + k] = from->cluster[l * n + order[k]];
    }
    for (size_t k = 0; k < readings->count; k++) {
        const struct nt_pair_reading *r = &readings->at[k];
        if (nt_readings_add(out, place[r->a], place[r->b], r->pings, r->ln, err) < 0)
            return -1;
    }
    nt_readings_sort(out);
    return 0;
}

static int make_model(const struct nt_believed *b, const bool *missing,
                      const struct nt_readings *readings, const uint32_t *order,
                      struct nt_model **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_believed sorted = {0};
    struct nt_readings by_name = {0};
    struct nt_sparse known;
    bool *gone = nt_arena_array(&memory, b->hosts + 1, sizeof *gone);
    int rc = nt_arena_check(&memory, err);
    for (size_t k = 0; rc == 0 && k < b->hosts; k++)
        gone[k] = missing[order[k]];
    if (rc == 0)
        rc = reorder(b, readings, order, &sorted, &by_name, err);
    if (rc == 0)
        rc = nt_believed_sparse(&sorted, gone, &by_name, &known, err);
    if (rc == 0) {
        rc = nt_sparse_model(&known, out, err);
        nt_sparse_fini(&known);
    }
    nt_readings_fini(&by_name);
    nt_believed_fini(&sorted);
    return rc;
}

static uint64_t count_pairs(const struct nt_readings *r, const bool *missing)
{
    uint64_t pairs = 0;
    for (size_t k = 0; k < r->count; k = nt_readings_next_pair(r, k))
        pairs += !missing[r->at[k].a] && !missing[r->at[k].b];
    return pairs;
}

static struct nt_prior_use use_of(const struct nt_believed *b, uint64_t known)
{
    bool sound = b->verdict == NT_SPARSE_SOUND;
    const char *why = b->why != NULL ? b->why : "too little of it could be verified";
    uint64_t pairs = known * (known - (known > 0)) / 2, read = b->verified + b->against;
    struct nt_prior_use use = {.given = true,
                               .used = sound,
                               .pairs_taken = sound && pairs > read ? pairs - read : 0,
                               .pairs_verified = b->verified,
                               .pairs_contradicted = b->against,
                               .hosts_moved = sound ? b->contradicted : 0};
    if (!sound)
        snprintf(use.reason, sizeof use.reason, "%s", why);
    return use;
}

/* A host that was lost later, when the network was verified, took part in that. */
static int judge(const struct nt_samples *s, const bool *missing, struct nt_readings *readings,
                 double noise, struct nt_believed *out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    bool *absent = nt_arena_array(&memory, s->hosts + 1, sizeof *absent);
    bool differs = false;
    if (nt_arena_check(&memory, err) != 0 ||
        nt_believed_judge(s->belief, missing, readings, noise, out, err) < 0)
        return -1;
    if (out->verdict == NT_SPARSE_SOUND)
        return 0;
    memcpy(absent, missing, s->hosts * sizeof *absent);
    for (size_t k = 0; k < readings->count; k++) {
        const struct nt_pair_reading *r = &readings->at[k];
        differs |= absent[r->a] || absent[r->b];
        absent[r->a] = absent[r->b] = false;
    }
    if (!differs)
        return 0;
    nt_believed_fini(out);
    return nt_believed_judge(s->belief, absent, readings, noise, out, err);
}

/* Nothing was measured: the network is what was believed. */
static int take_all(const struct nt_samples *s, const bool *missing, const uint32_t *order,
                    struct nt_model **out, struct nt_prior_use *use, struct nt_err *err)
{
    uint64_t present = 0;
    for (size_t h = 0; h < s->hosts; h++)
        present += !missing[h];
    int rc = nt_believed_taken(s->belief, missing, order, out, err);
    if (rc != 1)
        return rc;
    *use = (struct nt_prior_use){.given = true,
                                 .used = true,
                                 .pairs_taken = present * (present - 1) / 2,
                                 .all_taken = true,
                                 .support = s->belief->support};
    nt_prior_day_write(s->belief->oldest_day, use->oldest);
    return 1;
}

int nt_solve_prior(const struct nt_samples *s, const uint32_t *order, struct nt_model **out,
                   uint64_t *pairs, struct nt_prior_use *use, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_readings readings = {0};
    struct nt_noise_shown shown = {0};
    struct nt_believed believed = {0};
    if (s->belief == NULL || s->belief->levels == 0)
        return 0;
    bool *missing = nt_arena_array(&memory, s->hosts + 1, sizeof *missing);
    int rc = nt_arena_check(&memory, err);
    uint64_t known = 0;
    for (size_t h = 0; rc == 0 && h < s->hosts; h++) {
        missing[h] = s->missing[h] != NULL;
        known += s->belief->levels == 1 || s->belief->cluster[h] != NT_BELIEF_LOOSE;
    }
    if (rc == 0 && s->belief->taken && s->samples == 0) {
        *pairs = 0;
        return take_all(s, missing, order, out, use, err);
    }
    if (rc == 0)
        rc = take_readings(s, &readings, &shown, err);
    if (rc == 0)
        rc = judge(s, missing, &readings, nt_noise_shown(&shown), &believed, err);
    if (rc == 0) {
        *use = use_of(&believed, known);
        if (use->used && readings.count > 0) {
            rc = make_model(&believed, missing, &readings, order, out, err);
            *pairs = count_pairs(&readings, missing);
            rc = rc < 0 ? -1 : 1;
        }
    }
    use->used &= rc == 1;
    nt_believed_fini(&believed);
    nt_noise_shown_fini(&shown);
    nt_readings_fini(&readings);
    return rc;
}
