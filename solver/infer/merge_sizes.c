/* SPDX-License-Identifier: Apache-2.0 */
#include "infer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "infer_steps.h"
#include "memory.h"
#include "rooted_tree.h"
#include "stats.h"
#include "switch_support.h"

/* ---- links that are taken out ---- */

/* Copies the fields that do not depend on the links. */
static void copy_properties(struct nt_model *from, struct nt_model *m)
{
    uint32_t(*deciding_pair)[2] = m->deciding_pair;
    memcpy(m->missing, from->missing, from->hosts * sizeof *m->missing);
    memcpy(m->overhead_us, from->overhead_us, from->hosts * sizeof *m->overhead_us);
    m->family = m->switches <= 1 ? NT_FAMILY_STAR : NT_FAMILY_TREE;
    m->confidence = from->confidence;
    m->shortcuts = from->shortcuts;
    m->deciding_pair = from->deciding_pair;
    m->deciding = from->deciding;
    from->deciding_pair = deciding_pair;
}

/* Lengthens the links at the lower end of a removed link. */
static void lengthen_links(struct nt_model *m, const bool *gone, size_t k)
{
    uint32_t a = m->link[k].a, b = m->link[k].b;
    uint32_t lower = nt_model_tier(m, a) <= nt_model_tier(m, b) ? a : b;
    for (size_t l = 0; l < m->links; l++)
        if (l != k && !gone[l] && (m->link[l].a == lower || m->link[l].b == lower))
            m->link[l].latency_us += m->link[k].latency_us;
}

int nt_regroup_contract(struct nt_model **model, const bool *gone, struct nt_err *err)
{
    struct nt_model *from = *model, *m = NULL;
    size_t vertices = from->hosts + from->switches, switches = 0, links = 0;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *one = nt_arena_array(&memory, vertices, sizeof *one);
    uint32_t *number = nt_arena_array(&memory, vertices, sizeof *number);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    nt_sets_init(one, vertices);
    for (size_t k = 0; k < from->links; k++) {
        links += !gone[k];
        if (!gone[k])
            continue;
        lengthen_links(from, gone, k);
        nt_sets_join(one, from->link[k].a, from->link[k].b);
    }
    for (uint32_t v = 0; v < vertices; v++)
        number[v] = v < from->hosts || one[v] != v ? v : (uint32_t)(from->hosts + switches++);
    int status = nt_model_create(from->hosts, switches, links, &m, err);
    for (size_t k = 0, next = 0; k < from->links && status == 0; k++) {
        if (gone[k])
            continue;
        struct nt_link *l = &m->link[next++];
        *l = from->link[k];
        l->a = number[nt_sets_find(one, l->a)];
        l->b = number[nt_sets_find(one, l->b)];
    }
    if (status < 0)
        return -1;
    copy_properties(from, m);
    nt_model_destroy(*model);
    *model = m;
    return 0;
}

/* ---- links that are added ---- */

/* Hosts below each vertex that are inside. */
static void count_inside(const struct nt_rooted_tree *h, const bool *inside, bool wanted,
                         uint32_t *count)
{
    for (size_t v = 0; v < h->vertices; v++)
        count[v] = v < h->hosts && inside[v] == wanted;
    for (size_t k = h->reached; k-- > 1;)
        count[h->parent[h->order[k]]] += count[h->order[k]];
}

/* The lowest vertex that has all counted hosts below it. */
static uint32_t lowest_switch(const struct nt_rooted_tree *h, const uint32_t *count)
{
    uint32_t v = h->root, all = count[v];
    for (bool down = true; down;) {
        down = false;
        for (uint32_t i = h->first[v]; i < h->first[v + 1] && !down; i++)
            if (count[h->child[i]] == all) {
                v = h->child[i];
                down = true;
            }
    }
    return v;
}

/* Each branch below v is counted whole or not at all, and both kinds are at least two; the one
 * above v counts as a branch. *branches: of the counted kind. */
static bool parts_children(const struct nt_rooted_tree *h, const uint32_t *count, uint32_t v)
{
    uint32_t whole = 0, none = v != h->root;
    for (uint32_t i = h->first[v]; i < h->first[v + 1]; i++) {
        uint32_t w = h->child[i], hosts = nt_rooted_tree_count(h, w);
        if (count[w] != 0 && count[w] != hosts)
            return false;
        whole += count[w] != 0;
        none += count[w] == 0;
    }
    return whole >= 2 && none >= 2;
}

/* The counted branches of v move to a new switch. */
static int part_switch(struct nt_model **model, const struct nt_rooted_tree *h,
                       const uint32_t *count, uint32_t v, struct nt_err *err)
{
    const struct nt_model *from = *model;
    struct nt_model *m;
    uint32_t added = (uint32_t)h->vertices;
    if (nt_model_create(from->hosts, from->switches + 1, from->links + 1, &m, err) < 0)
        return -1;
    memcpy(m->link, from->link, from->links * sizeof *m->link);
    memcpy(m->missing, from->missing, from->hosts * sizeof *m->missing);
    memcpy(m->overhead_us, from->overhead_us, from->hosts * sizeof *m->overhead_us);
    m->family = NT_FAMILY_TREE;
    m->confidence = from->confidence;
    for (uint32_t i = h->first[v]; i < h->first[v + 1]; i++) {
        uint32_t w = h->child[i];
        if (count[w] == 0)
            continue;
        struct nt_link *l = &m->link[h->up[w] / 2];
        *(l->a == v ? &l->a : &l->b) = added;
    }
    m->link[from->links].a = added;
    m->link[from->links].b = v;
    m->link[from->links].latency_us = 0;
    m->link[from->links].probability = 0;
    if (nt_model_canonicalise(m, err) < 0) {
        nt_model_destroy(m);
        return -1;
    }
    nt_model_destroy(*model);
    *model = m;
    return 0;
}

/* Divides the hosts inside (model->hosts elements) from all others by a link of probability 0
 * without latency, unless a link of the tree contradicts it: the switch where both kinds meet is
 * split. *added: whether it was; *model is then a new canonical model, without values of a fit. An
 * existing link, or a single host, adds nothing. */
static int adopt_link(struct nt_model **model, const bool *inside, bool *added, struct nt_err *err)
{
    struct nt_rooted_tree *h;
    if (nt_rooted_tree_create(*model, &h, err) < 0)
        return -1;
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *count = nt_arena_array(&memory, h->vertices, sizeof *count);
    int status = nt_arena_check(&memory, err);
    *added = false;
    for (int wanted = 0; wanted < 2 && status == 0 && h->tree && !*added; wanted++) {
        count_inside(h, inside, wanted == 1, count);
        uint32_t v = lowest_switch(h, count);
        if (v >= h->hosts && parts_children(h, count, v)) {
            status = part_switch(model, h, count, v, err);
            *added = status == 0;
        }
    }
    nt_rooted_tree_destroy(h);
    return status;
}

/* Groups with a lower support are not reported. For a group that a size does not report, its
 * probability is the middle between that and 0. */
static const double REPORTED = 0.5, UNREPORTED = 0.25;

/* ---- how links are matched ---- */

static uint64_t host_mark(uint64_t host)
{
    uint64_t z = (host + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A link of a tree is identified by the hosts on its two sides: the smaller of the two sums of a
 * random number per host. Links of other networks are identified by their two ends. 0: the common
 * hosts of both models do not show the link. */
static void mark_tree(const struct nt_rooted_tree *h, const bool *common, uint64_t *sum,
                      uint64_t *mark)
{
    uint64_t all = 0;
    for (size_t v = 0; v < h->vertices; v++)
        sum[v] = v < h->hosts && common[v] ? host_mark(v) : 0;
    for (size_t k = h->reached; k-- > 1;)
        sum[h->parent[h->order[k]]] += sum[h->order[k]];
    for (size_t v = 0; v < h->hosts; v++)
        all += common[v] ? host_mark(v) : 0;
    for (size_t k = 1; k < h->reached; k++) {
        uint64_t below = sum[h->order[k]], above = all - below;
        mark[h->up[h->order[k]] / 2] = below < above ? below : above;
    }
}

static void mark_ends(const struct nt_model *m, const bool *common, uint64_t *mark)
{
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a, b = m->link[k].b;
        bool shown = a >= m->hosts || b >= m->hosts || (common[a] && common[b]);
        mark[k] = shown ? host_mark(a) * 3 + host_mark(b) * 5 : 0;
    }
}

/* A model as a rooted tree, with the marks of its links. */
struct seen {
    const struct nt_model *model;
    struct nt_rooted_tree *rooted;
    uint64_t *mark; /* links */
    uint64_t *sum;  /* vertices */
    struct nt_arena memory;
};

static void seen_fini(struct seen *s)
{
    nt_rooted_tree_destroy(s->rooted);
    nt_arena_fini(&s->memory);
}

/* After an error, seen_fini is still valid. */
static int seen_init(struct seen *s, const struct nt_model *m, struct nt_err *err)
{
    *s = (struct seen){.model = m};
    if (nt_rooted_tree_create(m, &s->rooted, err) < 0)
        return -1;
    s->mark = nt_arena_array(&s->memory, m->links, sizeof *s->mark);
    s->sum = nt_arena_array(&s->memory, m->hosts + m->switches, sizeof *s->sum);
    return nt_arena_check(&s->memory, err);
}

static void seen_mark(struct seen *s, const bool *common)
{
    memset(s->mark, 0, s->model->links * sizeof *s->mark);
    if (s->rooted->tree)
        mark_tree(s->rooted, common, s->sum, s->mark);
    else
        mark_ends(s->model, common, s->mark);
}

/* ---- the probability of a link by size ---- */

/* A link as another model shows it. */
struct shown {
    uint64_t mark;
    double probability;
};

static int shown_compare(const void *x, const void *y)
{
    const struct shown *a = x, *b = y;
    return NT_ORDER(a->mark, b->mark, 0);
}

/* Sorts the links by mark for lookups. list: room for the links. */
static void list_shown(const struct seen *s, struct shown *list)
{
    for (size_t k = 0; k < s->model->links; k++)
        list[k] = (struct shown){s->mark[k], s->model->link[k].probability};
    qsort(list, s->model->links, sizeof *list, shown_compare);
}

static const struct shown *find_shown(const struct shown *list, size_t count, uint64_t mark)
{
    const struct shown key = {.mark = mark};
    return bsearch(&key, list, count, sizeof *list, shown_compare);
}

/* For each link of a model: the probabilities from the sizes that can show it, weighted by their
 * confidence. */
struct pool {
    double *sum, *weight;
    bool *first;  /* the first size shows it */
    bool *common; /* hosts */
};

static int pool_init(struct pool *p, const struct nt_model *m, struct nt_arena *memory,
                     struct nt_err *err)
{
    p->sum = nt_arena_array(memory, m->links, sizeof *p->sum);
    p->weight = nt_arena_array(memory, m->links, sizeof *p->weight);
    p->first = nt_arena_array(memory, m->links, sizeof *p->first);
    p->common = nt_arena_array(memory, m->hosts, sizeof *p->common);
    return nt_arena_check(memory, err);
}

/* Latencies of links grow with the message size, and hardly ever shrink: a link that is shorter
 * than the resolution of a size may be hidden from it. */
static bool could_resolve(const struct nt_model *size, const struct nt_model *m,
                          const struct nt_link *l)
{
    bool inner = l->a >= m->hosts && l->b >= m->hosts;
    return !inner || !(l->latency_us < size->resolution_us);
}

static int add_size(struct pool *p, struct seen *own, const struct nt_model *size, bool first,
                    struct nt_err *err)
{
    struct seen other;
    int status = seen_init(&other, size, err);
    struct shown *list = nt_arena_array(&other.memory, size->links, sizeof *list);
    if (status == 0)
        status = nt_arena_check(&other.memory, err);
    for (size_t h = 0; h < size->hosts; h++)
        p->common[h] = !size->missing[h] && !own->model->missing[h];
    if (status == 0) {
        seen_mark(own, p->common);
        seen_mark(&other, p->common);
        list_shown(&other, list);
    }
    for (size_t k = 0; k < own->model->links && status == 0; k++) {
        const struct nt_link *l = &own->model->link[k];
        const struct shown *s = find_shown(list, size->links, own->mark[k]);
        if (own->mark[k] == 0 || (s == NULL && !could_resolve(size, own->model, l)))
            continue;
        p->sum[k] += size->confidence * (s != NULL ? s->probability : UNREPORTED);
        p->weight[k] += size->confidence;
        p->first[k] = p->first[k] || (first && s != NULL);
    }
    seen_fini(&other);
    return status;
}

/* ---- removed links -------------------------------------------------------------------------- */

/* All sizes, the first one before the others changed it. */
struct sizes {
    const struct nt_model *first;
    const struct nt_model *const *others;
    size_t count; /* of the others */
    const struct nt_matrix *latency;
    uint64_t seed;
    double most; /* confidence that the whole may have */
};

/* removed: links to remove. The confidence is at most the probability of each group that stays, and
 * of the absence of each removed group that the first size reported. */
static bool choose_link(const struct nt_model *m, const struct pool *p, bool *removed, double *most)
{
    bool some = false;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        if (l->a < m->hosts || l->b < m->hosts)
            continue;
        bool hidden = !p->first[k] && !(l->latency_us > fmax(m->resolution_us, 0));
        removed[k] = hidden || !(l->latency_us > 0) || l->probability < REPORTED;
        some = some || removed[k];
        if (!removed[k] || p->first[k])
            *most = fmin(*most, removed[k] ? 1 - l->probability : l->probability);
    }
    return some;
}

/* Figures of a tree that has changed. */
static int refit_figures(const struct sizes *s, struct nt_model *model, struct nt_err *err)
{
    return nt_infer_figures(s->latency, s->seed, model, err);
}

static int remove_links(struct sizes *s, struct nt_model **model, const struct pool *p, bool *taken,
                        struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    bool *removed = nt_arena_array(&memory, (*model)->links, sizeof *removed);
    int status = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    *taken = choose_link(*model, p, removed, &s->most);
    if (*taken)
        status = nt_regroup_contract(model, removed, err);
    if (status < 0 || !*taken)
        return status;
    if (s->first->family == NT_FAMILY_UNDETERMINED)
        (*model)->family = NT_FAMILY_UNDETERMINED;
    if (nt_model_canonicalise(*model, err) < 0)
        return -1;
    return refit_figures(s, *model, err);
}

static int set_probabilities(const struct sizes *s, struct nt_model *model, struct pool *p,
                             struct nt_err *err)
{
    struct seen own;
    int status = seen_init(&own, model, err);
    if (status == 0)
        status = add_size(p, &own, s->first, true, err);
    for (size_t o = 0; o < s->count && status == 0; o++)
        status = add_size(p, &own, s->others[o], false, err);
    for (size_t k = 0; k < model->links && status == 0; k++)
        if (p->weight[k] > 0)
            model->link[k].probability = p->sum[k] / p->weight[k];
    seen_fini(&own);
    return status;
}

/* Until all that is there may be stated. */
static int remove_all_unlikely(struct sizes *s, struct nt_model **model, struct nt_err *err)
{
    int status = 0;
    for (bool taken = true; taken && status == 0;) {
        NT_SCOPED struct nt_arena memory = {0};
        struct pool p;
        status = pool_init(&p, *model, &memory, err);
        if (status == 0)
            status = set_probabilities(s, *model, &p, err);
        if (status == 0)
            status = remove_links(s, model, &p, &taken, err);
    }
    return status;
}

/* ---- links of larger sizes only ---- */

/* Whether both are trees of the same hosts, so that each link of one can be compared with the
 * other. */
static bool are_comparable_trees(const struct nt_model *own, const struct nt_model *other)
{
    bool trees = (own->family == NT_FAMILY_STAR || own->family == NT_FAMILY_TREE) &&
                 (other->family == NT_FAMILY_STAR || other->family == NT_FAMILY_TREE);
    return trees && memcmp(own->missing, other->missing, own->hosts * sizeof *own->missing) == 0;
}

/* A link between switches that the own model lacks. */
struct candidate {
    uint64_t mark;
    double error_probability; /* that every size which shows it errs */
    const struct seen *from;
    uint32_t below; /* vertex of from: hosts under it against the others */
};

static int by_mark(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    return NT_ORDER(a->mark, b->mark, 0);
}

static int by_error_probability(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    return NT_ORDER(a->error_probability, b->error_probability, by_mark(x, y));
}

static size_t list_candidates(const struct seen *own, const struct seen *other,
                              struct candidate *list)
{
    const struct nt_rooted_tree *h = other->rooted;
    size_t n = 0;
    for (size_t k = 1; k < h->reached; k++) {
        uint32_t v = h->order[k], link = h->up[v] / 2;
        const struct nt_link *l = &other->model->link[link];
        if (l->a < h->hosts || l->b < h->hosts ||
            bsearch(&other->mark[link], own->mark, own->model->links, sizeof *own->mark,
                    nt_compare_u64) != NULL)
            continue;
        double sure = other->model->confidence * l->probability;
        list[n++] = (struct candidate){other->mark[link], 1 - sure, other, v};
    }
    return n;
}

/* One entry a link, least doubtful first; their number. */
static size_t unite_candidates(struct candidate *list, size_t n)
{
    size_t kept = 0;
    qsort(list, n, sizeof *list, by_mark);
    for (size_t k = 0; k < n; k++)
        if (kept > 0 && list[kept - 1].mark == list[k].mark)
            list[kept - 1].error_probability *= list[k].error_probability;
        else
            list[kept++] = list[k];
    qsort(list, kept, sizeof *list, by_error_probability);
    return kept;
}

/* Adds those that contradict no existing link, most certain first. */
static int add_candidates(struct nt_model **model, const struct candidate *list, size_t n,
                          bool *inside, struct nt_err *err)
{
    for (size_t k = 0; k < n; k++) {
        const struct nt_rooted_tree *h = list[k].from->rooted;
        bool added;
        memset(inside, 0, h->hosts * sizeof *inside);
        for (uint32_t i = h->head[list[k].below]; i < h->tail[list[k].below]; i++)
            inside[h->host[i]] = true;
        if (adopt_link(model, inside, &added, err) < 0)
            return -1;
    }
    return 0;
}

/* seen: count elements, without a model if the size contributes nothing. */
static int adopt_all(struct nt_model **model, const struct seen *own, const struct seen *seen,
                     size_t count, struct nt_err *err)
{
    size_t capacity = 0, n = 0;
    for (size_t o = 0; o < count; o++)
        capacity += seen[o].model != NULL ? seen[o].model->links : 0;
    NT_SCOPED struct nt_arena memory = {0};
    struct candidate *list = nt_arena_array(&memory, capacity, sizeof *list);
    bool *inside = nt_arena_array(&memory, (*model)->hosts, sizeof *inside);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t o = 0; o < count; o++)
        n += seen[o].model != NULL ? list_candidates(own, &seen[o], list + n) : 0;
    return add_candidates(model, list, unite_candidates(list, n), inside, err);
}

static int see_model(struct seen *s, const struct nt_model *own, const struct nt_model *m,
                     const bool *present, struct nt_err *err)
{
    if (!are_comparable_trees(own, m))
        return 0;
    if (seen_init(s, m, err) < 0)
        return -1;
    if (s->rooted->tree)
        seen_mark(s, present);
    else
        s->model = NULL;
    return 0;
}

static int unite_trees(const struct sizes *s, struct nt_model **model, struct nt_err *err)
{
    const struct nt_model *m = *model;
    size_t count = s->count;
    NT_SCOPED struct nt_arena memory = {0};
    struct seen own = {0}, *seen = nt_arena_array(&memory, count, sizeof *seen);
    bool *present = nt_arena_array(&memory, m->hosts, sizeof *present);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t h = 0; h < m->hosts; h++)
        present[h] = !m->missing[h];
    int status = see_model(&own, m, m, present, err);
    for (size_t o = 0; o < count && status == 0; o++)
        status = see_model(&seen[o], m, s->others[o], present, err);
    if (status == 0 && own.model != NULL) {
        qsort(own.mark, m->links, sizeof *own.mark, nt_compare_u64);
        status = adopt_all(model, &own, seen, count, err);
    }
    for (size_t o = 0; o < count; o++)
        seen_fini(&seen[o]);
    seen_fini(&own);
    return status;
}

int nt_infer_merge_sizes(struct nt_model **model, const struct nt_model *const *others,
                         size_t count, const struct nt_matrix *latency, uint64_t seed,
                         struct nt_err *err)
{
    struct nt_model *first;
    for (size_t o = 0; o < count; o++)
        if (others[o]->hosts != (*model)->hosts)
            return nt_err_set(err, NT_ERR_INPUT, "a model of %zu hosts among those of %zu",
                              others[o]->hosts, (*model)->hosts);
    if (nt_model_copy(*model, &first, err) < 0)
        return -1;
    struct sizes s = {first, others, count, latency, seed, first->confidence};
    int status = remove_all_unlikely(&s, model, err);
    size_t links = (*model)->links;
    if (status == 0)
        status = unite_trees(&s, model, err);
    if (status == 0 && (*model)->links > links) {
        status = refit_figures(&s, *model, err);
        if (status == 0)
            status = remove_all_unlikely(&s, model, err);
    }
    (*model)->confidence = s.most;
    nt_resolution_lower(*model);
    nt_confidence_limit(*model);
    nt_model_destroy(first);
    return status;
}

void nt_inferred_fini(struct nt_inferred *inferred)
{
    nt_matrix_destroy(inferred->latency);
    nt_matrix_destroy(inferred->se);
    nt_model_destroy(inferred->model);
    *inferred = (struct nt_inferred){0};
}

/* To the bit; two NULLs are the same. */
static bool is_same(const struct nt_matrix *a, const struct nt_matrix *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a->n == b->n && memcmp(a->at, b->at, a->n * a->n * sizeof *a->at) == 0;
}

static int infer_size(const struct nt_matrix *latency, const struct nt_matrix *se, uint64_t seed,
                      const struct nt_inferred *known, struct nt_model **out, struct nt_err *err)
{
    if (known != NULL && known->model != NULL && known->seed == seed &&
        is_same(known->latency, latency) && is_same(known->se, se))
        return nt_model_copy(known->model, out, err);
    return nt_infer_latency(latency, se, seed, out, err);
}

int nt_infer_sizes(const struct nt_size_latencies *from, uint64_t seed,
                   const struct nt_inferred *known, struct nt_model **out, struct nt_err *err)
{
    size_t sizes = from->sizes;
    if (sizes > NT_INFER_SIZES_MAX)
        return nt_err_set(err, NT_ERR_USAGE,
                          "%zu matrices of latencies: expected at most %d with --method auto",
                          sizes, (int)NT_INFER_SIZES_MAX);
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_model **model = nt_arena_array(&memory, sizes, sizeof *model);
    int rc = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < sizes && rc == 0; k++)
        rc = infer_size(from->latency[k], from->errors == NULL ? NULL : from->errors[k], seed,
                        known, &model[k], err);
    if (rc == 0 && sizes > 1)
        rc = nt_infer_merge_sizes(&model[0], (const struct nt_model *const *)model + 1, sizes - 1,
                                  from->latency[0], seed, err);
    for (size_t k = rc == 0; k < sizes; k++)
        nt_model_destroy(model[k]);
    if (rc == 0)
        *out = model[0];
    return rc;
}
