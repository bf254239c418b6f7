/* SPDX-License-Identifier: Apache-2.0 */
#include "direct.h"

#include <stdlib.h>
#include <string.h>

#include "lattice.h"
#include "memory.h"
#include "stats.h"

/* ---- the family of a graph ---- */

/* Names a graph: compares its hop counts with the hop counts of each regular network of the same
 * number of hosts. Equal hop counts, and equal numbers of links within a number of hops, do not
 * prove that two graphs are equal. But the networks named here differ in them unless they are
 * equal: a torus of four by four is a hypercube of four dimensions, a ring of four one of two. */

struct counts {
    const struct nt_direct *d;
    size_t n, links;
    uint32_t *of;    /* n: vertices at each number of hops */
    uint32_t *level; /* n: links, twice, between vertices at the same number of hops */
    size_t *start;   /* n+1: where the neighbours of each vertex begin */
    uint32_t *neighbour;
    size_t *queue, *hops;   /* n */
    uint64_t *mark, *other; /* n: a mark of each vertex's counts, sorted */
    bool marked, possible;  /* mark is set; its result */
};

static uint64_t mark_of(const struct counts *c)
{
    uint64_t mark = 1469598103934665603u; /* FNV-1a */
    for (size_t k = 0; k < c->n && (k == 0 || c->of[k] > 0); k++) {
        mark = (mark ^ c->of[k]) * 1099511628211u;
        mark = (mark ^ c->level[k]) * 1099511628211u;
    }
    return mark;
}

static uint64_t lattice_mark(const struct nt_lattice *l, struct counts *c, size_t from)
{
    size_t head = 0, tail = 0, next[NT_LATTICE_DEGREE_MAX];
    memset(c->of, 0, c->n * sizeof *c->of);
    memset(c->level, 0, c->n * sizeof *c->level);
    for (size_t v = 0; v < c->n; v++)
        c->hops[v] = SIZE_MAX;
    c->hops[from] = 0;
    c->queue[tail++] = from;
    while (head < tail) {
        size_t v = c->queue[head++], count = nt_lattice_neighbours(l, v, next);
        c->of[c->hops[v]]++;
        for (size_t k = 0; k < count; k++)
            c->level[c->hops[v]] += c->hops[next[k]] == c->hops[v];
        for (size_t k = 0; k < count; k++)
            if (c->hops[next[k]] == SIZE_MAX) {
                c->hops[next[k]] = c->hops[v] + 1;
                c->queue[tail++] = next[k];
            }
    }
    return mark_of(c);
}

/* false: a pair has more hops than there are vertices, for example by an outlier. */
static bool graph_marks(const struct nt_direct *d, struct counts *c)
{
    size_t p = 0;
    for (size_t i = 0; i < d->n; i++) {
        c->start[i] = p;
        for (size_t j = 0; j < d->n; j++)
            if (d->linked[i * d->n + j])
                c->neighbour[p++] = (uint32_t)j;
    }
    c->start[d->n] = p;
    for (size_t i = 0; i < d->n; i++) {
        const uint16_t *hops = d->hops + i * d->n;
        memset(c->of, 0, d->n * sizeof *c->of);
        memset(c->level, 0, d->n * sizeof *c->level);
        for (size_t j = 0; j < d->n; j++) {
            if (hops[j] >= d->n)
                return false;
            c->of[hops[j]]++;
        }
        for (size_t a = 0; a < d->n; a++)
            for (size_t k = c->start[a]; k < c->start[a + 1]; k++)
                c->level[hops[a]] += hops[c->neighbour[k]] == hops[a];
        c->mark[i] = mark_of(c);
    }
    qsort(c->mark, d->n, sizeof *c->mark, nt_compare_u64);
    return true;
}

/* As above, once: most graphs have no lattice's number of links. */
static bool has_marks(struct counts *c)
{
    if (!c->marked)
        c->possible = graph_marks(c->d, c);
    c->marked = true;
    return c->possible;
}

/* The number of links of a lattice: a quick test that rejects most candidates. */
static size_t links_of(const struct nt_lattice *l, size_t n)
{
    size_t sum = 0;
    for (size_t k = 0; k < l->dimensions; k++) {
        size_t size = l->size[k], lines = n / size;
        sum += lines * (l->wraps && size > 2 ? size : size - 1);
    }
    return sum;
}

static bool lattice_matches(const struct nt_lattice *l, struct counts *c)
{
    /* a twist along two columns or rows may give two hosts one link or two */
    if ((l->twist == 0 && links_of(l, c->n) != c->links) || !has_marks(c))
        return false;
    if (l->wraps) /* all vertices have equal degrees */
        return c->mark[0] == c->mark[c->n - 1] && lattice_mark(l, c, 0) == c->mark[0];
    for (size_t v = 0; v < c->n; v++)
        c->other[v] = lattice_mark(l, c, v);
    qsort(c->other, c->n, sizeof *c->other, nt_compare_u64);
    return memcmp(c->mark, c->other, c->n * sizeof *c->mark) == 0;
}

static void name_family(struct nt_model *m, enum nt_family family, const struct nt_lattice *l)
{
    m->family = family;
    m->dimensions = (uint32_t)l->dimensions;
    m->twist = (uint32_t)l->twist;
    for (size_t k = 0; k < l->dimensions; k++)
        m->dimension[k] = (uint32_t)l->size[k];
}

/* All ways to write rest as a product of sizes that do not grow, each at least least. */
static bool try_sizes(struct nt_lattice *l, size_t rest, size_t most, size_t least,
                      struct counts *c)
{
    if (rest == 1)
        return l->dimensions > 0 && lattice_matches(l, c);
    if (l->dimensions == NT_DIMENSIONS_MAX)
        return false;
    for (size_t s = most < rest ? most : rest; s >= least; s--) {
        if (rest % s != 0)
            continue;
        l->size[l->dimensions++] = s;
        if (try_sizes(l, rest / s, s, least, c))
            return true;
        l->dimensions--;
    }
    return false;
}

/* The description with the most equal sizes first: one graph may have several. */
static bool try_twists(struct nt_lattice *l, size_t n, struct counts *c)
{
    *l = (struct nt_lattice){.dimensions = 2, .wraps = true};
    if (c->links > 2 * n || !has_marks(c) || c->mark[0] != c->mark[n - 1])
        return false;
    for (size_t shorter = n; shorter >= 2; shorter--) {
        if (n % shorter != 0 || shorter * shorter > n)
            continue;
        for (int turned = 0; turned < 2; turned++) {
            l->size[turned] = n / shorter;
            l->size[1 - turned] = shorter;
            for (l->twist = 1; l->twist <= l->size[0] / 2; l->twist++)
                if (lattice_matches(l, c))
                    return true;
        }
    }
    return false;
}

static void recognise_lattice(struct nt_model *m, struct counts *c)
{
    size_t n = c->n, links = c->links, degree = 0;
    struct nt_lattice cube = {0}, l = {.wraps = true};
    m->family = NT_FAMILY_IRREGULAR;
    while ((size_t)1 << degree < n && degree < NT_DIMENSIONS_MAX)
        cube.size[degree++] = 2;
    cube.dimensions = degree;
    struct nt_lattice ring = {.dimensions = 1, .size = {n}, .wraps = true};
    if (links == n * (n - 1) / 2 && has_marks(c))
        m->family = NT_FAMILY_FULL_MESH;
    else if (links == n && lattice_matches(&ring, c))
        name_family(m, NT_FAMILY_RING, &ring);
    else if ((size_t)1 << degree == n && 2 * links == n * degree && lattice_matches(&cube, c))
        name_family(m, NT_FAMILY_HYPERCUBE, &cube);
    else if (try_sizes(&l, n, n, 2, c))
        name_family(m, NT_FAMILY_TORUS, &l);
    else if (l = (struct nt_lattice){.wraps = false}, try_sizes(&l, n, n, 2, c))
        name_family(m, NT_FAMILY_MESH, &l);
    else if (try_twists(&l, n, c))
        name_family(m, NT_FAMILY_TORUS, &l);
}

int nt_direct_family(const struct nt_direct *d, struct nt_model *model, struct nt_err *err)
{
    size_t n = d->n;
    NT_SCOPED struct nt_arena memory = {0};
    struct counts c = {.d = d, .n = n, .links = d->links};
    c.of = nt_arena_array(&memory, n + 1, sizeof *c.of);
    c.level = nt_arena_array(&memory, n + 1, sizeof *c.level);
    c.start = nt_arena_array(&memory, n + 1, sizeof *c.start);
    c.neighbour = nt_arena_array(&memory, 2 * d->links + 1, sizeof *c.neighbour);
    c.queue = nt_arena_array(&memory, n + 1, sizeof *c.queue);
    c.hops = nt_arena_array(&memory, n + 1, sizeof *c.hops);
    c.mark = nt_arena_array(&memory, n + 1, sizeof *c.mark);
    c.other = nt_arena_array(&memory, n + 1, sizeof *c.other);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    recognise_lattice(model, &c);
    return 0;
}

/* ---- toggling links ---- */

/* Improves a graph link by link. One link changes the hops of many pairs, so that all of them
 * together show whether it exists, even if its own reading is missing or an outlier. */

enum { PASSES = 14, NEAR = 3, EXCEPTIONS = 64, AGAINST = 32, SCAN_STEPS = 8 };

/* Readings this many sd off are counted as wrong. */
static const double WRONG = 4;

struct search {
    const struct nt_work *w;
    struct nt_direct *d;
    size_t n;
    float *weight;          /* n*n: 1/sd of a reading, 0: none */
    float *value;           /* n*n: reading less offsets and base, in hops; 0: none */
    uint32_t *degree;       /* n */
    uint32_t *neighbour;    /* n * NT_DIRECT_DEGREE_MAX */
    uint32_t *left, *right; /* n: hosts on either side of a link */
    uint32_t *queue;        /* n */
    uint16_t *row;          /* n */
    bool *farther;          /* n: all false between calls */
    float *scratch;         /* n*n/2 */
    double price;           /* of a link */
    uint32_t usual;         /* degree of most hosts */
    double uneven; /* ln of the odds that a host has it: the prior where there is no reading */
    float most;    /* clipped loss */
    double sd;     /* relative, of a reading */
    struct toggle *toggle;
    size_t toggles, capacity;
    bool changed; /* a regular network was completed */
    struct nt_direct_effort *effort;
};

struct toggle {
    double gain;
    uint32_t a, b;
};

static float reading_loss(const struct search *s, size_t pair, unsigned hops)
{
    float z = (s->value[pair] - (float)hops) * s->weight[pair], l = 0.5f * z * z;
    return l < s->most ? l : s->most;
}

/* ---- the gain of one link ------ */

/* Hosts that a new link a-b brings nearer to b. */
static size_t nearer_side(const struct search *s, size_t a, size_t b, uint32_t *out)
{
    const uint16_t *to_a = s->d->hops + a * s->n, *to_b = s->d->hops + b * s->n;
    size_t count = 0;
    for (uint32_t x = 0; x < s->n; x++)
        if (to_a[x] + 1 < to_b[x])
            out[count++] = x;
    return count;
}

static double gain_of_adding(struct search *s, size_t a, size_t b)
{
    const uint16_t *to_a = s->d->hops + a * s->n, *to_b = s->d->hops + b * s->n;
    size_t lefts = nearer_side(s, a, b, s->left), rights = nearer_side(s, b, a, s->right);
    float sum = 0;
    s->effort->steps += s->n + lefts * rights;
    for (size_t p = 0; p < lefts; p++) {
        size_t x = s->left[p];
        const uint16_t *hops = s->d->hops + x * s->n;
        for (size_t q = 0; q < rights; q++) {
            size_t y = s->right[q];
            unsigned now = to_a[x] + 1u + to_b[y];
            if (now < hops[y])
                sum += reading_loss(s, x * s->n + y, hops[y]) - reading_loss(s, x * s->n + y, now);
        }
    }
    return (double)sum;
}

/* The same by the pairs of the two hosts alone: cheap, and nearly always of the same sign. It ends
 * when the readings against the link outweigh all that are left. */
static double quick_gain(const struct search *s, size_t a, size_t b)
{
    const float gain_limit = -AGAINST * s->most;
    const uint16_t *to_a = s->d->hops + a * s->n, *to_b = s->d->hops + b * s->n;
    float sum = 0;
    size_t x = 0;
    for (; x < s->n && sum > gain_limit; x++) {
        if (to_a[x] + 1 < to_b[x])
            sum += reading_loss(s, b * s->n + x, to_b[x]) -
                   reading_loss(s, b * s->n + x, to_a[x] + 1u);
        else if (to_b[x] + 1 < to_a[x])
            sum += reading_loss(s, a * s->n + x, to_a[x]) -
                   reading_loss(s, a * s->n + x, to_b[x] + 1u);
    }
    s->effort->steps += x;
    return (double)sum;
}

/* Computes the hops from x again. */
static void update_hops(struct search *s, size_t x)
{
    uint16_t *hops = s->d->hops + x * s->n;
    size_t head = 0, tail = 0;
    for (size_t y = 0; y < s->n; y++)
        hops[y] = UINT16_MAX;
    hops[x] = 0;
    s->queue[tail++] = (uint32_t)x;
    while (head < tail) {
        uint32_t v = s->queue[head++];
        const uint32_t *next = s->neighbour + (size_t)v * NT_DIRECT_DEGREE_MAX;
        for (size_t k = 0; k < s->degree[v]; k++)
            if (hops[next[k]] == UINT16_MAX) {
                hops[next[k]] = (uint16_t)(hops[v] + 1);
                s->queue[tail++] = next[k];
            }
    }
}

/* Whether some host is farther from x without the link a-b: the far end has no other way. */
static bool needs_link(const struct search *s, size_t x, size_t a, size_t b)
{
    const uint16_t *hops = s->d->hops + x * s->n;
    if (hops[a] == hops[b])
        return false;
    size_t far = hops[a] > hops[b] ? a : b, near = far == a ? b : a;
    const uint32_t *next = s->neighbour + (size_t)far * NT_DIRECT_DEGREE_MAX;
    for (size_t k = 0; k < s->degree[far]; k++)
        if (next[k] != near && hops[next[k]] + 1 == hops[far])
            return false;
    return true;
}

/* Whether y keeps its hops from x by a neighbour that keeps its own, when the link above far is
 * removed. */
static bool has_detour(const struct search *s, const uint16_t *hops, uint32_t y)
{
    const uint32_t *next = s->neighbour + (size_t)y * NT_DIRECT_DEGREE_MAX;
    for (size_t k = 0; k < s->degree[y]; k++)
        if (hops[next[k]] + 1 == hops[y] && !s->farther[next[k]])
            return true;
    return false;
}

/* Collects the hosts that are farther from the host of these hops if far loses its only path to it,
 * in s->left, nearest first, so that earlier ones are complete before a host is visited. They are
 * few if links cross. */
static size_t find_farther(struct search *s, const uint16_t *hops, size_t far)
{
    size_t count = 0;
    s->farther[far] = true;
    s->left[count++] = (uint32_t)far;
    for (size_t head = 0; head < count; head++) {
        uint32_t v = s->left[head];
        const uint32_t *next = s->neighbour + (size_t)v * NT_DIRECT_DEGREE_MAX;
        for (size_t k = 0; k < s->degree[v]; k++) {
            uint32_t y = next[k];
            if (hops[y] != hops[v] + 1 || s->farther[y] || has_detour(s, hops, y))
                continue;
            s->farther[y] = true;
            s->left[count++] = y;
        }
    }
    return count;
}

/* The fewest hops of y through its neighbours, without the one that is cut off. */
static uint16_t shortest_detour(const struct search *s, const uint16_t *hops, uint32_t y,
                                uint32_t cut)
{
    const uint32_t *next = s->neighbour + (size_t)y * NT_DIRECT_DEGREE_MAX;
    unsigned least = UINT16_MAX;
    for (size_t k = 0; k < s->degree[y]; k++) {
        unsigned by = s->farther[next[k]] ? s->row[next[k]] : hops[next[k]];
        if (next[k] != cut && by + 1 < least)
            least = by + 1;
    }
    return (uint16_t)least;
}

/* Writes their hops without the link near-far to row; detours begin at the farthest. */
static void find_detours(struct search *s, const uint16_t *hops, size_t count, uint32_t near)
{
    for (size_t k = 0; k < count; k++)
        s->row[s->left[k]] = UINT16_MAX;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = count; k-- > 0;) {
            uint32_t y = s->left[k];
            uint16_t now = shortest_detour(s, hops, y, k == 0 ? near : UINT32_MAX);
            changed |= now != s->row[y];
            s->row[y] = now;
        }
    }
}

/* The evidence of the hosts that are farther from x without a link; -INFINITY: not reached. */
static double evidence_of_host(struct search *s, size_t x, size_t near, size_t far)
{
    const uint16_t *hops = s->d->hops + x * s->n;
    size_t count = find_farther(s, hops, far);
    double sum = 0;
    s->effort->steps += count;
    find_detours(s, hops, count, (uint32_t)near);
    for (size_t k = 0; k < count; k++) {
        uint32_t y = s->left[k];
        s->farther[y] = false;
        sum += s->row[y] == UINT16_MAX ? -INFINITY
                                       : (double)(reading_loss(s, x * s->n + y, hops[y]) -
                                                  reading_loss(s, x * s->n + y, s->row[y]));
    }
    return sum;
}

static double gain_of_removing(struct search *s, size_t a, size_t b)
{
    double sum = 0;
    s->effort->steps += 2 * s->n;
    for (size_t x = 0; x < s->n && sum > -INFINITY; x++) {
        const uint16_t *hops = s->d->hops + x * s->n;
        bool behind = hops[a] > hops[b];
        if (needs_link(s, x, a, b))
            sum += evidence_of_host(s, x, behind ? b : a, behind ? a : b);
    }
    return sum / 2; /* each pair was met from both ends */
}

/* The score of the change of both degrees. */
static double degree_change(const struct search *s, size_t a, size_t b, bool linked)
{
    double sum = 0;
    const size_t end[] = {a, b};
    for (int k = 0; k < 2; k++) {
        uint32_t is = s->degree[end[k]], then = linked ? is - 1 : is + 1;
        sum += (double)(is != s->usual) - (double)(then != s->usual);
    }
    return s->uneven * sum;
}

static double toggle_gain(struct search *s, size_t a, size_t b)
{
    bool linked = s->d->linked[a * s->n + b];
    if (!linked && (s->degree[a] == NT_DIRECT_DEGREE_MAX || s->degree[b] == NT_DIRECT_DEGREE_MAX))
        return -INFINITY;
    return (linked ? gain_of_removing(s, a, b) + s->price : gain_of_adding(s, a, b) - s->price) +
           degree_change(s, a, b, linked);
}

/* ---- changing it ---- */

static void drop_link(struct search *s, size_t a, size_t b)
{
    uint32_t *next = s->neighbour + (size_t)a * NT_DIRECT_DEGREE_MAX;
    size_t k = 0;
    while (next[k] != b)
        k++;
    next[k] = next[--s->degree[a]];
}

static void unlink_pair(struct search *s, size_t a, size_t b)
{
    size_t count = 0;
    for (uint32_t x = 0; x < s->n; x++)
        if (needs_link(s, x, a, b))
            s->left[count++] = x;
    s->effort->steps += s->n + 2 * count * s->n;
    drop_link(s, a, b);
    drop_link(s, b, a);
    for (size_t k = 0; k < count; k++)
        update_hops(s, s->left[k]);
}

static void add_to_graph(struct search *s, size_t a, size_t b)
{
    size_t n = s->n, lefts = nearer_side(s, a, b, s->left), rights = nearer_side(s, b, a, s->right);
    uint16_t *hops = s->d->hops;
    s->effort->steps += n + lefts * rights;
    s->neighbour[a * NT_DIRECT_DEGREE_MAX + s->degree[a]++] = (uint32_t)b;
    s->neighbour[b * NT_DIRECT_DEGREE_MAX + s->degree[b]++] = (uint32_t)a;
    /* the way to the own end is not changed by the link, so that order does not matter */
    for (size_t p = 0; p < lefts; p++)
        for (size_t q = 0; q < rights; q++) {
            size_t x = s->left[p], y = s->right[q];
            unsigned now = hops[x * n + a] + 1u + hops[y * n + b];
            if (now < hops[x * n + y])
                hops[x * n + y] = hops[y * n + x] = (uint16_t)now;
        }
}

static void flip_link(struct search *s, size_t a, size_t b)
{
    uint8_t *linked = s->d->linked;
    bool was = linked[a * s->n + b];
    if (was)
        unlink_pair(s, a, b);
    else
        add_to_graph(s, a, b);
    linked[a * s->n + b] = linked[b * s->n + a] = !was;
    s->d->links += was ? (size_t)-1 : 1;
}

/* ---- passes ---- */

static int by_gain(const void *x, const void *y)
{
    const struct toggle *a = x, *b = y;
    return NT_ORDER(b->gain, a->gain, NT_ORDER(a->a, b->a, NT_ORDER(a->b, b->b, 0)));
}

/* Relative sd of the residuals of the current fit. An outlier can be anywhere within some hops;
 * their share is the share of far residuals. */
static double find_sd(struct search *s)
{
    const struct nt_direct *d = s->d;
    size_t n = s->n, count = 0, off = 0;
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            float v = s->w->d[i * n + j];
            double r =
                (double)nt_direct_reading(s->w, d, i, j) - d->base - d->hop * d->hops[i * n + j];
            if (v == v)
                s->scratch[count++] = (float)fabs(r) / v;
        }
    double sd = NT_SD_OF_MEDIAN * (double)nt_stats_median(s->scratch, count);
    sd = fmax(sd, s->w->noise.least) + 1e-6;
    for (size_t k = 0; k < count; k++)
        off += (double)s->scratch[k] > WRONG * sd;
    const double WRONG_RANGE = 0.5; /* relative, in which wrong readings lie */
    double rare = log(((double)count + 1) / ((double)off + 1));
    double wide = log(fmax(1, WRONG_RANGE / sd / sqrt(2 * M_PI)));
    s->most = (float)fmin(fmax(rare + wide, 4), 14);
    s->sd = sd;
    return sd;
}

static void find_usual(struct search *s)
{
    size_t mode[NT_DIRECT_DEGREE_MAX + 1] = {0}, n = s->n;
    for (size_t i = 0; i < n; i++)
        mode[s->degree[i]]++;
    s->usual = 0;
    for (uint32_t k = 1; k <= NT_DIRECT_DEGREE_MAX; k++)
        if (mode[k] > 0 && mode[k] >= mode[s->usual])
            s->usual = k;
    double like = (double)mode[s->usual] + 0.5, other = (double)(n - mode[s->usual]) + 0.5;
    s->uneven = fmax(0, log(like / other));
}

/* Readings in hops and their weights. */
static void weigh_links(struct search *s)
{
    const struct nt_direct *d = s->d;
    size_t n = s->n;
    double sd = find_sd(s);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            float v = s->w->d[i * n + j];
            bool known = v == v;
            double x = (double)nt_direct_reading(s->w, d, i, j) - d->base;
            s->weight[i * n + j] = known ? (float)(d->hop / (sd * (double)v)) : 0;
            s->value[i * n + j] = known ? (float)(x / d->hop) : 0;
        }
    find_usual(s);
}

static void propose_toggle(struct search *s, size_t a, size_t b)
{
    const double HOPELESS = -12;
    size_t n = s->n;
    bool linked = s->d->linked[a * n + b];
    unsigned hops = s->d->hops[a * n + b];
    /* a far pair whose own reading excludes a link */
    if (!linked && hops > NEAR && reading_loss(s, a * n + b, hops) < s->most &&
        reading_loss(s, a * n + b, 1) >= s->most)
        return;
    /* others are only evaluated when some reading supports them */
    if (!linked && quick_gain(s, a, b) < (hops <= NEAR ? HOPELESS : 0))
        return;
    double gain = toggle_gain(s, a, b);
    if (gain > HOPELESS && s->toggles < s->capacity)
        s->toggle[s->toggles++] = (struct toggle){gain, (uint32_t)a, (uint32_t)b};
}

/* All toggles that could gain, the best first. */
static void propose_all(struct search *s)
{
    s->toggles = 0;
    for (size_t i = 1; i < s->n && !nt_direct_is_spent(s->effort); i++)
        for (size_t j = 0; j < i; j++)
            propose_toggle(s, i, j);
    if (s->toggles > 0)
        qsort(s->toggle, s->toggles, sizeof *s->toggle, by_gain);
}

/* Toggles the links that gain, each judged again, at most capacity; returns their number. flipped:
 * the toggled links, or NULL. */
static size_t toggle_pass(struct search *s, struct toggle *flipped, size_t capacity)
{
    size_t made = 0;
    propose_all(s);
    for (size_t k = 0; k < s->toggles && s->toggle[k].gain > 0 && made < capacity &&
                       !nt_direct_is_spent(s->effort);
         k++) {
        struct toggle t = s->toggle[k];
        if (made > 0 && !(toggle_gain(s, t.a, t.b) > 0))
            continue;
        flip_link(s, t.a, t.b);
        if (flipped != NULL)
            flipped[made] = t;
        made++;
    }
    return made;
}

static bool search_init(struct search *s)
{
    size_t n = s->n;
    for (size_t i = 0; i < n; i++) {
        s->degree[i] = 0;
        for (size_t j = 0; j < n; j++)
            if (s->d->linked[i * n + j]) {
                if (s->degree[i] == NT_DIRECT_DEGREE_MAX)
                    return false;
                s->neighbour[i * NT_DIRECT_DEGREE_MAX + s->degree[i]++] = (uint32_t)j;
            }
    }
    return true;
}

/* Minus ln of the likelihood of all readings and of the graph. */
static double direct_cost(const struct search *s)
{
    size_t n = s->n, usual = 0;
    double sum = (double)s->w->pairs * log(s->sd) + s->price * (double)s->d->links;
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++)
            sum += (double)reading_loss(s, i * n + j, s->d->hops[i * n + j]);
    for (size_t i = 0; i < n; i++)
        usual += s->degree[i] == s->usual;
    double share = (double)usual / (double)n, other = 1 - share;
    sum -= (double)n * (share > 0 ? share * log(share) : 0);
    return sum - (double)n * (other > 0 ? other * log(other) : 0);
}

static int is_recognised(const struct search *s, bool *is, struct nt_err *err)
{
    struct nt_model m = {0};
    if (nt_direct_family(s->d, &m, err) < 0)
        return -1;
    *is = m.family != NT_FAMILY_IRREGULAR;
    return 0;
}

static void undo_toggles(struct search *s, const struct toggle *flipped, size_t made)
{
    while (made-- > 0)
        flip_link(s, flipped[made].a, flipped[made].b);
}

/* As if all hosts had the usual number of links and links cost nothing. */
static int complete_degrees(struct search *s, struct nt_err *err)
{
    struct toggle flipped[EXCEPTIONS];
    size_t made = 0, again = 1;
    bool regular = false;
    for (int p = 0; p < 3 && again > 0; p++) {
        again = toggle_pass(s, flipped + made, EXCEPTIONS - made);
        made += again;
    }
    if (made > 0 && is_recognised(s, &regular, err) < 0)
        return -1;
    s->d->regular = s->changed = regular;
    if (!regular)
        undo_toggles(s, flipped, made);
    return 0;
}

/* Judges the least certain links one after the other. */
static int judge_uncertain(struct search *s, struct nt_err *err)
{
    const double exception = 2 * log((double)s->n);
    size_t made = 0;
    struct toggle flipped[EXCEPTIONS];
    bool regular = false;
    for (size_t k = 0; k < s->toggles && made < EXCEPTIONS && !regular; k++) {
        const struct toggle *t = &s->toggle[k];
        if (t->gain < -exception)
            break;
        if (made > 0 && toggle_gain(s, t->a, t->b) < -exception)
            continue;
        flip_link(s, t->a, t->b);
        flipped[made++] = *t;
        if (is_recognised(s, &regular, err) < 0)
            return -1;
    }
    s->d->regular = s->changed = regular;
    if (!regular)
        undo_toggles(s, flipped, made);
    return 0;
}

/* From here on only the readings count. */
static void forget_graph(struct search *s)
{
    s->price = s->uneven = 0;
    propose_all(s);
}

/* A regular network has a short description, and each exception adds two host numbers to it: a few
 * uncertain links may prevent the graph from being regular. */
static int complete_lattice(struct search *s, struct nt_err *err)
{
    double price = s->price, uneven = s->uneven;
    if (is_recognised(s, &s->d->regular, err) < 0)
        return -1;
    if (s->d->regular)
        return 0;
    s->price = 0;
    s->uneven = log((double)s->n);
    int status = complete_degrees(s, err);
    if (status == 0 && !s->d->regular) {
        forget_graph(s);
        status = judge_uncertain(s, err);
    }
    s->price = price;
    s->uneven = uneven;
    return status;
}

/* Odds of all networks that differ in one link. */
static double error_odds(struct search *s)
{
    double sum = 0, exception = 0;
    if (s->d->regular) {
        exception = 2 * log((double)s->n);
        forget_graph(s);
    } else {
        propose_all(s);
    }
    for (size_t k = 0; k < s->toggles; k++)
        sum += exp(fmin(s->toggle[k].gain - exception, 50));
    return sum;
}

static int toggle_links(struct search *s, struct nt_err *err)
{
    size_t made = 1;
    for (int p = 0; p < PASSES && made > 0; p++) {
        weigh_links(s);
        made = toggle_pass(s, NULL, SIZE_MAX);
        if (made > 0)
            nt_direct_fit(s->w, s->d, s->scratch);
        if (!isfinite(s->d->score))
            return 0;
        s->effort->steps += (NT_DIRECT_FIT_STEPS + SCAN_STEPS) * s->w->pairs;
    }
    if (complete_lattice(s, err) < 0)
        return -1;
    if (nt_direct_is_spent(s->effort))
        return 0;
    if (s->changed) {
        nt_direct_fit(s->w, s->d, s->scratch);
        weigh_links(s);
    }
    s->d->cost = direct_cost(s) - (s->d->regular ? s->price * (double)s->d->links : 0);
    s->d->error_odds = error_odds(s);
    return 0;
}

int nt_direct_toggle(const struct nt_work *w, struct nt_direct *d, struct nt_direct_effort *effort,
                     struct nt_err *err)
{
    size_t n = w->n, pairs = n * n + 1;
    NT_SCOPED struct nt_arena memory = {0};
    struct search s = {.w = w, .d = d, .n = n, .capacity = n * (n - 1) / 2, .effort = effort};
    s.price = log((double)n);
    s.most = (float)(0.5 * WRONG * WRONG);
    s.weight = nt_arena_array(&memory, 3 * pairs, sizeof *s.weight);
    s.neighbour = nt_arena_array(&memory, n * NT_DIRECT_DEGREE_MAX + 1, sizeof *s.neighbour);
    s.left = nt_arena_array(&memory, 4 * n + 1, sizeof *s.left);
    s.row = nt_arena_array(&memory, n + 1, sizeof *s.row);
    s.farther = nt_arena_array(&memory, n + 1, sizeof *s.farther);
    s.toggle = nt_arena_array(&memory, s.capacity + 1, sizeof *s.toggle);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    s.value = s.weight + pairs;
    s.scratch = s.value + pairs;
    s.right = s.left + n;
    s.queue = s.right + n;
    s.degree = s.queue + n;
    return search_init(&s) ? toggle_links(&s, err) : 0;
}
