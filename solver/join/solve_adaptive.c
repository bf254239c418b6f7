/* SPDX-License-Identifier: Apache-2.0 */
#include "solve_adaptive.h"

#include <stdbool.h>
#include <string.h>

#include "memory.h"
#include "readings.h"
#include "sparse.h"
#include "sweep_adaptive.h"

/* The readings of one of its phases. place: of the record's hosts in the model. */
static int take_phase(const struct nt_samples *s, const uint32_t *place, const char *phase,
                      struct nt_readings *out, struct nt_err *err)
{
    for (size_t k = 0; k < s->samples; k++) {
        const struct nt_sample *x = &s->sample[k];
        if (x->kind == NT_SAMPLE_LATENCY && s->missing[x->a] == NULL && s->missing[x->b] == NULL &&
            strcmp(s->phase[x->phase].name, phase) == 0 &&
            nt_readings_note(out, place[x->a], place[x->b], x->count, x->value_us, err) < 0)
            return -1;
    }
    return 0;
}

static int take_readings(const struct nt_samples *s, const uint32_t *place, struct nt_readings *out,
                         struct nt_err *err)
{
    if (take_phase(s, place, NT_SWEEP_ADAPTIVE_CALIBRATION, out, err) < 0)
        return -1;
    out->calibration = out->count;
    if (take_phase(s, place, NT_SWEEP_ADAPTIVE_PHASE, out, err) < 0)
        return -1;
    out->planning = out->count;
    return take_phase(s, place, NT_SWEEP_ADAPTIVE_VERIFICATION, out, err);
}

static int infer_readings(const struct nt_readings *readings, size_t hosts, const bool *missing,
                          struct nt_model **out, struct nt_err *err)
{
    struct nt_sparse_check check;
    struct nt_model *model;
    struct nt_err why = {0};
    if (readings->count == readings->planning)
        return 0; /* cut short: its result may be wrong */
    if (nt_infer_sparse(hosts, missing, readings, &model, &check, &why) < 0)
        return why.kind == NT_ERR_SYSTEM ? nt_err_set(err, why.kind, "%s", why.text) : 0;
    if (check.verdict != NT_SPARSE_SOUND) {
        nt_model_destroy(model);
        return 0;
    }
    *out = model;
    return 1;
}

int nt_solve_adaptive(const struct nt_samples *samples, const uint32_t *order,
                      struct nt_model **out, struct nt_err *err)
{
    size_t n = samples->hosts;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *place = nt_arena_array(&memory, n, sizeof *place);
    bool *missing = nt_arena_array(&memory, n, sizeof *missing);
    struct nt_readings readings = {0};
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint32_t k = 0; k < n; k++) {
        place[order[k]] = k;
        missing[k] = samples->missing[order[k]] != NULL;
    }
    int rc = take_readings(samples, place, &readings, err);
    if (rc == 0)
        rc = infer_readings(&readings, n, missing, out, err);
    nt_readings_fini(&readings);
    return rc;
}
