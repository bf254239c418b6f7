/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "link_sums.h"
#include "memory.h"
#include "rooted_tree.h"
#include "stats.h"

enum {
    TIERS = NT_LINK_TIERS,
    STEPS = NT_LINK_STEPS,
    STYLES = NT_LINK_STYLES,
    OVER = STEPS * STEPS, /* labels of links over the highest switch begin here */
    POPS = NT_POPULATIONS_MAX,
    LENGTHS = POPS + TIERS - 1, /* of hosts' links by population, then of uplinks by tier */
    SUMS = NT_LINK_SUMS,
    CLUSTERS = 6, /* lengths that links share, as starts */
    MORE_STARTS = 24,
    STARTS = 12,           /* lengths of uplinks as starts */
    BEAM = 3,              /* fits that are refined and extended */
    FITS = 64,             /* fits that are averaged over */
    ROUNDS = 4,            /* of expectation-maximisation */
    SAMPLE = 40,           /* links of hosts, and of switches, from which lengths are found */
    ALL_LINKS_MOST = 2048, /* limit of links with which all fits are compared */
    SEEN = 1 << 24,        /* measured values are before differences */
    HOSTS_MIN = 3,         /* fewer do not show which differs */
    /* Values of a frame's bytes, each two of FRAME_STEP from the next: the fourth is
     * NT_FRAME_MOST_BYTES over FRAME_STEP */
    FRAME_STEPS = 4,
    NONE = UINT32_MAX,
};

/* Student's distribution with six degrees of freedom, the shape of the noise of measured link
 * values. */
#define TAIL_DF 6.0
#define TAIL_NORM 0.3827327723098717 /* of its density */
#define FAULT_FACTOR 8.0             /* by which most faults make a link slower, at most; */
#define FAULT_LOG_RANGE 1.94         /* log(8 / 1.15): their factors are flat in the logarithm; */
#define FAULT_BEYOND 0.1             /* others by more, of which half by twice as much */
#define UPLINK_LOG_RANGE 2.3         /* log(1 / 0.1): an uplink over a host's link, lower limit */
#define UPLINK_LEAST 0.02            /*   shorter and longer ones hardly exist: a cable and a */
#define UPLINK_MOST 1.0              /*   switch against a cable, an adapter and the host itself */
#define FRAME_STEP 1.18920711500272106672 /* fourth root of 2 */
#define LOW_SHARE 0.02    /* of readings of bandwidth are low by chance, by 5 to 45 %: */
#define LOW_LEAST (-0.05) /*   logarithms */
#define LOW_MOST (-0.6)
/* Posterior of an explanation, to be counted. Which ones are left out depends on the root. A link
 * has up to 320, so that those left out change no confidence by 1e-9. */
#define LEAST_WEIGHT 1e-12
#define FEW_FAULTS 0.05 /* expected ones, that call for no more lengths */
#define HARDLY 0.02     /* logarithm of evidence */
#define NOTHING 10.0    /* e^-10: less than a tenth of a thousandth */
#define ALIKE 1.15      /* lengths that are nearer than this factor are one kind in a sample */
#define SMALLEST 1e-75  /* less than this against another is nothing */

struct edge {
    uint32_t link, parent, child;                  /* nodes; child NONE: a host */
    double us, se_us;                              /* se NaN: not judged */
    double rate[2], log_rate[2], rate_variance[2]; /* the variance: relative */
    bool bound[2];
    double low[2]; /* probability that a reading that was low by chance made the rate */
    /* root above; root below over that; by the parent's hosts and tier */
    double log_a[STYLES][STEPS], ratio[STYLES][STEPS];
    double rate_sound[POPS],
        rate_faulty[POPS];  /* likelihoods of the rates, without a fault, with */
    double narrow[POPS][2]; /* the way of a fault of rates */
};

struct node {
    double log_a[STEPS], root[STEPS]; /* without the root; with it over without; of all styles */
    double log_in[STYLES][STEPS], root_in[STYLES][STEPS]; /* of one style */
    double above[STEPS], here[STEPS]; /* posterior of a tier, the root elsewhere or at or below */
    bool below;                       /* has links down */
    uint32_t trunks;                  /* links to switches */
};

struct fit {
    size_t tiers, pops;
    double us[LENGTHS], share[POPS], spread; /* spread: variance, relative */
    double rate[POPS], rate_spread;          /* logarithm */
    double log_evidence, faults;             /* faults: expected */
    /* precision: of the lengths, its Cholesky factor; of the rates */
    double factor[LENGTHS][LENGTHS], rate_weight[POPS];
};

struct sums {
    double normal[LENGTHS][LENGTHS], right[LENGTHS];
    double spread, members, faults, explained; /* explained: links, with faults or without */
    double share[POPS];
    double rate[POPS], rate_weight[POPS], rate_square, rate_members;
};

struct work {
    struct edge *edge;
    struct node *node;
    const struct edge **host; /* links of hosts in the order of their figures, judged ones first */
    double *room;             /* two of each edge */
    size_t edges, nodes, judged;
    size_t hosts, listed; /* of host: those that are judged; all */
    bool rooted;          /* false: links of one class each, no tiers */
    bool rates;
    bool thorough;  /* searches more lengths although the links are explained, */
    bool short_cut; /*   which was enough of a reason to stop */
    struct nt_link_sums of_tiers[STEPS];
    const struct fit *fit;            /* at hand, */
    const struct nt_link_sums *tiers; /*   its tiers, */
    double sum_us[SUMS];              /*   and sums */
    struct fit rated;                 /* whose rates' odds the edges have */
    struct sums sums;
    /* of the last pass, if wanted: by edge */
    struct nt_link_verdict *verdict;
    double *fault_us, *best;
    double (*belongs)[POPS], (*unsound)[POPS]; /* of the last fit: unsound of belongs, by a fault */
    double weight;                             /* of the fit in the mean */
    bool label;
};

/* ---- densities -------------------------------------------------------------------------------*/

static double tail_density(double off, double variance)
{
    double wide = variance + off * off / TAIL_DF; /* the variance times the bracket */
    return TAIL_NORM * variance * variance * variance / (wide * wide * wide * sqrt(wide));
}

static double tail_weight(double off, double variance)
{
    return (TAIL_DF + 1) / (TAIL_DF + off * off / variance);
}

static double uplink_us(const struct fit *f, size_t tier)
{
    return f->us[POPS + tier - 1];
}

/* ---- sums of uplinks -------------------------------------------------------------------------*/

static void set_sums(struct work *w, const struct fit *f)
{
    w->fit = f;
    w->tiers = &w->of_tiers[f->tiers];
    for (size_t k = 0; k < w->tiers->sums; k++) {
        w->sum_us[k] = 0;
        for (size_t s = 1; s < f->tiers; s++)
            w->sum_us[k] += w->tiers->times[k][s] * uplink_us(f, s);
    }
}

/* ---- rates of hosts' links -------------------------------------------------------------------*/

static void way_odds(const struct fit *f, const struct edge *e, size_t p, size_t way, double *sound,
                     double *faulty)
{
    double variance = f->rate_spread + e->rate_variance[way];
    double off = e->log_rate[way] - f->rate[p];
    if (e->bound[way]) { /* at least so wide */
        *sound = 1 / (1 + exp(1.7 * off / sqrt(variance)));
        *faulty = fmin(1, fmax(0, -off / FAULT_LOG_RANGE));
        return;
    }
    *sound = (1 - e->low[way]) * tail_density(off, variance) +
             (off > LOW_MOST && off < LOW_LEAST ? e->low[way] / (LOW_LEAST - LOW_MOST) : 0);
    *faulty = off < 0 ? 1 / FAULT_LOG_RANGE : 0;
}

/* One fault in three is of both ways, and then about the same. */
static void set_rate_odds(const struct work *w, const struct fit *f, struct edge *e)
{
    for (size_t p = 0; p < f->pops; p++) {
        double sound[2] = {1, 1}, faulty[2] = {0, 0}, same = 0;
        bool known[2] = {e->rate[0] > 0, e->rate[1] > 0};
        e->rate_sound[p] = e->rate_faulty[p] = 1;
        e->narrow[p][0] = e->narrow[p][1] = 0;
        if (!w->rates || !(known[0] || known[1]))
            continue;
        for (size_t k = 0; k < 2; k++)
            if (known[k])
                way_odds(f, e, p, k, &sound[k], &faulty[k]);
        if (known[0] && known[1] && !e->bound[0] && !e->bound[1])
            same = tail_density(e->log_rate[0] - e->log_rate[1], 2 * f->rate_spread);
        double both = fmax(faulty[0] * same, faulty[0] * faulty[1]) / 3;
        double up = faulty[0] * sound[1] / 3, down = sound[0] * faulty[1] / 3;
        e->rate_sound[p] = fmax(sound[0] * sound[1], 1e-100);
        e->rate_faulty[p] = both + up + down;
        if (e->rate_faulty[p] > 0) {
            e->narrow[p][0] = (both + up) / e->rate_faulty[p];
            e->narrow[p][1] = (both + down) / e->rate_faulty[p];
        }
    }
}

/* ---- sums over all explanations --------------------------------------------------------------*/

/* Density of the latency of a link with a fault that has been us without. */
static double slow_density(double slow_us, double us)
{
    double factor = slow_us / us;
    if (factor > FAULT_FACTOR) /* Pareto's distribution */
        return FAULT_BEYOND * FAULT_FACTOR / (factor * slow_us);
    return factor > 1 ? (1 - FAULT_BEYOND) / (FAULT_LOG_RANGE * slow_us) : 0;
}

/* A link's likelihood for each sum of uplinks that it can be: without a fault, with one. */
struct odds {
    size_t populations;
    double sound[POPS][SUMS], faulty[POPS][SUMS], share[POPS];
    double delayed[POPS][SUMS]; /* by a fault of the rates */
    double narrow[POPS][2];     /* that the rates have a fault, if the latency has none, has one */
    double all[SUMS];           /* over populations */
};

/* One link in fifty has a fault of latency, one of rate, and every fourth of these both. Half as
 * many are so narrow that small messages are late. */
static const double ALONE = 0.75 * NT_FAULT_PRIOR, BOTH = 0.25 * NT_FAULT_PRIOR,
                    DELAYED = 0.5 * NT_FAULT_PRIOR;

static void set_fault_odds(const struct edge *e, size_t p, double *none, double *slow,
                           double narrow[2])
{
    double alone = ALONE * e->rate_faulty[p], both = BOTH * e->rate_faulty[p];
    *none = (1 - 2 * ALONE - BOTH - DELAYED) * e->rate_sound[p] + alone;
    *slow = ALONE * e->rate_sound[p] + both;
    narrow[0] = alone / *none;
    narrow[1] = both / *slow;
}

/* A narrow link sends the bytes of a frame more slowly, which is one fault, not two. */
static double frame_delay(const struct fit *f, const struct edge *e, size_t p)
{
    double us_byte = 0;
    if (isnan(e->se_us) || !(NT_FAULT_PRIOR * e->rate_faulty[p] > 1e-9 * e->rate_sound[p]))
        return 0;
    for (size_t k = 0; k < 2; k++)
        if (e->rate[k] > 0 && !e->bound[k])
            us_byte += fmax(0, 1 / e->rate[k] - exp(-f->rate[p])) / 2;
    return us_byte;
}

/* Density of a latency that differs from the sum by this; uniform in the logarithm of the bytes. */
static double delayed_density(double off, double variance, double us_byte)
{
    double sum = 0, bytes = NT_FRAME_LEAST_BYTES * FRAME_STEP;
    for (int k = 0; k < FRAME_STEPS; k++, bytes *= FRAME_STEP * FRAME_STEP) {
        double delay = bytes * us_byte, wide = (FRAME_STEP - 1) * delay;
        sum += tail_density(off - delay, variance + wide * wide / 3);
    }
    return sum / FRAME_STEPS;
}

static void set_odds(const struct work *w, const struct edge *e, struct odds *o)
{
    const struct fit *f = w->fit;
    bool host = e->child == NONE, known = !isnan(e->se_us);
    size_t sums = host ? w->tiers->of_hosts : w->tiers->sums;
    double own = e->se_us * e->se_us;
    o->populations = host ? f->pops : 1;
    for (size_t k = 0; k < sums; k++)
        o->all[k] = 0;
    for (size_t p = 0; p < o->populations; p++) {
        double first = host ? f->us[p] : 0, share = o->share[p] = host ? f->share[p] : 1;
        double none, slow, delay = host ? frame_delay(f, e, p) : 0;
        set_fault_odds(e, p, &none, &slow, o->narrow[p]);
        for (size_t k = 0; k < sums; k++) {
            double us = first + w->sum_us[k], variance = own + f->spread * us * us;
            o->sound[p][k] = known ? none * tail_density(e->us - us, variance) : none;
            o->faulty[p][k] = known ? slow * slow_density(e->us, us) : slow;
            o->delayed[p][k] = 0;
            if (delay > 0)
                o->delayed[p][k] =
                    DELAYED * e->rate_faulty[p] * delayed_density(e->us - us, variance, delay);
            o->all[k] += share * (o->sound[p][k] + o->faulty[p][k] + o->delayed[p][k]);
        }
    }
}

static double cell_odds(const struct odds *o, const struct nt_link_cell *c)
{
    double all = 0;
    for (size_t k = 0; k < c->n; k++)
        all += c->term[k].prior * o->all[c->term[k].sum];
    return all;
}

/* Posterior of a style in a tier, without the root. */
static double style_share(const struct node *n, size_t style, size_t t)
{
    return exp(n->log_in[style][t] - n->log_a[t]);
}

static void mix_styles(struct node *n, size_t tiers)
{
    for (size_t t = 1; t <= tiers; t++) {
        n->log_a[t] = nt_log_sum(n->log_in[0][t], n->log_in[1][t]);
        n->root[t] = style_share(n, 0, t) * n->root_in[0][t];
        n->root[t] += style_share(n, 1, t) * n->root_in[1][t];
    }
}

static double finish_node(const struct node *n, size_t tiers)
{
    double most = -INFINITY;
    for (size_t t = 1; t <= tiers; t++)
        most = fmax(most, n->log_a[t] + log(n->root[t]));
    return most;
}

/* Likelihoods of a link to a switch by the tier of the parent. */
static void switch_odds(const struct work *w, const struct edge *e, const struct odds *o,
                        double scale, double *a, double *b)
{
    const struct fit *f = w->fit;
    const struct node *c = &w->node[e->child];
    const struct nt_link_sums *of = w->tiers;
    for (size_t low = 1; low <= f->tiers; low++) {
        double here = exp(c->log_a[low] - scale), with = here * c->root[low];
        double without = c->below ? here : 0;
        for (size_t t = 1; t <= f->tiers; t++) {
            if (t > low && without > 0)
                a[t] += without * cell_odds(o, &of->below[low][t]);
            if (t < low)
                b[t] += with * cell_odds(o, &of->below[t][low]);
            if (without > 0 && of->over[low][t].n > 0)
                b[t] += without * cell_odds(o, &of->over[low][t]);
        }
    }
}

static void sum_up_edge(struct work *w, struct edge *e)
{
    const struct fit *f = w->fit;
    double a[STYLES][STEPS] = {{0}}, b[STEPS] = {0}, scale = 0, most = 0;
    struct node *n = &w->node[e->parent];
    struct odds o;
    set_odds(w, e, &o);
    if (e->child == NONE) {
        for (size_t t = 1; t <= f->tiers; t++) {
            for (size_t style = 0; style < STYLES; style++)
                a[style][t] = cell_odds(&o, &w->tiers->host[style][t]);
            b[t] = cell_odds(&o, &w->tiers->over[0][t]);
        }
    } else {
        mix_styles(&w->node[e->child], f->tiers);
        scale = finish_node(&w->node[e->child], f->tiers);
        switch_odds(w, e, &o, scale, a[0], b);
        memcpy(a[1], a[0], sizeof a[1]);
    }
    for (size_t t = 1; t <= f->tiers; t++)
        most = fmax(most, fmax(b[t], fmax(a[0][t], a[1][t])));
    double floor = fmax(most * SMALLEST, 1e-300);
    for (size_t style = 0; style < STYLES; style++)
        for (size_t t = 1; t <= f->tiers; t++) {
            double all = fmax(a[style][t], floor);
            e->log_a[style][t] = log(all) + scale;
            e->ratio[style][t] = b[t] / all;
            n->log_in[style][t] += e->log_a[style][t];
            n->root_in[style][t] += e->ratio[style][t];
        }
}

/* The odds of rates, unless the last fit had the same. */
static void rate_hosts(struct work *w, const struct fit *f)
{
    bool same = w->rated.pops == f->pops && w->rated.rate_spread == f->rate_spread;
    for (size_t p = 0; p < f->pops; p++)
        same = same && w->rated.rate[p] == f->rate[p];
    if (same)
        return;
    w->rated = *f;
    for (size_t k = 0; k < w->edges; k++)
        if (w->edge[k].child == NONE)
            set_rate_odds(w, f, &w->edge[k]);
}

/* That all hosts of a switch are directly at it is one fact. As a product over the hosts, two slow
 * links explain a chain of switches better. A leaf, with one link to a switch, is past no tier. */
static void start_node(struct node *n)
{
    double direct = n->trunks > 1 ? NT_LINK_DIRECT : 0;
    *n = (struct node){.below = n->below, .trunks = n->trunks};
    for (size_t t = 1; t < STEPS; t++) {
        n->root_in[0][t] = n->root_in[1][t] = 1;
        n->log_in[0][t] = log(1 - direct);
        n->log_in[1][t] = log(direct);
    }
}

static double sum_up(struct work *w, const struct fit *f)
{
    double all = 0;
    set_sums(w, f);
    rate_hosts(w, f);
    for (size_t k = 0; k < w->nodes; k++)
        start_node(&w->node[k]);
    for (size_t k = w->edges; k-- > 0;)
        sum_up_edge(w, &w->edge[k]);
    mix_styles(&w->node[0], f->tiers);
    double scale = finish_node(&w->node[0], f->tiers);
    for (size_t t = 1; t <= f->tiers; t++)
        all += exp(w->node[0].log_a[t] + log(w->node[0].root[t]) - scale);
    for (size_t t = 1; t <= f->tiers; t++) {
        w->node[0].above[t] = 0;
        w->node[0].here[t] = exp(w->node[0].log_a[t] + log(w->node[0].root[t]) - scale) / all;
    }
    return scale + log(all / (double)f->tiers);
}

/* ---- posterior of each explanation -----------------------------------------------------------*/

/* The lengths of a sum, and how often each. */
struct used {
    size_t n, length[LENGTHS];
    double times[LENGTHS];
};

static void add_length(struct sums *s, const struct fit *f, const struct edge *e, double us,
                       double weight, const struct used *used)
{
    double own = f->spread * us * us, variance = e->se_us * e->se_us + own, off = e->us - us;
    double tail = tail_weight(off, variance), gain = weight * tail / variance;
    for (size_t i = 0; i < used->n; i++) {
        s->right[used->length[i]] += gain * used->times[i] * off;
        for (size_t j = 0; j < used->n; j++)
            s->normal[used->length[i]][used->length[j]] += gain * used->times[i] * used->times[j];
    }
    double part = own / variance;
    s->spread += weight * (tail * part * part * off * off + part * e->se_us * e->se_us) / (us * us);
    s->members += weight;
}

static void note_verdict(struct work *w, size_t edge, double weight, double faulty, double us,
                         uint32_t label)
{
    if (w->verdict == NULL)
        return;
    struct nt_link_verdict *v = &w->verdict[w->edge[edge].link];
    v->slow += w->weight * weight * faulty;
    w->fault_us[edge] += w->weight * weight * faulty;
    v->usual_us += w->weight * weight * faulty * us;
    if (w->label && weight > w->best[edge]) {
        w->best[edge] = weight;
        v->cables = label;
    }
}

/* bad: of the weight, with a fault of the rates. */
static void note_rate(struct work *w, size_t edge, size_t p, double weight, double bad)
{
    const struct fit *f = w->fit;
    struct edge *e = &w->edge[edge];
    struct sums *s = &w->sums;
    s->share[p] += weight;
    s->faults += bad * fmax(e->narrow[p][0], e->narrow[p][1]);
    if (w->verdict != NULL) {
        struct nt_link_verdict *v = &w->verdict[e->link];
        for (size_t k = 0; k < 2; k++)
            v->narrow[k] += w->weight * bad * e->narrow[p][k];
        v->usual_MBps += w->weight * weight * exp(f->rate[p]);
    }
    for (size_t k = 0; k < 2 && w->rates; k++) {
        if (!(e->rate[k] > 0)) /* a lower bound is a member with this rate */
            continue;
        double own = e->rate_variance[k], variance = f->rate_spread + own;
        double off = e->log_rate[k] - f->rate[p];
        double part = f->rate_spread / variance, tail = tail_weight(off, variance);
        double sound = weight - bad * e->narrow[p][k];
        s->rate[p] += sound * tail / variance * off;
        s->rate_weight[p] += sound * tail / variance;
        s->rate_square += sound * (tail * part * part * off * off + part * own);
        s->rate_members += sound;
    }
}

/* Shares weight among the explanations of a cell. */
static void share_cell(struct work *w, size_t edge, const struct odds *o,
                       const struct nt_link_cell *c, double weight, uint32_t label)
{
    const struct fit *f = w->fit;
    struct edge *e = &w->edge[edge];
    bool host = e->child == NONE;
    double all = cell_odds(o, c);
    if (!(all > 0) || !(weight > LEAST_WEIGHT))
        return;
    for (size_t p = 0; p < o->populations; p++) {
        double share = weight * o->share[p] / all, of_population = 0, narrow = 0, healthy = 0;
        for (size_t k = 0; k < c->n; k++) {
            size_t sum = c->term[k].sum;
            struct used used = {.n = 0};
            double sound = o->sound[p][sum], faulty = o->faulty[p][sum];
            double any = sound + faulty + o->delayed[p][sum], bad = faulty / any;
            double here = share * c->term[k].prior * any;
            double us = w->sum_us[sum] + (host ? f->us[p] : 0);
            of_population += here;
            healthy += share * c->term[k].prior * sound * (1 - o->narrow[p][0]);
            narrow += share * c->term[k].prior *
                      (sound * o->narrow[p][0] + faulty * o->narrow[p][1] + o->delayed[p][sum]);
            if (!(here > LEAST_WEIGHT))
                continue;
            note_verdict(w, edge, here, isnan(e->se_us) ? 0 : bad, us,
                         label * NT_LINK_TERMS + (uint32_t)k);
            if (isnan(e->se_us))
                continue;
            for (size_t s = host ? 0 : 1; s < TIERS; s++) {
                if (s > 0 && w->tiers->times[sum][s] == 0)
                    continue;
                used.length[used.n] = s == 0 ? p : POPS + s - 1;
                used.times[used.n++] = s == 0 ? 1 : w->tiers->times[sum][s];
            }
            w->sums.explained += here;
            w->sums.faults += here * bad;
            add_length(&w->sums, f, e, us, here * sound / any, &used);
        }
        if (!host || !(of_population > LEAST_WEIGHT))
            continue;
        w->belongs[edge][p] += of_population;
        w->unsound[edge][p] += of_population - healthy;
        note_rate(w, edge, p, of_population, narrow);
    }
}

static void share_switch(struct work *w, size_t edge, const struct odds *o, size_t t, double above,
                         double below)
{
    const struct fit *f = w->fit;
    struct node *c = &w->node[w->edge[edge].child];
    const struct nt_link_sums *of = w->tiers;
    double part[3][STEPS] = {{0}}, all[2] = {0}, scale = finish_node(c, f->tiers);
    for (size_t low = 1; low <= f->tiers; low++) {
        double here = exp(c->log_a[low] - scale), with = here * c->root[low];
        double without = c->below ? here : 0;
        if (low < t)
            all[0] += part[0][low] = without * cell_odds(o, &of->below[low][t]);
        if (low > t)
            all[1] += part[1][low] = with * cell_odds(o, &of->below[t][low]);
        all[1] += part[2][low] = without * cell_odds(o, &of->over[low][t]);
    }
    for (size_t low = 1; low <= f->tiers; low++) {
        double down = all[0] > 0 ? above * part[0][low] / all[0] : 0;
        double up = all[1] > 0 ? below * part[1][low] / all[1] : 0;
        double over = all[1] > 0 ? below * part[2][low] / all[1] : 0;
        c->above[low] += down + over;
        c->here[low] += up;
        if (low < t)
            share_cell(w, edge, o, &of->below[low][t], down, (uint32_t)(low * STEPS + t));
        if (low > t)
            share_cell(w, edge, o, &of->below[t][low], up, (uint32_t)(t * STEPS + low));
        share_cell(w, edge, o, &of->over[low][t], over,
                   (uint32_t)(OVER + (low < t ? low * STEPS + t : t * STEPS + low)));
    }
}

/* After sum_up. */
static void share_out(struct work *w)
{
    const struct fit *f = w->fit;
    w->sums = (struct sums){.members = 0};
    for (size_t k = 0; k < w->edges; k++) {
        struct edge *e = &w->edge[k];
        const struct node *n = &w->node[e->parent];
        struct odds o;
        set_odds(w, e, &o);
        for (size_t t = 1; t <= f->tiers; t++) {
            double here = n->here[t] / n->root[t], below = here * e->ratio[0][t];
            if (n->above[t] + n->here[t] < LEAST_WEIGHT)
                continue;
            if (e->child != NONE) {
                share_switch(w, k, &o, t, fmax(0, n->above[t] + n->here[t] - below), below);
                continue;
            }
            for (size_t style = 0; style < STYLES; style++) {
                double share = style_share(n, style, t), up = share * here * e->ratio[style][t];
                double above = share * (n->above[t] + here * n->root_in[style][t]) - up;
                share_cell(w, k, &o, &w->tiers->host[style][t], above, (uint32_t)t);
                share_cell(w, k, &o, &w->tiers->over[0][t], up, (uint32_t)(OVER + t));
            }
        }
    }
}

/* ---- lengths ---------------------------------------------------------------------------------*/

static bool is_active(const struct fit *f, size_t length)
{
    return length < POPS ? length < f->pops : length - POPS + 1 < f->tiers;
}

/* Prior density of a length at its value. */
static double length_density(const struct fit *f, size_t length)
{
    double us = f->us[length], over = us / f->us[0];
    if (length == 0)
        return 1 / (UPLINK_LOG_RANGE * us);
    if (length >= POPS)
        return fmin(1, fmin(pow(UPLINK_MOST / over, 12), pow(over / UPLINK_LEAST, 4))) /
               (UPLINK_LOG_RANGE * us);
    /* another generation is mostly within 38 %, and hardly ever just as long */
    over = fabs(log(over));
    return ((over < 0.04   ? 0.2
             : over < 0.32 ? 0.95 / 0.64
                           : 0) +
            (over < 1.5 ? 0.05 / 3 : 1e-4 * exp(1.5 - over))) /
           us;
}

/* Cholesky's factor in the lower half; inactive diagonal elements are 1. */
static void factor_normal(const struct fit *f, double (*m)[LENGTHS])
{
    for (size_t i = 0; i < LENGTHS; i++)
        if (!is_active(f, i)) {
            for (size_t j = 0; j < LENGTHS; j++)
                m[i][j] = m[j][i] = 0;
            m[i][i] = 1;
        } else {
            double range = 1 / (2.5066 * length_density(f, i));
            m[i][i] += 1 / (range * range);
        }
    for (size_t i = 0; i < LENGTHS; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = m[i][j];
            for (size_t k = 0; k < j; k++)
                sum -= m[i][k] * m[j][k];
            m[i][j] = i == j ? sqrt(fmax(sum, 1e-300)) : sum / m[j][j];
        }
}

static void solve_normal(double (*m)[LENGTHS], double *right)
{
    for (size_t i = 0; i < LENGTHS; i++) {
        for (size_t k = 0; k < i; k++)
            right[i] -= m[i][k] * right[k];
        right[i] /= m[i][i];
    }
    for (size_t i = LENGTHS; i-- > 0;) {
        for (size_t k = i + 1; k < LENGTHS; k++)
            right[i] -= m[k][i] * right[k];
        right[i] /= m[i][i];
    }
}

/* A variance as if NT_FAULT_PRIOR_MEMBERS more had been seen at NT_FAULT_PRIOR_SPREAD. */
static double with_prior(double squares, double members)
{
    double seen = NT_FAULT_PRIOR_MEMBERS * NT_FAULT_PRIOR_SPREAD * NT_FAULT_PRIOR_SPREAD;
    return (seen + squares) / (NT_FAULT_PRIOR_MEMBERS + members);
}

static double log_spread_prior(double variance)
{
    double seen = NT_FAULT_PRIOR_SPREAD * NT_FAULT_PRIOR_SPREAD;
    return NT_FAULT_PRIOR_MEMBERS / 2 * (log(seen / variance) - seen / variance);
}

/* Density of the logarithm of the ratio of the rates of two generations: half of them have equal
 * rates; others mostly differ by 2, or by 2.5 or 4, like the rates of links. */
static double step_density(double off)
{
    static const double steps[] = {0.6931, 0.9163, 1.3863}, share[] = {0.3, 0.05, 0.05};
    double density = 0.1 / 3.2;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
        density += fabs(off - steps[k]) < 0.05 ? share[k] / 0.1 : 0;
    return density;
}

/* How many hosts are of each population: all numbers are equally probable, and then all sets of
 * hosts. The likelihood has the shares' product for it (Dirichlet's integral). */
static double log_shares(const struct fit *f, const struct sums *s)
{
    double hosts = 0, sum = lgamma((double)f->pops);
    for (size_t p = 0; p < f->pops; p++) {
        hosts += s->share[p];
        sum += lgamma(s->share[p] + 1) - s->share[p] * log(f->share[p]);
    }
    return sum - lgamma(hosts + (double)f->pops);
}

static double log_prior(const struct fit *f, const struct sums *s, bool rates)
{
    static const double of_tiers[] = {0, 0.15, 0.35, 0.35, 0.15};
    static const double of_pops[] = {0, 0.8, 0.17, 0.025, 0.005};
    double sum = log(of_tiers[f->tiers]) + log_spread_prior(f->spread);
    sum += log(of_pops[f->pops]) + log_shares(f, s);
    if (!rates)
        return sum;
    sum += log_spread_prior(f->rate_spread);
    for (size_t p = 1; p < f->pops; p++) {
        double se = 1 / sqrt(s->rate_weight[p] + 1), off = fabs(f->rate[p] - f->rate[0]);
        sum += log(off < 3 * se ? 0.5 : fmin(0.5, step_density(off) * 2.5066 * se));
    }
    return sum;
}

static void note_evidence(struct work *w, struct fit *f, double log_likelihood)
{
    double m[LENGTHS][LENGTHS], sum = 0;
    memcpy(m, w->sums.normal, sizeof m);
    factor_normal(f, m);
    for (size_t k = 0; k < LENGTHS; k++)
        if (is_active(f, k))
            sum += log(2.5066 * length_density(f, k) / m[k][k]);
    memcpy(f->factor, m, sizeof m);
    memcpy(f->rate_weight, w->sums.rate_weight, sizeof f->rate_weight);
    f->faults = w->sums.faults + (double)w->judged - w->sums.explained;
    f->log_evidence = log_likelihood + sum + log_prior(f, &w->sums, w->rates);
}

static void improve(struct work *w, struct fit *f)
{
    struct sums *s = &w->sums;
    double m[LENGTHS][LENGTHS], hosts = 0;
    memcpy(m, s->normal, sizeof m);
    factor_normal(f, m);
    solve_normal(m, s->right);
    for (size_t k = 0; k < LENGTHS; k++)
        if (is_active(f, k))
            f->us[k] = fmax(f->us[k] + s->right[k], f->us[k] / 4);
    f->spread = with_prior(s->spread, s->members);
    for (size_t p = 0; p < f->pops; p++)
        hosts += s->share[p] + 1;
    for (size_t p = 0; p < f->pops; p++) {
        f->share[p] = (s->share[p] + 1) / hosts;
        if (w->rates && s->rate_weight[p] > 0)
            f->rate[p] += s->rate[p] / s->rate_weight[p];
    }
    if (w->rates)
        f->rate_spread = with_prior(s->rate_square, s->rate_members);
}

static void evaluate(struct work *w, struct fit *f)
{
    double log_likelihood = sum_up(w, f);
    share_out(w);
    note_evidence(w, f, log_likelihood);
}

/* Iterates until a round hardly gains, or cannot come near best. */
static void refine(struct work *w, struct fit *f, size_t rounds, double best)
{
    evaluate(w, f);
    for (size_t k = 0; k < rounds; k++) {
        struct fit better = *f;
        improve(w, &better);
        evaluate(w, &better);
        double gain = better.log_evidence - f->log_evidence;
        if (gain > 0)
            *f = better;
        if (!(gain > HARDLY) || f->log_evidence + gain < best - NOTHING)
            return;
    }
}

/* ---- starts ----------------------------------------------------------------------------------*/

struct lengths {
    double us[MORE_STARTS];
    size_t count[MORE_STARTS], n;
};

struct seen {
    struct lengths hosts, trunks, uplinks;
};

/* Adds a length unless a near one exists; the most frequent ones are kept. */
static void add_start(struct lengths *l, double us, size_t count, size_t most)
{
    size_t least = 0;
    if (!(us > 0))
        return;
    for (size_t k = 0; k < l->n; k++) {
        if (fabs(l->us[k] - us) < 0.04 * us) {
            l->count[k] += count;
            return;
        }
        if (l->count[k] < l->count[least])
            least = k;
    }
    if (l->n < most)
        least = l->n++;
    else if (l->count[least] >= count)
        return;
    l->us[least] = us;
    l->count[least] = count;
}

/* Lengths that several links of hosts or of switches share. */
static struct lengths cluster(const struct work *w, bool hosts, double *room)
{
    struct lengths l = {.n = 0};
    size_t n = 0;
    for (size_t k = 0; k < w->edges; k++)
        if ((w->edge[k].child == NONE) == hosts && !isnan(w->edge[k].se_us))
            room[n++] = w->edge[k].us;
    qsort(room, n, sizeof *room, nt_compare_doubles);
    for (size_t first = 0, last; first < n; first = last) {
        for (last = first + 1; last < n && room[last] < 1.05 * room[first];)
            last++;
        add_start(&l, room[(first + last) / 2], last - first, CLUSTERS);
    }
    return l;
}

/* Starts for uplinks: the differences between lengths of switches, or of hosts' links; either may
 * be two uplinks. */
static struct lengths uplink_starts(const struct lengths *hosts, const struct lengths *trunks)
{
    struct lengths l = {.n = 0};
    for (size_t k = 0; k < trunks->n; k++) {
        add_start(&l, trunks->us[k], (size_t)2 * SEEN + trunks->count[k], STARTS);
        add_start(&l, trunks->us[k] / 2, SEEN + trunks->count[k], STARTS);
    }
    for (int of = 0; of < 2; of++) {
        const struct lengths *x = of == 0 ? hosts : trunks;
        for (size_t i = 0; i < x->n; i++)
            for (size_t j = 0; j < i; j++) {
                double off = fabs(x->us[i] - x->us[j]);
                size_t count = x->count[i] < x->count[j] ? x->count[i] : x->count[j];
                if (off < 0.03 * fmax(x->us[i], x->us[j]))
                    continue;
                add_start(&l, off, count, STARTS);
                add_start(&l, off / 2, count, STARTS);
            }
    }
    return l;
}

static void set_first_rate(const struct work *w, struct fit *f, double *room)
{
    size_t n = 0;
    for (size_t k = 0; k < w->edges && w->rates; k++)
        for (size_t way = 0; way < 2; way++)
            if (w->edge[k].rate[way] > 0)
                room[n++] = log(w->edge[k].rate[way]);
    qsort(room, n, sizeof *room, nt_compare_doubles);
    f->rate[0] = n > 0 ? room[n - 1 - n / 4] : 0;
    f->spread = f->rate_spread = NT_FAULT_PRIOR_SPREAD * NT_FAULT_PRIOR_SPREAD;
}

/* ---- search ----------------------------------------------------------------------------------*/

/* The best so far, sorted; the same fit, reached twice, counts once. */
struct beam {
    struct fit fit[FITS];
    size_t n, most;
};

static bool is_same(const struct fit *a, const struct fit *b)
{
    if (a->tiers != b->tiers || a->pops != b->pops)
        return false;
    for (size_t k = 0; k < LENGTHS; k++)
        if (is_active(a, k) && fabs(a->us[k] - b->us[k]) > 0.01 * a->us[k])
            return false;
    for (size_t p = 0; p < a->pops; p++)
        if (fabs(a->rate[p] - b->rate[p]) > 0.02)
            return false;
    return true;
}

/* The place of the same fit; b->n: it is not there. */
static size_t find_fit(const struct beam *b, const struct fit *f)
{
    size_t k = 0;
    while (k < b->n && !is_same(&b->fit[k], f))
        k++;
    return k;
}

static void add_fit(struct beam *b, const struct fit *f)
{
    size_t same = find_fit(b, f), at = b->n;
    if (isnan(f->log_evidence) || (same < b->n && b->fit[same].log_evidence >= f->log_evidence))
        return;
    if (same < b->n) {
        memmove(&b->fit[same], &b->fit[same + 1], (b->n - same - 1) * sizeof *f);
        at = --b->n;
    }
    for (; at > 0 && b->fit[at - 1].log_evidence < f->log_evidence; at--)
        if (at < b->most)
            b->fit[at] = b->fit[at - 1];
    if (at < b->most)
        b->fit[at] = *f;
    b->n += b->n < b->most;
}

/* Adds a start that may be worth refining, judged without its Laplace approximation. */
static void screen(struct work *w, struct fit *f, struct beam *next)
{
    if (find_fit(next, f) < next->n)
        return;
    f->log_evidence = sum_up(w, f) + log_spread_prior(f->spread);
    add_fit(next, f);
}

static double refine_all(struct work *w, const struct beam *from, struct beam *all, size_t rounds)
{
    double best = -INFINITY;
    for (size_t k = 0; k < from->n; k++) {
        struct fit f = from->fit[k];
        refine(w, &f, rounds, all->n > 0 ? all->fit[0].log_evidence : -INFINITY);
        add_fit(all, &f);
        best = f.log_evidence > best ? f.log_evidence : best;
    }
    return best;
}

/* Starts from the excess of links over sums of existing lengths, once or twice, and from the
 * measured lengths. */
static struct lengths tier_starts(const struct fit *f, const struct seen *seen)
{
    struct lengths l = seen->uplinks;
    for (size_t low = 0; low < f->tiers; low++) {
        double sum = low == 0 ? f->us[0] : 0;
        for (size_t high = low == 0 ? 1 : low; high <= f->tiers; high++) {
            const struct lengths *x = low == 0 ? &seen->hosts : &seen->trunks;
            for (size_t k = 0; k < x->n; k++) {
                double off = x->us[k] - sum;
                if (off < 0.03 * x->us[k])
                    continue;
                add_start(&l, off / 2, x->count[k], MORE_STARTS);
                add_start(&l, off, x->count[k], MORE_STARTS);
            }
            if (high < f->tiers)
                sum += uplink_us(f, high);
        }
    }
    return l;
}

/* Adds one tier: a new length below or above each existing one. */
static void add_tier(struct work *w, const struct fit *f, const struct seen *seen,
                     struct beam *next)
{
    struct lengths own = tier_starts(f, seen), *starts = &own;
    for (size_t k = 0; k < starts->n; k++)
        for (size_t at = 1; at <= f->tiers; at++) {
            struct fit more = *f;
            for (size_t s = f->tiers; s > at; s--)
                more.us[POPS + s - 1] = f->us[POPS + s - 2];
            more.us[POPS + at - 1] = starts->us[k];
            more.tiers++;
            screen(w, &more, next);
        }
}

/* One population more: of hosts that some host's link is like, perhaps behind uplinks. */
static void add_population(struct work *w, const struct fit *f, const struct edge *like,
                           struct beam *next)
{
    double us = isnan(like->se_us) ? f->us[0] : like->us;
    for (size_t tier = 1; tier <= f->tiers && us > f->us[0] / 4; tier++) {
        struct fit more = *f;
        size_t p = more.pops++;
        more.us[p] = us;
        for (size_t q = 0; q < p; q++)
            more.share[q] = f->share[q] * (double)(p + 1) / (double)(p + 2);
        more.share[p] = 1 / (double)(p + 2);
        more.rate[p] = like->rate[0] > 0   ? log(like->rate[0])
                       : like->rate[1] > 0 ? log(like->rate[1])
                                           : f->rate[0];
        screen(w, &more, next);
        if (tier < f->tiers)
            us -= uplink_us(f, tier);
    }
}

static bool is_similar(const struct edge *a, const struct edge *b)
{
    for (size_t k = 0; k < 2; k++)
        if (a->rate[k] > 0 && b->rate[k] > 0 && fabs(log(a->rate[k] / b->rate[k])) > 0.08)
            return false;
    return isnan(a->se_us) || isnan(b->se_us) || fabs(a->us - b->us) < 0.04 * a->us;
}

/* Hosts' links that differ, the commonest kinds. */
static size_t distinct_hosts(const struct work *w, const struct edge **like)
{
    size_t n = 0, count[CLUSTERS] = {0};
    for (size_t k = 0; k < w->listed; k++) {
        size_t at = 0, least = 0;
        while (at < n && !is_similar(like[at], w->host[k]))
            at++;
        if (at == n && n < CLUSTERS) {
            n++;
        } else if (at == n) {
            for (size_t j = 1; j < n; j++)
                least = count[j] < count[least] ? j : least;
            if (count[least] > 1)
                continue;
            at = least;
            count[at] = 0;
        }
        if (count[at]++ == 0)
            like[at] = w->host[k];
    }
    return n;
}

/* One tier: hosts' links alone, of this length. */
static struct fit start_fit(struct work *w, double us)
{
    struct fit f = {.tiers = 1, .pops = 1, .us[0] = us, .share[0] = 1};
    set_first_rate(w, &f, w->room);
    evaluate(w, &f);
    return f;
}

static void take_best(struct beam *now, const struct beam *from)
{
    now->n = from->n < BEAM ? from->n : BEAM;
    memcpy(now->fit, from->fit, now->n * sizeof *now->fit);
}

/* Adds populations to the fits of from that have this number of populations. */
static void add_populations(struct work *w, const struct beam *from, size_t pops, struct beam *now,
                            struct beam *next)
{
    const struct edge *like[CLUSTERS];
    size_t likes = distinct_hosts(w, like);
    now->n = next->n = 0;
    for (size_t k = 0; k < from->n && now->n < BEAM; k++)
        if (from->fit[k].pops == pops)
            add_fit(now, &from->fit[k]);
    for (size_t k = 0; k < now->n; k++)
        for (size_t j = 0; j < likes; j++)
            add_population(w, &now->fit[k], like[j], next);
}

/* A sound network that leaves hardly any fault and whose links are similar: more lengths would
 * change nothing. */
static bool is_explained(struct work *w, const struct beam *all)
{
    const double alike = 1.5 * NT_FAULT_PRIOR_SPREAD;
    bool is = !w->thorough && all->n > 0 && all->fit[0].faults < FEW_FAULTS &&
              all->fit[0].spread < alike * alike;
    w->short_cut = w->short_cut || is;
    return is;
}

/* Adds one tier after the other, starting from now. */
static void add_tiers(struct work *w, const struct seen *seen, struct beam *now, struct beam *next,
                      struct beam *all)
{
    size_t most = w->rooted ? TIERS : 1;
    double best = -INFINITY;
    for (size_t tiers = 1; tiers <= most && !is_explained(w, all); tiers++) {
        double before = best;
        best = refine_all(w, now, all, ROUNDS);
        if (best < before - NOTHING)
            return;
        next->n = 0;
        for (size_t k = 0; k < now->n && tiers < most; k++)
            add_tier(w, &now->fit[k], seen, next);
        take_best(now, next);
    }
}

/* Increases the number of lengths, of tiers and of populations; all collects the results. Each
 * length of hosts' links is tried separately, because lengths of few hosts explain little before
 * there are tiers. */
static void search(struct work *w, struct beam *now, struct beam *next, struct beam *all)
{
    struct seen seen = {cluster(w, true, w->room), cluster(w, false, w->room), {.n = 0}};
    seen.uplinks = uplink_starts(&seen.hosts, &seen.trunks);
    for (size_t pops = 1; pops <= 2; pops++)
        for (size_t k = 0; k < seen.hosts.n && !is_explained(w, all); k++) {
            struct beam one = {.fit[0] = start_fit(w, seen.hosts.us[k]), .n = 1, .most = now->most};
            *now = one;
            if (pops == 2) {
                add_populations(w, &one, 1, now, next);
                take_best(now, next);
            }
            add_tiers(w, &seen, now, next, all);
        }
    for (size_t pops = 1; pops < POPS && !is_explained(w, all); pops++) {
        add_populations(w, all, pops, now, next);
        take_best(now, next);
        refine_all(w, now, all, ROUNDS);
    }
}

/* ---- from a model ----------------------------------------------------------------------------*/

static int by_figures(const void *x, const void *y)
{
    const struct edge *a = *(const struct edge *const *)x, *b = *(const struct edge *const *)y;
    double a_us = isnan(a->se_us) ? INFINITY : a->us, b_us = isnan(b->se_us) ? INFINITY : b->us;
    return NT_ORDER(a_us, b_us,
                    NT_ORDER(a->rate[0], b->rate[0], NT_ORDER(a->rate[1], b->rate[1], 0)));
}

/* Probability that the median of this number of pairs (for two the larger one) is a low reading. */
static double chance_low(uint32_t pairs)
{
    const double one = LOW_SHARE, two = one * one;
    return pairs == 1 ? one : pairs == 2 ? two : pairs == 3 ? 3 * two : pairs == 0 ? 0 : two / 4;
}

/* Adds an edge for a link; way 0 goes up to the parent. */
static struct edge *add_edge(struct work *w, const struct nt_model *m, uint32_t link,
                             uint32_t lower)
{
    const struct nt_link *l = &m->link[link];
    struct edge *e = &w->edge[w->edges++];
    bool forth = l->a == lower, known = l->latency_us > 0 && l->latency_se_us >= 0 && !l->simplex;
    *e = (struct edge){.link = link,
                       .child = NONE,
                       .us = l->latency_us,
                       .se_us = known ? l->latency_se_us : (double)NAN};
    e->rate[0] = forth ? l->bandwidth_MBps : l->bandwidth_back_MBps;
    e->rate[1] = forth ? l->bandwidth_back_MBps : l->bandwidth_MBps;
    double se[] = {l->bandwidth_se_MBps, l->bandwidth_back_se_MBps};
    for (size_t p = 0; p < POPS; p++)
        e->rate_sound[p] = e->rate_faulty[p] = 1;
    for (size_t k = 0; k < 2; k++) {
        double relative = se[forth ? k : 1 - k] / e->rate[k];
        e->log_rate[k] = e->rate[k] > 0 ? log(e->rate[k]) : (double)NAN;
        e->rate_variance[k] = isnan(relative) ? 0 : relative * relative;
    }
    e->low[0] = chance_low(forth ? l->pairs : l->back_pairs);
    e->low[1] = chance_low(forth ? l->back_pairs : l->pairs);
    e->bound[0] = l->at_least || (forth ? l->forth_at_least : l->back_at_least);
    e->bound[1] = l->at_least || (forth ? l->back_at_least : l->forth_at_least);
    return e;
}

/* Edges from the top down; nodes are switches in that order. */
static void make_tree(struct work *w, const struct nt_model *m, const struct nt_rooted_tree *r,
                      uint32_t *node)
{
    for (size_t k = 0; k < r->reached; k++) {
        uint32_t v = r->order[k];
        if (v >= m->hosts) {
            w->node[w->nodes].trunks = r->parent[v] != NT_NO_VERTEX;
            node[v] = (uint32_t)w->nodes++;
        }
        if (r->parent[v] == NT_NO_VERTEX)
            continue;
        struct edge *e = add_edge(w, m, r->up[v] / 2, v);
        e->parent = node[r->parent[v]];
        w->node[e->parent].below = true;
        e->child = v < m->hosts ? NONE : node[v];
        w->node[e->parent].trunks += e->child != NONE;
    }
}

/* For a network without tiers: links of hosts, or links between switches, as if all were at
 * one switch. */
static void make_class(struct work *w, const struct nt_model *m, bool hosts)
{
    w->nodes = 1;
    w->edges = 0;
    w->node[0].below = true;
    w->rated.pops = 0;
    for (uint32_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if ((l->a < m->hosts || l->b < m->hosts) == hosts)
            add_edge(w, m, k, l->a < m->hosts || l->b >= m->hosts ? l->a : l->b);
    }
}

/* More switches are in a row than up and down all tiers. height: per vertex, of room. */
static bool is_chain(const struct nt_rooted_tree *r, uint32_t *height)
{
    uint32_t most = 0;
    for (size_t k = r->reached; k-- > 1;) {
        uint32_t v = r->order[k], up = r->parent[v], own = v < r->hosts ? 0 : height[v] + 1;
        most = height[up] + own + 1 > most ? height[up] + own + 1 : most;
        height[up] = own > height[up] ? own : height[up];
    }
    return most >= 2 * TIERS;
}

/* ---- the search -------------------------------------------------------------------------- */

struct answer {
    struct nt_link_verdict *verdict; /* links */
    struct nt_population *population;
    size_t *populations;
};

/* Populations of the best fit with two hosts or more, largest first. */
static void list_populations(const struct work *w, const struct fit *f, const struct answer *to)
{
    size_t order[POPS], count[POPS], n = 0;
    for (size_t p = 0; p < f->pops; p++) {
        size_t hosts = 0, at = n;
        for (size_t k = 0; k < w->edges; k++)
            hosts += w->edge[k].child == NONE && w->belongs[k][p] > 0.5;
        if (hosts < 2)
            continue;
        for (; at > 0 && count[order[at - 1]] < hosts; at--)
            order[at] = order[at - 1];
        order[at] = p;
        count[p] = hosts;
        n++;
    }
    *to->populations = n < 2 ? 0 : n;
    for (size_t i = 0; i < *to->populations; i++) {
        size_t p = order[i];
        to->population[i] =
            (struct nt_population){.hosts = (uint32_t)count[p],
                                   .latency_us = w->sums.normal[p][p] > 0 ? f->us[p] : (double)NAN,
                                   .bandwidth_MBps = w->rates ? exp(f->rate[p]) : (double)NAN};
        for (size_t k = 0; k < w->edges; k++)
            if (w->edge[k].child == NONE && w->belongs[k][p] > 0.5)
                to->verdict[w->edge[k].link].population = (uint32_t)i;
    }
}

/* Evaluates a fit for the mean. A host in a population of its own is odd, faulty or not. */
static void add_to_mean(struct work *w, struct fit *f)
{
    memset(w->belongs, 0, w->edges * sizeof *w->belongs);
    memset(w->unsound, 0, w->edges * sizeof *w->unsound);
    evaluate(w, f);
    for (size_t p = 0; p < f->pops; p++)
        for (size_t k = 0; k < w->edges; k++)
            w->verdict[w->edge[k].link].odd +=
                w->weight * (p > 0 && w->sums.share[p] < 1.5 ? w->belongs[k][p] : w->unsound[k][p]);
}

/* Squared distance of two fits in sd of the first. */
static double distance(const struct fit *f, const struct fit *other)
{
    double square = 0;
    for (size_t j = 0; j < LENGTHS; j++) {
        double sds = 0;
        for (size_t i = j; i < LENGTHS; i++)
            sds += f->factor[i][j] * (f->us[i] - other->us[i]);
        square += sds * sds;
    }
    for (size_t p = 0; p < f->pops; p++)
        square += f->rate_weight[p] * pow(f->rate[p] - other->rate[p], 2);
    return square;
}

/* Keeps the best fit of each mode, so that a mode does not count once for each start that leads to
 * it. The sum of two normal distributions has a single mode within two sd of the narrower one
 * (Behboodian, Technometrics 12, 1970). */
static void merge_modes(struct beam *all)
{
    size_t kept = 0;
    for (size_t k = 0; k < all->n; k++) {
        const struct fit *f = &all->fit[k];
        bool same = false;
        for (size_t j = 0; j < kept && !same; j++) {
            const struct fit *g = &all->fit[j];
            same = f->tiers == g->tiers && f->pops == g->pops && distance(f, g) <= 4 &&
                   distance(g, f) <= 4;
        }
        if (!same)
            all->fit[kept++] = *f;
    }
    all->n = kept;
}

/* The mean over all modes, weighted by evidence; the best is last, and its populations are
 * listed. */
static void average(struct work *w, struct beam *all, const struct answer *to)
{
    double sum = 0, several = 0;
    merge_modes(all);
    for (size_t k = 0; k < all->n; k++)
        sum += exp(all->fit[k].log_evidence - all->fit[0].log_evidence);
    w->verdict = to->verdict;
    for (size_t k = all->n; k-- > 0;) {
        struct fit *f = &all->fit[k];
        w->weight = exp(f->log_evidence - all->fit[0].log_evidence) / sum;
        w->label = k == 0;
        several += f->pops > 1 ? w->weight : 0;
        if (f->log_evidence > all->fit[0].log_evidence - NOTHING)
            add_to_mean(w, f);
    }
    w->verdict = NULL;
    for (size_t k = 0; k < w->edges; k++)
        if (w->fault_us[k] > 0)
            to->verdict[w->edge[k].link].usual_us /= w->fault_us[k];
    if (several >= 0.9)
        list_populations(w, &all->fit[0], to);
}

/* Working memory of a pass over the links; sorts hosts' links by value. */
static int prepare(struct work *w, struct nt_arena *memory, struct nt_err *err)
{
    w->host = nt_arena_array(memory, w->edges + 1, sizeof(struct edge *));
    w->room = nt_arena_array(memory, 2 * w->edges + 1, sizeof *w->room);
    w->fault_us = nt_arena_array(memory, w->edges + 1, sizeof *w->fault_us);
    w->best = nt_arena_array(memory, w->edges + 1, sizeof *w->best);
    w->belongs = nt_arena_array(memory, w->edges + 1, sizeof *w->belongs);
    w->unsound = nt_arena_array(memory, w->edges + 1, sizeof *w->unsound);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    w->hosts = w->listed = w->judged = 0;
    for (size_t k = 0; k < w->edges; k++) {
        const struct edge *e = &w->edge[k];
        bool judged = !isnan(e->se_us), host = e->child == NONE;
        w->judged += judged;
        w->hosts += host && judged;
        if (host && (judged || e->rate[0] > 0 || e->rate[1] > 0))
            w->host[w->listed++] = e;
        w->rates = w->rates || (e->child == NONE && e->rate[0] > 0);
    }
    qsort(w->host, w->listed, sizeof(struct edge *), by_figures);
    return 0;
}

/* Marks up to SAMPLE of the links sorted by value, the same number per length, so that rare lengths
 * are included. */
static void choose_sample(const struct work *w, const struct edge *const *of, size_t n, bool *keep)
{
    for (size_t cap = n < SAMPLE ? n : SAMPLE, all = SAMPLE + 1; all > SAMPLE && cap > 0; cap--) {
        all = 0;
        for (size_t first = 0, last; first < n; first = last, all += cap) {
            for (last = first + 1; last < n && of[last]->us < ALIKE * of[first]->us;)
                last++;
            all -= last - first < cap ? cap - (last - first) : 0;
        }
        if (all > SAMPLE && cap > 1)
            continue;
        for (size_t first = 0, last; first < n; first = last) {
            for (last = first + 1; last < n && of[last]->us < ALIKE * of[first]->us;)
                last++;
            size_t some = last - first < cap ? last - first : cap;
            for (size_t k = 0; k < some; k++)
                keep[of[first + (2 * k + 1) * (last - first) / (2 * some)] - w->edge] = true;
        }
        return;
    }
}

/* The part of a network with the chosen links and the links above them. */
static int make_sample(const struct work *w, struct work *s, struct nt_arena *memory,
                       struct nt_err *err)
{
    size_t trunks = 0, edges = w->edges + 1;
    const struct edge **trunk = nt_arena_array(memory, edges, sizeof(struct edge *));
    bool *keep = nt_arena_array(memory, edges, sizeof *keep);
    size_t *above = nt_arena_array(memory, w->nodes, sizeof *above);
    uint32_t *node = nt_arena_array(memory, w->nodes, sizeof *node);
    *s = *w;
    s->edge = nt_arena_array(memory, edges, sizeof *s->edge);
    s->node = nt_arena_array(memory, w->nodes, sizeof *s->node);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t k = 0; k < w->edges; k++)
        if (w->edge[k].child != NONE) {
            above[w->edge[k].child] = k;
            if (!isnan(w->edge[k].se_us))
                trunk[trunks++] = &w->edge[k];
        }
    qsort(trunk, trunks, sizeof *trunk, by_figures);
    choose_sample(w, w->host, w->hosts, keep);
    choose_sample(w, trunk, trunks, keep);
    for (size_t k = w->edges; k-- > 0;)
        if (keep[k] && w->edge[k].parent != 0)
            keep[above[w->edge[k].parent]] = true;
    s->edges = 0;
    s->nodes = 1;
    s->node[0] = w->node[0];
    for (size_t k = 0; k < w->edges; k++) {
        if (!keep[k])
            continue;
        struct edge *e = &s->edge[s->edges++];
        *e = w->edge[k];
        e->parent = node[e->parent];
        if (e->child == NONE)
            continue;
        s->node[s->nodes] = w->node[e->child];
        node[e->child] = (uint32_t)s->nodes;
        e->child = (uint32_t)s->nodes++;
    }
    return prepare(s, memory, err);
}

/* Compares the best fits of a sample with all links (fewer fits for more links), and adds hosts
 * that none of them explains as a population that the sample lacks. */
static void refine_with_all(struct work *w, struct beam *beam)
{
    size_t most = 1 + ALL_LINKS_MOST / w->edges, rounds = w->edges < ALL_LINKS_MOST ? 2 : 1;
    beam[3] = beam[2];
    beam[3].n = beam[2].n < most ? beam[2].n : most;
    beam[2].n = 0;
    refine_all(w, &beam[3], &beam[2], rounds);
    if (beam[2].n == 0 || w->edges >= ALL_LINKS_MOST || beam[2].fit[0].pops == POPS ||
        beam[2].fit[0].faults < 0.5)
        return;
    add_populations(w, &beam[2], beam[2].fit[0].pops, &beam[0], &beam[1]);
    take_best(&beam[0], &beam[1]);
    refine_all(w, &beam[0], &beam[2], rounds);
}

/* Large networks: from a sample first, a bound of the time. It is searched again if more links than
 * by chance look faulty that it did not show. */
static int find_verdicts(struct work *w, const struct answer *to, struct nt_arena *memory,
                         struct nt_err *err)
{
    struct beam *beam = nt_arena_array(memory, 4, sizeof *beam);
    struct work sample;
    if (prepare(w, memory, err) != 0)
        return -1;
    if (w->hosts < HOSTS_MIN)
        return 0;
    for (size_t k = 1; k <= TIERS && w->of_tiers[k].sums == 0; k++)
        nt_link_sums_init(&w->of_tiers[k], k);
    for (size_t k = 0; k < 4; k++)
        beam[k].most = k == 0 ? BEAM : FITS;
    if (w->edges <= (size_t)2 * SAMPLE) {
        search(w, &beam[0], &beam[1], &beam[2]);
    } else if (make_sample(w, &sample, memory, err) != 0) {
        return -1;
    } else {
        do {
            beam[2].n = 0;
            search(&sample, &beam[0], &beam[1], &beam[2]);
            refine_with_all(w, beam);
            sample.thorough = !sample.thorough;
        } while (sample.thorough && sample.short_cut && beam[2].n > 0 &&
                 beam[2].fit[0].faults > 1 + NT_FAULT_PRIOR / 10 * (double)w->edges);
    }
    if (beam[2].n > 0)
        average(w, &beam[2], to);
    return 0;
}

int nt_sound_links(const struct nt_model *model, struct nt_link_verdict *verdict,
                   struct nt_population *population, size_t *populations, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct answer to = {verdict, population, populations};
    struct nt_rooted_tree *r;
    struct work w = {.edges = 0};
    *populations = 0;
    for (size_t k = 0; k < model->links; k++)
        verdict[k] = (struct nt_link_verdict){.population = NONE};
    w.edge = nt_arena_array(&memory, model->links + 1, sizeof *w.edge);
    w.node = nt_arena_array(&memory, model->switches + 1, sizeof *w.node);
    uint32_t *node = nt_arena_array(&memory, model->hosts + model->switches + 1, sizeof *node);
    if (nt_arena_check(&memory, err) != 0 || nt_rooted_tree_create(model, &r, err) != 0)
        return -1;
    int rc = 0;
    if (r->tree && r->reached == model->links + 1 && !is_chain(r, node)) {
        w.rooted = true;
        make_tree(&w, model, r, node);
        rc = find_verdicts(&w, &to, &memory, err);
    }
    for (int hosts = 1; hosts >= 0 && !w.rooted && rc == 0; hosts--) {
        size_t others = 0;
        make_class(&w, model, hosts == 1);
        w.rates = false;
        to.populations = hosts == 1 ? populations : &others;
        rc = find_verdicts(&w, &to, &memory, err);
    }
    nt_rooted_tree_destroy(r);
    return rc;
}
