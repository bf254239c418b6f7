/* Bandwidths of links as bottlenecks of pairs.
 *
 * No pair is faster than any link of its path, so a link carries at least what its fastest pair
 * did. It carries no more when some pair had no other link that could have held it back; links
 * that never were the only explanation keep that lower bound and are marked. Where both ends' own
 * links explain a pair alike, both count: hosts of one kind have links of one kind. */
#include "infer.h"

#include <math.h>
#include <string.h>

#include "memory.h"

enum { TOP = 3, DEPTH_MAX = 512 };

/* A reading within this share of a link's value may have met it. */
static const double near_share = 0.96;

/* One direction of a link. */
struct lane {
    float top[TOP];              /* largest readings, falling */
    double sum, count;           /* of the readings near the largest */
    size_t crossed, held, alone; /* pairs: over it; held back by it maybe; by it only */
};

struct tree {
    const struct nt_model *model;
    uint32_t *up;      /* vertices: parent, itself at a top */
    uint32_t *link;    /* vertices: link to the parent */
    uint32_t *depth;   /* vertices */
    struct lane *lane; /* 2*links: a to b, b to a */
};

/* Hangs every vertex below the switch of the highest tier; repeated passes over the links, as
 * many as the tree is deep. */
static void hang(struct tree *t)
{
    const struct nt_model *m = t->model;
    size_t vertices = m->hosts + m->switches;
    for (size_t v = 0; v < vertices; v++)
        t->up[v] = UINT32_MAX;
    for (bool more = true; more;) {
        uint32_t best = UINT32_MAX;
        for (size_t s = 0; s < m->switches; s++)
            if (t->up[m->hosts + s] == UINT32_MAX &&
                (best == UINT32_MAX || m->tier[s] > m->tier[best]))
                best = (uint32_t)s;
        more = best != UINT32_MAX;
        if (!more)
            break;
        t->up[m->hosts + best] = (uint32_t)(m->hosts + best);
        t->depth[m->hosts + best] = 0;
        for (bool moved = true; moved;) {
            moved = false;
            for (size_t k = 0; k < m->links; k++) {
                uint32_t a = m->link[k].a, b = m->link[k].b;
                if ((t->up[a] == UINT32_MAX) == (t->up[b] == UINT32_MAX))
                    continue;
                uint32_t above = t->up[a] == UINT32_MAX ? b : a, below = above == a ? b : a;
                t->up[below] = above;
                t->link[below] = (uint32_t)k;
                t->depth[below] = t->depth[above] + 1;
                moved = true;
            }
        }
    }
}

static int tree_init(struct tree *t, const struct nt_model *model, struct nt_arena *memory,
                     struct nt_err *err)
{
    size_t vertices = model->hosts + model->switches;
    *t = (struct tree){.model = model};
    t->up = nt_arena_array(memory, vertices + 1, sizeof *t->up);
    t->link = nt_arena_array(memory, vertices + 1, sizeof *t->link);
    t->depth = nt_arena_array(memory, vertices + 1, sizeof *t->depth);
    t->lane = nt_arena_array(memory, 2 * model->links + 1, sizeof *t->lane);
    return nt_arena_check(memory, err);
}

static size_t lane_of(const struct tree *t, uint32_t from, uint32_t link)
{
    return 2 * (size_t)link + (t->model->link[link].a != from);
}

/* Lanes from host i to host j; 0 when there is no path. */
static size_t path(const struct tree *t, uint32_t i, uint32_t j, size_t *lanes)
{
    size_t count = 0;
    while (i != j && count < DEPTH_MAX) {
        bool first = t->depth[i] >= t->depth[j];
        uint32_t *v = first ? &i : &j;
        if (t->up[*v] == UINT32_MAX || t->up[*v] == *v)
            return 0;
        uint32_t from = first ? *v : t->up[*v];
        lanes[count++] = lane_of(t, from, t->link[*v]);
        *v = t->up[*v];
    }
    return i == j ? count : 0;
}

static void take_top(struct lane *l, float value)
{
    l->crossed++;
    for (size_t k = 0; k < TOP; k++)
        if (value > l->top[k]) {
            float swap = l->top[k];
            l->top[k] = value;
            value = swap;
        }
}

/* With many pairs the very largest readings are luck. */
static double largest(const struct lane *l)
{
    return (double)(l->crossed >= 20 ? l->top[TOP - 1] : l->crossed >= 6 ? l->top[1] : l->top[0]);
}

static double value(const struct lane *l)
{
    return l->count > 0 ? l->sum / l->count : NAN;
}

static bool is_own(const struct tree *t, size_t lane)
{
    return t->model->link[lane / 2].a < t->model->hosts ||
           t->model->link[lane / 2].b < t->model->hosts;
}

static void take_mean(struct lane *l, double v)
{
    double most = largest(l);
    if (v < 0.95 * most)
        return;
    l->sum += fmin(v, 1.05 * most);
    l->count++;
}

/* Which link held a pair back: an end's own link if it can have, else the one inner link, or two
 * of one kind, up and down again. */
static void blame(struct tree *t, const size_t *lanes, size_t count, double v)
{
    size_t suspect[DEPTH_MAX], suspects = 0, own = 0;
    for (size_t k = 0; k < count; k++)
        if (v >= near_share * value(&t->lane[lanes[k]])) {
            suspect[suspects++] = lanes[k];
            t->lane[lanes[k]].held++;
            own += is_own(t, lanes[k]);
        }
    for (size_t k = 0; k < suspects; k++)
        if (own > 0 ? is_own(t, suspect[k]) : suspects <= 2)
            t->lane[suspect[k]].alone++;
}

typedef void lane_fn(struct tree *t, const size_t *lanes, size_t count, double v);

static void each_top(struct tree *t, const size_t *lanes, size_t count, double v)
{
    for (size_t k = 0; k < count; k++)
        take_top(&t->lane[lanes[k]], (float)v);
}

static void each_mean(struct tree *t, const size_t *lanes, size_t count, double v)
{
    for (size_t k = 0; k < count; k++)
        take_mean(&t->lane[lanes[k]], v);
}

static void each_pair(struct tree *t, const struct nt_matrix *m, lane_fn *visit)
{
    size_t lanes[DEPTH_MAX];
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t j = 0; j < m->n; j++) {
            float v = nt_matrix_get(m, i, j);
            if (i == j || !(v > 0) || !(v < INFINITY))
                continue;
            size_t count = path(t, i, j, lanes);
            if (count > 0)
                visit(t, lanes, count, (double)v);
        }
}

/* In a direct network only linked hosts show a link's own bandwidth. */
static void direct(struct nt_model *m, const struct nt_matrix *b)
{
    for (size_t k = 0; k < m->links; k++) {
        struct nt_link *l = &m->link[k];
        float there = nt_matrix_get(b, l->a, l->b), back = nt_matrix_get(b, l->b, l->a);
        if (there > 0 && there < INFINITY)
            l->bandwidth_MBps = (double)there;
        if (back > 0 && back < INFINITY)
            l->bandwidth_back_MBps = (double)back;
    }
}

static bool certified(const struct lane *l)
{
    return l->alone > 0 && (double)l->alone >= 0.3 * (double)l->held;
}

static void fill(const struct tree *t, struct nt_model *m)
{
    for (size_t k = 0; k < m->links; k++) {
        const struct lane *there = &t->lane[2 * k], *back = &t->lane[2 * k + 1];
        struct nt_link *l = &m->link[k];
        l->bandwidth_MBps = value(there);
        l->bandwidth_back_MBps = value(back);
        l->simplex = l->simplex && back->crossed == 0; /* what carries data works */
        bool known = there->crossed > 0 || back->crossed > 0;
        l->at_least = known && !((there->crossed == 0 || certified(there)) &&
                                 (back->crossed == 0 || certified(back)));
    }
}

/* What the links below a switch can ask of the links above it, where those are known. */
static void oversubscription(const struct tree *t, struct nt_model *m, double *below)
{
    for (size_t s = 0; s < m->switches; s++)
        below[s] = 0;
    for (uint32_t h = 0; h < m->hosts; h++) {
        if (t->up[h] == UINT32_MAX)
            continue;
        double v = m->link[t->link[h]].bandwidth_MBps;
        for (uint32_t u = t->up[h]; u >= m->hosts; u = t->up[u]) {
            below[u - m->hosts] += v;
            if (t->up[u] == u)
                break;
        }
    }
    for (uint32_t s = 0; s < m->switches; s++) {
        uint32_t v = (uint32_t)m->hosts + s;
        if (t->up[v] == v || m->link[t->link[v]].at_least)
            continue;
        const struct nt_link *l = &m->link[t->link[v]];
        double above = l->a == v ? l->bandwidth_MBps : l->bandwidth_back_MBps;
        if (above > 0)
            m->oversubscription[s] = below[s] / above;
    }
}

int nt_infer_bandwidth(const struct nt_model *model, const struct nt_matrix *bandwidth,
                       struct nt_model **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    if (bandwidth->n != model->hosts)
        return nt_err_set(err, NT_ERR_INPUT, "bandwidths of %zu hosts for a model of %zu",
                          bandwidth->n, model->hosts);
    struct nt_model *m;
    struct tree t;
    if (nt_model_copy(model, &m, err) < 0)
        return -1;
    if (m->switches == 0) {
        direct(m, bandwidth);
        *out = m;
        return 0;
    }
    double *below = nt_arena_array(&memory, m->switches + 1, sizeof *below);
    int status = tree_init(&t, model, &memory, err);
    if (status == 0) {
        hang(&t);
        each_pair(&t, bandwidth, each_top);
        each_pair(&t, bandwidth, each_mean);
        each_pair(&t, bandwidth, blame);
        fill(&t, m);
        oversubscription(&t, m, below);
        *out = m;
    } else {
        nt_model_destroy(m);
    }
    return status;
}
