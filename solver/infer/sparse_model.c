/* SPDX-License-Identifier: Apache-2.0 */
/* From clusters to a network of switches. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sparse.h"
#include "switch_support.h"

enum { NONE = UINT32_MAX };

/* One in ten networks has a tier that the latencies seen do not show; of those in which all
 * latencies seen are alike one in two, as jobs are that were scattered. */
static const double HIDDEN_TIER = 0.1, HIDDEN_LEAVES = 0.5;

struct draft {
    const struct nt_sparse *s;
    size_t bottom;      /* lowest level that is certified */
    uint32_t *top;      /* seats: the vertex that stands for what is below it; NONE: another seat */
    uint8_t *level_of;  /* that vertex's level, where it is a switch */
    uint32_t *children; /* seats: parts of a cluster, by its root */
    size_t switches, links;
    struct nt_link *link;
};

static double height_of(const struct draft *d, uint32_t vertex, uint8_t level)
{
    return vertex < d->s->hosts ? 0 : exp(d->s->classes.mean[level]) / 2;
}

static void add_link(struct draft *d, uint32_t child, uint8_t child_level, uint32_t parent,
                     size_t level, double probability)
{
    const struct nt_sparse *s = d->s;
    double up = height_of(d, parent, (uint8_t)level) - height_of(d, child, child_level);
    for (size_t k = 0; child < s->hosts && k < s->slow.count; k++) {
        const struct nt_slow_host *h = &s->slow.host[k];
        if (s->host[h->seat] != child)
            continue;
        up += h->placed ? h->us : 0;
        probability = h->placed ? 1 - fmin(h->error_probability, 1) : 0.5;
    }
    d->link[d->links++] = (struct nt_link){.a = child,
                                           .b = parent,
                                           .latency_us = up > 0 ? up : 0,
                                           .latency_se_us = NAN,
                                           .bandwidth_MBps = NAN,
                                           .bandwidth_back_MBps = NAN,
                                           .bandwidth_se_MBps = NAN,
                                           .bandwidth_back_se_MBps = NAN,
                                           .probability = probability};
}

/* How sure it is that what is below root is not one with another at its level. */
static double probability_of(const struct draft *d, uint32_t root, size_t level)
{
    const struct nt_clustering *m = &d->s->clustering;
    if (level == d->bottom)
        return level > 0 ? 0.5 : 1;
    return 1 -
           (double)m->error_probability[level - 1][nt_clusters_find(&m->clusters, level - 1, root)];
}

/* Makes a switch of every cluster of this level that has more than one part. */
static void build_level(struct draft *d, size_t level)
{
    const struct nt_sparse *s = d->s;
    memset(d->children, 0, s->seats * sizeof *d->children);
    for (uint32_t i = 0; i < s->seats; i++)
        if (d->top[i] != NONE)
            d->children[nt_clusters_find(&s->clustering.clusters, level, i)]++;
    uint32_t *parent = d->children; /* from here on: the switch, for those with several parts */
    for (uint32_t r = 0; r < s->seats; r++)
        parent[r] = parent[r] > 1 ? (uint32_t)(s->hosts + d->switches++) : NONE;
    for (uint32_t i = 0; i < s->seats; i++) {
        uint32_t root = nt_clusters_find(&s->clustering.clusters, level, i);
        if (d->top[i] == NONE || parent[root] == NONE)
            continue;
        add_link(d, d->top[i], d->level_of[i], parent[root], level, probability_of(d, i, level));
        d->top[i] = NONE;
    }
    for (uint32_t r = 0; r < s->seats; r++) {
        if (parent[r] == NONE)
            continue;
        d->top[r] = parent[r]; /* a root stands for its cluster, lost or not */
        d->level_of[r] = (uint8_t)level;
    }
}

/* The share of pairs within the lowest clusters that were read; 1: there is none. */
static double share_read(const struct nt_sparse *s, uint32_t *size)
{
    const struct nt_readings *r = &s->readings;
    double pairs = 0, read = 0;
    for (uint32_t i = 0; i < s->seats; i++)
        pairs += s->lost[i] ? 0 : size[nt_clusters_find(&s->clustering.clusters, 0, i)]++;
    for (size_t k = 0; k < r->count; k = nt_readings_next_pair(r, k))
        read += !s->lost[r->at[k].a] && !s->lost[r->at[k].b] &&
                nt_clusters_meet(&s->clustering.clusters, r->at[k].a, r->at[k].b) == 0;
    return pairs > 0 ? fmin(read / pairs, 1) : 1;
}

/* The chance that hosts share switches two by two below the lowest tier and no such pair was read,
 * which would have refuted the network: from one pair to a quarter of the hosts are as likely on a
 * scale of powers of two. */
static int chance_of_pairs(const struct nt_sparse *s, double *chance, struct nt_err *err)
{
    uint32_t *size = calloc(s->seats + 1, sizeof *size);
    double sum = 0, n = 0;
    if (size == NULL)
        return nt_err_memory(err);
    double share = share_read(s, size);
    free(size);
    for (double pairs = 1; pairs == 1 || 4 * pairs <= (double)s->seats; pairs *= 2, n++)
        sum += pow(1 - share, pairs);
    *chance = (s->classes.count == 1 ? HIDDEN_LEAVES : HIDDEN_TIER) * sum / n;
    return 0;
}

/* Of the whole shape. */
static int settle_confidence(const struct nt_sparse *s, struct nt_model *m, struct nt_err *err)
{
    double pairs = 0;
    if (chance_of_pairs(s, &pairs, err) < 0)
        return -1;
    double size = s->seats < 200 ? 4 : s->seats < 2000 ? 8 : 16; /* of a leaf that must be seen */
    double seen = (double)s->random_pairs * (size - 1) / ((double)s->seats - 1);
    double hidden = HIDDEN_TIER * exp(-seen) * (1 + seen + seen * seen / 2); /* under three pairs */
    double sure = 1 - s->clustering.risk - hidden - pairs;
    for (size_t k = 0; k < s->slow.count; k++)
        sure -= s->slow.host[k].error_probability;
    m->confidence = s->verdict != NT_SPARSE_SOUND || sure < 0 ? 0 : sure;
    return 0;
}

/* How well the classes explain what was read; outliers apart, which are counted. */
static void settle_fit(const struct nt_sparse *s, struct nt_model *m)
{
    double rest = 0, mean = 0, square = 0, n = 0;
    for (size_t k = 0; k < s->ledger.count; k++) {
        const struct nt_pair_reading *e = &s->ledger.at[k];
        size_t c = nt_clusters_meet(&s->clustering.clusters, e->a, e->b);
        double off = (double)e->ln - s->classes.mean[c], us = exp((double)e->ln);
        if (fabs(off) > 6 * nt_classes_sd(&s->classes, c))
            continue;
        double fitted = us - exp(s->classes.mean[c]), step = us - mean;
        rest += fitted * fitted;
        mean += step / ++n;
        square += step * (us - mean);
    }
    m->rms_us = n > 0 ? sqrt(rest / n) : NAN;
    m->r2 = n > 0 && square > rest ? 1 - rest / square : 0;
    /* a link lengthens a way across it by twice its latency */
    m->resolution_us = 0.5 * nt_classes_resolution_us(&s->classes);
}

/* A link from a switch upwards that is less sure than not, or NULL. */
static struct nt_link *weak_link(const struct draft *d)
{
    for (size_t k = 0; k < d->links; k++)
        if (d->link[k].a >= d->s->hosts && d->link[k].probability < NT_SUPPORT_STATED)
            return &d->link[k];
    return NULL;
}

/* What hangs on a switch that may not be stated hangs on the one above. The last switch is the top,
 * and stays the last. */
static void dissolve_switches(struct draft *d)
{
    for (struct nt_link *weak = weak_link(d); weak != NULL; weak = weak_link(d)) {
        const struct nt_link up = *weak;
        *weak = d->link[--d->links];
        d->switches--;
        for (size_t k = 0; k < d->links; k++) {
            struct nt_link *l = &d->link[k];
            l->latency_us += l->b == up.a ? up.latency_us : 0;
            l->b = l->b == up.a ? up.b : l->b;
            l->a -= l->a > up.a;
            l->b -= l->b > up.a;
        }
    }
}

/* A switch at the top with two links is none: only their sum can be known. */
static void join_top(struct draft *d)
{
    uint32_t top = (uint32_t)(d->s->hosts + d->switches - 1);
    struct nt_link *up[2];
    size_t n = 0;
    for (size_t k = 0; d->switches > 1 && k < d->links; k++)
        if (d->link[k].b == top) {
            if (n < 2)
                up[n] = &d->link[k];
            n++;
        }
    if (n != 2)
        return;
    up[0]->b = up[1]->a;
    up[0]->latency_us += up[1]->latency_us;
    up[0]->probability = fmin(up[0]->probability, up[1]->probability);
    *up[1] = d->link[--d->links];
    d->switches--;
}

static int finish_model(const struct draft *d, struct nt_model **out, struct nt_err *err)
{
    struct nt_model *m;
    if (nt_model_create(d->s->hosts, d->switches, d->links, &m, err) < 0)
        return -1;
    memcpy(m->link, d->link, d->links * sizeof *m->link);
    for (uint32_t h = 0; h < d->s->hosts; h++)
        m->missing[h] = d->s->seat[h] == NT_SPARSE_NO_SEAT || d->s->lost[d->s->seat[h]];
    m->family = d->switches > 1 ? NT_FAMILY_TREE : NT_FAMILY_STAR;
    if (d->s->clustered)
        settle_fit(d->s, m);
    if ((d->s->clustered && settle_confidence(d->s, m, err) < 0) ||
        nt_model_canonicalise(m, err) < 0) {
        nt_model_destroy(m);
        return -1;
    }
    nt_resolution_state(m);
    nt_confidence_limit(m);
    m->tiers = 0;
    for (size_t k = 0; k < m->switches; k++)
        m->tiers = m->tier[k] > m->tiers ? m->tier[k] : m->tiers;
    *out = m;
    return 0;
}

static void draft_fini(struct draft *d)
{
    free(d->top);
    free(d->level_of);
    free(d->children);
    free(d->link);
}

static int draft_init(struct draft *d, const struct nt_sparse *s, struct nt_err *err)
{
    *d = (struct draft){.s = s,
                        .top = calloc(s->seats + 1, sizeof *d->top),
                        .level_of = calloc(s->seats + 1, sizeof *d->level_of),
                        .children = calloc(s->seats + 1, sizeof *d->children),
                        .link = calloc(2 * s->seats + 1, sizeof *d->link)};
    if (!d->top || !d->level_of || !d->children || !d->link) {
        draft_fini(d);
        return nt_err_memory(err);
    }
    for (uint32_t i = 0; i < s->seats; i++)
        d->top[i] = s->lost[i] ? NONE : s->host[i];
    return 0;
}

int nt_sparse_model(const struct nt_sparse *s, struct nt_model **out, struct nt_err *err)
{
    struct draft d;
    if (!s->clustered && s->seats > 1)
        return nt_err_set(err, NT_ERR_INPUT, "the latencies of this network are not known yet");
    if (draft_init(&d, s, err) < 0)
        return -1;
    if (s->clustered)
        d.bottom = nt_clustering_certain_level(&s->clustering);
    for (size_t l = d.bottom; s->clustered && l < s->classes.count; l++)
        build_level(&d, l);
    dissolve_switches(&d);
    join_top(&d);
    int rc = finish_model(&d, out, err);
    draft_fini(&d);
    return rc;
}
