/* Links from the models of several message sizes (after PARUS, Salnikov et al.: the sizes' graphs
 * are united, and a link's probability is the share of sizes in which it appears; here weighted
 * by confidence). */
#include "infer.h"

#include <stdlib.h>
#include <string.h>

#include "adopt.h"
#include "hang.h"

/* Expected number of links that are taken over from larger sizes although they are not there. */
static const double ADOPTED_FALSE = 0.1;

/* ---- what a link is known by ------------------------------------------------------------------
 */

static uint64_t host_mark(uint64_t host)
{
    uint64_t z = (host + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* A link of a tree is known by the hosts on its two sides: the smaller of the sums of a random
 * number a host. Links of other networks are known by their two ends. 0: the hosts that both
 * models have do not show the link. */
static void mark_tree(const struct nt_hang *h, const bool *common, uint64_t *sum, uint64_t *mark)
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

/* A model with the tree it hangs in and the marks of its links. */
struct seen {
    const struct nt_model *model;
    struct nt_hang *hang;
    uint64_t *mark; /* links */
    uint64_t *sum;  /* vertices */
};

static void seen_fini(struct seen *s)
{
    nt_hang_destroy(s->hang);
    free(s->mark);
    free(s->sum);
}

/* Also a failure leaves what seen_fini takes. */
static int seen_init(struct seen *s, const struct nt_model *m, struct nt_err *err)
{
    *s = (struct seen){.model = m};
    if (nt_hang_create(m, &s->hang, err) < 0)
        return -1;
    s->mark = calloc(m->links + 1, sizeof *s->mark);
    s->sum = calloc(m->hosts + m->switches + 1, sizeof *s->sum);
    if (s->mark && s->sum)
        return 0;
    return nt_err_set(err, NT_ERR_SYSTEM, "no memory to compare %zu links", m->links);
}

static void seen_mark(struct seen *s, const bool *common)
{
    memset(s->mark, 0, s->model->links * sizeof *s->mark);
    if (s->hang->tree)
        mark_tree(s->hang, common, s->sum, s->mark);
    else
        mark_ends(s->model, common, s->mark);
}

static int mark_compare(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

/* ---- probabilities ----------------------------------------------------------------------------
 */

/* Each link of the own model: the confidence of the sizes that show it, and of those that could
 * have. */
struct shares {
    double *weight, *total;
    bool *common; /* hosts */
};

static void shares_fini(struct shares *s)
{
    free(s->weight);
    free(s->total);
    free(s->common);
}

static int shares_init(struct shares *s, const struct nt_model *m, double confidence,
                       struct nt_err *err)
{
    s->weight = malloc((m->links + 1) * sizeof *s->weight);
    s->total = malloc((m->links + 1) * sizeof *s->total);
    s->common = malloc((m->hosts + 1) * sizeof *s->common);
    if (!s->weight || !s->total || !s->common)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory to merge %zu links", m->links);
    for (size_t k = 0; k < m->links; k++) {
        s->weight[k] = confidence * m->link[k].probability;
        s->total[k] = confidence;
    }
    return 0;
}

static int add_size(struct shares *s, struct seen *own, const struct nt_model *m,
                    struct nt_err *err)
{
    struct seen other;
    if (seen_init(&other, m, err) < 0) {
        seen_fini(&other);
        return -1;
    }
    for (size_t h = 0; h < m->hosts; h++)
        s->common[h] = !m->missing[h] && !own->model->missing[h];
    seen_mark(own, s->common);
    seen_mark(&other, s->common);
    qsort(other.mark, m->links, sizeof *other.mark, mark_compare);
    for (size_t k = 0; k < own->model->links; k++) {
        if (own->mark[k] == 0)
            continue;
        s->total[k] += m->confidence;
        if (bsearch(&own->mark[k], other.mark, m->links, sizeof *other.mark, mark_compare) != NULL)
            s->weight[k] += m->confidence;
    }
    seen_fini(&other);
    return 0;
}

/* confidence: of the size that the model was made from; what it was given since has probability 0.
 */
static int set_probabilities(struct nt_model *model, double confidence,
                             const struct nt_model *const *others, size_t count, struct nt_err *err)
{
    struct shares s = {0};
    struct seen own;
    int status = seen_init(&own, model, err);
    if (status == 0)
        status = shares_init(&s, model, confidence, err);
    for (size_t o = 0; o < count && status == 0; o++)
        status = add_size(&s, &own, others[o], err);
    for (size_t k = 0; k < model->links && status == 0; k++)
        if (s.total[k] > 0)
            model->link[k].probability = s.weight[k] / s.total[k];
    shares_fini(&s);
    seen_fini(&own);
    return status;
}

/* ---- links of larger sizes only ---------------------------------------------------------------
 */

/* Two trees of the same hosts: each link of the one can be asked for in the other. */
static bool is_alike(const struct nt_model *own, const struct nt_model *other)
{
    bool trees = (own->family == NT_FAMILY_STAR || own->family == NT_FAMILY_TREE) &&
                 (other->family == NT_FAMILY_STAR || other->family == NT_FAMILY_TREE);
    return trees && memcmp(own->missing, other->missing, own->hosts * sizeof *own->missing) == 0;
}

/* A link between switches that the own model lacks. */
struct candidate {
    uint64_t mark;
    double doubt; /* that every size which shows it errs */
    const struct seen *from;
    uint32_t below; /* vertex of from: hosts under it against the others */
};

static int by_mark(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    return (a->mark > b->mark) - (a->mark < b->mark);
}

static int by_doubt(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    if (a->doubt != b->doubt)
        return a->doubt < b->doubt ? -1 : 1;
    return by_mark(x, y);
}

static size_t list_candidates(const struct seen *own, const struct seen *other,
                              struct candidate *list)
{
    const struct nt_hang *h = other->hang;
    size_t n = 0;
    for (size_t k = 1; k < h->reached; k++) {
        uint32_t v = h->order[k], link = h->up[v] / 2;
        const struct nt_link *l = &other->model->link[link];
        if (l->a < h->hosts || l->b < h->hosts ||
            bsearch(&other->mark[link], own->mark, own->model->links, sizeof *own->mark,
                    mark_compare) != NULL)
            continue;
        double sure = other->model->confidence * l->probability;
        list[n++] = (struct candidate){other->mark[link], 1 - sure, other, v};
    }
    return n;
}

/* One entry a link, least doubtful first; their number. */
static size_t unite(struct candidate *list, size_t n)
{
    size_t kept = 0;
    qsort(list, n, sizeof *list, by_mark);
    for (size_t k = 0; k < n; k++)
        if (kept > 0 && list[kept - 1].mark == list[k].mark)
            list[kept - 1].doubt *= list[k].doubt;
        else
            list[kept++] = list[k];
    qsort(list, kept, sizeof *list, by_doubt);
    return kept;
}

/* Takes over, the surest first, what does not contradict a link that is already in. */
static int adopt(struct nt_model **model, struct candidate *list, size_t n, size_t sizes,
                 bool *inside, struct nt_err *err)
{
    for (size_t k = 0; k < n && list[k].doubt * (double)sizes <= ADOPTED_FALSE; k++) {
        const struct nt_hang *h = list[k].from->hang;
        bool added;
        memset(inside, 0, h->hosts * sizeof *inside);
        for (uint32_t i = h->head[list[k].below]; i < h->tail[list[k].below]; i++)
            inside[h->host[i]] = true;
        if (nt_adopt_link(model, inside, &added, err) < 0)
            return -1;
        if (added && (*model)->confidence > 1 - list[k].doubt)
            (*model)->confidence = 1 - list[k].doubt;
    }
    return 0;
}

/* seen: count of them, without a model where the size has nothing to give. */
static int adopt_all(struct nt_model **model, const struct seen *own, const struct seen *seen,
                     size_t count, struct nt_err *err)
{
    size_t room = 0, n = 0;
    for (size_t o = 0; o < count; o++)
        room += seen[o].model != NULL ? seen[o].model->links : 0;
    struct candidate *list = malloc((room + 1) * sizeof *list);
    bool *inside = malloc((*model)->hosts + 1);
    int status = 0;
    if (list == NULL || inside == NULL)
        status = nt_err_set(err, NT_ERR_SYSTEM, "no memory to merge %zu links", room);
    for (size_t o = 0; o < count && status == 0; o++)
        n += seen[o].model != NULL ? list_candidates(own, &seen[o], list + n) : 0;
    if (status == 0)
        status = adopt(model, list, unite(list, n), count + 1, inside, err);
    free(list);
    free(inside);
    return status;
}

static int see(struct seen *s, const struct nt_model *own, const struct nt_model *m,
               const bool *present, struct nt_err *err)
{
    if (!is_alike(own, m))
        return 0;
    if (seen_init(s, m, err) < 0)
        return -1;
    if (s->hang->tree)
        seen_mark(s, present);
    else
        s->model = NULL;
    return 0;
}

static int unite_trees(struct nt_model **model, const struct nt_model *const *others, size_t count,
                       struct nt_err *err)
{
    const struct nt_model *m = *model;
    struct seen own = {0}, *seen = calloc(count + 1, sizeof *seen);
    bool *present = malloc(m->hosts + 1);
    int status = 0;
    if (seen == NULL || present == NULL)
        status = nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu message sizes", count);
    for (size_t h = 0; h < m->hosts && status == 0; h++)
        present[h] = !m->missing[h];
    if (status == 0)
        status = see(&own, m, m, present, err);
    for (size_t o = 0; o < count && status == 0; o++)
        status = see(&seen[o], m, others[o], present, err);
    if (status == 0 && own.model != NULL) {
        qsort(own.mark, m->links, sizeof *own.mark, mark_compare);
        status = adopt_all(model, &own, seen, count, err);
    }
    for (size_t o = 0; seen != NULL && o < count; o++)
        seen_fini(&seen[o]);
    seen_fini(&own);
    free(seen);
    free(present);
    return status;
}

int nt_infer_merge(struct nt_model **model, const struct nt_model *const *others, size_t count,
                   const struct nt_matrix *latency, uint64_t seed, struct nt_err *err)
{
    size_t links = (*model)->links;
    double confidence = (*model)->confidence;
    for (size_t o = 0; o < count; o++)
        if (others[o]->hosts != (*model)->hosts)
            return nt_err_set(err, NT_ERR_INPUT, "a model of %zu hosts among those of %zu",
                              others[o]->hosts, (*model)->hosts);
    if (unite_trees(model, others, count, err) < 0 ||
        set_probabilities(*model, confidence, others, count, err) < 0)
        return -1;
    return (*model)->links > links ? nt_infer_figures(latency, seed, *model, err) : 0;
}
