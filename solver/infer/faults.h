/* SPDX-License-Identifier: Apache-2.0 */
/* Which links are degraded, from the figures of a model.
 *
 * Latencies of all links and rates of hosts' links are judged by sound_links.c: a finding is stated
 * if no sound network of tiers and of adapter generations explains the figure. Rates of links
 * between switches are compared with those of the same kind, as sound_links.c tells kinds apart, by
 * the logarithm. The spread of a kind is estimated from its undisturbed members (median absolute
 * deviation), as if four more had been seen at 2 %, and the confidence is the posterior probability
 * of a fault (nt_fault_probability). A finding is stated from NT_FAULT_CONFIDENCE on, and only
 * while the undisturbed members are the majority: otherwise the usual rate is not known.
 *
 * What a narrow link's latency is longer by because of the frame of a ping is part of that finding.
 *
 * Bandwidths that are only lower bounds are members of their class, which is then at least so good,
 * and never worse than it. One way that is narrower than the other, where the ways of others of the
 * tier are alike, is found too.
 * Tests: test_faults.c. */
#ifndef NT_INFER_FAULTS_H
#define NT_INFER_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "fault.h"
#include "matrix.h"
#include "model.h"

struct nt_faults_found {
    struct nt_fault *fault;
    size_t count;
    struct nt_population population[NT_POPULATIONS_MAX];
    size_t populations;      /* 0: hosts' links do not differ */
    uint32_t *population_of; /* by host; UINT32_MAX: none */
    bool *odd; /* by host: differs from all others, by a fault or by another adapter */
};

#define NT_FAULT_CONFIDENCE 0.9
#define NT_FAULT_SLOWER 1.15   /* by less than this factor a link is not called slow, */
#define NT_FAULT_NARROWER 0.92 /* with more than this share of the usual not narrow */

/* A link as a part: the end towards the hosts is a. */
static inline struct nt_fault_part nt_fault_part_of(const struct nt_model *model, size_t link,
                                                    enum nt_fault_kind kind)
{
    const struct nt_link *l = &model->link[link];
    bool rises = nt_model_tier(model, l->a) <= nt_model_tier(model, l->b);
    return (struct nt_fault_part){kind, rises ? l->a : l->b, rises ? l->b : l->a};
}

/* marked: a link is narrow only if it is suspect in model (nt_infer_flows has judged the rounds).
 * found: at most NT_FAULTS_MAX faults, the surest first within a kind; released by
 * nt_faults_found_fini. A host's link has the host as alternative. */
int nt_faults_find(const struct nt_model *model, bool marked, struct nt_faults_found *found,
                   struct nt_err *err);
void nt_faults_found_fini(struct nt_faults_found *found);

/* ---- a single fault ---- */

/* How probable a fault is, for a figure that is so far from what is usual.
 *
 * One link in fifty has a fault, which makes its figure worse by any factor up to 8 (flat in the
 * logarithm); without one the distance from the class has Student's distribution (Gelman et al.,
 * Bayesian Data Analysis, 3rd ed., 2013, section 3.2). The spread of a class counts as if four more
 * of it had been seen at 2 %. */
#define NT_FAULT_PRIOR 0.02        /* that a link has a fault */
#define NT_FAULT_PRIOR_SPREAD 0.02 /* of links of a class, relative, */
#define NT_FAULT_PRIOR_MEMBERS 4.0 /*   as if seen in so many */
#define NT_FRAME_LEAST_BYTES 40.0  /* a ping with its headers on a cable, of any transport, */
#define NT_FRAME_MOST_BYTES 160.0  /*   up to so many: TCP with its options */

/* worse: logarithm of the figure over the usual one, more is worse; sd: of that without a fault;
 * df: degrees of freedom behind the sd. 0 within one sd. */
double nt_fault_probability(double worse, double sd, double df);

/* ---- sound_links.c ---- */

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
 * Knows figures and the tree, not how they were measured. */

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

/* ---- one_way_slow.c ---- */

/* Links that are slow one way only, of a tree; in other networks hosts' own, or hosts with several
 * links; from latencies of both directions of pairs.
 *
 * What the two directions of a pair differ by is the sum over the links on the way of what theirs
 * differ by. A link's is the median over the pairs across it; links are taken one by one, that
 * which explains most (least absolute deviations), and taken out of all pairs. The confidence is
 * nt_fault_probability, against what the links of the tree differ by otherwise.
 *
 * Adds findings of kind NT_FAULT_LINK_SLOW with way up or down to the count there are, or sets the
 * way of one that is there; fault: room for NT_FAULTS_MAX. latency: row to column, of the model's
 * hosts; half round trips have no difference, and give nothing. found is that way's latency. */
int nt_one_way_slow_find(const struct nt_model *model, const struct nt_matrix *latency,
                         struct nt_fault *fault, size_t *count, struct nt_err *err);

/* ---- losses.c ---- */

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
 * Which way is told by flows alone: of a ping, both ends send again when one message is lost. */

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

/* ---- rail_faults.c ---- */

/* A host and its cables told apart, by what each rail shows alone.
 *
 * A host's link on a rail: from short messages its latency, the lowest over its partners of theirs
 * together less the partner's own, which is half of that partner's lowest; from long ones its
 * bandwidth, the highest over its partners. Those of a rail are held against each other like the
 * links of the model (faults.h). A host that is worse on one rail and sound on another has a bad
 * cable (or port) there: the finding names the rail, and the host is no alternative. One that is
 * worse on every rail by about the same (within a factor of two of the logarithm) is found itself.
 * Of anything between nothing is changed. */

/* One way between two hosts over one rail. */
struct nt_rail_seen {
    uint32_t rail, a, b;
    double bytes, us, se_us; /* of the message; se_us NaN: not known */
};

struct nt_rails_seen {
    const struct nt_rail_seen *at;
    size_t count, rails;
    const char *const *name; /* rails */
};

/* Refines the findings of hosts' links in fault, of which there are *count, and adds those that
 * only one rail shows; fault: room for NT_FAULTS_MAX. Nothing with fewer than two
 * rails. */
int nt_rail_faults_find(const struct nt_model *model, const struct nt_rails_seen *seen,
                        struct nt_fault *fault, size_t *count, struct nt_err *err);

#endif
