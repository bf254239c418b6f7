/* SPDX-License-Identifier: Apache-2.0 */
/* A stress kernel, in which many hosts send at once. Only pair.c calls these.
 *
 * Every participant runs its own program (sim/program.h): sends do not block, a wait blocks until
 * that message is there. A repetition starts with a barrier over the measured network
 * (dissemination: participant i to i + 1, i + 2, i + 4, ..., Hensgen, Finkel, Manber 1988) and
 * ends for a participant with its program. Its time goes to participant 0, which takes the longest
 * and says whether there is another repetition. */
#ifndef NT_PAIR_KERNEL_H
#define NT_PAIR_KERNEL_H

#include "pair_ucx.h"

/* Connects with everyone that this participant sends to, and waits until all of them answer.
 * After an error nt_pair_close is still due. */
int nt_pair_kernel_connect(struct nt_pair *pair, const struct nt_kernel_group *group,
                           const struct nt_order *order, double deadline_s, struct nt_err *err);

/* Runs the repetitions, none begun after soft_s. On participant 0 *result is the completion time:
 * value_us its median, median_us and se_us the ends of its 95 % interval (order statistics; of
 * fewer than six repetitions the lowest and the highest), count: repetitions; bytes: of a message.
 * The others only report that they took part. */
int nt_pair_kernel_run(struct nt_pair *pair, const struct nt_order *order, double soft_s,
                       double deadline_s, struct nt_result *result, struct nt_err *err);

/* Called by nt_pair_close. */
void nt_pair_kernel_close(struct nt_pair *pair);

#endif
