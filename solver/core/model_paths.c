/* Paths over a model: modelled latencies, and the canonical form, which needs to know what lies
 * below a switch. */
#include "model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Neighbours of each vertex in one array; a simplex link appears at its start only. */
struct adjacency {
    size_t vertices;
    size_t *start;   /* vertices+1 */
    uint32_t *to;    /* other end */
    uint32_t *links; /* index of the link */
};

static void adjacency_fini(struct adjacency *g)
{
    free(g->start);
    free(g->to);
    free(g->links);
}

static int adjacency_init(struct adjacency *g, const struct nt_model *m, bool directed,
                          struct nt_err *err)
{
    g->vertices = m->hosts + m->switches;
    g->start = calloc(g->vertices + 2, sizeof *g->start);
    g->to = malloc((2 * m->links + 1) * sizeof *g->to);
    g->links = malloc((2 * m->links + 1) * sizeof *g->links);
    if (g->start == NULL || g->to == NULL || g->links == NULL) {
        adjacency_fini(g);
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for the paths of %zu links", m->links);
    }
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if (l->a >= g->vertices || l->b >= g->vertices || l->a == l->b) {
            adjacency_fini(g);
            return nt_err_set(err, NT_ERR_INPUT, "link %zu joins %u and %u of %zu vertices", k,
                              l->a, l->b, g->vertices);
        }
        g->start[l->a + 2]++;
        if (!(directed && l->simplex))
            g->start[l->b + 2]++;
    }
    for (size_t v = 2; v <= g->vertices; v++)
        g->start[v + 1] += g->start[v];
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        size_t p = g->start[l->a + 1]++;
        g->to[p] = l->b;
        g->links[p] = (uint32_t)k;
        if (directed && l->simplex)
            continue;
        p = g->start[l->b + 1]++;
        g->to[p] = l->a;
        g->links[p] = (uint32_t)k;
    }
    return 0;
}

static uint32_t root_of(uint32_t *up, uint32_t v)
{
    while (up[v] != v)
        v = up[v] = up[up[v]];
    return v;
}

/* Without a cycle there is one path a pair, and a plain walk finds it. */
static bool is_forest(const struct nt_model *m, uint32_t *up)
{
    for (uint32_t v = 0; v < m->hosts + m->switches; v++)
        up[v] = v;
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = root_of(up, m->link[k].a), b = root_of(up, m->link[k].b);
        if (a == b)
            return false;
        up[a] = b;
    }
    return true;
}

/* distance[] of the vertices from first on: NaN where not reached; no walk comes by those before.
 * queue: vertices of them. */
static void walk_tree(const struct nt_model *m, const struct adjacency *g, uint32_t from,
                      size_t first, double *distance, uint32_t *queue, uint32_t *by)
{
    for (size_t v = first; v < g->vertices; v++)
        by[v] = UINT32_MAX;
    size_t head = 0, tail = 0;
    queue[tail++] = from;
    distance[from] = 0;
    by[from] = UINT32_MAX - 1;
    while (head < tail) {
        uint32_t v = queue[head++];
        for (size_t p = g->start[v]; p < g->start[v + 1]; p++) {
            uint32_t w = g->to[p];
            if (by[w] != UINT32_MAX)
                continue;
            by[w] = g->links[p];
            distance[w] = distance[v] + m->link[g->links[p]].latency_us;
            queue[tail++] = w;
        }
    }
    for (size_t v = first; v < g->vertices; v++)
        if (by[v] == UINT32_MAX)
            distance[v] = NAN;
}

/* A binary heap of vertices keyed by distance; at[] is a vertex's place, or UINT32_MAX. */
struct heap {
    uint32_t *vertex, *at;
    const double *key;
    size_t size;
};

static void heap_swap(struct heap *h, size_t i, size_t j)
{
    uint32_t t = h->vertex[i];
    h->vertex[i] = h->vertex[j];
    h->vertex[j] = t;
    h->at[h->vertex[i]] = (uint32_t)i;
    h->at[h->vertex[j]] = (uint32_t)j;
}

static void heap_up(struct heap *h, size_t i)
{
    while (i > 0 && h->key[h->vertex[i]] < h->key[h->vertex[(i - 1) / 2]]) {
        heap_swap(h, i, (i - 1) / 2);
        i = (i - 1) / 2;
    }
}

static uint32_t heap_pop(struct heap *h)
{
    uint32_t top = h->vertex[0];
    heap_swap(h, 0, --h->size);
    h->at[top] = UINT32_MAX;
    for (size_t i = 0;;) {
        size_t c = 2 * i + 1;
        if (c >= h->size)
            break;
        if (c + 1 < h->size && h->key[h->vertex[c + 1]] < h->key[h->vertex[c]])
            c++;
        if (!(h->key[h->vertex[c]] < h->key[h->vertex[i]]))
            break;
        heap_swap(h, i, c);
        i = c;
    }
    return top;
}

static void dijkstra(const struct nt_model *m, const struct adjacency *g, uint32_t from,
                     double *distance, uint32_t *queue, uint32_t *at)
{
    struct heap h = {queue, at, distance, 0};
    for (size_t v = 0; v < g->vertices; v++) {
        distance[v] = INFINITY;
        at[v] = UINT32_MAX;
    }
    distance[from] = 0;
    h.vertex[0] = from;
    at[from] = 0;
    h.size = 1;
    while (h.size > 0) {
        uint32_t v = heap_pop(&h);
        for (size_t p = g->start[v]; p < g->start[v + 1]; p++) {
            double through = distance[v] + m->link[g->links[p]].latency_us;
            uint32_t w = g->to[p];
            if (!(through < distance[w]))
                continue;
            distance[w] = through;
            if (at[w] == UINT32_MAX) {
                at[w] = (uint32_t)h.size;
                h.vertex[h.size++] = w;
            }
            heap_up(&h, at[w]);
        }
    }
    for (size_t v = 0; v < g->vertices; v++)
        if (isinf(distance[v]))
            distance[v] = NAN;
}

/* Where a host with one link, to a switch, hangs; UINT32_MAX: it has none or more. */
struct hung {
    uint32_t at;
    double us;
};

/* Such hosts are on nobody's way: the switches forget them. Many hosts hang on few switches, so
 * walks get short. Returns how many hang. */
static size_t hang_hosts(const struct nt_model *m, struct adjacency *g, struct hung *hung)
{
    size_t to = 0, from = 0, hanging = 0;
    for (size_t h = 0; h < m->hosts; h++) {
        size_t p = g->start[h];
        bool one = g->start[h + 1] == p + 1 && g->to[p] >= m->hosts;
        hung[h].at = UINT32_MAX;
        if (one && !m->link[g->links[p]].simplex) {
            hung[h] = (struct hung){g->to[p], m->link[g->links[p]].latency_us};
            hanging++;
        }
    }
    for (size_t v = 0; v < g->vertices; v++) {
        size_t end = g->start[v + 1];
        for (g->start[v] = to; from < end; from++) {
            if (v >= m->hosts && g->to[from] < m->hosts && hung[g->to[from]].at == v)
                continue;
            g->to[to] = g->to[from];
            g->links[to++] = g->links[from];
        }
    }
    g->start[g->vertices] = to;
    return hanging;
}

static void fill_row(const struct nt_model *m, const struct hung *hung, size_t i,
                     const double *distance, float *row)
{
    double own = m->overhead_us[i];
    for (size_t j = 0; j < m->hosts; j++) {
        double way = hung[j].at != UINT32_MAX ? distance[hung[j].at] + hung[j].us : distance[j];
        row[j] = (float)(way + own + m->overhead_us[j]);
    }
    for (size_t j = 0; j < m->hosts; j++)
        if (m->missing[j])
            row[j] = NAN;
    row[i] = NAN;
}

static void fill(const struct nt_model *m, struct adjacency *g, struct nt_matrix *out,
                 double *distance, uint32_t *queue, uint32_t *by, struct hung *hung)
{
    bool forest = is_forest(m, by);
    size_t first = hang_hosts(m, g, hung) == m->hosts ? m->hosts : 0;
    for (size_t i = 0; i < m->hosts; i++) {
        if (m->missing[i])
            continue;
        if (forest)
            walk_tree(m, g, (uint32_t)i, first, distance, queue, by);
        else
            dijkstra(m, g, (uint32_t)i, distance, queue, by);
        fill_row(m, hung, i, distance, out->at + i * out->n);
    }
}

int nt_model_latencies(const struct nt_model *model, struct nt_matrix **out, struct nt_err *err)
{
    struct adjacency g;
    if (adjacency_init(&g, model, true, err) < 0)
        return -1;
    struct nt_matrix *m = NULL;
    int status = nt_matrix_create(model->hosts, NT_MATRIX_LATENCY_US, &m, err);
    double *distance = malloc((g.vertices + 1) * sizeof *distance);
    uint32_t *queue = malloc((g.vertices + 1) * sizeof *queue);
    uint32_t *by = malloc((g.vertices + 1) * sizeof *by);
    struct hung *hung = malloc((model->hosts + 1) * sizeof *hung);
    if (status == 0 && (distance == NULL || queue == NULL || by == NULL || hung == NULL))
        status = nt_err_set(err, NT_ERR_SYSTEM, "no memory for paths of %zu hosts", model->hosts);
    if (status == 0) {
        fill(model, &g, m, distance, queue, by, hung);
        *out = m;
    } else {
        nt_matrix_destroy(m);
    }
    free(distance);
    free(queue);
    free(by);
    free(hung);
    adjacency_fini(&g);
    return status;
}

/* ---- canonical form ---------------------------------------------------------------------------
 */

struct switch_key {
    uint32_t old, smallest, largest, tier;
};

static int key_compare(const void *x, const void *y)
{
    const struct switch_key *a = x, *b = y;
    if (a->smallest != b->smallest)
        return a->smallest < b->smallest ? -1 : 1;
    if (a->tier != b->tier)
        return a->tier < b->tier ? -1 : 1;
    if (a->largest != b->largest)
        return a->largest < b->largest ? -1 : 1;
    return a->old < b->old ? -1 : a->old > b->old;
}

static int link_compare(const void *x, const void *y)
{
    const struct nt_link *a = x, *b = y;
    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    if (a->b != b->b)
        return a->b < b->b ? -1 : 1;
    return a->latency_us < b->latency_us ? -1 : a->latency_us > b->latency_us;
}

/* Tiers of a forest of switches by taking off the outermost ones, round by round. What remains
 * last is the top; two equal ends of a last link are peers, and nothing is above them. */
static void peel_tiers(const struct nt_model *m, const struct adjacency *g, uint32_t *degree,
                       uint32_t *queue)
{
    size_t h = m->hosts, head = 0, tail = 0;
    for (size_t s = 0; s < m->switches; s++) {
        degree[s] = 0;
        m->tier[s] = 0;
        for (size_t p = g->start[h + s]; p < g->start[h + s + 1]; p++)
            degree[s] += g->to[p] >= h;
        if (degree[s] <= 1) {
            queue[tail++] = (uint32_t)s;
            m->tier[s] = 1;
        }
    }
    while (head < tail) {
        uint32_t s = queue[head++];
        degree[s] = 0;
        for (size_t p = g->start[h + s]; p < g->start[h + s + 1]; p++) {
            if (g->to[p] < h || degree[g->to[p] - h] == 0)
                continue;
            uint32_t up = (uint32_t)(g->to[p] - h);
            if (--degree[up] == 1) {
                m->tier[up] = m->tier[s] + 1;
                queue[tail++] = up;
            }
        }
    }
}

/* With cycles a switch's tier is its distance to the nearest host. */
static void nearest_tiers(const struct nt_model *m, const struct adjacency *g, uint32_t *queue)
{
    size_t h = m->hosts, head = 0, tail = 0;
    for (size_t s = 0; s < m->switches; s++) {
        m->tier[s] = 0;
        for (size_t p = g->start[h + s]; p < g->start[h + s + 1]; p++)
            if (g->to[p] < h)
                m->tier[s] = 1;
        if (m->tier[s] == 1)
            queue[tail++] = (uint32_t)s;
    }
    while (head < tail) {
        uint32_t s = queue[head++];
        for (size_t p = g->start[h + s]; p < g->start[h + s + 1]; p++) {
            if (g->to[p] < h || m->tier[g->to[p] - h] != 0)
                continue;
            m->tier[g->to[p] - h] = m->tier[s] + 1;
            queue[tail++] = (uint32_t)(g->to[p] - h);
        }
    }
    for (size_t s = 0; s < m->switches; s++)
        if (m->tier[s] == 0)
            m->tier[s] = 1;
}

/* Smallest and largest host below each switch, tier by tier upwards. place: room for where each
 * tier stands in the queue; no tier is above the number of switches. */
static void keys_fill(const struct nt_model *m, const struct adjacency *g, uint32_t *queue,
                      uint32_t *place, struct switch_key *key)
{
    size_t h = m->hosts;
    memset(place, 0, (m->switches + 2) * sizeof *place);
    for (size_t s = 0; s < m->switches; s++) {
        key[s] = (struct switch_key){(uint32_t)s, UINT32_MAX, 0, m->tier[s]};
        place[m->tier[s] + 1]++;
    }
    for (size_t tier = 1; tier <= m->switches; tier++)
        place[tier + 1] += place[tier];
    for (size_t s = 0; s < m->switches; s++)
        queue[place[m->tier[s]]++] = (uint32_t)s;
    for (size_t q = 0; q < m->switches; q++) {
        struct switch_key *me = &key[queue[q]];
        size_t v = h + queue[q];
        for (size_t p = g->start[v]; p < g->start[v + 1]; p++) {
            uint32_t w = g->to[p], low = w, high = w;
            if (w >= h) {
                if (m->tier[w - h] >= me->tier)
                    continue;
                low = key[w - h].smallest;
                high = key[w - h].largest;
            }
            me->smallest = low < me->smallest ? low : me->smallest;
            me->largest = high > me->largest ? high : me->largest;
        }
    }
}

static uint32_t renamed(const struct nt_model *m, const uint32_t *new_index, uint32_t v)
{
    return v < m->hosts ? v : (uint32_t)(m->hosts + new_index[v - m->hosts]);
}

static void links_turn(struct nt_model *m)
{
    for (size_t k = 0; k < m->links; k++) {
        struct nt_link *l = &m->link[k];
        uint32_t ra = nt_model_tier(m, l->a), rb = nt_model_tier(m, l->b);
        if (l->simplex || ra < rb || (ra == rb && l->a < l->b))
            continue;
        uint32_t v = l->a;
        double bandwidth = l->bandwidth_MBps, se = l->bandwidth_se_MBps;
        l->a = l->b;
        l->b = v;
        l->bandwidth_MBps = l->bandwidth_back_MBps;
        l->bandwidth_back_MBps = bandwidth;
        l->bandwidth_se_MBps = l->bandwidth_back_se_MBps;
        l->bandwidth_back_se_MBps = se;
    }
}

static void pairs_sort(struct nt_model *m)
{
    for (size_t k = 0; k < m->pairs_off; k++) {
        uint32_t *p = m->pair_off[k];
        if (p[0] > p[1]) {
            uint32_t t = p[0];
            p[0] = p[1];
            p[1] = t;
        }
    }
}

/* queue and degree: switches of them; new_oversubscription likewise. */
static void apply(struct nt_model *m, const struct switch_key *key, uint32_t *new_index,
                  double *figures)
{
    uint32_t top = 0;
    for (size_t s = 0; s < m->switches; s++)
        figures[s] = m->oversubscription[s];
    for (size_t s = 0; s < m->switches; s++) {
        new_index[key[s].old] = (uint32_t)s;
        m->tier[s] = key[s].tier;
        m->oversubscription[s] = figures[key[s].old];
        top = key[s].tier > top ? key[s].tier : top;
    }
    m->tiers = top;
    for (size_t k = 0; k < m->links; k++) {
        m->link[k].a = renamed(m, new_index, m->link[k].a);
        m->link[k].b = renamed(m, new_index, m->link[k].b);
    }
    links_turn(m);
    qsort(m->link, m->links, sizeof *m->link, link_compare);
    pairs_sort(m);
}

static bool switches_are_forest(const struct nt_model *m, uint32_t *up)
{
    for (uint32_t v = 0; v < m->hosts + m->switches; v++)
        up[v] = v;
    for (size_t k = 0; k < m->links; k++) {
        if (m->link[k].a < m->hosts || m->link[k].b < m->hosts)
            continue;
        uint32_t a = root_of(up, m->link[k].a), b = root_of(up, m->link[k].b);
        if (a == b)
            return false;
        up[a] = b;
    }
    return true;
}

int nt_model_canonicalise(struct nt_model *model, struct nt_err *err)
{
    struct adjacency g;
    if (adjacency_init(&g, model, false, err) < 0)
        return -1;
    size_t s = model->switches;
    uint32_t *queue = malloc((s + 1) * sizeof *queue);
    uint32_t *work = malloc((g.vertices + 2) * sizeof *work);
    struct switch_key *key = malloc((s + 1) * sizeof *key);
    double *figures = malloc((s + 1) * sizeof *figures);
    int status = 0;
    if (queue == NULL || work == NULL || key == NULL || figures == NULL) {
        status = nt_err_set(err, NT_ERR_SYSTEM, "no memory for the order of %zu switches", s);
    } else {
        if (switches_are_forest(model, work))
            peel_tiers(model, &g, work, queue);
        else
            nearest_tiers(model, &g, queue);
        keys_fill(model, &g, queue, work, key);
        qsort(key, s, sizeof *key, key_compare);
        apply(model, key, work, figures);
    }
    free(queue);
    free(work);
    free(key);
    free(figures);
    adjacency_fini(&g);
    return status;
}
