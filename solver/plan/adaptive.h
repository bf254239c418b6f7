/* The inside of the adaptive planner, for sweep_adaptive.c and adaptive_*.c only. */
#ifndef NT_ADAPTIVE_H
#define NT_ADAPTIVE_H

#include "calibrate.h"
#include "class_fit.h"
#include "merge.h"
#include "readings.h"
#include "slow.h"
#include "sweep_adaptive.h"
#include "verify.h"

enum { NT_ADAPTIVE_LATE_MAX = 24 }; /* rounds: see late */

enum nt_adaptive_phase {
    NT_ADAPTIVE_CALIBRATE,
    NT_ADAPTIVE_MERGE,
    NT_ADAPTIVE_VERIFY,
    NT_ADAPTIVE_OVER
};

struct nt_adaptive {
    struct nt_planner base;
    enum nt_adaptive_phase phase;
    size_t hosts, seats;
    uint32_t *host;                /* of a seat */
    uint32_t *seat;                /* of a host; UINT32_MAX: absent */
    bool *lost;                    /* seats */
    bool *aside;                   /* seats: lost or slow, and so not merged */
    uint32_t *slot;                /* seats: place in the round last ordered */
    uint32_t (*pair)[2];           /* hosts, of that round */
    float *ln, *se;                /* its results; NaN: none */
    uint32_t *pings;               /* and how many each is from */
    struct nt_draw draw;           /* the same pairs as seats */
    uint32_t count, batches, most; /* pings; batches of a reading, and as many as may be */
    struct nt_rng rng;
    struct nt_calibration calibration;
    struct nt_readings ledger; /* what merging goes by */
    struct nt_classes classes;
    struct nt_merge merge;
    bool merging;        /* merge is made */
    size_t random_pairs; /* of the calibration */
    double noise, usual; /* of a reading in the calibration; and its pings */

    struct nt_readings readings; /* all: what the record will hold */
    struct nt_finding finding;
    struct nt_slow slow;  /* hosts on longer links */
    bool plain;           /* they explain nothing: none is taken for that */
    bool placing;         /* all others are merged: rounds are to place those */
    size_t merged;        /* pairs of the round last ordered that are to merge */
    size_t merges, tests; /* rounds of merging and placing, of verifying */
    size_t late;          /* rounds that placed hosts among places that all were read */
    size_t judged;        /* readings that the finding is of */
    unsigned reopened;    /* how often the record left something open */
    enum nt_adaptive_verdict verdict;
};

/* Whether a result tells of two seats. */
bool nt_adaptive_is_reading(const struct nt_adaptive *s, const struct nt_result *r);

/* The network anew from the readings of calibrating and merging alone, as a record tells it, and
 * what all readings say of it. Hosts that those contradict are taken for slow, if that explains
 * them; all readings place them. NT_ERR_INPUT: it has hardly a pair twice. */
int nt_adaptive_recall(struct nt_adaptive *s, struct nt_err *err);

/* The classes and the ledger from all readings but those of slow hosts, to whom it adds who looks
 * slow then. */
int nt_adaptive_reread(struct nt_adaptive *s, struct nt_err *err);

/* What all readings say of the network; sets finding. */
int nt_adaptive_judge(struct nt_adaptive *s, struct nt_err *err);

struct nt_places nt_adaptive_places(struct nt_adaptive *s);

/* The others are merged, and rounds are to place slow hosts. */
bool nt_adaptive_is_placing(const struct nt_adaptive *s);

/* 1: the draw is the next round of verifying; 0: it is over, and verdict set. */
int nt_adaptive_verify(struct nt_adaptive *s, struct nt_err *err);

/* What the finding means when nothing more is read. */
void nt_adaptive_decide(struct nt_adaptive *s);

/* NULL when the planner is of another kind. */
const struct nt_adaptive *nt_adaptive_of(const struct nt_planner *planner);

#endif
