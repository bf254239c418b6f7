/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a sound network explains the figures of the links of a tree, by Bayesian comparison.
 *
 * A sound network has up to NT_TIERS_MAX tiers of switches. The links of one tier are equally long;
 * those of hosts are of one or a few populations, each with a latency and a rate (an adapter
 * generation). A link of the tree can be a sum of several cables, because switches with two links
 * are not seen: from a switch of one tier down to one of any lower tier, or to a host; and one link
 * of the tree, at most, goes over the highest switch of the job, up and down again. Which switch or
 * which link is the highest is not known: all are summed over, so that the root of the model has no
 * influence. A link with a fault (NT_FAULT_PRIOR of them) is longer by a factor, nine in ten by up
 * to 8, or narrower, one way or both; seldom both; a narrow link may delay a ping by the bytes of
 * its frame. What a link's figures deviate by otherwise has Student's distribution, whose scale is
 * estimated.
 *
 * The probability of a fault is that of all explanations with one, summed exactly over tiers of
 * switches and places of the root (the sum-product algorithm; Pearl, Probabilistic Reasoning in
 * Intelligent Systems, 1988, section 4.3), and averaged over the lengths of tiers and populations
 * that expectation-maximisation finds from many starts, each weighted by its Laplace approximation
 * (MacKay, Information Theory, Inference, and Learning Algorithms, 2003, chapter 28). So a new
 * length costs what it gains only if several links share it, and a finding remains only where no
 * sound network fits.
 *
 * In networks of more than 80 links the lengths come from a sample of links, chosen by figures so
 * that rare lengths are in it, and the best of them are held against all links.
 *
 * Knows figures and the tree, not how they were measured. Private to infer/.
 * Tests: test_faults.c. */
#ifndef NT_INFER_SOUND_LINKS_H
#define NT_INFER_SOUND_LINKS_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "fault.h"
#include "model.h"

/* What is known of one link. */
struct nt_link_verdict {
    double slow;         /* probability of a latency fault */
    double usual_us;     /* its latency without */
    double narrow[2];    /* of hosts' links: probability of a rate fault from the host, to it */
    double usual_MBps;   /* its rate without */
    uint32_t cables;     /* links between switches with the same number are the same kind of link */
    uint32_t population; /* of hosts' links; UINT32_MAX: none */
    double odd;          /* of hosts' links: probability of a fault or of a generation of its own */
};

/* verdict: model->links of them, filled. population: room for NT_POPULATIONS_MAX; *populations: how
 * many have two hosts or more, largest first. */
int nt_sound_links(const struct nt_model *model, struct nt_link_verdict *verdict,
                   struct nt_population *population, size_t *populations, struct nt_err *err);

#endif
