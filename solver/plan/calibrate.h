/* The first rounds of an adaptive sweep: what noise is like and which latencies there are.
 *
 * Neighbours in the order of the hosts (who are often neighbours in the network too), then random
 * matchings; each pair twice, in different rounds. Two readings that disagree by more than 4.5 sd
 * tell of an outlier and are not used for the classes. The first round also tells how many batches
 * a reading needs for a relative sd of about 1.2 %, or as many as take 20 ms; it is measured again
 * when that is many more than it had. */
#ifndef NT_CALIBRATE_H
#define NT_CALIBRATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "class_fit.h"
#include "err.h"
#include "readings.h"
#include "rng.h"

struct nt_twice {
    uint32_t a, b;
    float first, second; /* ln us; NaN: no reading */
};

struct nt_calibration {
    size_t seats;
    unsigned legs, leg;  /* a leg is a matching that is measured twice */
    bool second;         /* the leg's second round is next */
    bool settled;        /* the number of batches is */
    uint32_t pings;      /* of a batch */
    uint32_t batches;    /* of a reading */
    uint32_t most;       /* batches that a reading may have */
    size_t from;         /* first reading of this leg */
    size_t count, room;  /* readings */
    struct nt_twice *at; /* owned */
    uint32_t *order;     /* seats, shuffled for random legs */
    float *scratch;      /* a number a reading */
    double noise;        /* relative sd of one reading; after the last leg */
    double outliers;     /* share of readings; after the last leg */
    size_t random_pairs; /* that were read, in random legs */
};

int nt_calibration_init(struct nt_calibration *calibration, size_t seats, uint32_t pings,
                        struct nt_err *err);
void nt_calibration_fini(struct nt_calibration *calibration);

/* 1: the next round is at[from..count-1] of the calibration; 0: there is none. */
int nt_calibration_next(struct nt_calibration *calibration, struct nt_rng *rng);

/* The readings of that round in its order: ln us and relative standard error (NaN: unknown). */
void nt_calibration_tell(struct nt_calibration *calibration, const float *ln, const float *se);

/* After the last round: all readings into the ledger, and the classes. NT_ERR_INPUT when hardly
 * any pair could be measured. */
int nt_calibration_finish(struct nt_calibration *calibration, struct nt_readings *ledger,
                          struct nt_classes *classes, struct nt_err *err);

/* After that: whether the pair was read twice and both readings tell the same. */
bool nt_calibration_agrees(const struct nt_calibration *calibration, const struct nt_twice *twice);

#endif
