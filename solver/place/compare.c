#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "distance.h"
#include "rng.h"
#include "stats.h"

#define NONE UINT32_MAX

/* Chance that one sweep of a healthy network names any slow link at all. */
static const double FALSE_ALARM = 0.001;

/* How one model divides its hosts. */
struct view {
    const struct nt_model *m;
    struct nt_distance *distance;
    bool tree;
    uint32_t *low; /* links: the end away from the root */
    uint64_t *key; /* links: the division as a word, the same for both sides; 0: none */
    size_t *size;  /* links: hosts on the smaller side */
};

struct work {
    struct view found, reference;
    const bool *away; /* hosts that did not answer: on no side */
    double tolerance;
    struct nt_comparison *c;
    size_t cap;
    bool *named; /* hosts: already said to be moved */
    struct nt_err *err;
};

static uint64_t host_key(uint32_t host)
{
    struct nt_rng rng;
    nt_rng_init(&rng, 0x6e747465u + (uint64_t)host);
    return nt_rng_next(&rng) | 1;
}

static void view_fini(struct view *v)
{
    nt_distance_destroy(v->distance);
    free(v->low);
    free(v->key);
    free(v->size);
}

/* A division is the XOR of its hosts' words; of the two sides the smaller word stands for it. */
static int key_tree(struct view *v, const bool *away, struct nt_err *err)
{
    size_t n = v->m->hosts + v->m->switches, present = 0;
    uint64_t *below = calloc(n + 1, sizeof *below), all = 0;
    size_t *count = calloc(n + 1, sizeof *count);
    if (below == NULL || count == NULL) {
        free(below);
        free(count);
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory to compare %zu links", v->m->links);
    }
    for (uint32_t h = 0; h < v->m->hosts; h++) {
        if (away[h])
            continue;
        uint64_t key = host_key(h);
        all ^= key;
        present++;
        for (uint32_t at = h; at != NONE; at = nt_distance_parent(v->distance, at)) {
            below[at] ^= key;
            count[at]++;
        }
    }
    for (size_t k = 0; k < v->m->links; k++) {
        uint32_t a = v->m->link[k].a, b = v->m->link[k].b;
        uint32_t low = nt_distance_parent(v->distance, a) == b ? a : b;
        v->low[k] = low;
        v->size[k] = count[low] <= present - count[low] ? count[low] : present - count[low];
        uint64_t other = all ^ below[low];
        v->key[k] = v->size[k] == 0 ? 0 : below[low] < other ? below[low] : other;
    }
    free(below);
    free(count);
    return 0;
}

static void key_direct(struct view *v)
{
    for (size_t k = 0; k < v->m->links; k++) {
        uint32_t a = v->m->link[k].a, b = v->m->link[k].b;
        bool between_hosts = a < v->m->hosts && b < v->m->hosts;
        v->key[k] = between_hosts ? host_key(a) ^ host_key(b) : 0;
    }
}

static int view_init(struct view *v, const struct nt_model *m, const bool *away, struct nt_err *err)
{
    *v = (struct view){.m = m};
    v->low = calloc(m->links + 1, sizeof *v->low);
    v->key = calloc(m->links + 1, sizeof *v->key);
    v->size = calloc(m->links + 1, sizeof *v->size);
    if (v->low == NULL || v->key == NULL || v->size == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory to compare %zu links", m->links);
    if (nt_distance_create(m, &v->distance, err) != 0)
        return -1;
    v->tree = nt_distance_is_tree(v->distance);
    if (v->tree)
        return key_tree(v, away, err);
    key_direct(v);
    return 0;
}

/* ---- matching ---------------------------------------------------------------------------------
 */

struct keyed {
    uint64_t key;
    size_t link;
};

static int by_key(const void *x, const void *y)
{
    const struct keyed *a = x, *b = y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->link > b->link) - (a->link < b->link);
}

static int match(struct work *w)
{
    size_t n = w->found.m->links;
    struct keyed *sorted = malloc((n + 1) * sizeof *sorted);
    w->c->matched = malloc((w->reference.m->links + 1) * sizeof *w->c->matched);
    if (sorted == NULL || w->c->matched == NULL) {
        free(sorted);
        return nt_err_set(w->err, NT_ERR_SYSTEM, "no memory to compare %zu links", n);
    }
    for (size_t k = 0; k < n; k++)
        sorted[k] = (struct keyed){w->found.key[k], k};
    qsort(sorted, n, sizeof *sorted, by_key);
    for (size_t k = 0; k < w->reference.m->links; k++) {
        size_t low = 0, high = n;
        while (low < high) {
            size_t mid = (low + high) / 2;
            if (sorted[mid].key < w->reference.key[k])
                low = mid + 1;
            else
                high = mid;
        }
        bool same = low < n && w->reference.key[k] != 0 && sorted[low].key == w->reference.key[k] &&
                    w->found.tree == w->reference.tree;
        w->c->matched[k] = same ? (int64_t)sorted[low].link : -1;
    }
    free(sorted);
    return 0;
}

static int say(struct work *w, struct nt_difference d)
{
    struct nt_comparison *c = w->c;
    if (c->differences == w->cap) {
        size_t cap = 2 * w->cap + 32;
        struct nt_difference *grown = realloc(c->difference, cap * sizeof *grown);
        if (grown == NULL)
            return nt_err_set(w->err, NT_ERR_SYSTEM, "no memory for %zu differences", cap);
        c->difference = grown;
        w->cap = cap;
    }
    c->difference[c->differences++] = d;
    return 0;
}

/* ---- shape ------------------------------------------------------------------------------------
 */

static void mark_side(const struct view *v, uint32_t link, const bool *away, bool *side)
{
    size_t on = 0, off = 0;
    for (uint32_t h = 0; h < v->m->hosts; h++) {
        uint32_t at = h;
        while (at != NONE && at != v->low[link])
            at = nt_distance_parent(v->distance, at);
        side[h] = at != NONE && !away[h];
        on += side[h];
        off += !side[h] && !away[h];
    }
    for (uint32_t h = 0; h < v->m->hosts && on > off; h++)
        side[h] = !side[h] && !away[h];
}

/* How alike two divisions are: hosts on the same side, over all on either, the better way round. */
static double alike(const bool *a, const bool *b, const bool *away, size_t n)
{
    size_t both = 0, any = 0, cross = 0, around = 0;
    for (size_t h = 0; h < n; h++) {
        if (away[h])
            continue;
        both += a[h] && b[h];
        any += a[h] || b[h];
        cross += a[h] && !b[h];
        around += a[h] || !b[h];
    }
    double straight = any == 0 ? 0 : (double)both / (double)any;
    double turned = around == 0 ? 0 : (double)cross / (double)around;
    return straight > turned ? straight : turned;
}

/* A division that was expected and not found: either one is there that is nearly it, and the hosts
 * between them have moved, or there is none. */
static int explain_division(struct work *w, size_t k, bool *want, bool *have, const bool *taken)
{
    const struct nt_model *f = w->found.m;
    size_t n = f->hosts, best = SIZE_MAX;
    double most = 0;
    mark_side(&w->reference, (uint32_t)k, w->away, want);
    for (size_t e = 0; e < f->links; e++) {
        if (taken[e] || w->found.size[e] < 2)
            continue;
        mark_side(&w->found, (uint32_t)e, w->away, have);
        double like = alike(want, have, w->away, n);
        if (like > most) {
            most = like;
            best = e;
        }
    }
    if (best == SIZE_MAX || most <= 1.0 / 3)
        return say(w, (struct nt_difference){.kind = NT_DIFFERENCE_SWITCH_MISSING,
                                             .expected = (int64_t)k,
                                             .found = -1,
                                             .was = (double)NAN,
                                             .is = (double)NAN,
                                             .confidence = f->confidence});
    mark_side(&w->found, (uint32_t)best, w->away, have);
    size_t apart = 0, present = 0;
    for (size_t h = 0; h < n; h++) {
        apart += !w->away[h] && want[h] != have[h];
        present += !w->away[h];
    }
    bool turned = 2 * apart > present; /* the smaller sides are opposite ones */
    for (uint32_t h = 0; h < n; h++) {
        if (w->away[h] || (want[h] != have[h]) == turned || w->named[h])
            continue;
        w->named[h] = true;
        if (say(w, (struct nt_difference){.kind = NT_DIFFERENCE_HOST_MOVED,
                                          .host = h,
                                          .expected = (int64_t)k,
                                          .found = (int64_t)best,
                                          .was = (double)NAN,
                                          .is = (double)NAN,
                                          .confidence =
                                              f->confidence * f->link[best].probability}) != 0)
            return -1;
    }
    return 0;
}

static int by_size(const void *x, const void *y, void *sizes)
{
    size_t a = *(const size_t *)x, b = *(const size_t *)y;
    const size_t *size = sizes;
    if (size[a] != size[b])
        return size[a] < size[b] ? -1 : 1;
    return (a > b) - (a < b);
}

/* A division found and not expected says something new only when no moved host explains it. */
static int say_invented(struct work *w, const bool *taken, bool *have)
{
    for (size_t e = 0; e < w->found.m->links; e++) {
        if (taken[e] || w->found.size[e] < 2)
            continue;
        mark_side(&w->found, (uint32_t)e, w->away, have);
        bool explained = false;
        for (uint32_t h = 0; h < w->found.m->hosts; h++)
            explained = explained || (have[h] && w->named[h]);
        for (size_t d = 0; d < w->c->differences; d++)
            explained = explained || (w->c->difference[d].kind == NT_DIFFERENCE_HOST_MOVED &&
                                      w->c->difference[d].found == (int64_t)e);
        if (!explained &&
            say(w, (struct nt_difference){.kind = NT_DIFFERENCE_SWITCH_MISSING,
                                          .expected = -1,
                                          .found = (int64_t)e,
                                          .was = (double)NAN,
                                          .is = (double)NAN,
                                          .confidence = w->found.m->confidence *
                                                        w->found.m->link[e].probability}) != 0)
            return -1;
    }
    return 0;
}

/* Smallest divisions first: a host that moved between leaves is named there, not at the top. */
static int compare_divisions(struct work *w)
{
    const struct nt_model *f = w->found.m, *r = w->reference.m;
    size_t *order = malloc((r->links + 1) * sizeof *order);
    bool *taken = calloc(f->links + 1, sizeof *taken);
    bool *want = calloc(f->hosts + 1, sizeof *want), *have = calloc(f->hosts + 1, sizeof *have);
    int rc = -1;
    if (order == NULL || taken == NULL || want == NULL || have == NULL) {
        nt_err_set(w->err, NT_ERR_SYSTEM, "no memory to compare %zu hosts", f->hosts);
        goto out;
    }
    for (size_t k = 0; k < r->links; k++) {
        order[k] = k;
        if (w->c->matched[k] >= 0)
            taken[w->c->matched[k]] = true;
    }
    qsort_r(order, r->links, sizeof *order, by_size, w->reference.size);
    rc = 0;
    for (size_t k = 0; k < r->links && rc == 0; k++)
        if (w->c->matched[order[k]] < 0 && w->reference.size[order[k]] > 1)
            rc = explain_division(w, order[k], want, have, taken);
    if (rc == 0)
        rc = say_invented(w, taken, have);
out:
    free(order);
    free(taken);
    free(want);
    free(have);
    return rc;
}

/* Without switches a host has moved when most of its neighbours are others. */
static int compare_neighbours(struct work *w)
{
    const struct nt_model *f = w->found.m, *r = w->reference.m;
    size_t *was = calloc(f->hosts + 1, sizeof *was), *kept = calloc(f->hosts + 1, sizeof *kept);
    if (was == NULL || kept == NULL) {
        free(was);
        free(kept);
        return nt_err_set(w->err, NT_ERR_SYSTEM, "no memory to compare %zu hosts", f->hosts);
    }
    for (size_t k = 0; k < r->links; k++) {
        uint32_t end[2] = {r->link[k].a, r->link[k].b};
        for (int s = 0; s < 2; s++) {
            if (end[s] >= f->hosts)
                continue;
            was[end[s]]++;
            kept[end[s]] += w->c->matched[k] >= 0;
        }
    }
    int rc = 0;
    for (uint32_t h = 0; h < f->hosts && rc == 0; h++)
        if (!w->away[h] && 2 * kept[h] < was[h])
            rc = say(w, (struct nt_difference){.kind = NT_DIFFERENCE_HOST_MOVED,
                                               .host = h,
                                               .expected = -1,
                                               .found = -1,
                                               .was = (double)NAN,
                                               .is = (double)NAN,
                                               .confidence = f->confidence});
    free(was);
    free(kept);
    return rc;
}

/* ---- figures ----------------------------------------------------------------------------------
 */

static double square(double x)
{
    return isfinite(x) ? x * x : 0;
}

static int compare_latency(struct work *w, size_t k, double z_limit)
{
    const struct nt_link *is = &w->found.m->link[w->c->matched[k]];
    const struct nt_link *was = &w->reference.m->link[k];
    double se = sqrt(square(is->latency_se_us) + square(was->latency_se_us));
    double more = is->latency_us - was->latency_us;
    if (!(more > w->tolerance * was->latency_us) || !(more > z_limit * se))
        return 0;
    return say(w, (struct nt_difference){.kind = NT_DIFFERENCE_LINK_SLOW,
                                         .expected = (int64_t)k,
                                         .found = w->c->matched[k],
                                         .was = was->latency_us,
                                         .is = is->latency_us,
                                         .confidence =
                                             se > 0 ? nt_normal_cdf(more / se) : is->probability});
}

/* The direction of a reference link may be written the other way round. */
static bool turned(const struct work *w, size_t k)
{
    const struct nt_link *is = &w->found.m->link[w->c->matched[k]];
    const struct nt_link *was = &w->reference.m->link[k];
    size_t n = w->found.m->hosts;
    if (!w->found.tree)
        return is->a != was->a;
    bool host_is = is->a < n, host_was = was->a < n;
    if (w->reference.size[k] == 1 && host_is != host_was)
        return true;
    return false;
}

static int compare_bandwidth(struct work *w, size_t k)
{
    const struct nt_link *is = &w->found.m->link[w->c->matched[k]];
    const struct nt_link *was = &w->reference.m->link[k];
    if (is->at_least) /* never seen at its limit: nothing says that it is narrow */
        return 0;
    bool other_way = turned(w, k);
    for (int back = 0; back < 2; back++) {
        double has = back ? is->bandwidth_back_MBps : is->bandwidth_MBps;
        double had = (back == 1) != other_way ? was->bandwidth_back_MBps : was->bandwidth_MBps;
        if (!isfinite(had))
            had = was->bandwidth_MBps;
        if (has < had * (1 - w->tolerance) &&
            say(w, (struct nt_difference){.kind = NT_DIFFERENCE_LINK_NARROW,
                                          .expected = (int64_t)k,
                                          .found = w->c->matched[k],
                                          .back = back == 1,
                                          .was = had,
                                          .is = has,
                                          .confidence = is->probability}) != 0)
            return -1;
    }
    return 0;
}

static int compare_figures(struct work *w)
{
    size_t links = w->reference.m->links;
    double z = nt_normal_quantile(1 - FALSE_ALARM / (double)(links + 1));
    bool *judged = calloc(w->found.m->links + 1, sizeof *judged);
    if (judged == NULL)
        return nt_err_set(w->err, NT_ERR_SYSTEM, "no memory to compare %zu links", links);
    int rc = 0;
    for (size_t k = 0; k < links && rc == 0; k++) {
        if (w->c->matched[k] < 0)
            continue;
        judged[w->c->matched[k]] = isfinite(w->reference.m->link[k].latency_us);
        rc = compare_latency(w, k, z);
        if (rc == 0)
            rc = compare_bandwidth(w, k);
    }
    /* without a figure to hold it against, a link is held against its own class */
    for (size_t e = 0; e < w->found.m->links && rc == 0; e++)
        if (w->found.m->link[e].suspect && !judged[e])
            rc = say(w, (struct nt_difference){.kind = NT_DIFFERENCE_LINK_SLOW,
                                               .expected = -1,
                                               .found = (int64_t)e,
                                               .was = (double)NAN,
                                               .is = w->found.m->link[e].latency_us,
                                               .confidence = w->found.m->link[e].probability});
    free(judged);
    return rc;
}

/* ---- all together -----------------------------------------------------------------------------
 */

static void measure_similarity(struct work *w)
{
    double sum = 0;
    size_t common = 0, was = 0, is = 0;
    for (size_t k = 0; k < w->reference.m->links; k++) {
        bool inner = !w->reference.tree || w->reference.size[k] > 1;
        was += inner;
        if (w->c->matched[k] < 0)
            continue;
        sum += w->found.m->link[w->c->matched[k]].probability;
        common += inner;
    }
    for (size_t k = 0; k < w->found.m->links; k++)
        is += !w->found.tree || w->found.size[k] > 1;
    size_t links = w->reference.m->links, any = was + is - common;
    w->c->similarity_percent = links == 0 ? 100 : 100 * sum / (double)links;
    w->c->common_percent = any == 0 ? 100 : 100 * (double)common / (double)any;
}

static int compare_all(struct work *w)
{
    if (view_init(&w->found, w->found.m, w->away, w->err) != 0 ||
        view_init(&w->reference, w->reference.m, w->away, w->err) != 0 || match(w) != 0)
        return -1;
    measure_similarity(w);
    for (uint32_t h = 0; h < w->found.m->hosts; h++)
        if (w->away[h] && !w->reference.m->missing[h] &&
            say(w, (struct nt_difference){.kind = NT_DIFFERENCE_HOST_MISSING,
                                          .host = h,
                                          .expected = -1,
                                          .found = -1,
                                          .was = (double)NAN,
                                          .is = (double)NAN,
                                          .confidence = 1}) != 0)
            return -1;
    bool trees = w->found.tree && w->reference.tree;
    int rc = trees ? compare_divisions(w) : compare_neighbours(w);
    return rc != 0 ? rc : compare_figures(w);
}

int nt_compare(const struct nt_model *found, const struct nt_model *reference, double tolerance,
               struct nt_comparison **out, struct nt_err *err)
{
    if (found->hosts != reference->hosts)
        return nt_err_set(err, NT_ERR_INPUT, "%zu hosts held against %zu", found->hosts,
                          reference->hosts);
    struct work w = {
        .found.m = found, .reference.m = reference, .tolerance = tolerance, .err = err};
    bool *away = calloc(found->hosts + 1, sizeof *away);
    w.c = calloc(1, sizeof *w.c);
    w.named = calloc(found->hosts + 1, sizeof *w.named);
    int rc = -1;
    if (away == NULL || w.c == NULL || w.named == NULL) {
        nt_err_set(err, NT_ERR_SYSTEM, "no memory to compare %zu hosts", found->hosts);
    } else {
        for (size_t h = 0; h < found->hosts; h++)
            away[h] = found->missing[h] || reference->missing[h];
        w.away = away;
        w.c->reference_links = reference->links;
        rc = compare_all(&w);
    }
    view_fini(&w.found);
    view_fini(&w.reference);
    free(away);
    free(w.named);
    if (rc == 0)
        *out = w.c;
    else
        nt_comparison_destroy(w.c);
    return rc;
}

void nt_comparison_destroy(struct nt_comparison *c)
{
    if (c == NULL)
        return;
    free(c->difference);
    free(c->matched);
    free(c);
}

bool nt_compare_side(const struct nt_model *model, uint32_t link, bool *side)
{
    struct view v;
    struct nt_err err;
    bool *away = calloc(model->hosts + 1, sizeof *away);
    bool done = away != NULL && view_init(&v, model, away, &err) == 0 && v.tree;
    if (done)
        mark_side(&v, link, model->missing, side);
    if (away != NULL)
        view_fini(&v);
    free(away);
    return done;
}
