/* SPDX-License-Identifier: Apache-2.0 */
#include "sparse.h"

#include <math.h>
#include <string.h>

#include "stats.h"
#include "switch_support.h"

enum { MOST = 20 };

/* ---- making ---- */

static int number_seats(struct nt_sparse *s, const uint32_t *order, const bool *missing,
                        struct nt_err *err)
{
    memset(s->seat, 0xff, s->hosts * sizeof *s->seat);
    for (size_t i = 0; i < s->hosts; i++) {
        uint32_t host = order != NULL ? order[i] : (uint32_t)i;
        if (host >= s->hosts || s->seat[host] != NT_SPARSE_NO_SEAT)
            return nt_err_set(err, NT_ERR_INPUT,
                              "a sweep of %zu hosts in an order with host %u twice", s->hosts,
                              host);
        if (missing != NULL && missing[host])
            continue;
        s->seat[host] = (uint32_t)s->seats;
        s->host[s->seats++] = host;
    }
    return 0;
}

int nt_sparse_init(struct nt_sparse *s, size_t hosts, const uint32_t *order, const bool *missing,
                   struct nt_err *err)
{
    *s = (struct nt_sparse){.hosts = hosts};
    s->host = nt_arena_array(&s->memory, hosts + 1, sizeof *s->host);
    s->seat = nt_arena_array(&s->memory, hosts + 1, sizeof *s->seat);
    s->lost = nt_arena_array(&s->memory, hosts + 1, sizeof *s->lost);
    s->aside = nt_arena_array(&s->memory, hosts + 1, sizeof *s->aside);
    if (nt_arena_check(&s->memory, err) == 0 && number_seats(s, order, missing, err) == 0)
        return 0;
    nt_sparse_fini(s);
    return -1;
}

int nt_sparse_init_known(struct nt_sparse *s, size_t hosts, const bool *missing,
                         const struct nt_classes *classes, struct nt_err *err)
{
    struct nt_clustering *m = &s->clustering;
    if (nt_sparse_init(s, hosts, NULL, NULL, err) < 0)
        return -1;
    for (uint32_t h = 0; missing != NULL && h < hosts; h++)
        if (missing[h])
            nt_sparse_lose(s, h);
    s->classes = *classes;
    s->verdict = NT_SPARSE_SOUND;
    *m = (struct nt_clustering){.seats = s->seats, .classes = &s->classes, .over = true};
    s->clustered = nt_clusters_init(&m->clusters, s->seats, classes->count, err) == 0;
    for (size_t l = 0; s->clustered && l < classes->count; l++)
        m->error_probability[l] =
            nt_arena_array(&m->clusters.memory, s->seats + 1, sizeof *m->error_probability[l]);
    if (s->clustered && nt_arena_check(&m->clusters.memory, err) == 0)
        return 0;
    nt_sparse_fini(s);
    return -1;
}

static void forget_clusters(struct nt_sparse *s)
{
    if (s->clustered)
        nt_clustering_fini(&s->clustering);
    s->clustered = false;
}

void nt_sparse_fini(struct nt_sparse *s)
{
    forget_clusters(s);
    nt_readings_fini(&s->ledger);
    nt_readings_fini(&s->readings);
    nt_finding_fini(&s->finding);
    nt_arena_fini(&s->memory);
    *s = (struct nt_sparse){0};
}

void nt_sparse_lose(struct nt_sparse *s, uint32_t seat)
{
    s->lost[seat] = s->aside[seat] = true;
}

struct nt_found_tree nt_sparse_tree(struct nt_sparse *s)
{
    return (struct nt_found_tree){.seats = s->seats,
                                  .lost = s->lost,
                                  .classes = &s->classes,
                                  .clusters = &s->clustering.clusters,
                                  .slow = &s->slow,
                                  .readings = &s->readings,
                                  .noise = s->noise,
                                  .pings = s->usual};
}

/* ---- classes ---- */

/* The calibration's readings in pairs, in their order: the last ones, since a first round that was
 * too noisy is repeated. */
static void refill_pair(struct nt_calibration *c, const struct nt_pair_reading *r, size_t n)
{
    for (size_t k = n % 2 == 1 && n > 1; k < n; k += 2)
        c->at[c->count++] =
            (struct nt_double_reading){r[k].a, r[k].b, r[k].ln, k + 1 < n ? r[k + 1].ln : NAN};
}

static bool is_of_slow(const struct nt_sparse *s, const struct nt_pair_reading *r)
{
    return nt_slow_has(&s->slow, r->a) || nt_slow_has(&s->slow, r->b);
}

/* Readings after the calibration go straight to the ledger: they are not a random sample of the
 * classes. */
static int refill_calibration(struct nt_sparse *s, struct nt_calibration *c, struct nt_err *err)
{
    const struct nt_readings *r = &s->readings;
    nt_readings_fini(&s->ledger);
    for (size_t k = 0, end; k < r->count; k = end) {
        size_t calibration = k;
        end = nt_readings_next_pair(r, k);
        if (is_of_slow(s, &r->at[k]))
            continue;
        while (calibration < end && r->at[calibration].turn < r->calibration)
            calibration++;
        refill_pair(c, r->at + k, calibration - k);
        for (size_t i = calibration; i < end && r->at[i].turn < r->planning; i++)
            if (nt_readings_add(&s->ledger, r->at[i].a, r->at[i].b, 0, r->at[i].ln, err) < 0)
                return -1;
    }
    return 0;
}

static int reread_once(struct nt_sparse *s, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_calibration c = {.seats = s->seats,
                               .at = nt_arena_array(&memory, s->readings.count + 1, sizeof *c.at)};
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    int rc = refill_calibration(s, &c, err);
    if (rc == 0)
        rc = nt_calibration_classes(&c, &s->ledger, &s->classes, err);
    if (rc == 0 && !s->plain)
        rc = nt_slow_find(&c, &s->classes, s->lost, &s->slow, err);
    s->random_pairs = c.random_pairs;
    s->noise = c.noise;
    return rc;
}

/* Makes the classes and the ledger from all readings without slow hosts, and adds hosts that look
 * slow to these. */
static int reread_ledger(struct nt_sparse *s, struct nt_err *err)
{
    for (size_t had = s->slow.count + 1; had != s->slow.count;) {
        had = s->slow.count;
        if (reread_once(s, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- clusters ---- */

/* For all but slow hosts. */
static int begin_clusters(struct nt_sparse *s, struct nt_err *err)
{
    forget_clusters(s);
    for (size_t i = 0; i < s->seats; i++)
        s->aside[i] = s->lost[i] || nt_slow_has(&s->slow, (uint32_t)i);
    if (nt_clustering_init(&s->clustering, s->seats, &s->classes, &s->ledger, s->aside, err) < 0)
        return -1;
    s->clustered = true;
    return 0;
}

int nt_sparse_end_calibration(struct nt_sparse *s, struct nt_err *err)
{
    s->readings.calibration = s->readings.planning = s->readings.count;
    nt_readings_sort(&s->readings);
    return reread_ledger(s, err) < 0 ? -1 : begin_clusters(s, err);
}

/* The usual pings of a reading with from <= turn < till; 0: unknown. Slow hosts have more. */
static double usual_pings(const struct nt_sparse *s, size_t from, size_t till, float *scratch)
{
    const struct nt_readings *r = &s->readings;
    size_t n = 0;
    for (size_t k = 0; k < r->count; k++)
        if (r->at[k].turn >= from && r->at[k].turn < till && r->at[k].pings > 0 &&
            !is_of_slow(s, &r->at[k]))
            scratch[n++] = (float)r->at[k].pings;
    return n > 0 ? (double)nt_stats_select(scratch, n, n / 2) : 0;
}

/* More pings a reading than in calibration are quieter readings. */
static int quieten_noise(struct nt_sparse *s, struct nt_err *err)
{
    const struct nt_readings *r = &s->readings;
    NT_SCOPED struct nt_arena memory = {0};
    float *scratch = nt_arena_array(&memory, r->count + 1, sizeof *scratch);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    double before = usual_pings(s, 0, r->calibration, scratch);
    double after = usual_pings(s, r->calibration, r->planning, scratch);
    s->usual = before;
    if (before > 0 && after > before)
        s->classes.noise *= sqrt(before / after);
    return 0;
}

/* A host that was added to a cluster may be its root from now on. */
static void pass_errors_down(struct nt_clustering *m)
{
    for (size_t l = 0; l < m->clusters.levels; l++)
        for (uint32_t i = 0; i < m->seats; i++) {
            uint32_t root = nt_clusters_find(&m->clusters, l, i);
            m->error_probability[l][root] =
                fmaxf(m->error_probability[l][root], m->error_probability[l][i]);
        }
}

static int place_slow(struct nt_sparse *s, struct nt_err *err)
{
    const struct nt_found_tree tree = nt_sparse_tree(s);
    if (s->slow.count == 0)
        return 0;
    for (size_t k = 0; k < s->slow.count; k++)
        s->slow.host[k].placed = false;
    if (nt_slow_place(&tree, &s->slow, err) < 0)
        return -1;
    pass_errors_down(&s->clustering);
    return 0;
}

/* ---- verification ---- */

static int judge_readings(struct nt_sparse *s, struct nt_err *err)
{
    const struct nt_found_tree claim = nt_sparse_tree(s);
    struct nt_finding finding;
    nt_readings_sort(&s->readings);
    if (nt_verify_judge(&claim, &finding, err) < 0)
        return -1;
    nt_finding_fini(&s->finding);
    s->finding = finding;
    s->judged = s->readings.count + s->readings.failures;
    return 0;
}

/* Pairs that cannot be measured leave a few tests open. If one wrong cell or more is expected, the
 * clustering has no confidence, and pairs that do not contradict it are no evidence for it. */
void nt_sparse_set_verdict(struct nt_sparse *s)
{
    const struct nt_finding *f = &s->finding;
    if (f->contradicting > 0)
        s->verdict = NT_SPARSE_REFUTED;
    else if (f->rechecks == 0 && MOST * f->wanted <= s->seats && s->clustering.over &&
             s->clustering.unsettled == 0 && s->clustering.risk < 1 && nt_slow_all_placed(&s->slow))
        s->verdict = NT_SPARSE_SOUND;
    else
        s->verdict = NT_SPARSE_OPEN;
}

void nt_sparse_check(const struct nt_sparse *s, struct nt_sparse_check *check)
{
    *check = (struct nt_sparse_check){.verdict = s->seats > 1 ? s->verdict : NT_SPARSE_SOUND,
                                      .tested = s->finding.tested,
                                      .contradicting = s->finding.contradicting};
    if (check->contradicting > 0) {
        check->a = s->host[s->finding.first.a];
        check->b = s->host[s->finding.first.b];
    }
}

/* How many hosts are in its cluster. A slow host was likely placed alone. */
static size_t cluster_size(const struct nt_sparse *s, uint32_t seat)
{
    uint32_t root = nt_clusters_find(&s->clustering.clusters, 0, seat);
    size_t n = 0;
    for (uint32_t i = 0; i < s->seats; i++)
        n += nt_clusters_find(&s->clustering.clusters, 0, i) == root;
    return n;
}

/* Whether this number of hosts is in most of the contradictions: the sum of the largest counts. */
static bool few_hosts_explain(const struct nt_sparse *s, size_t few)
{
    const uint32_t *contradictions = s->finding.contradictions;
    uint32_t worst[NT_SLOW_MAX + 1] = {0};
    size_t sum = 0;
    for (uint32_t i = 0; i < s->seats; i++) {
        size_t k = few;
        for (; k > 0 && worst[k - 1] < contradictions[i]; k--)
            worst[k] = worst[k - 1];
        worst[k] = contradictions[i];
    }
    for (size_t k = 0; k < few; k++)
        sum += worst[k];
    return 2 * sum >= s->finding.contradicting;
}

/* Marks the host with most contradictions as slow; false if that cannot explain them: most are not
 * of so few hosts, or these are marked already. Ties are resolved for the host of the smaller
 * cluster; few hosts tie, so that counting is quick. */
static bool mark_slow_host(struct nt_sparse *s)
{
    const uint32_t *contradictions = s->finding.contradictions;
    uint32_t host = UINT32_MAX;
    size_t most = nt_slow_max(s->seats);
    if (s->plain || s->slow.count >= most || !few_hosts_explain(s, most))
        return false;
    for (uint32_t i = 0; i < s->seats; i++)
        if (contradictions[i] > 0 && !s->lost[i] && !nt_slow_has(&s->slow, i) &&
            (host == UINT32_MAX || contradictions[i] > contradictions[host] ||
             (contradictions[i] == contradictions[host] &&
              cluster_size(s, i) < cluster_size(s, host))))
            host = i;
    if (host == UINT32_MAX)
        return false;
    nt_slow_add(&s->slow, host);
    return true;
}

/* Solves the network with the hosts that are marked as slow. */
static int solve_once(struct nt_sparse *s, struct nt_err *err)
{
    nt_finding_fini(&s->finding);
    s->judged = 0;
    if (begin_clusters(s, err) < 0 || quieten_noise(s, err) < 0 ||
        nt_clustering_replay(&s->clustering, err) < 0)
        return -1;
    if (s->clustering.unsettled == 0 && place_slow(s, err) < 0)
        return -1;
    return nt_slow_all_placed(&s->slow) ? judge_readings(s, err) : 0;
}

int nt_sparse_solve(struct nt_sparse *s, struct nt_err *err)
{
    s->slow.count = 0;
    s->plain = false;
    nt_readings_sort(&s->readings);
    for (;;) {
        if (reread_ledger(s, err) < 0 || solve_once(s, err) < 0)
            return -1;
        if (s->finding.contradicting == 0 || s->clustering.unsettled > 0)
            return 0;
        if (mark_slow_host(s))
            continue;
        if (s->slow.count == 0)
            return 0;
        s->slow.count = 0;
        s->plain = true;
    }
}

int nt_sparse_judge(struct nt_sparse *s, struct nt_err *err)
{
    if (s->judged == s->readings.count + s->readings.failures)
        return 0;
    if (s->slow.count == 0 && judge_readings(s, err) < 0)
        return -1;
    return s->slow.count > 0 || s->finding.contradicting > 0 ? nt_sparse_solve(s, err) : 0;
}

/* ---- all readings at once ---------------------------------------------------------------- */

static bool has_seats(const struct nt_sparse *s, const struct nt_pair_reading *r)
{
    return r->b < s->hosts && s->seat[r->a] != NT_SPARSE_NO_SEAT &&
           s->seat[r->b] != NT_SPARSE_NO_SEAT;
}

static int take_readings(struct nt_sparse *s, const struct nt_readings *from, struct nt_err *err)
{
    struct nt_readings *to = &s->readings;
    for (size_t k = 0; k < from->failures; k++) {
        const struct nt_pair_reading *r = &from->failure[k];
        if (has_seats(s, r) && nt_readings_note_failure(to, s->seat[r->a], s->seat[r->b], err) < 0)
            return -1;
    }
    for (size_t k = 0; k < from->count; k++) {
        const struct nt_pair_reading *r = &from->at[k];
        if (!has_seats(s, r))
            continue;
        if (nt_readings_add(to, s->seat[r->a], s->seat[r->b], r->pings, r->ln, err) < 0)
            return -1;
        to->calibration += r->turn < from->calibration;
        to->planning += r->turn < from->planning;
    }
    return 0;
}

int nt_infer_sparse(size_t hosts, const bool *missing, const struct nt_readings *readings,
                    struct nt_model **out, struct nt_sparse_check *check, struct nt_err *err)
{
    struct nt_sparse s;
    if (nt_sparse_init(&s, hosts, NULL, missing, err) < 0)
        return -1;
    int rc = take_readings(&s, readings, err);
    if (rc == 0 && s.seats > 1)
        rc = nt_sparse_solve(&s, err);
    nt_sparse_set_verdict(&s);
    if (rc == 0)
        rc = nt_sparse_model(&s, out, err);
    if (rc == 0)
        nt_sparse_check(&s, check);
    nt_sparse_fini(&s);
    return rc;
}

/* ---- a network of switches ---- */

/* From clusters to a network of switches. */

enum { NONE = UINT32_MAX };

/* One network in ten has a tier that the measured latencies do not show. If all measured latencies
 * are equal, it is one in two, as for scattered jobs. */
static const double HIDDEN_TIER = 0.1, HIDDEN_LEAVES = 0.5;

struct draft {
    const struct nt_sparse *s;
    size_t bottom; /* lowest level that is certified */
    /* Per seat: the vertex that represents the cluster below it; NONE: another seat does */
    uint32_t *top;
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

/* Probability that the cluster of root is not one with another at its level. */
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
    uint32_t *parent = d->children; /* from here on: the switch of clusters with several parts */
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
        d->top[r] = parent[r]; /* a root represents its cluster, lost or not */
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

/* Probability that pairs of hosts share switches below the lowest tier while no such pair was read,
 * which would have refuted the network: one pair to a quarter of the hosts are equally likely on a
 * scale of powers of two. */
static int chance_of_pairs(const struct nt_sparse *s, double *chance, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *size = nt_arena_array(&memory, s->seats + 1, sizeof *size);
    double sum = 0, n = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    double share = share_read(s, size);
    for (double pairs = 1; pairs == 1 || 4 * pairs <= (double)s->seats; pairs *= 2, n++)
        sum += pow(1 - share, pairs);
    *chance = (s->classes.count == 1 ? HIDDEN_LEAVES : HIDDEN_TIER) * sum / n;
    return 0;
}

/* Sets the confidence of the whole shape. */
static int set_confidence(const struct nt_sparse *s, struct nt_model *m, struct nt_err *err)
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

/* How well the classes explain the readings; outliers are counted separately. */
static void set_fit(const struct nt_sparse *s, struct nt_model *m)
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

/* An uplink of a switch with a probability below 1/2, or NULL. */
static struct nt_link *weak_link(const struct draft *d)
{
    for (size_t k = 0; k < d->links; k++)
        if (d->link[k].a >= d->s->hosts && d->link[k].probability < NT_SUPPORT_REPORTED)
            return &d->link[k];
    return NULL;
}

/* Attaches the hosts and switches of a switch that is not reported to the switch above. The root is
 * the last switch and stays last. */
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

/* Removes a root with two links: only their sum can be determined. */
static void remove_root(struct draft *d)
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
        set_fit(d->s, m);
    if ((d->s->clustered && set_confidence(d->s, m, err) < 0) ||
        nt_model_canonicalise(m, err) < 0) {
        nt_model_destroy(m);
        return -1;
    }
    nt_resolution_lower(m);
    nt_confidence_limit(m);
    m->tiers = 0;
    for (size_t k = 0; k < m->switches; k++)
        m->tiers = m->tier[k] > m->tiers ? m->tier[k] : m->tiers;
    *out = m;
    return 0;
}

int nt_sparse_model(const struct nt_sparse *s, struct nt_model **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct draft d = {.s = s,
                      .top = nt_arena_array(&memory, s->seats + 1, sizeof *d.top),
                      .level_of = nt_arena_array(&memory, s->seats + 1, sizeof *d.level_of),
                      .children = nt_arena_array(&memory, s->seats + 1, sizeof *d.children),
                      .link = nt_arena_array(&memory, 2 * s->seats + 1, sizeof *d.link)};
    if (!s->clustered && s->seats > 1)
        return nt_err_set(err, NT_ERR_INPUT, "the latencies of this network are not known yet");
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint32_t i = 0; i < s->seats; i++)
        d.top[i] = s->lost[i] ? NONE : s->host[i];
    if (s->clustered)
        d.bottom = nt_clustering_certain_level(&s->clustering);
    for (size_t l = d.bottom; s->clustered && l < s->classes.count; l++)
        build_level(&d, l);
    dissolve_switches(&d);
    remove_root(&d);
    return finish_model(&d, out, err);
}
