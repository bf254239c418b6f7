/* The inside of the adaptive planner, for sweep_adaptive.c and adaptive_model.c only. */
#ifndef NT_ADAPTIVE_H
#define NT_ADAPTIVE_H

#include "calibrate.h"
#include "class_fit.h"
#include "ledger.h"
#include "merge.h"
#include "sweep_adaptive.h"

enum nt_adaptive_phase { NT_ADAPTIVE_CALIBRATE, NT_ADAPTIVE_MERGE, NT_ADAPTIVE_OVER };

struct nt_adaptive {
    struct nt_planner base;
    enum nt_adaptive_phase phase;
    size_t hosts, seats;
    uint32_t *host;      /* of a seat */
    uint32_t *seat;      /* of a host; UINT32_MAX: absent */
    bool *lost;          /* seats */
    uint32_t *slot;      /* seats: place in the round last ordered */
    uint32_t (*pair)[2]; /* hosts, of that round */
    float *ln, *se;      /* its results; NaN: none */
    struct nt_draw draw; /* the same pairs as seats */
    uint32_t count, batches;
    struct nt_rng rng;
    struct nt_calibration calibration;
    struct nt_ledger ledger;
    struct nt_classes classes;
    struct nt_merge merge;
    bool merging;        /* merge is made */
    size_t random_pairs; /* of the calibration */
};

/* NULL when the planner is of another kind. */
const struct nt_adaptive *nt_adaptive_of(const struct nt_planner *planner);

#endif
