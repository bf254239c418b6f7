/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <math.h>

#include "memory.h"
#include "rooted_tree.h"

#define RATES 8.5      /* ln of the highest rate that a fault may have over the lowest */
#define OVER 3.0       /* times the background */
#define NEAR 3.0       /* log likelihoods that differ by less are not distinguished */
#define WAY_ODDS 4.6   /* ln 100 */
#define WAY_FACTOR 4.0 /* one direction loses this many times more than the other */
enum { PATHS_MIN = 3, PINGS = 0, FLOWS = 1, STRATA = 2, AGAIN_MIN = 3 };

struct counts {
    double segments, again, squares; /* squares: of again over segments */
    size_t paths, hit;               /* hit: with something sent again */
};

struct link_counts {
    struct counts by[STRATA];
    struct counts way[2]; /* flows: up from the link's a to b, and down */
};

struct losses {
    const struct nt_model *model;
    struct nt_rooted_tree *rooted;
    const struct nt_loss_count *seen;
    size_t seen_count;
    struct link_counts *link;
    struct counts all[STRATA];
    bool *taken;       /* links */
    double *worth[2];  /* links: log likelihood ratio of all strata, of pings alone */
    uint32_t *channel; /* room for a path */
};

static void count_in(struct counts *c, const struct nt_loss_count *x)
{
    c->segments += x->segments;
    c->again += x->again;
    c->squares += x->again * x->again / x->segments;
    c->paths++;
    c->hit += x->again > 0;
}

static bool is_explained(const struct losses *s, size_t hops)
{
    for (size_t i = 0; i < hops; i++)
        if (s->taken[s->channel[i] / 2])
            return true;
    return false;
}

static void count_paths(struct losses *s)
{
    for (size_t k = 0; k < s->model->links; k++)
        s->link[k] = (struct link_counts){0};
    s->all[PINGS] = s->all[FLOWS] = (struct counts){0};
    for (size_t k = 0; k < s->seen_count; k++) {
        const struct nt_loss_count *x = &s->seen[k];
        size_t hops =
            x->segments > 0 ? nt_rooted_tree_path(s->rooted, x->from, x->to, s->channel) : 0;
        if (is_explained(s, hops))
            continue;
        for (size_t i = 0; i < hops; i++) {
            struct link_counts *l = &s->link[s->channel[i] / 2];
            count_in(&l->by[x->flow ? FLOWS : PINGS], x);
            if (x->flow)
                count_in(&l->way[s->channel[i] % 2], x);
        }
        if (hops > 0)
            count_in(&s->all[x->flow ? FLOWS : PINGS], x);
    }
}

static double rate_of(const struct counts *c)
{
    return c->segments > 0 ? c->again / c->segments : 0;
}

/* The background rate of the paths that do not use the link. */
static double background_of(const struct losses *s, const struct link_counts *l, int stratum)
{
    const struct counts *all = &s->all[stratum], *own = &l->by[stratum];
    /* before anything is seen: a segment in two hundred, as if from a hundred */
    const double AGAIN = 0.5, SEGMENTS = 100;
    return (all->again - own->again + AGAIN) / (all->segments - own->segments + SEGMENTS);
}

/* Log likelihood ratio of a rate of its own, over the dispersion of the counts at that rate. */
static double log_likelihood_ratio(const struct losses *s, const struct link_counts *l, int stratum)
{
    const struct counts *c = &l->by[stratum];
    double rate = rate_of(c), usual = background_of(s, l, stratum);
    if (!(rate > OVER * usual))
        return 0;
    /* sum of (again - rate segments)^2 / (rate segments) */
    double square = c->squares / rate - c->again;
    double dispersion = c->paths < 2 ? c->again : fmax(1, square / (double)(c->paths - 1));
    return (c->again * log(rate / usual) - (rate - usual) * c->segments) / dispersion;
}

static bool is_shown(const struct link_counts *l)
{
    size_t paths =
        l->by[PINGS].paths > l->by[FLOWS].paths ? l->by[PINGS].paths : l->by[FLOWS].paths;
    size_t hit = l->by[PINGS].hit > l->by[FLOWS].hit ? l->by[PINGS].hit : l->by[FLOWS].hit;
    double again = l->by[PINGS].again + l->by[FLOWS].again;
    return hit > 0 && hit >= (paths < PATHS_MIN ? paths : PATHS_MIN) && again >= AGAIN_MIN &&
           fmax(rate_of(&l->by[PINGS]), rate_of(&l->by[FLOWS])) >= NT_LOSSY_LEAST;
}

static double posterior(double worth, double again)
{
    /* Laplace's method over the logarithm of the rate: the peak's width is 1 / sqrt(again) */
    const double LN_SQRT_TWO_PI = 0.92;
    double odds = log(NT_FAULT_PRIOR / (1 - NT_FAULT_PRIOR)) + worth - 0.5 * log(fmax(again, 1)) +
                  LN_SQRT_TWO_PI - log(RATES);
    return 1 / (1 + exp(-odds));
}

/* The most probable link that is not selected yet; links: none. */
static size_t find_worst(struct losses *s)
{
    size_t worst = s->model->links;
    for (size_t k = 0; k < s->model->links; k++) {
        const struct link_counts *l = &s->link[k];
        s->worth[1][k] = log_likelihood_ratio(s, l, PINGS);
        s->worth[0][k] = s->worth[1][k] + log_likelihood_ratio(s, l, FLOWS);
        if (!s->taken[k] && is_shown(l) &&
            (worst == s->model->links || s->worth[0][k] > s->worth[0][worst]))
            worst = k;
    }
    return worst;
}

/* Which of the ways of flows over it loses; both where they do not differ. */
static enum nt_fault_way lossy_direction(const struct losses *s, size_t link)
{
    const struct counts *forth = &s->link[link].way[0], *back = &s->link[link].way[1];
    double both = (forth->again + back->again) / fmax(forth->segments + back->segments, 1),
           gain = 0;
    if (!(forth->segments > 0 && back->segments > 0 && both > 0))
        return NT_FAULT_BOTH;
    for (int k = 0; k < 2; k++) {
        const struct counts *c = k == 0 ? forth : back;
        gain += c->again > 0 ? c->again * log(rate_of(c) / both) : 0;
    }
    double high = fmax(rate_of(forth), rate_of(back)), low = fmin(rate_of(forth), rate_of(back));
    if (gain < WAY_ODDS || high < WAY_FACTOR * low)
        return NT_FAULT_BOTH;
    uint32_t lower = nt_fault_part_of(s->model, link, NT_FAULT_LINK_LOSSY).a;
    bool up = (rate_of(forth) > rate_of(back)) == (lower == s->model->link[link].a);
    return up ? NT_FAULT_UP : NT_FAULT_DOWN;
}

static void add_other(struct nt_fault *f, struct nt_fault_part part)
{
    if (f->others < NT_FAULT_OTHERS_MAX)
        f->other[f->others++] = part;
}

static struct nt_fault make_fault(const struct losses *s, size_t link, double confidence)
{
    const struct link_counts *c = &s->link[link];
    int stratum = c->by[FLOWS].again >= AGAIN_MIN ? FLOWS : PINGS;
    struct nt_fault f = {.part = nt_fault_part_of(s->model, link, NT_FAULT_LINK_LOSSY),
                         .found = 100 * rate_of(&c->by[stratum]),
                         .expected = 100 * background_of(s, c, stratum),
                         .confidence = confidence,
                         .way = lossy_direction(s, link)};
    for (size_t k = 0; k < s->model->links; k++)
        if (k != link && !s->taken[k] && s->worth[0][k] > 0 &&
            s->worth[0][k] > s->worth[0][link] - NEAR)
            add_other(&f, nt_fault_part_of(s->model, k, NT_FAULT_LINK_LOSSY));
    uint32_t host = f.part.a;
    if (host < s->model->hosts)
        add_other(&f, (struct nt_fault_part){NT_FAULT_HOST_SLOW, host, host});
    return f;
}

/* For a link that is also narrow one finding remains; true: the narrow one. */
static bool stays_narrow(const struct nt_fault *lossy, bool by_pings, struct nt_fault *fault,
                         size_t *count)
{
    size_t kept = 0;
    bool narrow = false;
    for (size_t k = 0; k < *count; k++) {
        bool same = fault[k].part.kind == NT_FAULT_LINK_NARROW &&
                    fault[k].part.a == lossy->part.a && fault[k].part.b == lossy->part.b;
        if (same && by_pings)
            continue;
        if (same)
            add_other(&fault[k], lossy->part);
        narrow = narrow || same;
        fault[kept++] = fault[k];
    }
    *count = kept;
    return narrow;
}

static void find_all(struct losses *s, struct nt_fault *fault, size_t *count)
{
    while (*count < NT_FAULTS_MAX) {
        count_paths(s);
        size_t worst = find_worst(s);
        if (worst == s->model->links)
            return;
        const struct link_counts *l = &s->link[worst];
        double confidence = posterior(s->worth[0][worst], l->by[PINGS].again + l->by[FLOWS].again);
        if (confidence < NT_FAULT_CONFIDENCE)
            return;
        struct nt_fault found = make_fault(s, worst, confidence);
        bool by_pings = posterior(s->worth[1][worst], l->by[PINGS].again) >= NT_FAULT_CONFIDENCE;
        s->taken[worst] = true;
        if (!stays_narrow(&found, by_pings, fault, count))
            fault[(*count)++] = found;
    }
}

int nt_losses_find(const struct nt_model *model, const struct nt_loss_count *seen,
                   size_t seen_count, struct nt_fault *fault, size_t *count, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct losses s = {.model = model, .seen = seen, .seen_count = seen_count};
    if (model->switches == 0 || seen_count == 0)
        return 0;
    if (nt_rooted_tree_create(model, &s.rooted, err) != 0)
        return -1;
    s.link = nt_arena_array(&memory, model->links + 1, sizeof *s.link);
    s.taken = nt_arena_array(&memory, model->links + 1, sizeof *s.taken);
    for (int k = 0; k < 2; k++)
        s.worth[k] = nt_arena_array(&memory, model->links + 1, sizeof *s.worth[k]);
    s.channel = nt_arena_array(&memory, nt_rooted_tree_room(s.rooted), sizeof *s.channel);
    int rc = nt_arena_check(&memory, err);
    if (rc == 0 && s.rooted->tree)
        find_all(&s, fault, count);
    nt_rooted_tree_destroy(s.rooted);
    return rc;
}
