#include "recall.h"

#include <stdbool.h>
#include <string.h>

#include "memory.h"
#include "sweep_adaptive.h"

struct recall {
    const struct nt_samples *samples;
    uint32_t *place; /* of the record's hosts in the model */
    bool *absent;    /* the model's hosts */
    struct nt_result *result;
};

/* The readings of one of its phases; how many. */
static size_t list_phase(const struct recall *r, const char *phase, struct nt_result *result)
{
    const struct nt_samples *s = r->samples;
    size_t n = 0;
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (x->kind != NT_SAMPLE_LATENCY || s->missing[x->a] != NULL || s->missing[x->b] != NULL ||
            strcmp(s->phase[x->phase].name, phase) != 0)
            continue;
        result[n++] = (struct nt_result){.a = r->place[x->a],
                                         .b = r->place[x->b],
                                         .ok = true,
                                         .value_us = x->value_us,
                                         .se_us = x->se_us,
                                         .count = x->count};
    }
    return n;
}

static int ask_record(const struct recall *r, struct nt_model **out, struct nt_err *err)
{
    struct nt_adaptive_record record = {.result = r->result};
    struct nt_adaptive_check check;
    struct nt_model *model;
    struct nt_err why = {0};
    record.calibration = list_phase(r, NT_SWEEP_ADAPTIVE_CALIBRATION, r->result);
    record.planning = list_phase(r, NT_SWEEP_ADAPTIVE_PHASE, r->result + record.calibration);
    record.verification = list_phase(r, NT_SWEEP_ADAPTIVE_VERIFICATION,
                                     r->result + record.calibration + record.planning);
    if (record.verification == 0)
        return 0; /* cut short: whatever it would tell may be wrong */
    if (nt_sweep_adaptive_recall(r->samples->hosts, r->absent, &record, &model, &check, &why) < 0)
        return why.kind == NT_ERR_SYSTEM ? nt_err_set(err, why.kind, "%s", why.text) : 0;
    if (check.verdict != NT_ADAPTIVE_SOUND) {
        nt_model_destroy(model);
        return 0;
    }
    *out = model;
    return 1;
}

int nt_recall_adaptive(const struct nt_samples *samples, const uint32_t *order,
                       struct nt_model **out, struct nt_err *err)
{
    size_t n = samples->hosts;
    NT_SCOPED struct nt_arena memory = {0};
    struct recall r = {.samples = samples};
    r.place = nt_arena_array(&memory, n + 1, sizeof *r.place);
    r.absent = nt_arena_array(&memory, n + 1, sizeof *r.absent);
    r.result = nt_arena_array(&memory, samples->samples + 1, sizeof *r.result);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint32_t k = 0; k < n; k++) {
        r.place[order[k]] = k;
        r.absent[k] = samples->missing[order[k]] != NULL;
    }
    return ask_record(&r, out, err);
}
