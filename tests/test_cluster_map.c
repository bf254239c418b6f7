/* SPDX-License-Identifier: Apache-2.0 */
/* One network from many jobs. */
#include "asserts.h"
#include "cluster_map.h"
#include "origin.h"
#include "planted_jobs.h"
#include "prior.h"
#include "rng.h"
#include "shape.h"
#include "sweep_prior.h"
#include "uneven_network.h"

/* Jobs of up to `most` hosts, drawn as schedulers do. */
static void run_jobs(const struct planted_jobs *p, struct nt_evidence *e, size_t jobs, size_t most,
                     uint64_t seed)
{
    struct nt_rng rng;
    uint32_t *host = calloc(p->network->hosts + 1, sizeof *host);
    nt_rng_init(&rng, seed);
    for (size_t j = 0; j < jobs; j++) {
        size_t n = planted_hosts(&rng, p->network->hosts, most, host);
        planted_job(p, e, PLANTED_START_S + (int64_t)j * 1000, j + 1, (uint32_t)(j % 7), host, n);
    }
    free(host);
}

TEST(test_found)
{
    static const char *const table[] = {"tree:4x8", "tree:2x4x8"};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        SCOPED(network) *n = made_machine(table[k]);
        SCOPED(model) *truth;
        assert_int_equal(nt_network_truth(n, &truth, NULL), 0);
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct planted_jobs p = {.network = n,
                                     .noise = {.sd = 0.02, .outliers = 0.01, .seed = seed},
                                     .offset_sd = 0.03};
            struct nt_evidence e;
            struct nt_switch_naming naming = {0};
            SCOPED(cluster_map) *c = NULL;
            must(nt_evidence_init(&e, n->hosts, &err));
            run_jobs(&p, &e, 60, 24, seed);
            if (nt_cluster_map_create(&e, &naming, &naming, &c, &err) < 0)
                fail_msg("%s seed %u: %s", table[k], (unsigned)seed, err.text);
            if (!nt_shape_equal(c->model, truth))
                fail_msg("%s seed %u: another shape", table[k], (unsigned)seed);
            nt_switch_naming_fini(&naming);
            nt_evidence_fini(&e);
        }
    }
}

/* A list of jobs, to be added in any order with hosts numbered in any way. */
struct listed {
    uint32_t host[40];
    size_t hosts;
};

enum { JOBS = 80, HOSTS = 64 };

static void list_jobs(struct listed *job, uint64_t seed)
{
    struct nt_rng rng;
    nt_rng_init(&rng, seed);
    for (size_t j = 0; j < JOBS; j++)
        job[j].hosts = planted_hosts(&rng, HOSTS, 24, job[j].host);
}

/* place[h]: the number that host h has in the evidence. stands may change from one job on. */
static struct nt_cluster_map *mapped(const struct nt_network *n, const struct listed *job,
                                     const uint32_t *order, const uint32_t *place,
                                     const uint32_t *before, const uint32_t *after, size_t from,
                                     uint64_t seed)
{
    struct planted_jobs p = {
        .network = n, .noise = {.sd = 0.02, .outliers = 0.01, .seed = seed}, .offset_sd = 0.03};
    struct nt_evidence e;
    struct nt_switch_naming naming = {0};
    struct nt_cluster_map *c = NULL;
    must(nt_evidence_init(&e, HOSTS, &err));
    for (size_t k = 0; k < JOBS; k++) {
        size_t j = order != NULL ? order[k] : k, had = e.entries;
        p.stands = j >= from ? after : before;
        planted_job(&p, &e, PLANTED_START_S + (int64_t)j * 1000, j + 1, (uint32_t)(j % 5),
                    job[j].host, job[j].hosts);
        for (; place != NULL && had < e.entries; had++) {
            uint32_t a = place[e.entry[had].a], b = place[e.entry[had].b];
            e.entry[had].a = a < b ? a : b;
            e.entry[had].b = a < b ? b : a;
        }
    }
    if (nt_cluster_map_create(&e, &naming, &naming, &c, &err) < 0)
        fail_msg("seed %u: %s", (unsigned)seed, err.text);
    nt_switch_naming_fini(&naming);
    nt_evidence_fini(&e);
    return c;
}

TEST(test_order)
{
    SCOPED(network) *n = made_machine("tree:2x4x8");
    struct listed job[JOBS];
    uint32_t order[JOBS], place[HOSTS];
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct nt_rng rng;
        nt_rng_init(&rng, seed);
        list_jobs(job, seed);
        for (uint32_t j = 0; j < JOBS; j++)
            order[j] = j;
        for (uint32_t h = 0; h < HOSTS; h++)
            place[h] = h;
        nt_rng_shuffle(&rng, order, JOBS);
        nt_rng_shuffle(&rng, place, HOSTS);
        SCOPED(cluster_map) *c = mapped(n, job, NULL, NULL, NULL, NULL, 0, seed);
        SCOPED(cluster_map) *d = mapped(n, job, order, NULL, NULL, NULL, 0, seed);
        SCOPED(cluster_map) *r = mapped(n, job, NULL, place, NULL, NULL, 0, seed);
        assert_true(c->model->links == d->model->links && c->moves == d->moves);
        for (size_t k = 0; k < c->model->links; k++) {
            assert_true(c->model->link[k].a == d->model->link[k].a &&
                        c->model->link[k].b == d->model->link[k].b);
            assert_true(c->model->link[k].probability == d->model->link[k].probability);
        }
        for (size_t v = 0; v < c->model->hosts + c->model->switches; v++)
            assert_true(c->part[v].jobs == d->part[v].jobs &&
                        c->part[v].last_s == d->part[v].last_s);
        { /* relabelled hosts are on the same switches */
            SCOPED(model) *back;
            assert_int_equal(nt_model_copy(r->model, &back, NULL), 0);
            for (size_t k = 0; k < back->links; k++)
                for (uint32_t h = 0; h < HOSTS; h++)
                    if (r->model->link[k].a == place[h])
                        back->link[k].a = h;
            if (!nt_shape_equal(back, c->model))
                fail_msg("seed %u: relabelled, another network", (unsigned)seed);
        }
    }
}

/* Two hosts are exchanged: they have moved, with the time; nobody else has. */
TEST(test_moves)
{
    SCOPED(network) *n = made_machine("tree:2x4x8");
    struct listed job[JOBS];
    uint32_t before[HOSTS], after[HOSTS];
    size_t found = 0, sought = 0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct nt_rng rng;
        nt_rng_init(&rng, ~seed);
        list_jobs(job, seed);
        for (uint32_t h = 0; h < HOSTS; h++)
            before[h] = after[h] = h;
        uint32_t x = (uint32_t)nt_rng_below(&rng, HOSTS);
        uint32_t y = (x + 8 + (uint32_t)nt_rng_below(&rng, HOSTS - 16)) % HOSTS;
        after[x] = y;
        after[y] = x;
        struct nt_cluster_map *c = mapped(n, job, NULL, NULL, before, after, JOBS / 2, seed);
        for (size_t k = 0; k < c->moves; k++) {
            const struct nt_cluster_move *m = &c->move[k];
            if (m->host != x && m->host != y)
                fail_msg("seed %u: host %u has not moved", (unsigned)seed, m->host);
            assert_at_least(m->time_s, PLANTED_START_S + (JOBS / 2) * 1000);
            assert_below(m->before_s, PLANTED_START_S + (JOBS / 2) * 1000);
            assert_at_least(m->jobs, 2);
            if (m->beside != UINT32_MAX)
                assert_int_equal(after[m->beside] / 8, after[m->host] / 8);
        }
        found += c->moves;
        sought += 2;
        nt_cluster_map_destroy(c);

        /* one job alone that says otherwise moves no host */
        c = mapped(n, job, NULL, NULL, before, after, JOBS - 1, seed);
        assert_int_equal(c->moves, 0);
        nt_cluster_map_destroy(c);
    }
    print_message("%zu of %zu moves found\n", found, sought);
    assert_at_least(10 * found, 8 * sought);
}

/* Jobs of three users, then of one who says that two hosts are exchanged: nothing changes, however
 * many jobs they run, also if nobody knows who they are. If another user reports it too, they are.
 */
TEST(test_one_user_moves_nothing)
{
    static const struct {
        uint32_t first, second; /* users of the jobs after it */
        size_t jobs, moves;
    } table[] = {{6666, 6666, 2, 0},
                 {6666, 6666, 30, 0},
                 {NT_NO_USER, NT_NO_USER, 30, 0},
                 {NT_NO_USER, 6666, 30, 0},
                 {6666, 6667, 6, 2}};
    SCOPED(network) *n = made_machine("tree:4x8");
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        static const uint32_t few[] = {0, 1, 2, 3, 20, 21, 22, 23};
        uint32_t stands[HOSTS], host[HOSTS], parent[HOSTS] = {0};
        struct planted_jobs p = {
            .network = n, .noise = {.sd = 0.01, .seed = 3}, .offset_sd = 0.03, .stands = stands};
        struct nt_switch_naming naming = {0};
        struct nt_evidence e;
        SCOPED(cluster_map) *c;
        must(nt_evidence_init(&e, n->hosts, &err));
        for (uint32_t h = 0; h < n->hosts; h++)
            stands[h] = host[h] = h;
        for (uint32_t j = 0; j < 12; j++)
            planted_job(&p, &e, PLANTED_START_S + j, j + 1, j % 3, host, n->hosts);
        stands[0] = 20;
        stands[20] = 0;
        for (uint32_t j = 0; j < table[k].jobs; j++)
            planted_job(&p, &e, PLANTED_START_S + 100 + j, 100 + j,
                        j % 2 == 0 ? table[k].first : table[k].second, few, 8);
        must(nt_cluster_map_create(&e, &naming, NULL, &c, &err));
        if (c->moves != table[k].moves)
            fail_msg("row %zu: %zu moves", k, c->moves);
        for (size_t l = 0; l < c->model->links; l++)
            if (c->model->link[l].a < c->model->hosts)
                parent[c->model->link[l].a] = c->model->link[l].b;
        if ((parent[0] == parent[1]) != (c->moves == 0) ||
            (parent[20] == parent[24 - 1]) != (c->moves == 0))
            fail_msg("row %zu: hosts stand elsewhere", k);
        nt_evidence_fini(&e);
    }
}

/* A latency that is not the network's: all hosts on one switch, all far apart, near for far, or
 * any. */
static double not_us(size_t kind, double us, struct nt_rng *rng)
{
    const double near = 1.12, far = 1.78;
    switch (kind) {
    case 0:
        return near;
    case 1:
        return far;
    case 2:
        return us < (near + far) / 2 ? far : near;
    default:
        return near + (far - near) * nt_rng_uniform(rng);
    }
}

/* Jobs of seven users, then jobs over all hosts of another one that states another network, also
 * more readings than those of all others: no host stands elsewhere, and the switches stay. */
TEST(test_one_user_flattens_nothing)
{
    static const uint32_t jobs[] = {1, 2, 4, 30};
    struct nt_network *n = made_machine("tree:4x8");
    for (size_t k = 0; k < 16; k++) {
        struct planted_jobs p = {
            .network = n, .noise = {.sd = 0.02, .outliers = 0.01, .seed = k}, .offset_sd = 0.03};
        struct nt_switch_naming naming = {0};
        struct nt_evidence e;
        struct nt_cluster_map *c;
        struct nt_rng rng;
        uint32_t job;
        nt_rng_init(&rng, k);
        must(nt_evidence_init(&e, n->hosts, &err));
        run_jobs(&p, &e, 60, 24, k);
        for (uint32_t j = 0; j < jobs[k % 4]; j++) {
            assert_int_equal(
                nt_evidence_add_job(&e, PLANTED_START_S + 100000 + j, 100 + j, 6666, &job, &err),
                0);
            for (uint32_t a = 0; a < n->hosts; a++)
                for (uint32_t b = 0; b < a; b++) {
                    double us = not_us(k / 4, nt_network_latency(n, a, b), &rng);
                    us *= exp(0.02 * nt_rng_normal(&rng));
                    assert_int_equal(evidence_note(&e, job, a, b, us, &err), 0);
                }
        }
        must(nt_cluster_map_create(&e, &naming, NULL, &c, &err));
        size_t placed = 0;
        uint32_t leaf[4] = {0};
        for (size_t l = 0; l < c->model->links; l++) {
            const struct nt_link *link = &c->model->link[l];
            if (link->a >= n->hosts)
                continue;
            placed++;
            leaf[link->a / 8] = leaf[link->a / 8] == 0 ? link->b : leaf[link->a / 8];
            if (leaf[link->a / 8] != link->b)
                fail_msg("kind %zu, %u jobs: host %u stands elsewhere", k / 4, jobs[k % 4],
                         link->a);
        }
        assert_int_equal(c->moves, 0);
        assert_int_equal(c->model->switches, 5);
        assert_at_least(placed, 30); /* two may be undetermined */
        nt_cluster_map_destroy(c);
        nt_evidence_fini(&e);
    }
    nt_network_destroy(n);
}

/* Hosts are exchanged one pair after the other, and are in jobs with others that stay: nobody who
 * stayed has moved, after so many jobs. */
TEST(test_who_stayed)
{
    enum { JOBS_MOST = 450, PAIRS = 20, MANY = 960 };
    struct nt_network *n = made_machine("tree:6x10x16");
    uint32_t stands[MANY], moved[2 * PAIRS], host[MANY];
    struct planted_jobs p = {.network = n,
                             .noise = {.sd = 0.02, .outliers = 0.01, .seed = 7},
                             .offset_sd = 0.03,
                             .pairs_a_host = 20,
                             .stands = stands};
    struct nt_switch_naming naming = {0};
    struct nt_evidence e;
    struct nt_rng rng;
    size_t exchanged = 0, found = 0;
    nt_rng_init(&rng, 3);
    must(nt_evidence_init(&e, MANY, &err));
    for (uint32_t h = 0; h < MANY; h++)
        stands[h] = h;
    for (size_t j = 0; j < JOBS_MOST; j++) {
        while (exchanged < PAIRS && j >= 50 + exchanged * 20) {
            uint32_t x = (uint32_t)nt_rng_below(&rng, MANY);
            uint32_t y = (uint32_t)nt_rng_below(&rng, MANY), swap = stands[x];
            stands[x] = stands[y];
            stands[y] = swap;
            moved[2 * exchanged] = x;
            moved[2 * exchanged++ + 1] = y;
        }
        size_t most = nt_rng_uniform(&rng) < 0.5 ? 32 : 256;
        size_t hosts = planted_hosts(&rng, MANY, most, host);
        p.pairs_a_host = hosts < 24 ? 0 : 20;
        planted_job(&p, &e, PLANTED_START_S + (int64_t)j * 600, j + 1, (uint32_t)(j % 40), host,
                    hosts);
        if (j + 1 != 250 && j + 1 != JOBS_MOST)
            continue;
        SCOPED(cluster_map) *c;
        must(nt_cluster_map_create(&e, &naming, NULL, &c, &err));
        for (size_t k = 0; k < c->moves; k++) {
            bool is = false;
            for (size_t m = 0; m < 2 * exchanged; m++)
                is |= moved[m] == c->move[k].host;
            if (!is)
                fail_msg("%zu jobs: host %u has not moved", j + 1, c->move[k].host);
        }
        found = c->moves;
    }
    print_message("%zu of %d moves found\n", found, 2 * PAIRS);
    assert_at_least(found, PAIRS);
    nt_evidence_fini(&e);
    nt_network_destroy(n);
}

/* The first two jobs had only hosts of one switch, share no pair with others, and were slower by as
 * much as another switch is away: nobody has moved since. */
TEST(test_unanchored)
{
    SCOPED(network) *n = made_machine("tree:4x8");
    struct planted_jobs p = {.network = n, .noise = {.sd = 0.02, .seed = 1}, .offset_sd = 0.03};
    struct nt_switch_naming naming = {0};
    struct nt_evidence e;
    SCOPED(cluster_map) *c;
    double slower = nt_network_latency(n, 0, 8) / nt_network_latency(n, 0, 1); /* one switch, two */
    must(nt_evidence_init(&e, n->hosts, &err));
    for (uint32_t j = 0; j < 2; j++) {
        uint32_t job;
        must(nt_evidence_add_job(&e, PLANTED_START_S + j, 100 + j, 1, &job, &err));
        for (uint32_t a = 0; a < 3; a++)
            for (uint32_t b = 0; b < a; b++)
                assert_int_equal(
                    evidence_note(&e, job, a, b, slower * nt_network_latency(n, a, b), &err), 0);
    }
    for (uint32_t j = 0; j < 60; j++) {
        const uint32_t host[] = {j % 3,      3 + j % 5,        3 + (j + 1) % 5,
                                 8 + j % 24, 8 + (j + 1) % 24, 8 + (j + 9) % 24};
        planted_job(&p, &e, PLANTED_START_S + 1000 + j, j + 2, j % 3, host, 6);
    }
    must(nt_cluster_map_create(&e, &naming, NULL, &c, &err));
    assert_int_equal(c->moves, 0);
    nt_evidence_fini(&e);
}

/* The link of a host gets slower by as much as another switch is away. With hosts of its own switch
 * alone that is as if it had gone; jobs with others show that it has not. */
TEST(test_slow_link)
{
    SCOPED(network) *n = made_machine("tree:4x8");
    struct nt_switch_naming naming = {0};
    struct nt_evidence e;
    SCOPED(cluster_map) *c;
    double slower = nt_network_latency(n, 0, 8) - nt_network_latency(n, 0, 1);
    must(nt_evidence_init(&e, n->hosts, &err));
    for (uint32_t j = 0; j < 60; j++) {
        uint32_t host[6] = {0, 1 + j % 7, 1 + (j + 1) % 7, 1 + (j + 2) % 7}, job;
        size_t hosts = j % 3 == 0 ? 6 : 4; /* others than its own leaf's in one of three */
        host[4] = 8 + j % 24;
        host[5] = 8 + (j + 1) % 24;
        must(nt_evidence_add_job(&e, PLANTED_START_S + j, 100 + j, j % 3, &job, &err));
        for (uint32_t a = 0; a < hosts; a++)
            for (uint32_t b = 0; b < a; b++) {
                double us = nt_network_latency(n, host[a], host[b]) *
                            (1 + 0.01 * sin(37.0 * j + 11.0 * a + 5.0 * b));
                us += b == 0 && j >= 30 ? 1.2 * slower : 0;
                assert_int_equal(evidence_note(&e, job, host[a], host[b], us, &err), 0);
            }
    }
    must(nt_cluster_map_create(&e, &naming, NULL, &c, &err));
    assert_int_equal(c->moves, 0);
    nt_evidence_fini(&e);
}

/* Returns whether a host is left out if two users read one pair longer by these factors. */
static bool leaves_out(double first, double second)
{
    SCOPED(network) *n = made_machine("tree:4x8");
    SCOPED(cluster_map) *c;
    struct nt_switch_naming naming = {0};
    struct nt_evidence e;
    must(nt_evidence_init(&e, n->hosts, &err));
    for (uint32_t j = 0; j < 9; j++) {
        uint32_t job;
        must(nt_evidence_add_job(&e, PLANTED_START_S + j, 100 + j, j % 3, &job, &err));
        for (uint32_t b = 1; b < n->hosts; b++)
            for (uint32_t a = 0; a < b; a++) {
                bool one = a == 1 && b == 20;
                double longer = !one || j > 1 ? 1 : j == 0 ? first : second;
                double us = longer * nt_network_latency(n, a, b) *
                            (1 + 0.01 * sin(37.0 * j + 11.0 * a + 5.0 * b));
                if (!one || j < 2)
                    assert_int_equal(evidence_note(&e, job, a, b, us, &err), 0);
            }
    }
    must(nt_cluster_map_create(&e, &naming, NULL, &c, &err));
    nt_evidence_fini(&e);
    return c->part[1].contradicted || c->part[20].contradicted;
}

/* Readings of two users that agree with each other contradict the network; two outliers do not. */
TEST(test_outliers_of_two_users)
{
    assert_true(leaves_out(1.5, 1.52));
    assert_false(leaves_out(1.5, 2.4));
}

/* A job's readings of host[first..8), which may name one twice; those of host 0 take longer. */
static void note_eight(struct nt_evidence *e, const struct nt_network *n, uint32_t j,
                       const uint32_t host[8], uint32_t first, double longer_us)
{
    uint32_t job;
    must(nt_evidence_add_job(e, PLANTED_START_S + j, 100 + j, j % 3, &job, &err));
    for (uint32_t a = first; a < 8; a++)
        for (uint32_t b = first; b < a; b++) {
            if (host[a] == host[b])
                continue;
            double us = nt_network_latency(n, host[a], host[b]) *
                        (1 + 0.01 * sin(37.0 * j + 11.0 * a + 5.0 * b));
            us += host[b] == 0 ? longer_us : 0;
            assert_int_equal(evidence_note(e, job, host[a], host[b], us, &err), 0);
        }
}

/* Host 0 is on the switch of host 1, as at first, and not on the switch of host 8. */
static void assert_first_has_not_moved(struct nt_evidence *e)
{
    struct nt_switch_naming naming = {0};
    SCOPED(cluster_map) *c;
    uint32_t parent[HOSTS] = {0};
    must(nt_cluster_map_create(e, &naming, NULL, &c, &err));
    assert_int_equal(c->moves, 0);
    for (size_t k = 0; k < c->model->links; k++)
        if (c->model->link[k].a < c->model->hosts)
            parent[c->model->link[k].a] = c->model->link[k].b;
    assert_int_equal(parent[0], parent[1]);
    assert_int_not_equal(parent[0], parent[8]);
}

/* The same by exactly as much as the next tier is away, in jobs of one group: all readings are of
 * some class, and no place of a host of nested tiers has them all. It stays on its switch. */
TEST(test_slow_by_a_tier)
{
    SCOPED(network) *n = made_machine("tree:2x4x8");
    struct nt_evidence e;
    double slower = nt_network_latency(n, 0, 8) - nt_network_latency(n, 0, 1);
    must(nt_evidence_init(&e, n->hosts, &err));
    for (uint32_t j = 0; j < 120; j++) {
        uint32_t host[8], first = j % 2 == 0 ? 0 : j % 8 + 24;
        for (uint32_t k = 0; k < 8; k++) /* of two switches; every second job of two groups */
            host[k] = k < 4 ? first + (k == 0 ? 0 : (j + k) % 7 + 1) : 8 + (3 * j + k) % 16;
        note_eight(&e, n, j, host, 0, j >= 40 ? slower : 0);
    }
    assert_first_has_not_moved(&e);
    nt_evidence_fini(&e);
}

/* The same, seen on its switch in one job before: those of its switch alone say that it has gone
 * away, which its link is seen to look like in others. */
TEST(test_slow_after_one_job)
{
    SCOPED(network) *n = made_machine("tree:2x4x8");
    struct nt_evidence e;
    double slower = nt_network_latency(n, 0, 8) - nt_network_latency(n, 0, 1);
    must(nt_evidence_init(&e, n->hosts, &err));
    for (uint32_t j = 0; j < 120; j++) {
        bool alone = j % 4 == 0; /* hosts of one switch */
        uint32_t host[8], first = j == 0 || j >= 90 ? 0 : 1;
        for (uint32_t k = 0; k < 8; k++)
            host[k] = alone ? k : k < 4 ? (k == 0 ? 0 : (j + k) % 7 + 1) : 8 + (5 * j + k) % 56;
        note_eight(&e, n, j, host, first, j >= 90 ? slower : 0);
    }
    assert_first_has_not_moved(&e);
    nt_evidence_fini(&e);
}

/* Always with the same hosts, none of which is where it has gone: that others say so as well is
 * enough. With hosts of its former switch alone it might be slow instead. */
TEST(test_same_jobs)
{
    static const uint32_t host[] = {0, 1, 2, 7, 8, 9, 10, 15};
    SCOPED(network) *n = made_machine("tree:4x8");
    uint32_t stands[HOSTS];
    struct planted_jobs p = {
        .network = n, .noise = {.sd = 0.02, .seed = 1}, .offset_sd = 0.03, .stands = stands};
    for (size_t hosts = 4; hosts <= 8; hosts += 4) {
        struct nt_switch_naming naming = {0};
        struct nt_evidence e;
        SCOPED(cluster_map) *c;

        must(nt_evidence_init(&e, n->hosts, &err));
        for (uint32_t j = 0; j < 60; j++) {
            for (uint32_t h = 0; h < n->hosts; h++)
                stands[h] = h > 0 || j < 30 ? h : 31;
            bool once = j % 3 == 0 && j < 30;
            planted_job(&p, &e, PLANTED_START_S + j, j + 1, j % 3, host, once ? 8 : hosts);
        }
        must(nt_cluster_map_create(&e, &naming, NULL, &c, &err));
        assert_int_equal(c->moves, hosts == 8);
        if (hosts == 8)
            assert_int_equal(c->move[0].host, 0);
        nt_evidence_fini(&e);
    }
}

/* Hosts that were never in one job are on one switch when both were with a third; what was never
 * measured is missing, and what nobody can tell is flat. */
TEST(test_never_together)
{
    SCOPED(network) *n = made_machine("tree:4x8");
    struct planted_jobs p = {.network = n, .noise = {.sd = 0.02, .seed = 1}, .offset_sd = 0.03};
    struct nt_evidence e;
    struct nt_switch_naming naming = {0};
    SCOPED(cluster_map) *c = NULL;
    uint32_t parent[HOSTS];
    must(nt_evidence_init(&e, n->hosts, &err));
    for (uint32_t j = 0; j < 60; j++) { /* two neighbours of a leaf, and two of another */
        uint32_t leaf = j % 4, other = (j / 4 + leaf + 1) % 4, at = j % 5;
        const uint32_t host[] = {8 * leaf + at, 8 * leaf + at + 1, 8 * leaf + at + 2,
                                 8 * other + at, 8 * other + at + 1};
        if (leaf != other)
            planted_job(&p, &e, PLANTED_START_S + j, j + 1, j % 3, host, 5);
    }
    if (nt_cluster_map_create(&e, &naming, &naming, &c, &err) < 0)
        fail_msg("%s", err.text);
    memset(parent, 0xff, sizeof parent);
    for (size_t k = 0; k < c->model->links; k++)
        if (c->model->link[k].a < c->model->hosts)
            parent[c->model->link[k].a] = c->model->link[k].b;
    assert_int_equal(parent[0], parent[6]); /* 0 1 2, 1 2 3, 2 3 4, 3 4 5, 4 5 6 */
    assert_int_not_equal(parent[0], parent[8]);
    assert_true(c->model->missing[7]);
    assert_int_equal(c->part[7].jobs, 0);
    assert_above(c->part[0].support, 0.5);
    assert_above(c->part[0].jobs, 1);
    assert_above(c->part[0].users, 1);
    assert_at_least(c->part[0].first_s, PLANTED_START_S);
    assert_at_most(c->part[0].last_s, PLANTED_START_S + 60);
    nt_switch_naming_fini(&naming);
    nt_evidence_fini(&e);
}

/* ---- hosts that are not equally deep ---- */

/* The map states every pair, also pairs that no job had, within 6 % of the truth. In networks that
 * are drawn at random, some hosts are left out. */
TEST(test_uneven)
{
    for (size_t k = 0; k < UNEVEN_SHAPES; k++) {
        size_t stated = 0, of = 0;
        double worst = 0;
        size_t networks = draws(k < 4 ? 8 : 2, 40);
        for (uint64_t seed = 1; seed <= networks; seed++) {
            struct uneven u = uneven_shape(k, seed);
            struct nt_evidence e;
            struct nt_switch_naming naming = {0};
            SCOPED(cluster_map) *c = NULL;
            SCOPED(matrix) *m;
            uneven_jobs(&u, 3, seed % 2 == 0, seed, &e);
            if (nt_cluster_map_create(&e, &naming, NULL, &c, &err) != 0)
                fail_msg("%s seed %u: %s", u.name, (unsigned)seed, err.text);
            must(nt_model_latencies(c->model, &m, &err));
            for (uint32_t a = 0; a < u.hosts; a++)
                for (uint32_t b = 0; b < a; b++) {
                    double us = (double)nt_matrix_get(m, a, b);
                    double off = fabs(us / uneven_us(&u, a, b) - 1);
                    of++;
                    stated += isnan(us) ? 0 : 1;
                    worst = fmax(worst, off);
                    if (off > 0.06 || (isnan(us) && k + 1 < UNEVEN_SHAPES))
                        fail_msg("%s seed %u: n%u-n%u %.0f us, measured %.0f", u.name,
                                 (unsigned)seed, a + 1, b + 1, us, uneven_us(&u, a, b));
                }
            nt_evidence_fini(&e);
        }
        print_message("%s: %zu of %zu pairs stated, worst %.3f\n", uneven_shape(k, 1).name, stated,
                      of, worst);
        assert_at_least(10 * stated, 9 * of);
    }
}

/* Whether a sweep of the hosts that the prior knows finds it sound. */
static bool is_confirmed(const struct uneven *u, const struct nt_belief *belief, uint64_t seed)
{
    struct nt_planner *p;
    struct nt_order o;
    struct nt_rng rng;
    struct nt_result result[UNEVEN_HOSTS];
    bool missing[UNEVEN_HOSTS];
    int more;
    nt_rng_init(&rng, seed);
    for (uint32_t h = 0; h < u->hosts; h++)
        missing[h] = belief->cluster[h] == NT_BELIEF_LOOSE;
    const struct nt_sweep_setup setup = {belief->hosts, missing, 0, 3, 10, seed};
    must(nt_sweep_prior_create(belief, &setup, &p, &err));
    while ((more = p->ops->next(p, &o, &err)) > 0) {
        for (size_t k = 0; k < o.pairs; k++) {
            double us = uneven_us(u, o.pair[k][0], o.pair[k][1]) * exp(0.01 * nt_rng_normal(&rng));
            result[k] = (struct nt_result){.a = o.pair[k][0],
                                           .b = o.pair[k][1],
                                           .ok = true,
                                           .value_us = us,
                                           .se_us = us / 100,
                                           .count = o.batches * o.count};
        }
        assert_int_equal(p->ops->tell(p, result, o.pairs, &err), 0);
    }
    assert_int_equal(more, 0);
    bool sound = nt_sweep_prior_verdict(p) == NT_SPARSE_SOUND;
    nt_planner_destroy(p);
    return sound;
}

/* What is believed of the pairs is what they have; returns how many hosts are known. */
static size_t check_belief(const struct uneven *u, const struct nt_belief *belief)
{
    const uint32_t *cluster = belief->cluster;
    size_t known = 0;
    for (uint32_t a = 0; belief->levels > 0 && a < u->hosts; a++) {
        known += cluster[a] != NT_BELIEF_LOOSE;
        for (uint32_t b = 0; b < a; b++) {
            size_t l = 0;
            if (cluster[a] == NT_BELIEF_LOOSE || cluster[b] == NT_BELIEF_LOOSE)
                continue;
            while (l + 1 < belief->levels && cluster[l * u->hosts + a] != cluster[l * u->hosts + b])
                l++;
            assert_at_most(fabs(belief->us[l] / uneven_us(u, a, b) - 1), 0.06);
        }
    }
    return known;
}

/* The next sweep starts from the hosts that are equally deep, if they are half of all. */
TEST(test_uneven_prior)
{
    static const struct {
        size_t shape, known;
    } table[] = {{0, 6}, {1, 9}, {2, 6}, {3, 8}, {4, 0}, {5, 32}, {6, 0}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        for (uint64_t seed = 1; seed <= draws(2, 4); seed++) {
            struct uneven u = uneven_shape(table[k].shape, seed);
            struct nt_evidence e;
            struct nt_switch_naming naming = {0};
            SCOPED(cluster_map) *c = NULL;
            SCOPED(prior) *prior;
            SCOPED(belief) *belief;
            SCOPED(map) *map;
            char name[UNEVEN_HOSTS][16];
            const char *names[UNEVEN_HOSTS];
            for (uint32_t h = 0; h < u.hosts; h++) {
                snprintf(name[h], sizeof name[h], "n%u", h);
                names[h] = name[h];
            }
            uneven_jobs(&u, 3, seed % 2 == 0, seed, &e);
            must(nt_cluster_map_create(&e, &naming, NULL, &c, &err));
            must(nt_cluster_map_named(c, names, &map, &err));
            must(nt_prior_from_map(map, NULL, &prior, &err));
            must(nt_prior_to_belief(prior, names, u.hosts, &belief, NULL, &err));
            size_t known = check_belief(&u, belief);
            if (known < table[k].known || (known > 0 && !is_confirmed(&u, belief, seed)))
                fail_msg("%s seed %u: %zu hosts known", u.name, (unsigned)seed, known);
            nt_evidence_fini(&e);
        }
}

/* The link of a host is slow in all jobs, by less than a tier, as much, and far more: it stays on
 * its switch, and the map has its link as long as it is. */
TEST(test_slow_from_the_first_job)
{
    static const double longer[] = {0.06, 0.11, 0.22, 0.4, 2};
    static const char *const networks[] = {"tree:2x4", "tree:4x8", "tree:2x4x8"};
    for (size_t k = 0; k < 15; k++) {
        SCOPED(network) *n = made_machine(networks[k / 5]);
        struct nt_switch_naming naming = {0};
        struct nt_evidence e;
        SCOPED(cluster_map) *c;
        struct nt_rng rng;
        uint32_t parent[HOSTS] = {0}, host[HOSTS];
        double us = 0;
        nt_rng_init(&rng, k);
        must(nt_evidence_init(&e, n->hosts, &err));
        for (uint32_t j = 0; j < 30; j++) {
            uint32_t job;
            size_t hosts = n->hosts == 8 ? 8 : planted_hosts(&rng, n->hosts, 24, host);
            for (uint32_t h = 0; n->hosts == 8 && h < 8; h++)
                host[h] = h;
            must(nt_evidence_add_job(&e, PLANTED_START_S + j, j + 1, j % 3, &job, &err));
            for (size_t a = 0; a < hosts; a++)
                for (size_t b = 0; b < a; b++) {
                    double own = nt_network_latency(n, host[a], host[b]);
                    own += host[a] == 2 || host[b] == 2 ? longer[k % 5] : 0;
                    assert_int_equal(evidence_note(&e, job, host[a], host[b],
                                                   own * exp(0.01 * nt_rng_normal(&rng)), &err),
                                     0);
                }
        }
        must(nt_cluster_map_create(&e, &naming, NULL, &c, &err));
        for (size_t l = 0; l < c->model->links; l++) {
            if (c->model->link[l].a < c->model->hosts)
                parent[c->model->link[l].a] = c->model->link[l].b;
            us = c->model->link[l].a == 2 ? c->model->link[l].latency_us : us;
        }
        if (parent[2] == 0 || parent[2] != parent[1] || fabs(us - 0.56 - longer[k % 5]) > 0.03)
            fail_msg("%s, %g us: on vertex %u, others of its switch on %u, link %.3f us",
                     networks[k / 5], longer[k % 5], parent[2], parent[1], us);
        nt_evidence_fini(&e);
    }
}

TEST(test_too_little)
{
    struct nt_evidence e;
    struct nt_switch_naming naming = {0};
    struct nt_cluster_map *c = NULL;
    must(nt_evidence_init(&e, 4, &err));
    assert_int_equal(nt_cluster_map_create(&e, &naming, &naming, &c, &err), -1);
    assert_int_equal(err.kind, NT_ERR_INPUT);
    nt_evidence_fini(&e);
}

RUN_TESTS
