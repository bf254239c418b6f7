/* Inside ucx_probe/pair*.c and turn.c: a stress kernel, in which many hosts talk at once.
 *
 * Every participant plays its own program (sim/program.h): sends do not block, a wait blocks until
 * that message is there. A repetition starts with a barrier over the measured network
 * (dissemination: participant i to i + 1, i + 2, i + 4, ..., Hensgen, Finkel, Manber 1988) and
 * ends for a participant with its program. Its time goes to participant 0, which takes the longest
 * and says whether there is another repetition. */
#ifndef NT_PAIR_CROWD_H
#define NT_PAIR_CROWD_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "pair.h"
#include "sweep.h"

enum { NT_CROWD_MAX = 64 };

struct nt_crowd {
    uint32_t round;
    size_t n, self; /* participants, and which this one is */
    const void *address[NT_CROWD_MAX];
    size_t address_bytes[NT_CROWD_MAX];
};

/* Connects with everyone that this participant sends to, and waits for all of them to be there.
 * After an error nt_pair_close is still due. */
int nt_crowd_connect(struct nt_pair *pair, const struct nt_crowd *crowd,
                     const struct nt_order *order, double deadline_s, struct nt_err *err);

/* Runs the repetitions, none begun after soft_s. On participant 0 *result is the completion time:
 * value_us its median, median_us and se_us the ends of its 95 % interval (order statistics; of
 * fewer than six repetitions the lowest and the highest), count: repetitions; bytes: of a message.
 * The others only say that they took part. */
int nt_crowd_run(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                 double deadline_s, struct nt_result *result, struct nt_err *err);

/* Called by nt_pair_close. */
void nt_crowd_close(struct nt_pair *pair);

#endif
