/* SPDX-License-Identifier: Apache-2.0 */
#include "score.h"

#include <math.h>
#include <string.h>

#include "noise_prior.h"
#include "stats.h"

/* Priors, in units of the median reading. Ends of hosts of one kind differ by about 1 %, links of a
 * tier by less, both within a factor of about three. The two crossings of a tier are a fraction of
 * a latency; a second kind of adapter is 10 to 35 % of an end slower or faster. */
static const double offset_sd = 1, step_sd = 0.3, population_sd = 0.15;
static const double ends_median = 0.008, ends_spread = 1.1;
static const double links_median = 0.005, links_spread = 0.9;
/* (T / s)^2 of a missing link: its length is then 0 for all readings. */
static const double no_link = 1e-6;

enum { R = NT_SCORE_COLUMNS };

typedef double (*columns)[R]; /* nodes: of a node R values */

struct factor { /* of one node; hosts: det is their pivot */
    double lambda, reach, rho, delta, inner, det;
    double pairs; /* that meet at a group's switch */
};

struct sums {
    double (*row)[NT_CHAIN_CLASSES]; /* hosts: sum of weight * value over the pairs of each class */
    struct moments {
        double weight, sum, square, count;
    } of[NT_CHAIN_CLASSES];
};

/* A reading under the last fit: its excess over the mean of its pair, and the sd of that. */
struct residual {
    double over, mean, sd;
};

/* The last evaluation, while valid; integrated: its place is the final one of the integration. */
struct evaluation {
    bool evaluated, integrated;
    struct nt_score_place place;
    struct nt_score_value value;
    double integral;
};

/* Settings that hold until they are changed. */
struct settings {
    double power;
    bool allow_low, population, *second, *far; /* the latter two: of hosts */
    double far_variance;                       /* of the end of a far host, over s^2 */
};

/* Pairs that are left out, and lists of pairs to leave out or include. */
struct left_out {
    bool *off;     /* entries of pairs */
    float *middle; /* of the entries of few pairs, and hosts */
    struct nt_outliers now, far, before, toggles, taken;
    size_t low; /* of these, pairs below their mean at the last evaluation */
    struct residual *rest;
    size_t rest_room;
};

/* Dense: pairs without full weight; sparse: all measured pairs. The former are equal for all
 * chains. Also the working memory to subtract their missing weight from the matrix. */
struct odd_pairs {
    size_t fixed, count, room;
    struct nt_score_odd *at;
    double (*inverse)[NT_SCORE_DOWNDATES]; /* nodes: (X'WX + L)^-1 times the odd pairs' columns */
    double *small;                         /* the downdate's matrix */
    columns cross;                         /* its odd pairs times solutions */
};

/* Room of one solution: nodes; along: hosts. */
struct solver {
    columns acc, message, part, direction, product, inner;
    double *reach, (*along)[NT_CHAIN_CLASSES][R], (*lack)[NT_CHAIN_CLASSES][R];
};

struct nt_score {
    struct nt_arena memory;
    const struct nt_pairs *pairs;
    struct nt_chain_tree tree;
    struct nt_chain chain, base_chain;
    struct sums now, base, whole; /* whole: all readings, in class 0 */
    uint32_t *room, *order;
    bool *moved;
    struct settings set;
    struct left_out out;
    struct evaluation last;
    bool rough;  /* weights of pairs are the means of their classes, to locate a maximum */
    bool sparse; /* fewer than half the pairs have their full weight, and many have not */
    struct odd_pairs odd;

    double weight[NT_CHAIN_CLASSES];    /* w of each class */
    double effective[NT_CHAIN_CLASSES]; /* w times the mean weight of the pairs */
    double (*below)[NT_CHAIN_CLASSES];  /* nodes: sums of row over their hosts */
    struct factor *factor;
    double root, log_det; /* of the tree: 1 + B w; ln det of the matrix */
    columns column, x;
    struct solver solver;
    double (*way)[NT_CHAIN_CLASSES], *length;
    float *top; /* hosts: ways to the highest class */
};

/* ---- sums of a chain ------------------------------------------------------------------------- */

static void add_pair(struct sums *t, double w, double value, uint32_t class)
{
    struct moments *m = &t->of[class];
    m->weight += w;
    m->sum += w * value;
    m->square += w * value * value;
    m->count += w < 0 ? -1 : 1;
}

/* Adds a pair to a class, or removes it (sign -1). */
static void count_pair(const struct nt_score *s, struct sums *t, uint32_t i, size_t k,
                       uint32_t class, double sign)
{
    const struct nt_pair_entry *e = &s->pairs->entry[k];
    double w = sign * nt_pairs_weight(s->pairs, k), value = (double)e->value;
    t->row[i][class] += w * value;
    t->row[e->host][class] += w * value;
    add_pair(t, w, value, class);
}

/* All pairs are of the highest class except those within a group of the highest tier: counts
 * these. */
static void sum_groups(struct nt_score *s, const struct nt_chain *chain, struct sums *t)
{
    const struct nt_pairs *p = s->pairs;
    uint32_t hosts = p->hosts, top = chain->tiers - 1, *end = s->room;
    memset(end, 0, (chain->groups[top] + 1) * sizeof *end);
    for (uint32_t i = 0; i < hosts; i++)
        end[nt_chain_number(chain->label[i].tier[top]) + 1]++;
    for (uint32_t a = 0; a < chain->groups[top]; a++)
        end[a + 1] += end[a];
    for (uint32_t i = 0; i < hosts; i++) /* end[a]: first the start of a, then its end */
        s->order[end[nt_chain_number(chain->label[i].tier[top])]++] = i;
    for (uint32_t m = 0; m < hosts; m++) {
        uint32_t i = s->order[m], last = end[nt_chain_number(chain->label[i].tier[top])];
        if (p->start[i + 1] - p->start[i] + 1 == hosts) {
            for (uint32_t n = m + 1; n < last; n++) {
                size_t k = p->start[i] + s->order[n] - 1;
                if (!s->out.off[k])
                    count_pair(s, t, i, k, nt_chain_class(chain, i, s->order[n]), 1);
            }
            continue;
        }
        for (size_t k = p->start[i + 1]; k-- > p->start[i] && p->entry[k].host > i;) {
            uint32_t j = p->entry[k].host;
            if (chain->label[i].tier[top] == chain->label[j].tier[top] && !s->out.off[k])
                count_pair(s, t, i, k, nt_chain_class(chain, i, j), 1);
        }
    }
}

/* O(readings within groups of the highest tier). */
static void sum_readings(struct nt_score *s, const struct nt_chain *chain, struct sums *t)
{
    uint32_t top = chain->tiers;
    struct moments *all = &t->of[top];
    memset(t->of, 0, sizeof t->of);
    *all = s->whole.of[0];
    memset(t->row, 0, s->pairs->hosts * sizeof *t->row);
    for (uint32_t i = 0; i < s->pairs->hosts; i++)
        t->row[i][top] = s->whole.row[i][0];
    for (size_t k = 0; k < s->out.now.count; k++)
        count_pair(s, t, s->out.now.at[k].host, s->out.now.at[k].entry, top, -1);
    if (top == 0)
        return;
    sum_groups(s, chain, t);
    for (uint32_t i = 0; i < s->pairs->hosts; i++)
        for (uint32_t c = 0; c < top; c++)
            t->row[i][top] -= t->row[i][c];
    for (uint32_t c = 0; c < top; c++) {
        all->weight -= t->of[c].weight;
        all->sum -= t->of[c].sum;
        all->square -= t->of[c].square;
        all->count -= t->of[c].count;
    }
    if (all->count < 0.5) /* without pairs, sums are exactly 0, not the rest of rounding */
        all->weight = all->sum = all->square = 0;
}

static void sum_all(struct nt_score *s)
{
    const struct nt_pairs *p = s->pairs;
    for (uint32_t i = 0; i < p->hosts; i++)
        for (size_t k = p->start[i + 1]; k-- > p->start[i] && p->entry[k].host > i;)
            count_pair(s, &s->whole, i, k, 0, 1);
}

static void copy_sums(struct sums *to, const struct sums *from, uint32_t hosts)
{
    double(*row)[NT_CHAIN_CLASSES] = to->row;
    memcpy(row, from->row, hosts * sizeof *row);
    *to = *from;
    to->row = row;
}

/* ---- creation ------------------------------------------------------------------------------ */

static int allocate(struct nt_score *s, struct nt_err *err)
{
    uint32_t hosts = s->pairs->hosts;
    size_t nodes = 2 * (size_t)hosts + 1;
    struct nt_arena *m = &s->memory;
    if (nt_chain_tree_init(&s->tree, hosts, m, err) != 0 ||
        nt_chain_init(&s->chain, hosts, m, err) != 0 ||
        nt_chain_init(&s->base_chain, hosts, m, err) != 0)
        return -1;
    s->now.row = nt_arena_array(m, hosts, sizeof *s->now.row);
    s->base.row = nt_arena_array(m, hosts, sizeof *s->base.row);
    s->whole.row = nt_arena_array(m, hosts, sizeof *s->whole.row);
    s->order = nt_arena_array(m, hosts, sizeof *s->order);
    s->top = nt_arena_array(m, hosts, sizeof *s->top);
    s->room = nt_arena_array(m, 3 * (size_t)hosts, sizeof *s->room);
    s->moved = nt_arena_array(m, hosts, sizeof *s->moved);
    s->set.second = nt_arena_array(m, hosts, sizeof *s->set.second);
    s->set.far = nt_arena_array(m, hosts, sizeof *s->set.far);
    s->out.off = nt_arena_array(m, 2 * s->pairs->count, sizeof *s->out.off);
    s->out.middle =
        nt_arena_array(m, 2 * (size_t)NT_SCORE_DOWNDATES + hosts, sizeof *s->out.middle);
    s->below = nt_arena_array(m, nodes, sizeof *s->below);
    s->factor = nt_arena_array(m, nodes, sizeof *s->factor);
    columns *wide[] = {&s->column,         &s->x,           &s->solver.acc,
                       &s->solver.message, &s->solver.part, &s->solver.direction,
                       &s->solver.product, &s->solver.inner};
    for (size_t k = 0; k < sizeof wide / sizeof *wide; k++)
        *wide[k] = nt_arena_array(m, nodes, sizeof **wide[k]);
    s->solver.reach = nt_arena_array(m, nodes, sizeof *s->solver.reach);
    s->solver.along = nt_arena_array(m, hosts, sizeof *s->solver.along);
    s->solver.lack = nt_arena_array(m, nodes, sizeof *s->solver.lack);
    s->odd.inverse = nt_arena_array(m, nodes, sizeof *s->odd.inverse);
    s->odd.small =
        nt_arena_array(m, (size_t)NT_SCORE_DOWNDATES * NT_SCORE_DOWNDATES, sizeof *s->odd.small);
    s->odd.cross = nt_arena_array(m, NT_SCORE_DOWNDATES, sizeof *s->odd.cross);
    s->way = nt_arena_array(m, hosts, sizeof *s->way);
    s->length = nt_arena_array(m, nodes, sizeof *s->length);
    return nt_arena_check(m, err);
}

static int add_odd(struct nt_score *s, uint32_t a, uint32_t b, double lack)
{
    void *grown =
        nt_arena_grow(&s->memory, s->odd.at, &s->odd.room, s->odd.count + 1, sizeof *s->odd.at);
    if (grown == NULL)
        return -1;
    s->odd.at = grown;
    s->odd.at[s->odd.count++] = (struct nt_score_odd){a, b, lack};
    return 0;
}

/* Pairs that are missing or have less than the full weight. */
static void list_odd_pairs(struct nt_score *s)
{
    const struct nt_pairs *p = s->pairs;
    for (uint32_t a = 0; a < p->hosts; a++) {
        uint32_t next = a + 1;
        for (size_t k = p->start[a]; k < p->start[a + 1]; k++) {
            const struct nt_pair_entry *e = &p->entry[k];
            if (e->host < a)
                continue;
            if (s->sparse) {
                add_odd(s, a, e->host, -nt_pairs_weight(p, k));
                continue;
            }
            for (; next < e->host; next++)
                add_odd(s, a, next, 1);
            next = e->host + 1;
            if (nt_pairs_weight(p, k) < 1)
                add_odd(s, a, e->host, 1 - nt_pairs_weight(p, k));
        }
        for (; !s->sparse && next < p->hosts; next++)
            add_odd(s, a, next, 1);
    }
    s->odd.fixed = s->odd.count;
}

int nt_score_create(const struct nt_pairs *pairs, struct nt_score **out, struct nt_err *err)
{
    struct nt_score *s = nt_object_create(sizeof *s, err);
    if (s == NULL)
        return -1;
    s->pairs = pairs;
    size_t all = (size_t)pairs->hosts * (pairs->hosts - (pairs->hosts > 0)) / 2, full = 0;
    for (size_t k = 0; k < 2 * pairs->count; k++)
        full += nt_pairs_weight(pairs, k) >= 1;
    s->sparse = full < all && all - full / 2 > NT_SCORE_DOWNDATES; /* full counts both rows */
    if (allocate(s, err) == 0) {
        sum_all(s);
        list_odd_pairs(s);
    }
    if (nt_arena_check(&s->memory, err) != 0) {
        nt_score_destroy(s);
        return -1;
    }
    *out = s;
    return 0;
}

void nt_score_destroy(struct nt_score *score)
{
    nt_object_destroy(score);
}

/* ---- outliers and weights ---- */

/* The odd pairs that change between chains: outliers, or all measured pairs. */
static void list_outliers(struct nt_score *s)
{
    const struct nt_pairs *p = s->pairs;
    s->last.evaluated = false;
    s->odd.count = s->sparse ? 0 : s->odd.fixed;
    for (size_t k = 0; !s->sparse && k < s->out.now.count; k++) {
        size_t e = s->out.now.at[k].entry;
        add_odd(s, s->out.now.at[k].host, p->entry[e].host, nt_pairs_weight(p, e));
    }
    for (uint32_t i = 0; s->sparse && i < p->hosts; i++)
        for (size_t k = p->start[i]; k < p->start[i + 1]; k++)
            if (i < p->entry[k].host && !s->out.off[k])
                add_odd(s, i, p->entry[k].host, -nt_pairs_weight(p, k));
}

/* Weights of the classes, and sums of the readings of each node by class. */
static void set_weights(struct nt_score *s)
{
    struct nt_chain_tree *t = &s->tree;
    double pairs[NT_CHAIN_CLASSES] = {0};
    s->last.evaluated = false;
    memset(s->below, 0, t->nodes * sizeof *s->below);
    for (uint32_t v = 0; v < t->nodes; v++) {
        double size = t->size[v];
        if (v < t->hosts)
            memcpy(s->below[v], s->now.row[v], sizeof s->below[v]);
        else
            pairs[t->class[v]] += size * size / 2;
        if (v + 1 == t->nodes)
            break;
        pairs[t->class[t->parent[v]]] -= size * size / 2;
        for (int c = 0; c < NT_CHAIN_CLASSES; c++)
            s->below[t->parent[v]][c] += s->below[v][c];
    }
    for (uint32_t c = 0; c < t->classes; c++) {
        double mean = s->now.of[c].weight > 0 ? 1 + s->now.of[c].sum / s->now.of[c].weight : 1;
        s->weight[c] = s->set.power > 0 ? pow(mean, -2 * s->set.power) : 1;
        s->effective[c] = s->weight[c] * (pairs[c] < 0.5 ? 1 : s->now.of[c].weight / pairs[c]);
    }
}

/* Computes the sums of the same chain again after its outliers changed. */
static void recompute(struct nt_score *s)
{
    sum_readings(s, &s->chain, &s->now);
    set_weights(s);
}

static void set(struct nt_score *s, const struct nt_chain *chain)
{
    nt_chain_copy(&s->chain, chain);
    nt_chain_tree_make(&s->tree, chain, s->room);
    set_weights(s);
}

void nt_score_set_chain(struct nt_score *score, const struct nt_chain *chain)
{
    sum_readings(score, chain, &score->now);
    set(score, chain);
}

void nt_score_set_base(struct nt_score *score, const struct nt_chain *base)
{
    nt_score_set_chain(score, base);
    nt_chain_copy(&score->base_chain, base);
    copy_sums(&score->base, &score->now, base->hosts);
}

/* Moves entry k, in the row of host i, from its class in base to its class in chain. */
static void reclass(struct nt_score *s, const struct nt_chain *chain, uint32_t i, size_t k)
{
    const struct nt_pairs *p = s->pairs;
    uint32_t was = nt_chain_class(&s->base_chain, i, p->entry[k].host);
    uint32_t is = nt_chain_class(chain, i, p->entry[k].host);
    if (was == is || s->out.off[k])
        return;
    count_pair(s, &s->now, i, k, was, -1);
    count_pair(s, &s->now, i, k, is, 1);
}

void nt_score_set_moved(struct nt_score *s, const struct nt_chain *chain, const uint32_t *moved,
                        size_t count, bool within)
{
    const struct nt_pairs *p = s->pairs;
    if (chain->tiers != s->base_chain.tiers) {
        nt_score_set_chain(s, chain);
        return;
    }
    copy_sums(&s->now, &s->base, p->hosts);
    for (size_t m = 0; m < count; m++)
        s->moved[moved[m]] = true;
    for (size_t m = 0; m < count; m++) {
        uint32_t i = moved[m];
        for (size_t n = m + 1; within && n < count; n++) {
            const struct nt_pair_entry *e = nt_pairs_find(p, i, moved[n]);
            if (e != NULL)
                reclass(s, chain, i, (size_t)(e - p->entry));
        }
        for (size_t k = p->start[i]; !within && k < p->start[i + 1]; k++)
            if (!s->moved[p->entry[k].host] || p->entry[k].host > i)
                reclass(s, chain, i, k);
    }
    for (size_t m = 0; m < count; m++)
        s->moved[moved[m]] = false;
    set(s, chain);
}

void nt_score_set_power(struct nt_score *score, double power)
{
    score->set.power = power;
    score->last.evaluated = false;
}

void nt_score_allow_low(struct nt_score *score)
{
    score->set.allow_low = true;
}

void nt_score_set_population(struct nt_score *score, const bool *second)
{
    score->set.population = second != NULL;
    score->last.evaluated = false;
    if (second != NULL)
        memcpy(score->set.second, second, score->pairs->hosts * sizeof *second);
}

void nt_score_set_far(struct nt_score *score, const bool *far, double ratio)
{
    memcpy(score->set.far, far, score->pairs->hosts * sizeof *far);
    score->set.far_variance = ratio * ratio;
    score->last.evaluated = false;
}

/* ---- the normal matrix of a tree ---- */

/* Whether only the determinant at mean weights is computed, and solutions are iterative. */
static bool has_many_odd_pairs(const struct nt_score *s)
{
    return s->sparse || s->odd.count > NT_SCORE_DOWNDATES;
}

/* The weights of the tree's matrix. With few odd pairs, a downdate follows. */
static const double *tree_weights(const struct nt_score *s)
{
    return s->rough || has_many_odd_pairs(s) ? s->effective : s->weight;
}

/* Factors X'WX + L. */
static void factor(struct nt_score *s, double ends, double links)
{
    struct nt_chain_tree *t = &s->tree;
    const double *w = tree_weights(s);
    uint32_t root = t->nodes - 1;
    s->factor[root].reach = 0;
    for (uint32_t v = root; v-- > 0;) {
        struct factor *f = &s->factor[v], *up = &s->factor[t->parent[v]];
        double size = t->size[v], here = w[t->class[t->parent[v]]];
        f->reach = up->reach + here * (t->size[t->parent[v]] - size);
        double steps = t->alone[v] - (double)__builtin_popcount(t->flat[v]);
        double own = v < t->hosts ? ends + (s->set.far[v] ? s->set.far_variance : 0) : 0;
        f->lambda = 1 / (v < t->hosts ? own + steps * links : fmax(steps * links, no_link));
        f->rho = f->reach - size * here;
        f->delta = v < t->hosts ? 0 : w[t->class[v]] - here;
    }
    double product = 1;
    int exponent = 0, e;
    for (uint32_t v = 0; v <= root; v++) {
        s->factor[v].inner = 0;
        s->factor[v].pairs = (double)t->size[v] * t->size[v] / 2;
    }
    for (uint32_t v = 0; v < root; v++)
        s->factor[t->parent[v]].pairs -= (double)t->size[v] * t->size[v] / 2;
    for (uint32_t v = 0; v < root; v++) {
        struct factor *f = &s->factor[v];
        double n = t->size[v], out;
        if (v < t->hosts) {
            f->det = f->lambda + f->rho;
            out = 1 / f->det;
        } else {
            double first = 1 + f->inner * f->delta;
            f->det = first * (f->lambda + n * f->rho) - f->inner * f->rho * f->rho;
            out = (f->lambda * f->inner + n * n * first - n * f->rho * f->inner) / f->det;
        }
        s->factor[t->parent[v]].inner += out;
        product = frexp(product * f->det, &e);
        exponent += e;
    }
    s->root = 1 + s->factor[root].inner * w[t->class[root]];
    s->log_det = log(fabs(product * s->root)) + exponent * M_LN2;
}

/* The values of a node are computed in local arrays. These do not overlap other arrays, so the
 * compiler can use vector instructions. */
static inline void add_to(double *sum, const double more[R])
{
    for (int r = 0; r < R; r++)
        sum[r] += more[r];
}

static inline void subtract(double *from, const double *value, double factor)
{
    double less[R];
    for (int r = 0; r < R; r++)
        less[r] = -(factor * value[r]);
    add_to(from, less);
}

/* x = (X'WX + L)^-1 column, R columns at once. */
static void solve(struct nt_score *s, double (*column)[R], double (*x)[R])
{
    struct nt_chain_tree *t = &s->tree;
    const double *w = tree_weights(s);
    uint32_t root = t->nodes - 1;
    memset(s->solver.acc, 0, t->nodes * sizeof *s->solver.acc);
    for (uint32_t v = 0; v < root; v++) {
        const struct factor *f = &s->factor[v];
        double *up = s->solver.acc[t->parent[v]], n = t->size[v];
        double own = v < t->hosts ? 0 : f->lambda / f->det;
        double given = v < t->hosts ? 1 / f->det
                                    : (n * (1 + f->inner * f->delta) - f->inner * f->rho) / f->det;
        double more[R];
        for (int r = 0; r < R; r++)
            more[r] = own * s->solver.acc[v][r] + given * column[v][r];
        add_to(up, more);
    }
    for (int r = 0; r < R; r++)
        s->solver.message[root][r] = w[t->class[root]] * s->solver.acc[root][r] / s->root;
    for (uint32_t v = root; v-- > 0;) {
        const struct factor *f = &s->factor[v];
        const double *up = s->solver.message[t->parent[v]];
        double n = t->size[v], first = 1 + f->inner * f->delta, last = f->lambda + n * f->rho;
        double own[R], below[R];
        if (v < t->hosts) {
            for (int r = 0; r < R; r++)
                own[r] = (column[v][r] - up[r]) / f->det;
            memcpy(x[v], own, sizeof own);
            continue;
        }
        for (int r = 0; r < R; r++) {
            double a = s->solver.acc[v][r] - f->inner * up[r], b = column[v][r] - n * up[r];
            own[r] = (first * b - f->rho * a) / f->det;
            double sum = (last * a - f->inner * f->rho * b) / f->det;
            below[r] = up[r] + f->delta * sum + f->rho * own[r];
        }
        memcpy(x[v], own, sizeof own);
        memcpy(s->solver.message[v], below, sizeof below);
    }
}

struct route {
    size_t links;
    uint32_t link[2 * NT_CHAIN_CLASSES];
    double weight; /* of the pair's class */
};

/* The links between two hosts. */
static struct route route_of(const struct nt_score *s, const struct nt_score_odd *odd)
{
    const struct nt_chain_tree *t = &s->tree;
    uint32_t class = nt_chain_class(&s->chain, odd->a, odd->b);
    struct route r = {.weight = s->weight[class]};
    for (int end = 0; end < 2; end++)
        for (uint32_t v = end == 0 ? odd->a : odd->b, last = 0; !last; v = t->parent[v]) {
            last = t->class[t->parent[v]] >= class;
            r.link[r.links++] = v;
        }
    return r;
}

/* The sum of a column over a pair's links. */
static double along(const struct route *route, const double *column, size_t stride)
{
    double sum = 0;
    for (size_t k = 0; k < route->links; k++)
        sum += column[route->link[k] * stride];
    return sum;
}

/* Factors the small matrix in place (lower) and returns its ln det; NaN: not positive definite. */
static double cholesky(double *a, size_t n, size_t stride)
{
    double log_det = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double v = a[i * stride + j];
            for (size_t k = 0; k < j; k++)
                v -= a[i * stride + k] * a[j * stride + k];
            if (i != j) {
                a[i * stride + j] = v / a[j * stride + j];
                continue;
            }
            if (!(v > 0))
                return NAN;
            a[i * stride + i] = sqrt(v);
            log_det += log(v);
        }
    return log_det;
}

/* Subtracts the missing weight of the odd pairs from the matrix: X'WX - C K C'. Leaves N^-1 C in
 * inverse and the factor of K^-1 - C' N^-1 C in small; returns the change of ln det. */
static double downdate(struct nt_score *s)
{
    size_t n = s->odd.count;
    double log_det = 0;
    for (size_t first = 0; first < n; first += R) {
        memset(s->solver.part, 0, s->tree.nodes * sizeof *s->solver.part);
        for (size_t e = first; e < n && e < first + R; e++) {
            struct route route = route_of(s, &s->odd.at[e]);
            for (size_t k = 0; k < route.links; k++)
                s->solver.part[route.link[k]][e - first] = 1;
        }
        solve(s, s->solver.part, s->solver.direction);
        for (uint32_t v = 0; v < s->tree.nodes; v++)
            for (size_t e = first; e < n && e < first + R; e++)
                s->odd.inverse[v][e] = s->solver.direction[v][e - first];
    }
    for (size_t e = 0; e < n; e++) {
        struct route route = route_of(s, &s->odd.at[e]);
        double lack = s->odd.at[e].lack * route.weight;
        for (size_t d = 0; d <= e; d++)
            s->odd.small[e * NT_SCORE_DOWNDATES + d] =
                (d == e ? 1 / lack : 0) - along(&route, &s->odd.inverse[0][d], NT_SCORE_DOWNDATES);
        log_det += log(lack);
    }
    return log_det + cholesky(s->odd.small, n, NT_SCORE_DOWNDATES);
}

/* Corrects solutions x of the tree's matrix for the downdate: x + N^-1 C small^-1 C'x. */
static void correct(struct nt_score *s, double (*x)[R])
{
    size_t n = s->odd.count, stride = NT_SCORE_DOWNDATES;
    columns c = s->odd.cross;
    for (size_t e = 0; e < n; e++) {
        struct route route = route_of(s, &s->odd.at[e]);
        for (size_t r = 0; r < R; r++)
            c[e][r] = along(&route, &x[0][r], R);
    }
    for (size_t e = 0; e < n; e++) {
        for (size_t d = 0; d < e; d++)
            subtract(c[e], c[d], s->odd.small[e * stride + d]);
        for (size_t r = 0; r < R; r++)
            c[e][r] /= s->odd.small[e * stride + e];
    }
    for (size_t e = n; e-- > 0;) {
        for (size_t d = e + 1; d < n; d++)
            subtract(c[e], c[d], s->odd.small[d * stride + e]);
        for (size_t r = 0; r < R; r++)
            c[e][r] /= s->odd.small[e * stride + e];
    }
    for (uint32_t v = 0; v < s->tree.nodes - 1; v++)
        for (size_t e = 0; e < n; e++)
            subtract(x[v], c[e], -s->odd.inverse[v][e]);
}

/* ---- conjugate gradients, for many odd pairs ---- */

/* Subtracts the part of the odd pairs from y: sums along the paths of hosts to each class, the
 * missing weight of each pair, and its sum over the hosts below each link. */
static void subtract_odd_pairs(struct nt_score *s, double (*x)[R], double (*y)[R])
{
    struct nt_chain_tree *t = &s->tree;
    memset(s->solver.lack, 0, t->nodes * sizeof *s->solver.lack);
    for (uint32_t i = 0; i < t->hosts; i++) {
        uint32_t v = i;
        double sum[R] = {0};
        for (uint32_t c = 0; c < t->classes; c++) {
            for (; v + 1 < t->nodes && t->class[t->parent[v]] <= c; v = t->parent[v])
                for (int r = 0; r < R; r++)
                    sum[r] += x[v][r];
            memcpy(s->solver.along[i][c], sum, sizeof sum);
        }
    }
    for (size_t e = 0; e < s->odd.count; e++) {
        uint32_t a = s->odd.at[e].a, b = s->odd.at[e].b, c = nt_chain_class(&s->chain, a, b);
        double part[R], lack = s->odd.at[e].lack * s->weight[c];
        for (int r = 0; r < R; r++)
            part[r] = lack * (s->solver.along[a][c][r] + s->solver.along[b][c][r]);
        add_to(s->solver.lack[a][c], part);
        add_to(s->solver.lack[b][c], part);
    }
    for (uint32_t v = 0; v + 1 < t->nodes; v++)
        for (uint32_t c = t->class[t->parent[v]]; c < t->classes; c++) {
            double lack[R];
            memcpy(lack, s->solver.lack[v][c], sizeof lack);
            subtract(y[v], lack, 1);
            add_to(s->solver.lack[t->parent[v]][c], lack);
        }
}

/* y = (X'WX + L) x with the pairs' true weights. */
static void multiply(struct nt_score *s, double (*x)[R], double (*y)[R])
{
    struct nt_chain_tree *t = &s->tree;
    uint32_t root = t->nodes - 1;
    double full = s->sparse ? 0 : 1;
    memset(s->solver.acc, 0, t->nodes * sizeof *s->solver.acc);
    memset(s->solver.message[root], 0, sizeof s->solver.message[root]);
    for (uint32_t v = 0; v < root; v++) {
        double more[R], n = t->size[v];
        for (int r = 0; r < R; r++)
            more[r] = s->solver.acc[v][r] + n * x[v][r];
        add_to(s->solver.acc[t->parent[v]], more);
    }
    for (int r = 0; r < R; r++)
        s->solver.message[root][r] = s->weight[t->class[root]] * s->solver.acc[root][r];
    s->solver.reach[root] = 0;
    for (uint32_t v = root; v-- > 0;) {
        uint32_t p = t->parent[v];
        double n = t->size[v], here = s->weight[t->class[p]], below = s->weight[t->class[v]];
        double reach = s->solver.reach[p] + here * (t->size[p] - n), out[R], message[R];
        double lambda = s->factor[v].lambda;
        s->solver.reach[v] = reach;
        for (int r = 0; r < R; r++) {
            double sum = s->solver.acc[v][r] + n * x[v][r],
                   z = s->solver.message[p][r] - here * sum;
            out[r] = full * (reach * sum + n * z) + lambda * x[v][r];
            message[r] = z + reach * x[v][r] + below * s->solver.acc[v][r];
        }
        memcpy(y[v], out, sizeof out);
        memcpy(s->solver.message[v], message, sizeof message);
    }
    subtract_odd_pairs(s, x, y);
}

static void dot(const struct nt_score *s, double (*a)[R], double (*b)[R], double *out)
{
    double sum[R] = {0};
    for (uint32_t v = 0; v + 1 < s->tree.nodes; v++)
        for (int r = 0; r < R; r++)
            sum[r] += a[v][r] * b[v][r];
    memcpy(out, sum, sizeof sum);
}

/* x = (X'WX + L)^-1 column with the true weights, by conjugate gradients that the tree's solution
 * preconditions (Golub, Van Loan: Matrix Computations, 4th ed., algorithm 11.5.1). */
static void iterate(struct nt_score *s, double (*column)[R], double (*x)[R])
{
    double gamma[R], first[R] = {0}, step[R], before[R];
    double(*rest)[R] = s->solver.part, (*z)[R] = s->solver.inner, (*p)[R] = s->solver.direction,
    (*ap)[R] = s->solver.product;
    size_t bytes = (s->tree.nodes - 1) * sizeof *rest;
    memset(x, 0, bytes);
    memcpy(rest, column, bytes);
    memset(p, 0, bytes);
    memset(before, 0, sizeof before);
    for (int round = 0; round < 40; round++) {
        bool done = true;
        solve(s, rest, z);
        dot(s, rest, z, gamma);
        for (int r = 0; r < R; r++) {
            first[r] = round == 0 ? gamma[r] : first[r];
            done = done && gamma[r] <= 1e-10 * first[r];
        }
        if (done)
            return;
        for (int r = 0; r < R; r++)
            before[r] = before[r] > 0 ? gamma[r] / before[r] : 0;
        for (uint32_t v = 0; v + 1 < s->tree.nodes; v++) {
            double next[R];
            for (int r = 0; r < R; r++)
                next[r] = z[v][r] + before[r] * p[v][r];
            memcpy(p[v], next, sizeof next);
        }
        multiply(s, p, ap);
        dot(s, p, ap, step);
        for (int r = 0; r < R; r++) {
            before[r] = gamma[r];
            step[r] = step[r] > 0 ? gamma[r] / step[r] : 0;
        }
        for (uint32_t v = 0; v + 1 < s->tree.nodes; v++) {
            double more[R], less[R];
            for (int r = 0; r < R; r++) {
                more[r] = step[r] * p[v][r];
                less[r] = -(step[r] * ap[v][r]);
            }
            add_to(x[v], more);
            add_to(rest[v], less);
        }
    }
}

/* ---- one evaluation ---- */

static size_t means(const struct nt_score *s)
{
    return 1 + s->chain.tiers + s->set.population;
}

/* The share of mean a in node v: the columns of U. */
static double share(const struct nt_score *s, size_t a, uint32_t v)
{
    bool host = v < s->tree.hosts;
    if (a == 0)
        return host ? 0.5 : 0;
    if (a <= s->chain.tiers)
        return (s->tree.mask[v] & ~s->tree.flat[v]) >> (a - 1) & 1 ? 0.5 : 0;
    return host && s->set.second[v] ? 1 : 0;
}

struct complement { /* of the means, without their priors */
    double s[NT_SCORE_MEANS][NT_SCORE_MEANS], g[NT_SCORE_MEANS];
    double square;  /* r'Wr - f'N^-1 f */
    double log_det; /* ln det N - ln det L */
    double count;
};

/* Fills x: column 0 the readings' part, column 1 + a the links' for a unit of mean a. */
static void reduce(struct nt_score *s, struct nt_score_place place, struct complement *k)
{
    struct nt_chain_tree *t = &s->tree;
    double ends = nt_score_ratio(place.ends);
    double links = nt_score_ratio(place.links);
    size_t n = means(s);
    double log_lambda = 0, product = 1;
    factor(s, ends * ends, links * links);
    for (uint32_t v = 0; v + 1 < t->nodes; v++) {
        double f = 0, lambda = s->factor[v].lambda;
        for (uint32_t c = t->class[t->parent[v]]; c < t->classes; c++)
            f += s->weight[c] * s->below[v][c];
        s->column[v][0] = f;
        for (size_t a = 0; a < R - 1; a++)
            s->column[v][1 + a] = a < n ? lambda * share(s, a, v) : 0;
        product *= lambda;
        if (product < 1e-200 || product > 1e200) {
            log_lambda += log(product);
            product = 1;
        }
    }
    k->log_det = s->log_det - log_lambda - log(product);
    if (has_many_odd_pairs(s) && !s->rough) {
        iterate(s, s->column, s->x);
    } else {
        solve(s, s->column, s->x);
        if (s->odd.count > 0 && !s->rough) {
            k->log_det += downdate(s);
            correct(s, s->x);
        }
    }
    double part[R][R] = {{0}};
    for (uint32_t v = 0; v + 1 < t->nodes; v++)
        for (size_t a = 0; a <= n; a++)
            for (size_t b = 0; b <= a; b++)
                part[a][b] += s->column[v][a] * s->x[v][b];
    k->square = -part[0][0];
    k->count = 0;
    for (uint32_t c = 0; c < t->classes; c++) {
        k->square += s->weight[c] * s->now.of[c].square;
        k->count += s->now.of[c].count;
    }
    memset(k->s, 0, sizeof k->s);
    for (size_t a = 0; a < n; a++) {
        k->g[a] = part[1 + a][0];
        for (size_t b = 0; b <= a; b++)
            k->s[a][b] = -part[1 + a][1 + b];
    }
    for (uint32_t v = 0; v + 1 < t->nodes; v++)
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b <= a; b++)
                k->s[a][b] += s->column[v][1 + a] * share(s, b, v);
}

/* The means at a given s: their factor in l, the solution in mean, and the remaining sum of
 * squares. */
static double solve_means(const struct nt_score *s, const struct complement *k, double sd,
                          double (*l)[NT_SCORE_MEANS], double *mean, double *log_det)
{
    size_t n = means(s);
    double rest = k->square, y[NT_SCORE_MEANS] = {0};
    *log_det = 0;
    for (size_t a = 0; a < n; a++) {
        double prior = a == 0 ? offset_sd : a <= s->chain.tiers ? step_sd : population_sd;
        double gamma = sd * sd / (prior * prior);
        for (size_t b = 0; b <= a; b++)
            l[a][b] = k->s[a][b] + (a == b ? gamma : 0);
        *log_det -= log(gamma);
    }
    *log_det += cholesky(&l[0][0], n, NT_SCORE_MEANS);
    for (size_t a = 0; a < n; a++) {
        y[a] = k->g[a];
        for (size_t b = 0; b < a; b++)
            y[a] -= l[a][b] * y[b];
        y[a] /= l[a][a];
        rest -= y[a] * y[a];
    }
    for (size_t a = n; a-- > 0;) {
        mean[a] = y[a];
        for (size_t b = a + 1; b < n; b++)
            mean[a] -= l[b][a] * mean[b];
        mean[a] /= l[a][a];
    }
    return rest > 0 ? rest : 0;
}

/* ln of the gain because no link between switches is shorter than 0, and few are far shorter than
 * the others: its probability by the readings over that by the prior. The error of a link comes
 * from the readings across it, and from readings below it, since they determine the ends. */
static double positive_links(const struct nt_score *s, const struct nt_score_value *value,
                             double links)
{
    const struct nt_chain_tree *t = &s->tree;
    double sum = 0;
    for (uint32_t v = t->hosts; v + 1 < t->nodes; v++) {
        uint32_t there = t->mask[v] & ~t->flat[v];
        const struct factor *f = &s->factor[v];
        double across = f->reach * t->size[v], below = 4 * tree_weights(s)[t->class[v]] * f->pairs;
        double mean = 0, error = value->sd / sqrt(across * below / (across + below) + f->lambda);
        for (uint32_t k = 0; k < s->chain.tiers; k++)
            mean += there >> k & 1 ? value->mean[1 + k] / 2 : 0;
        double differ = links * value->sd * sqrt(__builtin_popcount(there));
        mean = fmax(mean, 0);
        if (there != 0)
            sum += nt_log_is_link(s->length[v], error, mean) - nt_log_is_link(mean, differ, mean);
    }
    return sum;
}

/* Whether the last evaluation was at this place and is still valid. */
static bool is_current(const struct nt_score *s, struct nt_score_place place)
{
    return s->last.evaluated && s->last.place.ends == place.ends &&
           s->last.place.links == place.links;
}

double nt_score_evaluate(struct nt_score *s, struct nt_score_place place,
                         struct nt_score_value *value)
{
    *value = s->last.value;
    if (is_current(s, place) && !s->rough)
        return value->log_likelihood;
    struct complement k;
    const struct nt_noise_prior prior = nt_noise_prior_of(s->pairs);
    const double per_step = log(log(NT_RATIO_STEP)); /* of the grid */
    double l[NT_SCORE_MEANS][NT_SCORE_MEANS], log_det, square;
    reduce(s, place, &k);
    double sd = prior.least;
    for (int round = 0; round < 3; round++) { /* priors of the means depend on s weakly */
        value->sd = sd;
        square = solve_means(s, &k, sd, l, value->mean, &log_det);
        sd = fmin(fmax(exp(nt_noise_mode(k.count, square, &prior)), prior.least), NT_NOISE_MOST);
    }
    sd = value->sd;
    double log_weights = 0;
    for (uint32_t c = 0; c < s->tree.classes; c++)
        log_weights += s->now.of[c].count * log(s->weight[c]);
    double p = -0.5 * (k.count * log(2 * M_PI) - log_weights + k.log_det + log_det);
    p += nt_noise_integral(k.count, square, &prior);
    double links = nt_score_ratio(place.links);
    p += nt_log_student(nt_score_ratio(place.ends) * sd, ends_median, ends_spread) + per_step;
    if (s->chain.tiers > 0)
        p += nt_log_student(links * sd, links_median, links_spread) + per_step;
    size_t n = means(s);
    for (size_t a = 0; a < n; a++) { /* the inverse's diagonal */
        double u[NT_SCORE_MEANS], sum = 0;
        for (size_t i = a; i < n; i++) {
            u[i] = i == a;
            for (size_t j = a; j < i; j++)
                u[i] -= l[i][j] * u[j];
            u[i] /= l[i][i];
            sum += u[i] * u[i];
        }
        value->variance[a] = sum * sd * sd;
        if (a > 0 && a <= s->chain.tiers)
            p += nt_log_twice_phi(value->mean[a] / sqrt(value->variance[a]));
    }
    for (uint32_t v = 0; v + 1 < s->tree.nodes; v++) {
        s->length[v] = s->x[v][0];
        for (size_t a = 0; a < n; a++)
            s->length[v] += s->x[v][1 + a] * value->mean[a];
    }
    p += positive_links(s, value, links);
    value->log_likelihood = isfinite(p) ? p : -(double)INFINITY;
    s->last = (struct evaluation){.evaluated = !s->rough, .place = place, .value = *value};
    return value->log_likelihood;
}

/* ---- the sum over places ---- */

static double value_at(void *of, struct nt_score_place place, bool rough)
{
    struct nt_score *s = of;
    struct nt_score_value value;
    s->rough = rough;
    double log_likelihood = nt_score_evaluate(s, place, &value);
    s->rough = false;
    return log_likelihood;
}

static struct nt_place_density density_of(struct nt_score *s)
{
    return (struct nt_place_density){s, value_at, s->tree.nodes, has_many_odd_pairs(s),
                                     s->chain.tiers > 0};
}

double nt_score_locate(struct nt_score *s, struct nt_score_place *place, bool fine)
{
    const struct nt_place_density density = density_of(s);
    return nt_places_locate(&density, place, fine);
}

double nt_score_integrate(struct nt_score *s, struct nt_score_place *place,
                          struct nt_score_value *value)
{
    const struct nt_place_density density = density_of(s);
    *value = s->last.value;
    if (is_current(s, *place) && s->last.integrated)
        return s->last.integral;
    double sum = nt_places_integrate(&density, place);
    nt_score_evaluate(s, *place, value);
    s->last.integrated = true;
    s->last.integral = sum;
    return sum;
}

/* ---- outliers ---- */

const double *nt_score_path_lengths(struct nt_score *s)
{
    struct nt_chain_tree *t = &s->tree;
    for (uint32_t i = 0; i < t->hosts; i++) {
        double sum = 0;
        uint32_t v = i;
        for (uint32_t c = 0; c < NT_CHAIN_CLASSES; c++) {
            while (v + 1 < t->nodes && t->class[t->parent[v]] <= c) {
                sum += s->length[v];
                v = t->parent[v];
            }
            s->way[i][c] = sum;
        }
    }
    return &s->way[0][0];
}

/* Number of readings that are too high: outliers, and readings that pairs left out earlier
 * (pairs.h). */
static size_t count_high(const struct nt_score *s)
{
    return s->out.now.count - s->out.low + s->pairs->uppers;
}

/* ln odds that the next reading is an outlier on this side. */
static double next_rate(const struct nt_score *s, bool high)
{
    double k = (double)(high ? count_high(s) : s->out.low), all = (double)s->pairs->count;
    double shape = high ? 1 : NT_LOW_SHAPE_PRIOR;
    double prior = high ? NT_TAIL_RATE_PRIOR + (double)s->pairs->uppers : NT_LOW_RATE_PRIOR;
    return log((shape + k) / (prior + all - k));
}

static struct residual residual_of(const struct nt_score *s, uint32_t i, size_t e, double sd)
{
    const struct nt_pair_entry *entry = &s->pairs->entry[e];
    uint32_t c = nt_chain_class(&s->chain, i, entry->host);
    double mean = s->way[i][c] + s->way[entry->host][c];
    return (struct residual){(double)entry->value - mean, mean,
                             sd / sqrt(s->weight[c] * nt_pairs_weight(s->pairs, e))};
}

/* ln density of a pair's readings if the used one is an outlier. If it is too low, the pair's upper
 * reading is right, and not one of the tail. */
static double wrong_density(const struct nt_score *s, size_t e, const struct residual *r)
{
    double density = nt_log_outlier(r->over, 1 + r->mean), single = r->sd * M_SQRT2;
    double x = s->pairs->upper != NULL ? (double)s->pairs->upper[e] - r->mean : (double)NAN;
    if (r->over > 0 || !(x == x))
        return density;
    double right = -x * x / (2 * single * single) - log(single) - 0.5 * log(2 * M_PI);
    return density + fmax(right - nt_log_outlier(fmax(x, 0), 1) - next_rate(s, true), 0);
}

/* ln density of a pair that is left out: its reading is wrong, or its noise is wide. Callers add
 * the rate of outliers, which does not apply to wide noise. */
static double outlier_density(const struct nt_score *s, size_t e, const struct residual *r)
{
    double wrong = wrong_density(s, e, r),
           wide = nt_wide_noise_log(&s->pairs->wide, r->over, r->sd);
    return isfinite(wide) ? nt_log_sum(wrong, wide - next_rate(s, r->over > 0)) : wrong;
}

/* Gain of toggling a pair with this density as an outlier. */
static double toggle_gain(const struct nt_score *s, size_t e, const struct residual *r,
                          double density, double lever)
{
    double z = r->over / r->sd;
    if (r->over <= 0 && !s->set.allow_low)
        return s->out.off[e] ? 50 : -(double)INFINITY;
    if (!s->out.off[e])
        z /= sqrt(1 - lever);
    double gain =
        next_rate(s, r->over > 0) + density + z * z / 2 + log(r->sd) + 0.5 * log(2 * M_PI);
    return s->out.off[e] ? -gain : gain;
}

/* Densities and prior of the outliers, with the fit of the last evaluation and its noise. back:
 * including the gain of taking back those that are no outliers now. */
static double outlier_terms(struct nt_score *s, double sd, bool back)
{
    size_t count = s->out.now.count, low = 0;
    double sum = 0;
    void *grown =
        nt_arena_grow(&s->memory, s->out.rest, &s->out.rest_room, count, sizeof *s->out.rest);
    if (grown == NULL)
        return -(double)INFINITY;
    s->out.rest = grown;
    if (count > 0)
        nt_score_path_lengths(s);
    for (size_t k = 0; k < count; k++) {
        s->out.rest[k] = residual_of(s, s->out.now.at[k].host, s->out.now.at[k].entry, sd);
        low += s->out.rest[k].over <= 0;
    }
    s->out.low = low; /* first: rates follow from it */
    for (size_t k = 0; k < count; k++) {
        size_t e = s->out.now.at[k].entry;
        double density = outlier_density(s, e, &s->out.rest[k]);
        sum += density;
        if (back)
            sum += fmax(toggle_gain(s, e, &s->out.rest[k], density, 0), 0);
    }
    return sum + nt_log_outliers(s->pairs, count - low, low);
}

static struct nt_pair_entry *twin(const struct nt_pairs *p, uint32_t a, size_t e)
{
    return (struct nt_pair_entry *)nt_pairs_find(p, p->entry[e].host, a);
}

static void push(struct nt_score *s, struct nt_outliers *list, uint32_t host, size_t entry)
{
    void *at = nt_arena_grow(&s->memory, list->at, &list->room, list->count + 1, sizeof *list->at);
    if (at == NULL)
        return;
    list->at = at;
    list->at[list->count++] = (struct nt_outlier){host, entry};
}

/* Leaves pairs out, or includes them if they were out. */
static void toggle(struct nt_score *s, const struct nt_outliers *list)
{
    size_t kept = 0;
    for (size_t k = 0; k < list->count; k++) {
        uint32_t i = list->at[k].host;
        size_t e = list->at[k].entry;
        uint32_t c = nt_chain_class(&s->chain, i, s->pairs->entry[e].host);
        count_pair(s, &s->now, i, e, c, s->out.off[e] ? 1 : -1);
        s->out.off[e] = !s->out.off[e];
        s->out.off[twin(s->pairs, i, e) - s->pairs->entry] = s->out.off[e];
        if (s->out.off[e])
            push(s, &s->out.now, i, e);
    }
    for (size_t k = 0; k < s->out.now.count; k++)
        if (s->out.off[s->out.now.at[k].entry])
            s->out.now.at[kept++] = s->out.now.at[k];
    s->out.now.count = kept;
    list_outliers(s);
    set_weights(s);
}

/* The mean share of a reading that the links absorb: a residual is smaller by this share. */
static double leverage(const struct nt_score *s)
{
    double taken = 0, count = 0;
    for (uint32_t v = 0; v + 1 < s->tree.nodes; v++) {
        double own = s->factor[v].reach * s->tree.size[v];
        taken += own / (own + s->factor[v].lambda);
    }
    for (uint32_t c = 0; c < s->tree.classes; c++)
        count += s->now.of[c].count;
    return taken < 0.9 * count ? taken / count : 0.9;
}

/* Minimum distance from the mean, per class, of a pair with a gain above -near. */
static void toggle_limits(const struct nt_score *s, double sd, double lever, double near,
                          double *limit)
{
    double high = next_rate(s, true) + nt_log_outlier(1e-9, 1), low = next_rate(s, false) + log(2);
    double wide = nt_wide_noise_limit(&s->pairs->wide, near, lever);
    for (uint32_t c = 0; c < s->tree.classes; c++) {
        double sigma = sd / sqrt(s->weight[c]);
        double need = fmin(-near - fmax(high, low) - log(sigma) - 0.5 * log(2 * M_PI), wide);
        limit[c] = need > 0 ? sigma * sqrt(2 * need * (1 - lever)) : 0;
    }
}

/* The best pair to toggle so far. */
struct best_toggle {
    double gain;
    struct nt_outlier pair;
};

static void weigh_toggle(struct nt_score *s, uint32_t i, size_t e, double sd, double lever,
                         struct best_toggle *best)
{
    struct residual r = residual_of(s, i, e, sd);
    double gain = toggle_gain(s, e, &r, outlier_density(s, e, &r), lever);
    if (gain > 0)
        push(s, &s->out.toggles, i, e);
    if (gain > best->gain)
        *best = (struct best_toggle){gain, {i, e}};
}

/* Lists the pairs that gain by toggling. Returns whether there is one, or whether the best of all,
 * *best, is near (a pair's leverage differs from the mean). */
static bool list_toggles(struct nt_score *s, double sd, struct nt_outlier *best)
{
    const struct nt_pairs *p = s->pairs;
    const double near = 2;
    struct best_toggle top = {.gain = -near};
    double lever = leverage(s), limit[NT_CHAIN_CLASSES];
    uint32_t last = s->chain.tiers;
    nt_score_path_lengths(s);
    toggle_limits(s, sd, lever, near, limit);
    s->out.toggles.count = 0;
    for (size_t k = 0; k < s->out.now.count; k++)
        weigh_toggle(s, s->out.now.at[k].host, s->out.now.at[k].entry, sd, lever, &top);
    uint32_t *group = s->order;
    for (uint32_t i = 0; i < p->hosts; i++) {
        s->top[i] = (float)s->way[i][last];
        group[i] = last > 0 ? s->chain.label[i].tier[last - 1] : i;
    }
    float most = (float)limit[last] * (1 - 1e-5f);
    for (uint32_t i = 0; i < p->hosts; i++)
        for (size_t e = p->start[i + 1]; e-- > p->start[i] && p->entry[e].host > i;) {
            uint32_t j = p->entry[e].host;
            if (group[i] != group[j] && fabsf(p->entry[e].value - s->top[i] - s->top[j]) < most)
                continue;
            uint32_t c = nt_chain_class(&s->chain, i, j);
            double x = (double)p->entry[e].value - s->way[i][c] - s->way[j][c];
            if (fabs(x) >= limit[c] && !s->out.off[e])
                weigh_toggle(s, i, e, sd, lever, &top);
        }
    *best = top.pair;
    return top.gain > -near;
}

/* Lists the pairs of these hosts that gain by being left out, each once. */
static void list_moved(struct nt_score *s, const uint32_t *moved, size_t count, double sd)
{
    const struct nt_pairs *p = s->pairs;
    s->out.toggles.count = 0;
    nt_score_path_lengths(s);
    for (size_t m = 0; m < count; m++)
        s->moved[moved[m]] = true;
    for (size_t m = 0; m < count; m++)
        for (size_t e = p->start[moved[m]]; e < p->start[moved[m] + 1]; e++) {
            uint32_t i = moved[m], j = p->entry[e].host;
            if (s->out.off[e] || (j < i && s->moved[j]))
                continue;
            struct residual r = residual_of(s, i, e, sd);
            if (toggle_gain(s, e, &r, outlier_density(s, e, &r), 0) <= 0)
                continue;
            uint32_t first = i < j ? i : j;
            size_t k = i < j ? e : (size_t)(twin(p, i, e) - p->entry);
            push(s, &s->out.toggles, first, k);
            push(s, &s->out.taken, first, k);
        }
    for (size_t m = 0; m < count; m++)
        s->moved[moved[m]] = false;
}

double nt_score_quick(struct nt_score *s, struct nt_score_place place, const uint32_t *moved,
                      size_t count, struct nt_score_value *value)
{
    enum { ROUNDS = 3 }; /* an outlier hides others, since it widens the noise */
    double sum = nt_score_evaluate(s, place, value) + outlier_terms(s, value->sd, true);
    s->out.taken.count = 0;
    for (int round = 0; count > 0 && round < ROUNDS; round++) {
        list_moved(s, moved, count, value->sd);
        if (s->out.toggles.count == 0)
            break;
        toggle(s, &s->out.toggles);
        double next = nt_score_evaluate(s, place, value) + outlier_terms(s, value->sd, true);
        if (next <= sum)
            break;
        sum = next;
    }
    if (s->out.taken.count > 0)
        toggle(s, &s->out.taken);
    return sum;
}

static double priced(struct nt_score *s, struct nt_score_place place, struct nt_score_value *value)
{
    double v = nt_score_evaluate(s, place, value);
    return v + outlier_terms(s, value->sd, false);
}

double nt_score_full(struct nt_score *s, struct nt_score_place *place, struct nt_score_value *value)
{
    enum { ROUNDS = 16 };
    double total = priced(s, *place, value);
    for (int round = 0; round < ROUNDS; round++) {
        struct nt_score_value other;
        struct nt_outlier best;
        double next = -(double)INFINITY;
        if (!list_toggles(s, value->sd, &best))
            break;
        if (s->out.toggles.count > 1) {
            toggle(s, &s->out.toggles);
            next = priced(s, *place, &other);
            if (next <= total)
                toggle(s, &s->out.toggles);
        }
        if (next <= total) {
            struct nt_outliers one = {&best, 1, 1};
            toggle(s, &one);
            next = priced(s, *place, &other);
            if (next <= total + NT_SCORE_WORTH) {
                toggle(s, &one);
                break;
            }
        }
        total = next;
        *value = other;
    }
    double fit = nt_score_integrate(s, place, value);
    return fit + outlier_terms(s, value->sd, false);
}

/* Leaves out the pairs far above the middle of their class, after subtracting the medians of both
 * hosts' readings: outliers do not move medians as they move means. false: there are none. */
static bool leave_far_out(struct nt_score *s)
{
    const struct nt_pairs *p = s->pairs;
    float *v = s->out.middle, *end = v + 2 * p->count;
    double class[NT_CHAIN_CLASSES], limit = nt_pairs_tail_limit(p->noise) * p->noise;
    for (uint32_t c = 0; c < NT_CHAIN_CLASSES; c++) {
        size_t n = 0;
        for (uint32_t i = 0; i < p->hosts; i++)
            for (size_t e = p->start[i]; e < p->start[i + 1]; e++)
                if (nt_chain_class(&s->chain, i, p->entry[e].host) == c)
                    v[n++] = p->entry[e].value;
        class[c] = n > 0 ? (double)nt_stats_median(v, n) : 0;
    }
    for (uint32_t i = 0; i < p->hosts; i++) {
        size_t n = 0;
        for (size_t e = p->start[i]; e < p->start[i + 1]; e++)
            v[n++] =
                p->entry[e].value - (float)class[nt_chain_class(&s->chain, i, p->entry[e].host)];
        end[i] = n > 0 ? nt_stats_median(v, n) : 0;
    }
    s->out.far.count = 0;
    for (uint32_t i = 0; i < p->hosts; i++)
        for (size_t e = p->start[i]; e < p->start[i + 1]; e++) {
            uint32_t j = p->entry[e].host;
            double rest = (double)(p->entry[e].value - end[i] - end[j]) -
                          class[nt_chain_class(&s->chain, i, j)];
            if (j > i && rest > limit)
                push(s, &s->out.far, i, e);
        }
    return s->out.far.count > 0 && 4 * s->out.far.count <= p->count;
}

/* Leaves out at most a quarter of few pairs: half of them would move the medians. */
double nt_score_thorough(struct nt_score *s, struct nt_score_place *place,
                         struct nt_score_value *value)
{
    const struct nt_pairs *p = s->pairs;
    double total = nt_score_full(s, place, value), next;
    struct nt_score_place from = *place;
    struct nt_score_value now;
    if (!(p->noise > 0) || !(value->sd > 2 * p->noise) || p->count > NT_SCORE_DOWNDATES ||
        s->sparse)
        return total;
    if (!leave_far_out(s))
        return total;
    nt_outliers_copy(&s->out.before, &s->out.now, &s->memory);
    nt_score_set_off(s, &s->out.far);
    recompute(s);
    nt_score_integrate(s, &from, &now);
    next = nt_score_full(s, &from, &now);
    if (next > total) {
        *place = from;
        *value = now;
        return next;
    }
    nt_score_set_off(s, &s->out.before);
    recompute(s);
    return nt_score_full(s, place, value);
}

/* ---- far hosts --------------------------------------------------------------------------- */

uint32_t nt_score_farthest(struct nt_score *s, struct nt_score_place place, double sd,
                           double *longer)
{
    const struct nt_pairs *p = s->pairs;
    uint32_t top = UINT32_MAX;
    nt_score_path_lengths(s);
    for (uint32_t i = 0; i < p->hosts; i++) {
        size_t n = 0;
        for (size_t e = p->start[i]; e < p->start[i + 1]; e++)
            s->out.middle[n++] = (float)residual_of(s, i, e, sd).over;
        longer[i] = s->length[i] + (n > 0 ? (double)nt_stats_median(s->out.middle, n) : 0);
        if (!s->set.far[i] && (top == UINT32_MAX || longer[i] > longer[top]))
            top = i;
    }
    for (uint32_t i = 0; i < p->hosts; i++)
        s->out.middle[i] = (float)longer[i];
    double usual = (double)nt_stats_select(s->out.middle, p->hosts, p->hosts / 2);
    double most = usual + 3 * fmax(nt_score_ratio(place.ends), 1) * sd;
    return top != UINT32_MAX && longer[top] > most ? top : UINT32_MAX;
}

/* ---- results ---- */

struct nt_score_fit nt_score_fit(const struct nt_score *s)
{
    return (struct nt_score_fit){&s->out.now, s->out.off, &s->tree, s->weight, s->length};
}

void nt_outliers_copy(struct nt_outliers *to, const struct nt_outliers *from,
                      struct nt_arena *memory)
{
    void *grown = nt_arena_grow(memory, to->at, &to->room, from->count, sizeof *to->at);
    to->at = grown != NULL ? grown : to->at;
    to->count = grown != NULL ? from->count : 0;
    if (to->count > 0)
        memcpy(to->at, from->at, to->count * sizeof *to->at);
}

void nt_score_keep_high(struct nt_score *s, struct nt_outliers *list)
{
    size_t kept = 0;
    for (size_t k = 0; k < list->count; k++)
        if (residual_of(s, list->at[k].host, list->at[k].entry, 1).over > 0)
            list->at[kept++] = list->at[k];
    list->count = kept;
}

static void mark(struct nt_score *s, bool off)
{
    for (size_t k = 0; k < s->out.now.count; k++) {
        size_t e = s->out.now.at[k].entry;
        s->out.off[e] = off;
        s->out.off[twin(s->pairs, s->out.now.at[k].host, e) - s->pairs->entry] = off;
    }
}

void nt_score_set_off(struct nt_score *s, const struct nt_outliers *off)
{
    mark(s, false);
    nt_outliers_copy(&s->out.now, off, &s->memory);
    mark(s, true);
    list_outliers(s);
}

void nt_score_errors(struct nt_score *s, const struct nt_score_value *value, double *error)
{
    uint32_t nodes = s->tree.nodes - 1;
    size_t n = means(s);
    for (uint32_t v = 0; v < nodes; v++) {
        error[v] = 0;
        for (size_t a = 0; a < n; a++)
            error[v] += s->x[v][1 + a] * s->x[v][1 + a] * value->variance[a];
    }
    for (uint32_t first = 0; first < nodes; first += R) {
        memset(s->column, 0, nodes * sizeof *s->column);
        for (uint32_t r = 0; r < R && first + r < nodes; r++)
            s->column[first + r][r] = 1;
        solve(s, s->column, s->solver.direction);
        if (!has_many_odd_pairs(s) && s->odd.count > 0) /* many add little */
            correct(s, s->solver.direction);
        for (uint32_t r = 0; r < R && first + r < nodes; r++)
            error[first + r] =
                sqrt(error[first + r] + value->sd * value->sd * s->solver.direction[first + r][r]);
    }
}
