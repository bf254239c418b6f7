#include "sparse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibration.h"
#include "stats.h"

enum { MOST = 20 };

/* ---- making -----------------------------------------------------------------------------------
 */

static int number_seats(struct nt_sparse *s, const uint32_t *order, const bool *absent,
                        struct nt_err *err)
{
    memset(s->seat, 0xff, s->hosts * sizeof *s->seat);
    for (size_t i = 0; i < s->hosts; i++) {
        uint32_t host = order != NULL ? order[i] : (uint32_t)i;
        if (host >= s->hosts || s->seat[host] != NT_SPARSE_ABSENT)
            return nt_err_set(err, NT_ERR_INPUT,
                              "a sweep of %zu hosts in an order with host %u twice", s->hosts,
                              host);
        if (absent != NULL && absent[host])
            continue;
        s->seat[host] = (uint32_t)s->seats;
        s->host[s->seats++] = host;
    }
    return 0;
}

int nt_sparse_init(struct nt_sparse *s, size_t hosts, const uint32_t *order, const bool *absent,
                   struct nt_err *err)
{
    *s = (struct nt_sparse){.hosts = hosts,
                            .host = calloc(hosts + 1, sizeof *s->host),
                            .seat = calloc(hosts + 1, sizeof *s->seat),
                            .lost = calloc(hosts + 1, sizeof *s->lost),
                            .aside = calloc(hosts + 1, sizeof *s->aside)};
    int rc = s->host && s->seat && s->lost && s->aside
                 ? number_seats(s, order, absent, err)
                 : nt_err_set(err, NT_ERR_SYSTEM, "no memory for a sweep of %zu hosts", hosts);
    if (rc < 0)
        nt_sparse_fini(s);
    return rc;
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
    free(s->host);
    free(s->seat);
    free(s->lost);
    free(s->aside);
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

/* ---- classes ----------------------------------------------------------------------------------
 */

/* The calibration's readings two by two, as it took them: the last ones, for a first round that
 * was too noisy is taken again. */
static void refill_pair(struct nt_calibration *c, const struct nt_pair_reading *r, size_t n)
{
    for (size_t k = n % 2 == 1 && n > 1; k < n; k += 2)
        c->at[c->count++] =
            (struct nt_twice){r[k].a, r[k].b, r[k].ln, k + 1 < n ? r[k + 1].ln : NAN};
}

static bool is_of_slow(const struct nt_sparse *s, const struct nt_pair_reading *r)
{
    return nt_slow_has(&s->slow, r->a) || nt_slow_has(&s->slow, r->b);
}

/* Readings after the calibration go straight to the ledger: they are no fair sample of the
 * classes. */
static int refill(struct nt_sparse *s, struct nt_calibration *c, struct nt_err *err)
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
    struct nt_calibration c;
    if (nt_calibration_init(&c, s->seats, s->readings.count, err) < 0)
        return -1;
    int rc = refill(s, &c, err);
    if (rc == 0)
        rc = nt_calibration_classes(&c, &s->ledger, &s->classes, err);
    if (rc == 0 && !s->plain)
        rc = nt_slow_suspect(&c, &s->classes, s->lost, &s->slow, err);
    s->random_pairs = c.random_pairs;
    s->noise = c.noise;
    nt_calibration_fini(&c);
    return rc;
}

/* The classes and the ledger from all readings but those of slow hosts, to whom it adds who looks
 * slow then. */
static int reread(struct nt_sparse *s, struct nt_err *err)
{
    for (size_t had = s->slow.count + 1; had != s->slow.count;) {
        had = s->slow.count;
        if (reread_once(s, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- clusters ---------------------------------------------------------------------------------
 */

/* Of all but slow hosts. */
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

int nt_sparse_begin(struct nt_sparse *s, struct nt_err *err)
{
    s->readings.calibration = s->readings.planning = s->readings.count;
    nt_readings_sort(&s->readings);
    return reread(s, err) < 0 ? -1 : begin_clusters(s, err);
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
static int quieten(struct nt_sparse *s, struct nt_err *err)
{
    const struct nt_readings *r = &s->readings;
    float *scratch = malloc((r->count + 1) * sizeof *scratch);
    if (scratch == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu readings", r->count);
    double before = usual_pings(s, 0, r->calibration, scratch);
    double after = usual_pings(s, r->calibration, r->planning, scratch);
    s->usual = before;
    if (before > 0 && after > before)
        s->classes.noise *= sqrt(before / after);
    free(scratch);
    return 0;
}

/* A host that came to a cluster may stand for it from now on. */
static void pass_doubts_on(struct nt_clustering *m)
{
    for (size_t l = 0; l < m->clusters.levels; l++)
        for (uint32_t i = 0; i < m->seats; i++) {
            uint32_t root = nt_clusters_find(&m->clusters, l, i);
            m->doubt[l][root] = fmaxf(m->doubt[l][root], m->doubt[l][i]);
        }
}

static int place(struct nt_sparse *s, struct nt_err *err)
{
    const struct nt_found_tree tree = nt_sparse_tree(s);
    if (s->slow.count == 0)
        return 0;
    for (size_t k = 0; k < s->slow.count; k++)
        s->slow.host[k].placed = false;
    if (nt_slow_place(&tree, &s->slow, err) < 0)
        return -1;
    pass_doubts_on(&s->clustering);
    return 0;
}

/* ---- whether that is right --------------------------------------------------------------------
 */

static int judge(struct nt_sparse *s, struct nt_err *err)
{
    const struct nt_found_tree claim = nt_sparse_tree(s);
    struct nt_finding finding;
    nt_readings_sort(&s->readings);
    if (nt_verify_judge(&claim, &finding, err) < 0)
        return -1;
    nt_finding_fini(&s->finding);
    s->finding = finding;
    s->judged = s->readings.count;
    return 0;
}

/* Pairs that cannot be measured leave a few tests wanting. */
void nt_sparse_decide(struct nt_sparse *s)
{
    const struct nt_finding *f = &s->finding;
    if (f->against > 0)
        s->verdict = NT_SPARSE_REFUTED;
    else if (f->suspects == 0 && MOST * f->wanted <= s->seats && s->clustering.over &&
             s->clustering.unsettled == 0 && nt_slow_all_placed(&s->slow))
        s->verdict = NT_SPARSE_SOUND;
    else
        s->verdict = NT_SPARSE_OPEN;
}

void nt_sparse_check(const struct nt_sparse *s, struct nt_sparse_check *check)
{
    *check = (struct nt_sparse_check){.verdict = s->seats > 1 ? s->verdict : NT_SPARSE_SOUND,
                                      .tested = s->finding.tested,
                                      .against = s->finding.against};
    if (check->against > 0) {
        check->a = s->host[s->finding.first.a];
        check->b = s->host[s->finding.first.b];
    }
}

/* How many hosts hang with it. A slow one was likely put where nobody else is. */
static size_t mates_of(const struct nt_sparse *s, uint32_t seat)
{
    uint32_t root = nt_clusters_find(&s->clustering.clusters, 0, seat);
    size_t n = 0;
    for (uint32_t i = 0; i < s->seats; i++)
        n += nt_clusters_find(&s->clustering.clusters, 0, i) == root;
    return n;
}

/* Whether so few hosts have to do with most of what is wrong: the sum of the largest blames. */
static bool few_are_to_blame(const struct nt_sparse *s, size_t few)
{
    const uint32_t *blame = s->finding.blame;
    uint32_t worst[NT_SLOW_MAX + 1] = {0};
    size_t sum = 0;
    for (uint32_t i = 0; i < s->seats; i++) {
        size_t k = few;
        for (; k > 0 && worst[k - 1] < blame[i]; k--)
            worst[k] = worst[k - 1];
        worst[k] = blame[i];
    }
    for (size_t k = 0; k < few; k++)
        sum += worst[k];
    return 2 * sum >= s->finding.against;
}

/* Takes the host that most is held against for slow; false when it could not be that which is
 * wrong: most of what is has nothing to do with so few hosts, or they are taken already. Where few
 * are to blame few are equally so, and their mates are quickly counted. */
static bool accuse(struct nt_sparse *s)
{
    const uint32_t *blame = s->finding.blame;
    uint32_t host = UINT32_MAX;
    size_t most = nt_slow_most(s->seats);
    if (s->plain || s->slow.count >= most || !few_are_to_blame(s, most))
        return false;
    for (uint32_t i = 0; i < s->seats; i++)
        if (blame[i] > 0 && !s->lost[i] && !nt_slow_has(&s->slow, i) &&
            (host == UINT32_MAX || blame[i] > blame[host] ||
             (blame[i] == blame[host] && mates_of(s, i) < mates_of(s, host))))
            host = i;
    if (host == UINT32_MAX)
        return false;
    nt_slow_add(&s->slow, host);
    return true;
}

/* The network with the hosts that are taken for slow now. */
static int solve_once(struct nt_sparse *s, struct nt_err *err)
{
    nt_finding_fini(&s->finding);
    s->judged = 0;
    if (begin_clusters(s, err) < 0 || quieten(s, err) < 0 ||
        nt_clustering_recall(&s->clustering, err) < 0)
        return -1;
    if (s->clustering.unsettled == 0 && place(s, err) < 0)
        return -1;
    return nt_slow_all_placed(&s->slow) ? judge(s, err) : 0;
}

int nt_sparse_solve(struct nt_sparse *s, struct nt_err *err)
{
    s->slow.count = 0;
    s->plain = false;
    nt_readings_sort(&s->readings);
    for (;;) {
        if (reread(s, err) < 0 || solve_once(s, err) < 0)
            return -1;
        if (s->finding.against == 0 || s->clustering.unsettled > 0)
            return 0;
        if (accuse(s))
            continue;
        if (s->slow.count == 0)
            return 0;
        s->slow.count = 0;
        s->plain = true;
    }
}

int nt_sparse_judge(struct nt_sparse *s, struct nt_err *err)
{
    if (s->judged == s->readings.count)
        return 0;
    if (s->slow.count == 0 && judge(s, err) < 0)
        return -1;
    return s->slow.count > 0 || s->finding.against > 0 ? nt_sparse_solve(s, err) : 0;
}

/* ---- all readings at once ---------------------------------------------------------------------
 */

static int take(struct nt_sparse *s, const struct nt_readings *from, struct nt_err *err)
{
    struct nt_readings *to = &s->readings;
    for (size_t k = 0; k < from->count; k++) {
        const struct nt_pair_reading *r = &from->at[k];
        if (r->b >= s->hosts || s->seat[r->a] == NT_SPARSE_ABSENT ||
            s->seat[r->b] == NT_SPARSE_ABSENT)
            continue;
        if (nt_readings_add(to, s->seat[r->a], s->seat[r->b], r->pings, r->ln, err) < 0)
            return -1;
        to->calibration += r->turn < from->calibration;
        to->planning += r->turn < from->planning;
    }
    return 0;
}

int nt_infer_sparse(size_t hosts, const bool *absent, const struct nt_readings *readings,
                    struct nt_model **out, struct nt_sparse_check *check, struct nt_err *err)
{
    struct nt_sparse s;
    if (nt_sparse_init(&s, hosts, NULL, absent, err) < 0)
        return -1;
    int rc = take(&s, readings, err);
    if (rc == 0 && s.seats > 1)
        rc = nt_sparse_solve(&s, err);
    nt_sparse_decide(&s);
    if (rc == 0)
        rc = nt_sparse_model(&s, out, err);
    if (rc == 0)
        nt_sparse_check(&s, check);
    nt_sparse_fini(&s);
    return rc;
}
