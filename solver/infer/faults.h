/* SPDX-License-Identifier: Apache-2.0 */
/* Finds degraded links from the latencies and bandwidths of a model.
 *
 * sound_links.c judges latencies of all links and bandwidths of hosts' links: a finding means that
 * no sound network of tiers and adapter generations explains the value. Bandwidths of links between
 * switches are compared, by their logarithm, with those of the same kind as sound_links.c
 * distinguishes kinds. The spread of a kind is the median absolute deviation of its undisturbed
 * members, with a prior of four members at 2 %. The confidence is the posterior probability of a
 * fault (nt_fault_probability). A finding needs NT_FAULT_CONFIDENCE, and more undisturbed members
 * than others, because otherwise the usual bandwidth is unknown.
 *
 * If a narrow link delays the frame of a ping, this delay belongs to the finding of the narrow
 * link.
 *
 * A lower bound of a bandwidth counts as a member of its class with at least this bandwidth, and is
 * never worse than the class. A link that is narrower in one direction is found if other links of
 * the tier have equal directions.
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
    size_t populations;      /* adapter generations; 0: hosts' links do not differ */
    uint32_t *population_of; /* per host; UINT32_MAX: none */
    bool *odd; /* per host: differs from all others, by a fault or by another adapter */
};

#define NT_FAULT_CONFIDENCE 0.9
#define NT_FAULT_SLOWER 1.15   /* a link is slow only from this factor on */
#define NT_FAULT_NARROWER 0.92 /* a link is narrow only below this share of the usual bandwidth */

/* A link as part of a finding: a is the end towards the hosts. */
static inline struct nt_fault_part nt_fault_part_of(const struct nt_model *model, size_t link,
                                                    enum nt_fault_kind kind)
{
    const struct nt_link *l = &model->link[link];
    bool rises = nt_model_tier(model, l->a) <= nt_model_tier(model, l->b);
    return (struct nt_fault_part){kind, rises ? l->a : l->b, rises ? l->b : l->a};
}

/* marked: only links that are suspect in model can be narrow (nt_infer_flows has judged the
 * rounds). found: at most NT_FAULTS_MAX faults, by descending confidence within a kind; the caller
 * frees it with nt_faults_found_fini. The host is an alternative to its link. */
int nt_faults_find(const struct nt_model *model, bool marked, struct nt_faults_found *found,
                   struct nt_err *err);
void nt_faults_found_fini(struct nt_faults_found *found);

/* ---- a single fault ---- */

/* Probability of a fault for a value at this distance from the usual one.
 *
 * The prior is one faulty link in fifty, whose value is worse by any factor up to 8 (uniform in the
 * logarithm). Without a fault the distance from the class has Student's distribution (Gelman et
 * al., Bayesian Data Analysis, 3rd ed., 2013, section 3.2). The spread of a class has a prior of
 * four members at 2 %. */
#define NT_FAULT_PRIOR 0.02        /* prior probability that a link has a fault */
#define NT_FAULT_PRIOR_SPREAD 0.02 /* prior of the relative spread of links of a class */
#define NT_FAULT_PRIOR_MEMBERS 4.0 /* weight of this prior, in members */
#define NT_FRAME_LEAST_BYTES 40.0  /* a ping with its headers on a cable, for any transport */
#define NT_FRAME_MOST_BYTES 160.0  /* the same at most: TCP with its options */

/* worse: ln of the value over the usual one, positive if worse. sd: of worse without a fault. df:
 * degrees of freedom of sd. 0 within one sd. */
double nt_fault_probability(double worse, double sd, double df);

/* ---- sound_links.c ---- */

/* Decides by Bayesian comparison whether a sound network explains the values of the links of a
 * tree.
 *
 * A sound network has up to NT_TIERS_MAX tiers of switches. The links of one tier are equally long.
 * Those of hosts belong to one or a few populations (adapter generations), each with a latency and
 * a bandwidth. Switches with two links are invisible, so a link of the tree can be the sum of
 * several cables. It leads from a switch of one tier down to a switch of any lower tier, or to a
 * host. At most one link of the tree goes up to the highest switch of the job and down again. Which
 * switch or link is the highest is unknown; the sum over all cases makes the result independent of
 * the model's root. A tree with more switches in a row than these tiers have, up and down, is a
 * chain: as in graphs, its hosts' links are compared with each other, and so are its links between
 * switches. A link with a fault (share NT_FAULT_PRIOR) is longer by a factor, in nine of
 * ten cases up to 8, or narrower in one direction or both, rarely longer and narrower. A narrow
 * link may delay a ping by the bytes of its frame. All other deviations have Student's distribution
 * with an estimated scale.
 *
 * The probability of a fault is the sum over all explanations with a fault. It is computed exactly
 * over tiers of switches and places of the root (the sum-product algorithm; Pearl, Probabilistic
 * Reasoning in Intelligent Systems, 1988, section 4.3). It is averaged over the lengths of tiers
 * and populations that expectation-maximisation finds from many starts, each weighted by its
 * Laplace approximation (MacKay, Information Theory, Inference, and Learning Algorithms, 2003,
 * chapter 28). So an additional length pays only if several links share it, and a finding remains
 * only if no sound network fits.
 *
 * In networks with more than 80 links, the lengths come from a sample of links, chosen by value so
 * that rare lengths are included, and the best results are compared with all links.
 *
 * Knows the values and the tree, not how they were measured. */

/* The result for one link. */
struct nt_link_verdict {
    double slow;       /* probability of a latency fault */
    double usual_us;   /* its latency without a fault */
    double narrow[2];  /* hosts' links: probability of a bandwidth fault from the host, and to it */
    double usual_MBps; /* its bandwidth without a fault */
    uint32_t cables;   /* links between switches with equal numbers are of the same kind */
    uint32_t population; /* hosts' links: its population; UINT32_MAX: none */
    double odd; /* hosts' links: probability of a fault or of an adapter generation of its own */
};

/* Fills verdict[model->links] and population (room for NT_POPULATIONS_MAX). *populations: those
 * with two hosts or more, largest first. */
int nt_sound_links(const struct nt_model *model, struct nt_link_verdict *verdict,
                   struct nt_population *population, size_t *populations, struct nt_err *err);

/* ---- one_way_slow.c ---- */

/* Finds links of a tree that are slow in one direction only, from latencies of both directions of
 * pairs; in other networks hosts' own links, or hosts with several links.
 *
 * The difference between both directions of a pair is the sum of the differences of the links on
 * its path. The difference of a link is the median over the pairs across it. Links are selected one
 * by one, the link that explains most first (least absolute deviations), and subtracted from all
 * pairs. The confidence is nt_fault_probability, compared with the other differences in the tree.
 *
 * Adds findings of kind NT_FAULT_LINK_SLOW with way up or down to the *count in fault, or sets the
 * way of an existing one. fault: room for NT_FAULTS_MAX. latency: from row to column, of the
 * model's hosts. Half round trips have no difference and give no finding. The found value is the
 * latency of this direction. */
int nt_one_way_slow_find(const struct nt_model *model, const struct nt_matrix *latency,
                         struct nt_fault *fault, size_t *count, struct nt_err *err);

/* ---- losses.c ---- */

/* Finds links of a tree that lose messages, from retransmissions on its paths.
 *
 * The retransmissions of two hosts are a Poisson count. Its mean is the number of segments that
 * they sent, times the background rate plus the rates of the lossy links on the path (Poisson
 * tomography: Vardi, "Network tomography", JASA 91, 1996). Links are selected one by one, the most
 * probable first; paths over a selected link are not evidence for others. Pings and flows have
 * separate background rates, since flows lose messages on sound links, too, when buffers are full.
 * Counts come in bursts, so the log likelihood is divided by their dispersion (quasi-likelihood:
 * Wedderburn, Biometrika 61, 1974). The confidence is the posterior probability of a fault with a
 * prior of one link in fifty and a rate between 0.01 % and 50 %, uniform in the logarithm. A
 * finding needs NT_FAULT_CONFIDENCE, a rate of NT_LOSSY_LEAST and three times the background, and
 * three paths to different partners, or all there are.
 *
 * Only flows show the direction: after one lost message of a ping, both ends retransmit. */

#define NT_LOSSY_LEAST 0.001

struct nt_loss_count {
    uint32_t from, to; /* hosts */
    bool flow;         /* one direction; else the messages of pings, both directions together */
    double segments, again;
};

/* Adds findings of kind NT_FAULT_LINK_LOSSY, found and expected in percent, to the *count in fault
 * (room for NT_FAULTS_MAX). If a link is also narrow, one finding remains. It is lossy if pings
 * show the loss, since a flow over a lossy link is slow. Otherwise it is narrow with lossy as
 * alternative, since a narrow link drops messages that arrive too fast. Links that cannot be
 * distinguished are alternatives. Adds nothing if the network is not a tree. */
int nt_losses_find(const struct nt_model *model, const struct nt_loss_count *seen,
                   size_t seen_count, struct nt_fault *fault, size_t *count, struct nt_err *err);

/* ---- rail_faults.c ---- */

/* Distinguishes faults of a host from faults of its cables by measurements of single rails.
 *
 * Short messages give the latency of the link of a host on a rail. It is the time with a partner
 * less the share of that partner, which is half of the partner's lowest time; the lowest value over
 * all partners is used. Long messages give its bandwidth: the highest over its partners. The links
 * of one rail are compared like the links of the model. If a host is worse on one rail and sound on
 * another, it has a bad cable or port there: the finding gets the rail, and the host is no
 * alternative. If it is worse on every rail by about the same factor (within a factor of two of the
 * logarithm), the finding is the host. Otherwise nothing changes. */

/* A measurement in one direction between two hosts over one rail. */
struct nt_rail_measurement {
    uint32_t rail, a, b;
    double bytes, us, se_us; /* size of the message; its time; standard error, NaN: unknown */
};

struct nt_rail_measurements {
    const struct nt_rail_measurement *at;
    size_t count, rails;
    const char *const *name; /* per rail */
};

/* Refines the *count findings of hosts' links in fault and adds those that only one rail shows.
 * fault: room for NT_FAULTS_MAX. Does nothing with fewer than two rails. */
int nt_rail_faults_find(const struct nt_model *model, const struct nt_rail_measurements *seen,
                        struct nt_fault *fault, size_t *count, struct nt_err *err);

#endif
