/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "division.h"
#include "memory.h"
#include "stats.h"

/* Chance that one sweep of a healthy network names any slow or narrow link at all. */
static const double FALSE_ALARM = 0.001;

struct work {
    struct nt_division found, reference;
    const bool *missing; /* hosts that did not answer: on no side */
    double tolerance;
    struct nt_comparison *c;
    size_t capacity; /* in c->difference */
    bool *named;     /* hosts: already reported as moved */
    bool *near;      /* found links: nearly what was expected */
    struct nt_err *err;
};

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

static int match_links(struct work *w)
{
    size_t n = w->found.m->links;
    NT_SCOPED struct nt_arena memory = {0};
    struct keyed *sorted = nt_arena_array(&memory, n, sizeof *sorted);
    w->c->matched = nt_arena_array(&w->c->memory, w->reference.m->links, sizeof *w->c->matched);
    if (nt_arena_check(&memory, w->err) != 0 || nt_arena_check(&w->c->memory, w->err) != 0)
        return -1;
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
        bool same = low < n && w->reference.key[k] != 0 && sorted[low].key == w->reference.key[k];
        w->c->matched[k] = same ? (int64_t)sorted[low].link : -1;
    }
    return 0;
}

static int add_difference(struct work *w, struct nt_difference d)
{
    struct nt_comparison *c = w->c;
    c->difference = nt_arena_grow(&c->memory, c->difference, &w->capacity, c->differences + 1,
                                  sizeof *c->difference);
    if (nt_arena_check(&c->memory, w->err) != 0)
        return -1;
    c->difference[c->differences++] = d;
    return 0;
}

/* ---- shape ------------------------------------------------------------------------------------
 */

/* How alike two divisions are: hosts on the same side, over all on either, the better way round. */
static double jaccard_similarity(const bool *a, const bool *b, const bool *missing, size_t n)
{
    size_t both = 0, any = 0, cross = 0, around = 0;
    for (size_t h = 0; h < n; h++) {
        if (missing[h])
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

/* The found division that is most like one that was expected and not found; SIZE_MAX: none is.
 * Not one that matches another (taken), nor, unless again, that has been found to be nearly
 * another.
 */
static size_t most_alike(const struct work *w, const bool *want, bool *have, const bool *taken,
                         bool again)
{
    const struct nt_model *f = w->found.m;
    size_t best = SIZE_MAX;
    double most = 0.3333; /* a third: two leaves that changed places between groups of two */
    for (size_t e = 0; e < f->links; e++) {
        if (taken[e] || w->found.size[e] < 2 || (w->near[e] && !again))
            continue;
        nt_division_mark(&w->found, (uint32_t)e, w->missing, have);
        double like = jaccard_similarity(want, have, w->missing, f->hosts);
        if (like > most) {
            most = like;
            best = e;
        }
    }
    return best;
}

/* Where a division is there that is nearly the expected one, the hosts between them have moved. */
static int add_moved_hosts(struct work *w, size_t k, bool *want, bool *have, const bool *taken)
{
    const struct nt_model *f = w->found.m;
    nt_division_mark(&w->reference, (uint32_t)k, w->missing, want);
    size_t best = most_alike(w, want, have, taken, false), apart = 0, present = 0;
    if (best == SIZE_MAX)
        return 0;
    w->near[best] = true;
    nt_division_mark(&w->found, (uint32_t)best, w->missing, have);
    for (size_t h = 0; h < f->hosts; h++) {
        apart += !w->missing[h] && want[h] != have[h];
        present += !w->missing[h];
    }
    bool turned = 2 * apart > present; /* the smaller sides are opposite ones */
    for (uint32_t h = 0; h < f->hosts; h++) {
        if (w->missing[h] || (want[h] != have[h]) == turned || w->named[h])
            continue;
        w->named[h] = true;
        if (add_difference(w, (struct nt_difference){.kind = NT_DIFFERENCE_HOST_MOVED,
                                                     .host = h,
                                                     .expected = (int64_t)k,
                                                     .found = (int64_t)best,
                                                     .was = (double)NAN,
                                                     .is = (double)NAN,
                                                     .confidence = f->link[best].probability}) != 0)
            return -1;
    }
    return 0;
}

/* A map that states no confidence is taken as it stands. */
static double map_confidence(const struct nt_model *f)
{
    return isfinite(f->confidence) ? f->confidence : 1;
}

/* That the hosts marked in want stand behind no switch: at least as sure as a found division that
 * crosses it, and where none does as sure as the map is that no group was missed. */
static double absence_confidence(const struct work *w, const bool *want, bool *have)
{
    const struct nt_model *f = w->found.m;
    double sure = map_confidence(f);
    for (size_t e = 0; e < f->links; e++) {
        size_t corner[4] = {0};
        if (w->found.size[e] < 2 || f->link[e].probability <= sure)
            continue;
        nt_division_mark(&w->found, (uint32_t)e, w->missing, have);
        for (size_t h = 0; h < f->hosts; h++)
            if (!w->missing[h])
                corner[2 * want[h] + have[h]]++;
        if (corner[0] > 0 && corner[1] > 0 && corner[2] > 0 && corner[3] > 0)
            sure = f->link[e].probability;
    }
    return sure;
}

/* An expected division is missing when neither the same nor nearly the same is there, and moved
 * hosts do not explain it. */
static int add_missing_division(struct work *w, size_t k, bool *want, bool *have, const bool *taken)
{
    size_t left = 0;
    nt_division_mark(&w->reference, (uint32_t)k, w->missing, want);
    for (size_t h = 0; h < w->found.m->hosts; h++)
        left += want[h] && !w->named[h];
    if (left < 2 || most_alike(w, want, have, taken, true) != SIZE_MAX)
        return 0;
    return add_difference(w,
                          (struct nt_difference){.kind = NT_DIFFERENCE_SWITCH_MISSING,
                                                 .expected = (int64_t)k,
                                                 .found = -1,
                                                 .was = (double)NAN,
                                                 .is = (double)NAN,
                                                 .confidence = absence_confidence(w, want, have)});
}

static int by_size(const void *x, const void *y, void *sizes)
{
    size_t a = *(const size_t *)x, b = *(const size_t *)y;
    const size_t *size = sizes;
    if (size[a] != size[b])
        return size[a] < size[b] ? -1 : 1;
    return (a > b) - (a < b);
}

/* An unexpected division is a difference only when no moved host explains it. */
static int add_new_division(struct work *w, const bool *taken, bool *have)
{
    for (size_t e = 0; e < w->found.m->links; e++) {
        if (taken[e] || w->found.size[e] < 2)
            continue;
        nt_division_mark(&w->found, (uint32_t)e, w->missing, have);
        size_t left = 0;
        for (uint32_t h = 0; h < w->found.m->hosts; h++)
            left += have[h] && !w->named[h];
        bool explained = left < 2 || w->near[e];
        if (!explained &&
            add_difference(
                w, (struct nt_difference){.kind = NT_DIFFERENCE_SWITCH_MISSING,
                                          .expected = -1,
                                          .found = (int64_t)e,
                                          .was = (double)NAN,
                                          .is = (double)NAN,
                                          .confidence = w->found.m->link[e].probability}) != 0)
            return -1;
    }
    return 0;
}

/* Smallest divisions first: a host that moved between leaves is named there, not at the top. */
static int compare_divisions(struct work *w)
{
    const struct nt_model *f = w->found.m, *r = w->reference.m;
    NT_SCOPED struct nt_arena memory = {0};
    size_t *order = nt_arena_array(&memory, r->links + 1, sizeof *order);
    bool *taken = nt_arena_array(&memory, f->links + 1, sizeof *taken);
    bool *want = nt_arena_array(&memory, f->hosts + 1, sizeof *want),
         *have = nt_arena_array(&memory, f->hosts + 1, sizeof *have);
    int rc = -1;
    if (nt_arena_check(&memory, w->err) != 0)
        return rc;
    for (size_t k = 0; k < r->links; k++) {
        order[k] = k;
        if (w->c->matched[k] >= 0)
            taken[w->c->matched[k]] = true;
    }
    qsort_r(order, r->links, sizeof *order, by_size, w->reference.size);
    rc = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < r->links && rc == 0; k++)
            if (w->c->matched[order[k]] < 0 && w->reference.size[order[k]] > 1)
                rc = (pass == 0 ? add_moved_hosts : add_missing_division)(w, order[k], want, have,
                                                                          taken);
    if (rc == 0)
        rc = add_new_division(w, taken, have);
    return rc;
}

/* In networks with cycles a host has moved when most of those next to it are others. */
static int compare_neighbours(struct work *w)
{
    const struct nt_model *f = w->found.m, *r = w->reference.m;
    NT_SCOPED struct nt_arena memory = {0};
    size_t *was = nt_arena_array(&memory, f->hosts, sizeof *was);
    size_t *kept = nt_arena_array(&memory, f->hosts, sizeof *kept);
    int rc = nt_arena_check(&memory, w->err);
    struct nt_difference d = {.kind = NT_DIFFERENCE_SWITCH_MISSING,
                              .expected = -1,
                              .found = -1,
                              .was = (double)NAN,
                              .is = (double)NAN,
                              .confidence = map_confidence(f)};
    if (rc != 0)
        return rc;
    if ((f->switches == 0) != (r->switches == 0))
        rc = add_difference(w, d); /* another kind of network: neighbours are not comparable */
    else
        rc = nt_division_neighbours(&w->reference, &w->found, w->missing, was, kept, w->err);
    d.kind = NT_DIFFERENCE_HOST_MOVED;
    for (d.host = 0; rc == 0 && d.host < f->hosts; d.host++)
        if (!w->missing[d.host] && 2 * kept[d.host] < was[d.host])
            rc = add_difference(w, d);
    return rc;
}

/* ---- figures ----------------------------------------------------------------------------------
 */

static double squared(double x)
{
    return isfinite(x) ? x * x : 0;
}

/* That a figure is worse by more than noise, and that what the link divides is there at all. */
static double figure_confidence(const struct nt_link *is, double worse, double se)
{
    return is->probability * (se > 0 ? nt_normal_cdf(worse / se) : 1);
}

/* Where hosts have moved away, a switch may have been left with one way through: then its link and
 * the next are one. Whether that is so for reference link k, whose side is marked in want. */
static bool is_longer_now(const struct work *w, size_t k, bool *want, bool *other)
{
    if (!w->reference.tree)
        return false;
    nt_division_mark(&w->reference, (uint32_t)k, w->missing, want);
    for (size_t e = 0; e < w->reference.m->links; e++) {
        if (w->c->matched[e] >= 0 || w->reference.size[e] < 2)
            continue;
        nt_division_mark(&w->reference, (uint32_t)e, w->missing, other);
        bool same = true;
        for (size_t h = 0; h < w->found.m->hosts && same; h++)
            same = w->named[h] || want[h] == other[h];
        if (same)
            return true;
    }
    return false;
}

static int compare_latency(struct work *w, size_t k, double z_limit, bool *mark[2])
{
    const struct nt_link *is = &w->found.m->link[w->c->matched[k]];
    const struct nt_link *was = &w->reference.m->link[k];
    double se = sqrt(squared(is->latency_se_us) + squared(was->latency_se_us));
    double more = is->latency_us - was->latency_us;
    if (!(more > w->tolerance * was->latency_us) || !(more > z_limit * se) ||
        is_longer_now(w, k, mark[0], mark[1]))
        return 0;
    return add_difference(w, (struct nt_difference){.kind = NT_DIFFERENCE_LINK_SLOW,
                                                    .expected = (int64_t)k,
                                                    .found = w->c->matched[k],
                                                    .was = was->latency_us,
                                                    .is = is->latency_us,
                                                    .confidence = figure_confidence(is, more, se)});
}

/* The direction of a reference link may be written the other way round. */
static bool is_turned(const struct work *w, size_t k)
{
    return w->found.side[w->c->matched[k]] != w->reference.side[k];
}

/* One direction of a found link and of the reference link that it matches. */
struct rates {
    double is, was, se; /* NaN: not known, or only a lower bound */
};

static struct rates matched_rates(const struct work *w, size_t k, bool back)
{
    const struct nt_link *is = &w->found.m->link[w->c->matched[k]];
    const struct nt_link *was = &w->reference.m->link[k];
    bool had_back = back != is_turned(w, k) && isfinite(was->bandwidth_back_MBps);
    if (is->at_least || (back ? is->back_at_least : is->forth_at_least))
        return (struct rates){(double)NAN, (double)NAN, (double)NAN};
    return (struct rates){
        .is = back ? is->bandwidth_back_MBps : is->bandwidth_MBps,
        .was = had_back ? was->bandwidth_back_MBps : was->bandwidth_MBps,
        .se = sqrt(squared(back ? is->bandwidth_back_se_MBps : is->bandwidth_se_MBps) +
                   squared(had_back ? was->bandwidth_back_se_MBps : was->bandwidth_se_MBps))};
}

static int compare_bandwidth(struct work *w, size_t k, double z_limit)
{
    const struct nt_link *is = &w->found.m->link[w->c->matched[k]];
    for (int back = 0; back < 2; back++) {
        struct rates r = matched_rates(w, k, back == 1);
        if (r.is < r.was * (1 - w->tolerance) && r.was - r.is > z_limit * r.se &&
            add_difference(w, (struct nt_difference){
                                  .kind = NT_DIFFERENCE_LINK_NARROW,
                                  .expected = (int64_t)k,
                                  .found = w->c->matched[k],
                                  .back = back == 1,
                                  .was = r.was,
                                  .is = r.is,
                                  .confidence = figure_confidence(is, r.was - r.is, r.se)}) != 0)
            return -1;
    }
    return 0;
}

/* 1 where two figures do not differ by more than the tolerance and their errors, else the lower
 * over the higher. */
static double figure_likeness(const struct work *w, double is, double was, double se,
                              double z_limit)
{
    double off = fabs(is - was);
    if (!(off > w->tolerance * was) || !(off > z_limit * se))
        return 1; /* also where one is not known */
    return fmin(is, was) / fmax(is, was);
}

/* Of what is known of a matched link the least alike. */
static double link_likeness(const struct work *w, size_t k, double z_limit)
{
    const struct nt_link *is = &w->found.m->link[w->c->matched[k]];
    const struct nt_link *was = &w->reference.m->link[k];
    double se = sqrt(squared(is->latency_se_us) + squared(was->latency_se_us));
    double like = figure_likeness(w, is->latency_us, was->latency_us, se, z_limit);
    for (int back = 0; back < 2; back++) {
        struct rates r = matched_rates(w, k, back == 1);
        like = fmin(like, figure_likeness(w, r.is, r.was, r.se, z_limit));
    }
    return like;
}

static double z_limit_of(size_t links)
{
    return nt_normal_quantile(1 - FALSE_ALARM / (double)(3 * links + 1)); /* of both ways */
}

static int compare_figures(struct work *w)
{
    size_t links = w->reference.m->links;
    double z = z_limit_of(links);
    NT_SCOPED struct nt_arena memory = {0};
    bool *judged = nt_arena_array(&memory, w->found.m->links, sizeof *judged);
    bool *mark[2] = {nt_arena_array(&memory, w->found.m->hosts, sizeof **mark),
                     nt_arena_array(&memory, w->found.m->hosts, sizeof **mark)};
    int rc = nt_arena_check(&memory, w->err);
    for (size_t k = 0; k < links && rc == 0; k++) {
        if (w->c->matched[k] < 0)
            continue;
        judged[w->c->matched[k]] = isfinite(w->reference.m->link[k].latency_us);
        rc = compare_latency(w, k, z, mark);
        if (rc == 0)
            rc = compare_bandwidth(w, k, z);
    }
    /* without a reference figure, a link is compared with its own class */
    for (size_t e = 0; e < w->found.m->links && rc == 0; e++)
        if (w->found.m->link[e].suspect && !judged[e])
            rc = add_difference(
                w, (struct nt_difference){.kind = NT_DIFFERENCE_LINK_SLOW,
                                          .expected = -1,
                                          .found = (int64_t)e,
                                          .was = (double)NAN,
                                          .is = w->found.m->link[e].latency_us,
                                          .confidence = w->found.m->link[e].probability});
    return rc;
}

/* ---- all together -----------------------------------------------------------------------------
 */

static void measure_similarity(struct work *w)
{
    double sum = 0, like = 0, z = z_limit_of(w->reference.m->links);
    size_t common = 0, was = 0, is = 0, matched = 0;
    for (size_t k = 0; k < w->reference.m->links; k++) {
        bool inner = !w->reference.tree || w->reference.size[k] > 1;
        was += inner;
        if (w->c->matched[k] < 0)
            continue;
        double alike = link_likeness(w, k, z);
        sum += alike * w->found.m->link[w->c->matched[k]].probability;
        like += alike;
        matched++;
        common += inner;
    }
    for (size_t k = 0; k < w->found.m->links; k++)
        is += !w->found.tree || w->found.size[k] > 1;
    size_t links = w->reference.m->links, any = was + is - common;
    w->c->similarity_percent = links == 0 ? 100 : 100 * sum / (double)links;
    w->c->figures_percent = matched == 0 ? 100 : 100 * like / (double)matched;
    w->c->common_percent = any == 0 ? 100 : 100 * (double)common / (double)any;
}

static int compare_all(struct work *w)
{
    if (nt_division_init(&w->found, w->found.m, w->err) != 0 ||
        nt_division_init(&w->reference, w->reference.m, w->err) != 0)
        return -1;
    bool trees = w->found.tree && w->reference.tree;
    if (nt_division_key(&w->found, trees, w->missing, w->err) != 0 ||
        nt_division_key(&w->reference, trees, w->missing, w->err) != 0 || match_links(w) != 0)
        return -1;
    measure_similarity(w);
    for (uint32_t h = 0; h < w->found.m->hosts; h++)
        if (w->missing[h] && !w->reference.m->missing[h] &&
            add_difference(w, (struct nt_difference){.kind = NT_DIFFERENCE_HOST_MISSING,
                                                     .host = h,
                                                     .expected = -1,
                                                     .found = -1,
                                                     .was = (double)NAN,
                                                     .is = (double)NAN,
                                                     .confidence = 1}) != 0)
            return -1;
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
    NT_SCOPED struct nt_arena memory = {0};
    bool *missing = nt_arena_array(&memory, found->hosts, sizeof *missing);
    w.named = nt_arena_array(&memory, found->hosts, sizeof *w.named);
    w.near = nt_arena_array(&memory, found->links, sizeof *w.near);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    w.c = nt_object_create(sizeof *w.c, err);
    if (w.c == NULL)
        return -1;
    for (size_t h = 0; h < found->hosts; h++)
        missing[h] = found->missing[h] || reference->missing[h];
    w.missing = missing;
    w.c->reference_links = reference->links;
    int rc = compare_all(&w);
    nt_division_fini(&w.found);
    nt_division_fini(&w.reference);
    if (rc == 0)
        *out = w.c;
    else
        nt_comparison_destroy(w.c);
    return rc;
}

void nt_comparison_destroy(struct nt_comparison *c)
{
    nt_object_destroy(c);
}

bool nt_compare_side(const struct nt_model *model, uint32_t link, bool *side)
{
    struct nt_division v;
    NT_SCOPED struct nt_arena memory = {0};
    bool *missing = nt_arena_array(&memory, model->hosts, sizeof *missing);
    if (missing == NULL)
        return false;
    bool done = nt_division_init(&v, model, NULL) == 0 && v.tree &&
                nt_division_key(&v, true, missing, NULL) == 0;
    if (done)
        nt_division_mark(&v, link, model->missing, side);
    nt_division_fini(&v);
    return done;
}
