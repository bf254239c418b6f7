/* SPDX-License-Identifier: Apache-2.0 */
#include "sparse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibration.h"
#include "stats.h"

enum { MOST = 20 };

/* ---- making -----------------------------------------------------------------------------------
 */

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
    *s = (struct nt_sparse){.hosts = hosts,
                            .host = calloc(hosts + 1, sizeof *s->host),
                            .seat = calloc(hosts + 1, sizeof *s->seat),
                            .lost = calloc(hosts + 1, sizeof *s->lost),
                            .aside = calloc(hosts + 1, sizeof *s->aside)};
    int rc = s->host && s->seat && s->lost && s->aside ? number_seats(s, order, missing, err)
                                                       : nt_err_memory(err);
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
    struct nt_calibration c;
    if (nt_calibration_init(&c, s->seats, s->readings.count, err) < 0)
        return -1;
    int rc = refill_calibration(s, &c, err);
    if (rc == 0)
        rc = nt_calibration_classes(&c, &s->ledger, &s->classes, err);
    if (rc == 0 && !s->plain)
        rc = nt_slow_find(&c, &s->classes, s->lost, &s->slow, err);
    s->random_pairs = c.random_pairs;
    s->noise = c.noise;
    nt_calibration_fini(&c);
    return rc;
}

/* Makes the classes and the ledger from all readings but those of slow hosts, and adds hosts
 * that look slow to these. */
static int reread_ledger(struct nt_sparse *s, struct nt_err *err)
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
    float *scratch = malloc((r->count + 1) * sizeof *scratch);
    if (scratch == NULL)
        return nt_err_memory(err);
    double before = usual_pings(s, 0, r->calibration, scratch);
    double after = usual_pings(s, r->calibration, r->planning, scratch);
    s->usual = before;
    if (before > 0 && after > before)
        s->classes.noise *= sqrt(before / after);
    free(scratch);
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

/* ---- verification -----------------------------------------------------------------------------
 */

static int judge_readings(struct nt_sparse *s, struct nt_err *err)
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

/* Pairs that cannot be measured leave a few tests open. */
void nt_sparse_decide(struct nt_sparse *s)
{
    const struct nt_finding *f = &s->finding;
    if (f->contradicting > 0)
        s->verdict = NT_SPARSE_REFUTED;
    else if (f->rechecks == 0 && MOST * f->wanted <= s->seats && s->clustering.over &&
             s->clustering.unsettled == 0 && nt_slow_all_placed(&s->slow))
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
static size_t mates_of(const struct nt_sparse *s, uint32_t seat)
{
    uint32_t root = nt_clusters_find(&s->clustering.clusters, 0, seat);
    size_t n = 0;
    for (uint32_t i = 0; i < s->seats; i++)
        n += nt_clusters_find(&s->clustering.clusters, 0, i) == root;
    return n;
}

/* Whether so few hosts are in most of the contradictions: the sum of the largest counts. */
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

/* Takes the host with most contradictions for slow; false when that cannot explain them: most are
 * not of so few hosts, or those are taken already. Ties go to the host of the smaller cluster; few
 * hosts tie, so that counting is quick. */
static bool accuse_host(struct nt_sparse *s)
{
    const uint32_t *contradictions = s->finding.contradictions;
    uint32_t host = UINT32_MAX;
    size_t most = nt_slow_max(s->seats);
    if (s->plain || s->slow.count >= most || !few_hosts_explain(s, most))
        return false;
    for (uint32_t i = 0; i < s->seats; i++)
        if (contradictions[i] > 0 && !s->lost[i] && !nt_slow_has(&s->slow, i) &&
            (host == UINT32_MAX || contradictions[i] > contradictions[host] ||
             (contradictions[i] == contradictions[host] && mates_of(s, i) < mates_of(s, host))))
            host = i;
    if (host == UINT32_MAX)
        return false;
    nt_slow_add(&s->slow, host);
    return true;
}

/* The network, with the hosts that are now taken for slow. */
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
        if (accuse_host(s))
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
    if (s->slow.count == 0 && judge_readings(s, err) < 0)
        return -1;
    return s->slow.count > 0 || s->finding.contradicting > 0 ? nt_sparse_solve(s, err) : 0;
}

/* ---- all readings at once ---------------------------------------------------------------------
 */

static int take_readings(struct nt_sparse *s, const struct nt_readings *from, struct nt_err *err)
{
    struct nt_readings *to = &s->readings;
    for (size_t k = 0; k < from->count; k++) {
        const struct nt_pair_reading *r = &from->at[k];
        if (r->b >= s->hosts || s->seat[r->a] == NT_SPARSE_NO_SEAT ||
            s->seat[r->b] == NT_SPARSE_NO_SEAT)
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
    nt_sparse_decide(&s);
    if (rc == 0)
        rc = nt_sparse_model(&s, out, err);
    if (rc == 0)
        nt_sparse_check(&s, check);
    nt_sparse_fini(&s);
    return rc;
}
