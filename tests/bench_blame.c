/* SPDX-License-Identifier: Apache-2.0 */
/* Findings on networks with planted faults: none or one to three, latency x1.3 to x5 or rate x0.2
 * to x0.85, of hosts' links and uplinks, some one way; from matrices of both directions and from
 * simulated sweeps, whose half round trips have no way.
 *     build/tests/bench_blame [NETWORKS, default 5000] [-v]
 * One network in five is swept. Right is a finding that is true: a link that is narrow both ways is
 * so upwards. Localised: of the faults of a kind that was found in that network, those of which a
 * finding states link and way. Nothing shows: of uplinks that stay wider than what a pair needs, in
 * matrices of pairs alone, and of hosts' links on a single switch that are slower by less than
 * four, since a host behind a switch of its own looks the same. Published for fleets:
 * precision 98.2 %, recall 99.3 %, localisation 95.7 % (SkeletonHunter, SIGCOMM 2025). */
#include "recorded_sweep.h"

#include <math.h>
#include <stdbool.h>

#include "map.h"
#include "measure.h"
#include "network.h"
#include "rng.h"
#include "solve.h"

enum { FAULTS_MAX = 3, HOSTS_MAX = 64, SWEPT_OF = 5, BINS = 5, CLASSES = 6 };

struct planted {
    size_t link;
    enum nt_fault_kind kind;
    enum nt_fault_way way;
    double factor;
    size_t like; /* links of its class, itself included */
    bool shown;  /* by any figure that is measured */
    bool told;   /* an ideal observer could say who it is */
};

struct tally {
    size_t networks, sound, sound_false, sound_false_sure;
    size_t planted, hidden, told, told_found, found, findings, right, exact, named;
    size_t of_class[CLASSES], found_of_class[CLASSES];
    size_t stated[BINS], true_of[BINS];
    double sum_of[BINS];
};

static const char *const class_names[CLASSES] = {"2", "3", "4", "5-8", "9-16", "17+"};
static const double bin_ends[BINS] = {0.95, 0.99, 0.999, 0.99999, 2};

static size_t class_of(size_t like)
{
    return like <= 4 ? (like < 2 ? 0 : like - 2) : like <= 8 ? 3 : like <= 16 ? 4 : 5;
}

/* ---- networks --------------------------------------------------------------------------------*/

static double between(struct nt_rng *rng, double low, double high)
{
    return low + (high - low) * nt_rng_uniform(rng);
}

/* A star, or leaves below a top, some with a single host; the uplinks are tapered or not. */
static struct nt_network *draw_network(struct nt_rng *rng)
{
    struct nt_model *m;
    struct nt_network *net;
    struct nt_err err = {0};
    bool star = nt_rng_below(rng, 3) == 0;
    size_t leaves = star ? 1 : 2 + nt_rng_below(rng, 7);
    size_t each =
        star ? 2 + nt_rng_below(rng, HOSTS_MAX - 1) : 2 + nt_rng_below(rng, HOSTS_MAX / leaves - 1);
    size_t hosts = 0, switches = star ? 1 : leaves + 1, leaf_of[HOSTS_MAX];
    for (size_t l = 0; l < leaves; l++) {
        bool lone = leaves > 2 && l > 1 && nt_rng_below(rng, 5) == 0;
        for (size_t k = 0; k < (lone ? 1 : each); k++)
            leaf_of[hosts++] = l;
    }
    double over = (double)(1u << nt_rng_below(rng, 3)), host_us = between(rng, 0.4, 2);
    double link_us = host_us * between(rng, 0.3, 1);
    record_must(nt_model_create(hosts, switches, hosts + switches - 1, &m, &err), &err);
    for (size_t k = 0; k < m->links; k++) {
        double rate = k < hosts ? 100 : 100 * (double)each / over;
        size_t up = k < hosts && !star ? hosts + 1 + leaf_of[k] : hosts;
        m->link[k] = (struct nt_link){.a = (uint32_t)(k < hosts ? k : k + 1),
                                      .b = (uint32_t)up,
                                      .latency_us = k < hosts ? host_us : link_us,
                                      .bandwidth_MBps = rate,
                                      .bandwidth_back_MBps = rate,
                                      .probability = 1};
    }
    m->tiers = star ? 1 : 2;
    record_must(nt_network_from_model(m, &net, &err), &err);
    nt_model_destroy(m);
    return net;
}

static double pair_rate(const struct nt_network *net, uint32_t a, uint32_t b)
{
    struct nt_walk walk;
    double least = INFINITY;
    uint32_t arc;
    for (nt_walk_begin(net, a, b, &walk); nt_walk_next(&walk, &arc);)
        least = fmin(least, net->arc[arc].rate_MBps);
    return least;
}

/* Whether a pair alone shows that this arc has less. */
static bool is_shown(const struct nt_network *net, uint32_t arc)
{
    for (uint32_t a = 0; a < net->hosts; a++)
        for (uint32_t b = 0; b < net->hosts; b++) {
            struct nt_walk walk;
            uint32_t at;
            bool over = false;
            double others = INFINITY;
            for (nt_walk_begin(net, a, b, &walk); a != b && nt_walk_next(&walk, &at);) {
                over |= at == arc;
                others = at == arc ? others : fmin(others, net->arc[at].rate_MBps);
            }
            if (over && net->arc[arc].rate_MBps < 0.92 * others)
                return true;
        }
    return false;
}

/* Of a leaf with a single host the one link or the other. */
static bool is_lone(const struct nt_network *net, size_t link)
{
    size_t hosts = net->hosts, on = 0;
    uint32_t leaf = link < hosts ? net->model->link[link].b : net->model->link[link].a;
    for (size_t h = 0; h < hosts; h++)
        on += net->model->link[h].b == leaf;
    return net->switches > 1 && on == 1;
}

/* turn: which way is slow; swept: half round trips show no way. */
static struct planted plant(struct nt_network *net, struct nt_rng *rng, const struct planted *was,
                            size_t count, size_t turn, bool swept)
{
    struct planted p = {0};
    size_t hosts = net->hosts, links = net->arcs / 2;
    bool again = true;
    while (again) {
        bool uplink = links > hosts && nt_rng_below(rng, 2);
        p.link = uplink ? hosts + nt_rng_below(rng, links - hosts) : nt_rng_below(rng, hosts);
        p.like = uplink ? links - hosts : hosts;
        again = is_lone(net, p.link); /* its two links are one to everybody */
        for (size_t k = 0; k < count; k++)
            again |= was[k].link == p.link;
    }
    p.kind = nt_rng_below(rng, 2) ? NT_FAULT_LINK_SLOW : NT_FAULT_LINK_NARROW;
    p.shown = true;
    struct nt_arc *arc = &net->arc[2 * p.link];
    if (p.kind == NT_FAULT_LINK_SLOW) {
        p.factor = between(rng, 1.3, 5);
        /* on a single switch it may be a host behind another one */
        p.shown = net->switches > 1 || p.factor > 4;
        p.way = swept ? NT_FAULT_BOTH : (enum nt_fault_way)(turn % NT_FAULT_WAYS);
        for (size_t k = 0; k < 2; k++)
            if (p.way == NT_FAULT_BOTH || (p.way == NT_FAULT_DOWN) == (k == 1))
                arc[k].latency_us *= p.factor;
        /* what the two ways differ by is no longer way */
        p.shown = p.shown || p.way != NT_FAULT_BOTH;
        return p;
    }
    p.factor = between(rng, 0.2, 0.85);
    p.way = nt_rng_below(rng, 3) > 0 ? NT_FAULT_BOTH
            : nt_rng_below(rng, 2)   ? NT_FAULT_UP
                                     : NT_FAULT_DOWN;
    for (size_t k = 0; k < 2; k++)
        if (p.way == NT_FAULT_BOTH || (p.way == NT_FAULT_DOWN) == (k == 1))
            arc[k].rate_MBps *= p.factor;
    return p;
}

/* Pairs of hosts over the link, and their mean latency. */
static size_t pairs_over(const struct nt_network *net, size_t link, double *mean_us)
{
    size_t pairs = 0;
    double sum = 0;
    for (uint32_t a = 0; a < net->hosts; a++)
        for (uint32_t b = 0; b < a; b++) {
            struct nt_walk walk;
            uint32_t arc;
            bool over = false;
            for (nt_walk_begin(net, a, b, &walk); nt_walk_next(&walk, &arc);)
                over |= arc / 2 == link;
            pairs += over;
            sum += over ? nt_network_latency(net, a, b) : 0;
        }
    *mean_us = sum / fmax(1, (double)pairs);
    return pairs;
}

/* What who knows the noise, the class and that its sound links are alike could say with 0.9: the
 * figure against the mean of the sound ones, one link in fifty being worse by up to 8, flat in the
 * logarithm. Of two links, or where half of the class has faults, nobody knows who is worse; what
 * differs between the two ways of one link needs no class. */
static bool is_tellable(const struct nt_network *net, const struct planted *p,
                        const struct planted *all, size_t count, double noise)
{
    const double rounds = 3; /* that a flow over the link is measured in */
    bool slow = p->kind == NT_FAULT_LINK_SLOW, own = slow && p->way != NT_FAULT_BOTH;
    bool uplink = p->link >= net->hosts;
    size_t bad = 0;
    for (size_t k = 0; k < count; k++)
        bad += all[k].kind == p->kind && (all[k].link >= net->hosts) == uplink;
    if (!own && (p->like < 3 || 2 * bad >= p->like))
        return false;
    double mean_us, us = net->model->link[p->link].latency_us, se = noise / sqrt(rounds);
    double pairs = (double)pairs_over(net, p->link, &mean_us);
    if (slow)
        se = noise * mean_us / us / sqrt(pairs);
    double sd = own ? 1.4 * se : se * sqrt(1 + 1 / (double)(p->like - bad));
    double t = log(p->factor) / sd;
    double sound = 0.98 * exp(-t * t / 2) / sqrt(2 * 3.14159265358979), faulty = 0.02 * sd / 2.08;
    return faulty >= 9 * sound;
}

/* ---- measuring -------------------------------------------------------------------------------*/

static struct nt_map *solve_matrices(const struct nt_network *net,
                                     const struct nt_measure_noise *noise)
{
    struct nt_matrix *latency, *bandwidth;
    struct nt_map *map;
    struct nt_err err = {0};
    char name[HOSTS_MAX][24];
    const char *names[HOSTS_MAX];
    size_t n = net->hosts;
    record_must(nt_measure_latencies(net, noise, &latency, &err), &err);
    record_must(nt_matrix_create(n, NT_MATRIX_BANDWIDTH_MBPS, &bandwidth, &err), &err);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(name[i], sizeof name[i], "n%zu", n - i);
        names[i] = name[i];
        for (uint32_t j = 0; j < n; j++)
            if (i != j)
                nt_matrix_set(bandwidth, i, j,
                              (float)(pair_rate(net, i, j) * nt_measure_factor(noise, i, j, 1)));
    }
    struct nt_solve_input input = {
        .latency = latency, .bandwidth = bandwidth, .host_name = names, .pattern = ""};
    record_must(nt_solve_measured(&input, &map, &err), &err);
    nt_matrix_destroy(latency);
    nt_matrix_destroy(bandwidth);
    return map;
}

static struct nt_map *solve_sweep(const struct nt_network *net,
                                  const struct nt_measure_noise *noise)
{
    struct recording how = {.level = NT_LEVEL_STANDARD, .mode = NT_SWEEP_AUTO, .noise = *noise};
    struct recorded r = record_sweep(net, &how);
    struct nt_map *map;
    struct nt_err err = {0};
    record_must(nt_solve_samples(r.samples, &map, &err), &err);
    nt_samples_destroy(r.samples);
    return map;
}

/* ---- judging ---------------------------------------------------------------------------------*/

/* A host of the map is n(hosts - h) by name, h in the network. */
static size_t host_of(const struct nt_map *map, uint32_t vertex)
{
    return map->model->hosts - strtoul(map->host_name[vertex] + 1, NULL, 10);
}

/* The hosts of the map that hang at v, without the link from there to not. */
static void mark_hosts(const struct nt_map *map, uint32_t v, uint32_t not, bool *below)
{
    const struct nt_model *m = map->model;
    if (v < m->hosts)
        below[host_of(map, v)] = true;
    for (size_t k = 0; k < m->links; k++) {
        const struct nt_link *l = &m->link[k];
        uint32_t other = l->a == v ? l->b : l->b == v ? l->a : UINT32_MAX;
        if (other != UINT32_MAX && other != not )
            mark_hosts(map, other, v, below);
    }
}

/* Whether the link of the finding is that of the network; *turned: seen from its other end. */
static bool is_link(const struct nt_map *map, const struct nt_fault *f,
                    const struct nt_network *net, size_t link, bool *turned)
{
    const struct nt_model *m = map->model;
    bool below[HOSTS_MAX] = {false};
    *turned = false;
    if (f->part.a < m->hosts || f->part.b < m->hosts) {
        uint32_t host = f->part.a < m->hosts ? f->part.a : f->part.b;
        return link < m->hosts && host_of(map, host) == link;
    }
    if (link < m->hosts)
        return false;
    mark_hosts(map, f->part.a, f->part.b, below);
    bool same = true, other = true;
    for (size_t h = 0; h < m->hosts; h++) {
        bool under = net->model->link[h].b == net->model->link[link].a;
        same &= below[h] == under;
        other &= below[h] != under;
    }
    *turned = other;
    return same || other;
}

static enum nt_fault_way way_in(const struct nt_fault *f, bool turned)
{
    if (f->way == NT_FAULT_BOTH || !turned)
        return f->way;
    return f->way == NT_FAULT_UP ? NT_FAULT_DOWN : NT_FAULT_UP;
}

static bool is_found(const struct nt_map *map, const struct nt_network *net,
                     const struct planted *p, const struct nt_fault *f, bool exactly)
{
    bool turned;
    return f->part.kind == p->kind && is_link(map, f, net, p->link, &turned) &&
           ((p->way == NT_FAULT_BOTH && !exactly) || p->way == way_in(f, turned));
}

static void judge(struct tally *t, const struct nt_map *map, const struct nt_network *net,
                  const struct planted *p, size_t count, bool verbose, size_t number)
{
    bool sure = false;
    for (size_t f = 0; f < map->faults; f++) {
        const struct nt_fault *x = &map->fault[f];
        bool right = false;
        size_t bin = 0;
        for (size_t k = 0; k < count; k++)
            right |= is_found(map, net, &p[k], x, false);
        while (x->confidence >= bin_ends[bin])
            bin++;
        t->stated[bin]++;
        t->true_of[bin] += right;
        t->sum_of[bin] += x->confidence;
        t->findings++;
        t->right += right;
        sure |= x->confidence >= 0.99;
        if (!right && verbose)
            printf("  %zu: false: %s, %zu hosts, %zu planted\n", number, map->warning[f],
                   net->hosts, count);
    }
    t->networks++;
    t->sound += count == 0;
    t->sound_false += count == 0 && map->faults > 0;
    t->sound_false_sure += count == 0 && sure;
    for (size_t k = 0; k < count; k++) {
        bool found = false, exact = false, named = false;
        for (size_t f = 0; f < map->faults; f++) {
            const struct nt_fault *x = &map->fault[f];
            found |= is_found(map, net, &p[k], x, false);
            exact |= is_found(map, net, &p[k], x, true);
            named |= x->part.kind == p[k].kind;
        }
        t->told += p[k].told;
        t->told_found += p[k].told && found;
        t->planted += p[k].shown;
        t->hidden += !p[k].shown;
        t->found += found && p[k].shown;
        t->exact += exact && p[k].shown;
        t->named += named && p[k].shown;
        t->of_class[class_of(p[k].like)] += p[k].shown;
        t->found_of_class[class_of(p[k].like)] += found && p[k].shown;
        if (!found && verbose && p[k].shown)
            printf("  %zu: missed: %s link %zu x%.2f way %d of %zu, %zu hosts\n", number,
                   p[k].kind == NT_FAULT_LINK_SLOW ? "slow" : "narrow", p[k].link, p[k].factor,
                   (int)p[k].way, p[k].like, net->hosts);
    }
}

static void run(size_t number, struct tally *t, bool swept, bool verbose)
{
    struct nt_rng rng;
    nt_rng_init(&rng, 1000003 * number + 17);
    struct nt_network *net = draw_network(&rng);
    struct planted p[FAULTS_MAX];
    size_t most = net->arcs / 2 < 6 ? 1 : FAULTS_MAX;
    size_t count = nt_rng_below(&rng, 4) == 0 ? 0 : 1 + nt_rng_below(&rng, most);
    for (size_t k = 0; k < count; k++)
        p[k] = plant(net, &rng, p, k, number + k, swept);
    for (size_t k = 0; k < count && !swept; k++)
        if (p[k].kind == NT_FAULT_LINK_NARROW)
            p[k].shown = is_shown(net, (uint32_t)(2 * p[k].link)) ||
                         is_shown(net, (uint32_t)(2 * p[k].link + 1));
    struct nt_measure_noise noise = {.sd = between(&rng, 0.01, 0.1), .seed = number + 1};
    for (size_t k = 0; k < count; k++)
        p[k].told = p[k].shown && is_tellable(net, &p[k], p, count, noise.sd);
    struct nt_map *map = swept ? solve_sweep(net, &noise) : solve_matrices(net, &noise);
    judge(t, map, net, p, count, verbose, number);
    nt_map_destroy(map);
    nt_network_destroy(net);
}

/* ---- the table -------------------------------------------------------------------------------*/

static double percent(size_t a, size_t b)
{
    return b == 0 ? (double)NAN : 100 * (double)a / (double)b;
}

static void print_tally(const char *from, const struct tally *t)
{
    printf("| %s | %zu | %zu | %zu | %.2f %% | %.1f %% | %.1f %% | %zu of %zu | %zu |\n", from,
           t->networks, t->planted, t->hidden, percent(t->right, t->findings),
           percent(t->found, t->planted), percent(t->exact, t->named), t->sound_false, t->sound,
           t->sound_false_sure);
}

static void print_details(const char *from, const struct tally *t)
{
    printf("\nRecall from %s by the links of a class:", from);
    for (size_t k = 0; k < CLASSES; k++)
        printf(" %s: %.0f %% of %zu;", class_names[k],
               percent(t->found_of_class[k], t->of_class[k]), t->of_class[k]);
    printf("\nOf those that an ideal observer could tell: %.1f %% of %zu",
           percent(t->told_found, t->told), t->told);
    printf("\nConfidence stated : true:");
    for (size_t k = 0; k < BINS; k++)
        if (t->stated[k] > 0)
            printf(" %.5f:%.5f (%zu)", t->sum_of[k] / (double)t->stated[k],
                   (double)t->true_of[k] / (double)t->stated[k], t->stated[k]);
    printf("\n");
}

int main(int argc, char **argv)
{
    size_t networks = 5000;
    bool verbose = false;
    struct tally tally[2] = {{0}, {0}};
    for (int k = 1; k < argc; k++)
        if (strcmp(argv[k], "-v") == 0)
            verbose = true;
        else
            networks = strtoul(argv[k], NULL, 10);
    for (size_t k = 0; k < networks; k++)
        run(k, &tally[k % SWEPT_OF == 0], k % SWEPT_OF == 0, verbose);
    printf(
        "| from | networks | faults | nothing shows | precision | recall | localised | sound, with "
        "a finding | of them at 0.99 |\n|---|---|---|---|---|---|---|---|---|\n");
    print_tally("matrices", &tally[0]);
    print_tally("sweeps", &tally[1]);
    print_details("matrices", &tally[0]);
    print_details("sweeps", &tally[1]);
    return 0;
}
