/* SPDX-License-Identifier: Apache-2.0 */
/* Which links of a tree lose messages, from what was sent again over its paths.
 *
 * What two hosts send again is a Poisson count: the segments that they sent, times the background's
 * rate plus those of the lossy links on the way (Poisson tomography: Vardi, "Network tomography",
 * JASA 91, 1996). Links are taken one by one, the likeliest first; the paths over one that was
 * taken say nothing about others. Pings and flows have rates of their own: flows lose where buffers
 * are full, on sound links too. Counts come in bursts: the log likelihood is divided by their
 * dispersion (quasi-likelihood: Wedderburn, Biometrika 61, 1974). The confidence is the posterior
 * probability of a fault: one link in fifty has one, its rate between 0.01 % and 50 %, flat in the
 * logarithm. It is stated from NT_FAULT_CONFIDENCE on, where the rate is NT_LOSSY_LEAST and three
 * times the background, and three paths of different partners show it, or all there are.
 *
 * Which way is told by flows alone: of a ping, both ends send again when one message is lost.
 * Tests: test_faults.c. */
#ifndef NT_INFER_LOSSES_H
#define NT_INFER_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "fault.h"
#include "model.h"

#define NT_LOSSY_LEAST 0.001

struct nt_loss_seen {
    uint32_t from, to; /* hosts */
    bool flow;         /* one way alone; else the messages of pings, both ways together */
    double segments, again;
};

/* Adds findings of kind NT_FAULT_LINK_LOSSY, found and expected in percent, to the count there are;
 * fault: room for NT_FAULTS_MAX. Of a link that is also narrow one finding stays: lossy where pings
 * show the loss, since a flow over a lossy link is slow; else narrow, with lossy as alternative,
 * since a narrow link drops what comes too fast. Links that cannot be told apart are alternatives.
 * Nothing in networks that are no tree. */
int nt_losses_find(const struct nt_model *model, const struct nt_loss_seen *seen, size_t seen_count,
                   struct nt_fault *fault, size_t *count, struct nt_err *err);

#endif
