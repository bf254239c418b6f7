/* SPDX-License-Identifier: Apache-2.0 */
/* Few hosts: of all trees that can join them the likeliest. */
#include "few_hosts.h"

#include <stdlib.h>
#include <string.h>

#include "next_reading.h"
#include "tree_posterior.h"

/* Half of the small jobs stand behind one switch; of the others half are in networks whose links
 * between switches are all of one kind. */
static const double ONE_SWITCH = 0.5, ALIKE = 0.5;

static double mean_reading(const struct nt_work *w)
{
    double sum = 0;
    for (size_t k = 0; k < w->n * w->n; k++)
        sum += w->d[k] == w->d[k] ? (double)w->d[k] : 0;
    return sum / fmax(2 * (double)w->pairs, 1);
}

/* Whether all readings are multiples of a step, as far as a float shows. */
static bool are_multiples(const struct nt_work *w, double step_us)
{
    const double ROUNDED = 1e-7;
    for (size_t k = 0; k < w->n * w->n; k++) {
        double steps = (double)w->d[k] / step_us;
        if (fabs(steps - round(steps)) > 1e-3 + ROUNDED * steps)
            return false;
    }
    return true;
}

/* The relative noise that the readings hide: more than USUAL where a coarse grid shows. Four hosts
 * have one equation that tells a tree from none: readings agree with it by chance to their last
 * decimal. Those of a clock that counts otherwise do to a tick, which is not seen here: hence the
 * least. */
static double hidden_noise(const struct nt_work *w, double mean)
{
    const double LEAST = 1e-5, USUAL = 1.5e-4, OF_A_STEP = 0.3;                 /* 1/sqrt(12) */
    double least = w->noise.least * pow(mean, w->noise.power - 1), step = 1e-3; /* 1 ns */
    if (least > USUAL)
        return least;
    while (step > LEAST * mean && !are_multiples(w, step))
        step /= 10;
    return fmin(least, fmax(LEAST, OF_A_STEP * step / mean));
}

/* The noise of a pair grows with its latency, but part of it is the same for all: between the two.
 * A lowest reading that is far below the pair's next one is known less well: taken as any other it
 * makes a group of two. */
static void take_readings(const struct nt_work *w, struct nt_tree_posterior_input *in)
{
    *in = (struct nt_tree_posterior_input){
        .branches = w->n, .none = ONE_SWITCH, .alike = ALIKE, .repeats = w->noise.repeats};
    double mean = mean_reading(w);
    in->least = hidden_noise(w, mean);
    for (size_t i = 0; i < w->n; i++)
        for (size_t j = 0; j < w->n; j++) {
            double us = in->d[i * w->n + j] = (double)w->d[i * w->n + j];
            in->variance[i * w->n + j] =
                us / mean * nt_next_reading_variance(w, w->host[i], w->host[j], us);
        }
}

/* The smallest split that holds all of `inside`, but not only them; the count of splits: none. */
static size_t split_above(const struct nt_tree_posterior_result *r, uint8_t inside, size_t except)
{
    size_t best = r->splits;
    for (size_t s = 0; s < r->splits; s++)
        if (s != except && (r->split[s] & inside) == inside &&
            (best == r->splits ||
             __builtin_popcount(r->split[s]) < __builtin_popcount(r->split[best])))
            best = s;
    return best;
}

/* A switch for each split, and one for what is left. */
static int build_model(const struct nt_work *w, const struct nt_tree_posterior_result *r,
                       size_t hosts, struct nt_model **out, struct nt_err *err)
{
    struct nt_model *m;
    if (nt_model_create(hosts, r->splits + 1, w->n + r->splits, &m, err) < 0)
        return -1;
    for (size_t i = 0; i < w->n; i++) {
        m->link[i].a = w->host[i];
        m->link[i].b = (uint32_t)(hosts + split_above(r, (uint8_t)(1u << i), r->splits));
        m->link[i].latency_us = r->branch_us[i];
    }
    for (size_t s = 0; s < r->splits; s++) {
        struct nt_link *l = &m->link[w->n + s];
        l->a = (uint32_t)(hosts + s);
        l->b = (uint32_t)(hosts + split_above(r, r->split[s], s));
        l->latency_us = r->split_us[s];
        l->probability = r->support[s];
    }
    m->family = r->splits == 0 ? NT_FAMILY_STAR : NT_FAMILY_TREE;
    m->confidence = r->posterior;
    *out = m;
    return 0;
}

int nt_few_hosts(struct nt_work *w, size_t hosts, struct nt_model **out, struct nt_err *err)
{
    struct nt_tree_posterior_input in;
    struct nt_tree_posterior_result r;
    bool solved;
    *out = NULL;
    if (w->n < NT_TREE_POSTERIOR_MIN || w->n > NT_TREE_POSTERIOR_MAX)
        return 0;
    nt_noise_estimate(w->d, w->n, &w->rng, &w->noise);
    take_readings(w, &in);
    if (nt_tree_posterior(&in, &solved, &r, err) < 0)
        return -1;
    return solved ? build_model(w, &r, hosts, out, err) : 0;
}
