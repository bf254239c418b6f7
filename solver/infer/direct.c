/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a direct network: where the readings leave a gap above those of one hop, the pairs below
 * it are links. Single readings are not trusted: two hosts of one link are nearly as far from
 * every third host, and two that are not linked differ by two hops from some. */
#include "direct.h"

#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "memory.h"
#include "stats.h"

/* SMALL: with fewer hosts a spectrum means little. ALWAYS: with fewer, all starts are tried. */
enum { ROUNDS = 3, SMALL = 8, STARTS = 3, ALWAYS = 24 };

/* A regular network with smaller error odds needs no second try. */
static const double SURE = 0.05;

/* Hosts of one link differ by a hop at the most from every third one: more than half a hop above
 * that is two. So many may say otherwise of readings that are wrong; a link that was not read wants
 * nearly all, for any two hosts would be taken for one where readings are few. */
static const double REACH_HOPS = 1.5, OTHERWISE = 0.2, OTHERWISE_UNREAD = 0.04;
/* Readings so many hops above the cut are no distance in such a network, but wrong. */
enum { WRONG_HOPS = 40 };

void nt_direct_fini(struct nt_direct *d)
{
    free(d->linked);
    free(d->hops);
    free(d->offset);
    *d = (struct nt_direct){.score = INFINITY};
}

int nt_direct_init(struct nt_direct *d, size_t n, struct nt_err *err)
{
    *d = (struct nt_direct){.n = n, .score = INFINITY, .cost = INFINITY};
    d->linked = calloc(n * n + 1, 1);
    d->hops = malloc((n * n + 1) * sizeof *d->hops);
    d->offset = calloc(n + 1, sizeof *d->offset);
    if (d->linked && d->hops && d->offset)
        return 0;
    nt_direct_fini(d);
    return nt_err_memory(err);
}

/* What the links are guessed from: readings, or what is left of them without noise. */
struct readings_view {
    const float *seen; /* n*n */
    bool whole; /* no holes, nothing wrong: a graph in parts is joined at its nearest hosts */
    uint16_t *partner; /* with whom host i has a reading: from first[i] to first[i+1] */
    uint32_t *first;   /* n+1 */
};

/* seen is borrowed, and has so many readings, both directions counted. */
static int readings_view_init(struct readings_view *s, const float *seen, bool whole, size_t n,
                              size_t readings, struct nt_arena *memory, struct nt_err *err)
{
    uint32_t count = 0;
    *s = (struct readings_view){.seen = seen, .whole = whole};
    s->partner = nt_arena_array(memory, readings + 1, sizeof *s->partner);
    s->first = nt_arena_array(memory, n + 1, sizeof *s->first);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        s->first[i] = count;
        for (size_t j = 0; j < n; j++)
            if (seen[i * n + j] == seen[i * n + j])
                s->partner[count++] = (uint16_t)j;
    }
    s->first[n] = count;
    return 0;
}

/* ---- the graph of a cut ---- */

/* Whether a and b differ by more than reach from less than that share of the third hosts, of which
 * there are three at least. Costs what the host with fewer readings has, and ends once too many
 * differ for that: of a few readings each, all third hosts would be n*n*n steps for nothing. */
static bool hops_agree(const struct readings_view *readings_view, const struct nt_direct *d,
                       size_t a, size_t b, float reach, double share,
                       struct nt_direct_effort *effort)
{
    const uint32_t *first = readings_view->first;
    size_t fewer = first[a + 1] - first[a] <= first[b + 1] - first[b] ? a : b;
    const uint16_t *begin = readings_view->partner + first[fewer], *k = begin;
    const uint16_t *end = readings_view->partner + first[fewer + 1];
    const float *x = readings_view->seen + a * d->n, *y = readings_view->seen + b * d->n;
    float shift = d->offset[a] - d->offset[b];
    double most = share * (double)(end - k);
    size_t known = 0, apart = 0;
    for (; k < end && (double)apart <= most; k++) {
        float difference = x[*k] - y[*k] - shift;
        known += difference == difference;
        apart += fabsf(difference) > reach;
    }
    effort->steps += (uint64_t)(k - begin);
    return known >= 3 && (double)apart / (double)known < share;
}

static float reading_at(const struct readings_view *readings_view, const struct nt_direct *d,
                        size_t i, size_t j)
{
    return readings_view->seen[i * d->n + j] - d->offset[i] - d->offset[j];
}

/* The middles of the readings of linked and unlinked pairs give one hop and two. */
static double hop_guess(const struct readings_view *readings_view, const struct nt_direct *d,
                        double cut, float *values)
{
    size_t n = d->n, one = 0, two = 0;
    for (size_t i = 1; i < n && one < n * 8; i++)
        for (size_t j = 0; j < i; j++)
            if ((double)reading_at(readings_view, d, i, j) < cut)
                values[one++] = reading_at(readings_view, d, i, j);
    if (one == 0)
        return 0;
    double first = (double)nt_stats_median(values, one);
    for (size_t i = 1; i < n && two < n * 8; i++)
        for (size_t j = 0; j < i && two < n * 8; j++) {
            double v = (double)reading_at(readings_view, d, i, j);
            if (v >= cut && v < cut + 2 * (cut - first))
                values[two++] = (float)v;
        }
    return two == 0 ? 2 * (cut - first) : (double)nt_stats_median(values, two) - first;
}

static void set_link(struct nt_direct *d, size_t i, size_t j, bool is)
{
    d->linked[i * d->n + j] = d->linked[j * d->n + i] = is;
    d->links += is ? 1 : (size_t)-1;
}

/* Links by reading; false: too many. *parts: how many the graph is in. */
static bool link_near(const struct readings_view *readings_view, struct nt_direct *d, double cut,
                      size_t limit, uint32_t *up, size_t *parts)
{
    uint32_t n = (uint32_t)d->n;
    d->links = 0;
    *parts = n;
    memset(d->linked, 0, d->n * d->n);
    nt_sets_init(up, n);
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = 0; j < i; j++)
            if ((double)reading_at(readings_view, d, i, j) < cut) {
                set_link(d, i, j, true);
                *parts -= nt_sets_join(up, i, j);
                if (d->links > limit)
                    return false;
            }
    return true;
}

/* Joins the parts at their nearest hosts. */
static void join_parts(const struct readings_view *readings_view, struct nt_direct *d, uint32_t *up)
{
    uint32_t n = (uint32_t)d->n;
    nt_sets_init(up, n);
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t j = 0; j < i; j++)
            if (d->linked[(size_t)i * n + j])
                nt_sets_join(up, i, j);
    for (;;) {
        float least = INFINITY;
        uint32_t a = 0, b = 0;
        for (uint32_t i = 1; i < n; i++)
            for (uint32_t j = 0; j < i; j++)
                if (reading_at(readings_view, d, i, j) < least &&
                    nt_sets_find(up, i) != nt_sets_find(up, j)) {
                    least = reading_at(readings_view, d, i, j);
                    a = i;
                    b = j;
                }
        if (a == b)
            return;
        set_link(d, a, b, true);
        nt_sets_join(up, a, b);
    }
}

/* Links by reading, then each judged by all third hosts; pairs without a reading, or with an
 * impossible one, become links when third hosts show it. false: not a sparse network. */
static bool take_links(const struct readings_view *readings_view, struct nt_direct *d, double cut,
                       double hop, uint32_t *up, struct nt_direct_effort *effort)
{
    size_t n = d->n, most = n * (n - 1) / 2, parts;
    float reach = (float)(REACH_HOPS * hop);
    size_t limit = n * NT_DIRECT_DEGREE_MAX / 2 < most ? n * NT_DIRECT_DEGREE_MAX / 2 : most;
    if (!link_near(readings_view, d, cut, limit, up, &parts))
        return false;
    /* groups of hosts behind switches: near each other, and far from all others */
    if (parts > 1 + n / (readings_view->whole ? 4 : 20))
        return false;
    for (size_t i = 1; i < n && !nt_direct_is_spent(effort); i++)
        for (size_t j = 0; j < i; j++) {
            float v = reading_at(readings_view, d, i, j);
            bool near = d->linked[i * n + j], is = near;
            if (near)
                is = n < 6 || hops_agree(readings_view, d, i, j, reach, OTHERWISE, effort);
            else if (v != v || (double)v > cut + WRONG_HOPS * hop)
                is = n >= 6 && hops_agree(readings_view, d, i, j, reach, OTHERWISE_UNREAD, effort);
            if (is != near)
                set_link(d, i, j, is);
        }
    if (readings_view->whole && parts > 1)
        join_parts(readings_view, d, up);
    return d->links + 1 >= n && d->links <= limit;
}

/* Hops from every host, breadth first; false when some host cannot be reached. */
bool nt_direct_count_hops(struct nt_direct *d, uint32_t *queue, uint32_t *neighbour, size_t *start)
{
    size_t n = d->n, p = 0;
    for (size_t i = 0; i < n; i++) {
        start[i] = p;
        for (size_t j = 0; j < n; j++)
            if (d->linked[i * n + j])
                neighbour[p++] = (uint32_t)j;
    }
    start[n] = p;
    for (size_t i = 0; i < n; i++) {
        uint16_t *hops = d->hops + i * n;
        size_t head = 0, tail = 0;
        for (size_t j = 0; j < n; j++)
            hops[j] = UINT16_MAX;
        hops[i] = 0;
        queue[tail++] = (uint32_t)i;
        while (head < tail) {
            uint32_t v = queue[head++];
            for (size_t k = start[v]; k < start[v + 1]; k++)
                if (hops[neighbour[k]] == UINT16_MAX) {
                    hops[neighbour[k]] = (uint16_t)(hops[v] + 1);
                    queue[tail++] = neighbour[k];
                }
        }
        if (tail < n)
            return false;
    }
    return true;
}

struct scratch {
    struct nt_direct try, start[STARTS]; /* starts: the best first */
    size_t starts;
    uint32_t *queue, *neighbour;
    size_t *first;
    float *values, *offset, *clean;
    struct nt_direct_effort *effort;
};

static size_t starts_for(size_t n)
{
    return n <= 64 ? STARTS : n <= 256 ? 3 : 2;
}

static int scratch_init(struct scratch *r, size_t n, struct nt_direct_effort *effort,
                        struct nt_arena *memory, struct nt_err *err)
{
    *r = (struct scratch){.effort = effort};
    if (nt_direct_init(&r->try, n, err) < 0)
        return -1;
    for (; r->starts < starts_for(n); r->starts++)
        if (nt_direct_init(&r->start[r->starts], n, err) < 0)
            return -1;
    r->queue = nt_arena_array(memory, n + 1, sizeof *r->queue);
    r->neighbour = nt_arena_array(memory, n * NT_DIRECT_DEGREE_MAX * 2 + 1, sizeof *r->neighbour);
    r->first = nt_arena_array(memory, n + 1, sizeof *r->first);
    r->values = nt_arena_array(memory, 9 * n + 1, sizeof *r->values);
    r->offset = nt_arena_array(memory, n + 1, sizeof *r->offset);
    r->clean = nt_arena_array(memory, n * n + 1, sizeof *r->clean);
    return nt_arena_check(memory, err);
}

static void scratch_fini(struct scratch *r)
{
    nt_direct_fini(&r->try);
    for (size_t k = 0; k < r->starts; k++)
        nt_direct_fini(&r->start[k]);
}

/* Keeps the graph if it is new and among the best. */
static void keep_best(struct scratch *r, const struct nt_direct *d)
{
    size_t n = d->n, k = r->starts - 1;
    if (!(d->score < r->start[k].score))
        return;
    for (size_t p = 0; p < r->starts; p++)
        if (r->start[p].links == d->links && memcmp(r->start[p].linked, d->linked, n * n) == 0)
            return;
    struct nt_direct own = r->start[k];
    for (; k > 0 && d->score < r->start[k - 1].score; k--)
        r->start[k] = r->start[k - 1];
    memcpy(own.linked, d->linked, n * n);
    memcpy(own.hops, d->hops, n * n * sizeof *d->hops);
    memcpy(own.offset, d->offset, n * sizeof *d->offset);
    r->start[k] = *d;
    r->start[k].linked = own.linked;
    r->start[k].hops = own.hops;
    r->start[k].offset = own.offset;
}

static void try_cut(const struct nt_work *w, const struct readings_view *readings_view, double cut,
                    struct scratch *r)
{
    struct nt_direct *d = &r->try;
    memcpy(d->offset, r->offset, w->n * sizeof *d->offset);
    double hop = hop_guess(readings_view, d, cut, r->values);
    if (!(hop > 0) || !take_links(readings_view, d, cut, hop, r->queue, r->effort) ||
        nt_direct_is_spent(r->effort) || !nt_direct_count_hops(d, r->queue, r->neighbour, r->first))
        return;
    nt_direct_fit(w, d, r->values);
    r->effort->steps += NT_DIRECT_FIT_STEPS * w->pairs;
    d->cost = INFINITY;
    keep_best(r, d);
}

static int try_cuts(const struct nt_work *w, const struct readings_view *readings_view,
                    struct scratch *r, struct nt_err *err)
{
    const struct nt_direct *best = &r->start[0];
    memset(r->offset, 0, w->n * sizeof *r->offset);
    for (int round = 0; round < ROUNDS; round++) {
        struct nt_direct_cut cut[NT_DIRECT_CUTS];
        size_t cuts;
        double before = best->score;
        if (nt_direct_cuts(readings_view->seen, r->offset, w->n, cut, &cuts, err) < 0)
            return -1;
        for (size_t c = 0; c < cuts; c++)
            try_cut(w, readings_view, cut[c].at, r);
        if (!(best->score < before) || !best->offsets)
            break;
        /* overheads of the hosts widen the distribution: cut again without them */
        memcpy(r->offset, best->offset, w->n * sizeof *r->offset);
    }
    return 0;
}

/* Noise may fill all valleys: cuts that give the hosts two links, three, ... in the mean. */
static int try_degrees(const struct nt_work *w, const struct readings_view *readings_view,
                       struct scratch *r, struct nt_err *err)
{
    const double degrees[] = {2, 3, 4, 5, 6, 8};
    size_t n = w->n, count = 0;
    NT_SCOPED struct nt_arena memory = {0};
    float *v = nt_arena_array(&memory, n * n / 2 + 1, sizeof *v);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    memset(r->offset, 0, n * sizeof *r->offset);
    for (size_t i = 1; i < n; i++)
        for (size_t j = 0; j < i; j++)
            v[count++] = readings_view->seen[i * n + j];
    for (size_t k = 0; k < sizeof degrees / sizeof *degrees; k++)
        if (degrees[k] < (double)n - 1)
            try_cut(w, readings_view,
                    (double)nt_stats_quantile(v, count, degrees[k] / ((double)n - 1)), r);
    return 0;
}

/* The same without noise. */
static int try_denoised(const struct nt_work *w, struct scratch *r, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct readings_view clean;
    if (w->n > NT_DENOISE_HOSTS_MAX || w->n < SMALL)
        return 0;
    if (nt_denoise(w, r->clean, err) < 0 ||
        readings_view_init(&clean, r->clean, true, w->n, w->n * w->n, &memory, err) < 0)
        return -1;
    int status = try_cuts(w, &clean, r, err);
    if (status == 0)
        status = try_degrees(w, &clean, r, err);
    return status;
}

/* Whether nothing else needs to be tried. */
static bool is_sure(const struct nt_work *w, const struct nt_direct *d)
{
    return d->regular && d->error_odds < SURE && w->n >= ALWAYS;
}

/* It is none when after toggling a hop has no latency. */
static int toggle_start(const struct nt_work *w, struct nt_direct *d, struct scratch *r, bool *sure,
                        struct nt_err *err)
{
    if (nt_direct_toggle(w, d, r->effort, err) < 0)
        return -1;
    if (!isfinite(d->score))
        d->cost = INFINITY;
    *sure = is_sure(w, d);
    return 0;
}

/* Toggles the starts until one is regular with certainty: noise does not make a torus. */
static int toggle_all(const struct nt_work *w, struct scratch *r, size_t *best, bool *sure,
                      struct nt_err *err)
{
    for (size_t k = 0; k < r->starts && !*sure && !nt_direct_is_spent(r->effort); k++) {
        struct nt_direct *d = &r->start[k];
        bool toggled = isfinite(d->cost);
        if (!isfinite(d->score)) /* no start, or toggling made it none */
            continue;
        if (!toggled && toggle_start(w, d, r, sure, err) < 0)
            return -1;
        if (d->cost < r->start[*best].cost)
            *best = k;
    }
    return 0;
}

int nt_direct_find(const struct nt_work *w, struct nt_direct_effort *effort, struct nt_direct *out,
                   struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct readings_view raw;
    struct scratch r;
    size_t best = 0;
    bool sure = false;
    *out = (struct nt_direct){.score = INFINITY};
    if (w->n < 4 || w->n > NT_DIRECT_HOSTS_MAX)
        return 0;
    if (readings_view_init(&raw, w->d, false, w->n, 2 * w->pairs, &memory, err) < 0)
        return -1;
    int status = scratch_init(&r, w->n, effort, &memory, err);
    if (status == 0)
        status = try_cuts(w, &raw, &r, err);
    if (status == 0 && isfinite(r.start[0].score))
        status = toggle_start(w, &r.start[0], &r, &sure, err);
    if (status == 0 && !sure)
        status = try_denoised(w, &r, err);
    if (status == 0 && !sure)
        status = toggle_all(w, &r, &best, &sure, err);
    if (status == 0 && nt_direct_is_spent(effort))
        r.start[best].score = INFINITY;
    if (status == 0) {
        *out = r.start[best];
        r.start[best] = (struct nt_direct){0};
    }
    scratch_fini(&r);
    return status;
}
