/* SPDX-License-Identifier: Apache-2.0 */
#include "chain.h"

#include <math.h>
#include <string.h>

#include "stats.h"

/* The prior of 0 to 3 tiers below the root: jobs see one switch, leaves, pods of leaves, or three
 * tiers; one or two are the usual fabric. */
static const double tiers_prior[NT_TIERS_MAX + 1] = {NT_CHAIN_ONE_SWITCH, 0.33, 0.35, 0.17};

/* The rate of units that are attached to a switch above the usual one is Beta: one in ten, and in
 * most networks none. */
static const double flat_shape = 0.5, flat_prior = 4.5;

/* Concentrations of the Chinese restaurant processes, a factor of about 3 apart, from one large
 * group to groups of one or two; the last is 4 times the units, with which about a quarter of the
 * units are in pairs and the others alone. */
enum { CONCENTRATIONS = 6 };

static double concentration(uint32_t a, uint32_t units)
{
    static const double fixed[CONCENTRATIONS - 1] = {0.3, 1, 3, 10, 30};
    return a + 1 < CONCENTRATIONS ? fixed[a] : 2.0 * units;
}

int nt_chain_init(struct nt_chain *chain, uint32_t hosts, struct nt_arena *memory,
                  struct nt_err *err)
{
    *chain = (struct nt_chain){.hosts = hosts};
    chain->label = nt_arena_array(memory, hosts, sizeof *chain->label);
    return nt_arena_check(memory, err);
}

void nt_chain_copy(struct nt_chain *to, const struct nt_chain *from)
{
    to->tiers = from->tiers;
    memcpy(to->groups, from->groups, sizeof to->groups);
    memcpy(to->label, from->label, from->hosts * sizeof *to->label);
}

/* Relabels tier from into tier to by first appearance; the number of groups. */
static uint32_t relabel(struct nt_chain *c, uint32_t from, uint32_t to, uint32_t *map)
{
    uint32_t groups = 0;
    memset(map, 0xff, 2 * (size_t)c->hosts * sizeof *map);
    for (uint32_t i = 0; i < c->hosts; i++) {
        uint32_t label = c->label[i].tier[from], number = nt_chain_number(label);
        if (map[number] == UINT32_MAX)
            map[number] = groups++;
        c->label[i].tier[to] = map[number] | (label & NT_CHAIN_FLAT);
    }
    return groups;
}

static bool same_tier(const struct nt_chain *c, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < c->hosts; i++)
        if (nt_chain_number(c->label[i].tier[a]) != nt_chain_number(c->label[i].tier[b]))
            return false;
    return true;
}

void nt_chain_canonicalise(struct nt_chain *chain, uint32_t *map)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < chain->tiers; k++) {
        uint32_t groups = relabel(chain, k, kept, map);
        if (groups == 1 || groups == chain->hosts || (kept > 0 && same_tier(chain, kept, kept - 1)))
            continue;
        chain->groups[kept++] = groups;
    }
    chain->tiers = kept;
    for (uint32_t i = 0; i < chain->hosts; i++)
        for (uint32_t k = kept; k <= NT_TIERS_MAX; k++)
            chain->label[i].tier[k] = 0;
}

uint64_t nt_chain_hash(const struct nt_chain *chain)
{
    uint64_t h = 0x9e3779b97f4a7c15ull + chain->tiers;
    for (uint32_t i = 0; i < chain->hosts; i++)
        for (uint32_t k = 0; k < chain->tiers; k++) {
            h = (h ^ (chain->label[i].tier[k] + 1)) * 0x94d049bb133111ebull;
            h ^= h >> 31;
        }
    return h != 0 ? h : 1;
}

int nt_chain_prior_init(struct nt_chain_prior *prior, uint32_t hosts, struct nt_arena *memory,
                        struct nt_err *err)
{
    prior->hosts = hosts;
    prior->log_gamma = nt_arena_array(memory, hosts + 1, sizeof *prior->log_gamma);
    prior->rising =
        nt_arena_array(memory, (hosts + 1) * (size_t)CONCENTRATIONS, sizeof *prior->rising);
    prior->log_bell = nt_arena_array(memory, hosts + 1, sizeof *prior->log_bell);
    if (nt_arena_check(memory, err) != 0)
        return -1;
    for (uint32_t m = 1; m <= hosts; m++) {
        prior->log_gamma[m] = m == 1 ? 0 : prior->log_gamma[m - 1] + log(m - 1);
        for (uint32_t a = 0; a < CONCENTRATIONS; a++) /* ln of a (a + 1) ... (a + m - 1) */
            prior->rising[m * CONCENTRATIONS + a] =
                lgamma(concentration(a, m) + m) - lgamma(concentration(a, m));
        prior->log_bell[m] = NAN;
    }
    return 0;
}

/* ln of the number of partitions of m units by Dobinski's formula; terms fall like 1 / k! behind
 * the largest, which is under m. */
static double log_bell(struct nt_chain_prior *prior, uint32_t m)
{
    if (!isnan(prior->log_bell[m]))
        return prior->log_bell[m];
    double largest = 0, sum = 1, factorial = 0; /* ln 1^m / 1! = 0 */
    for (uint32_t k = 2; k < m + 30; k++) {
        factorial += log(k);
        double term = m * log(k) - factorial, top = fmax(term, largest);
        sum = sum * exp(largest - top) + exp(term - top);
        largest = top;
    }
    prior->log_bell[m] = largest + log(sum) - 1;
    return prior->log_bell[m];
}

/* Hosts of a job in leaves of similar sizes, among single hosts: each size is drawn from an unknown
 * distribution of sizes (Dirichlet, equivalent to one group, with the weight 1 / s (s + 1) for size
 * s), and the partition uniformly from all with these sizes. ln p; count: working memory, units
 * elements of 0. */
static double alike_sizes(const struct nt_chain_prior *prior, uint32_t units, uint32_t groups,
                          const uint32_t *size, uint32_t *count)
{
    double p = -log(units) - prior->log_gamma[units]; /* ln groups! cancels */
    for (uint32_t a = 0; a < groups; a++) {
        double s = size[a];
        p += log(1 / (s * (s + 1)) + count[size[a] - 1]++) + log(s) + prior->log_gamma[size[a]];
    }
    return p;
}

/* ln p of a partition of units into groups whose ln gamma(size) sum to log_gamma. alike: ln p of
 * its sizes if similar sizes are possible; else -INFINITY. */
static double partition(struct nt_chain_prior *prior, uint32_t units, uint32_t groups,
                        double log_gamma, double alike)
{
    double best = -INFINITY, value[CONCENTRATIONS], sum = 0;
    for (uint32_t a = 0; a < CONCENTRATIONS; a++) {
        value[a] = groups * log(concentration(a, units)) + log_gamma -
                   prior->rising[units * CONCENTRATIONS + a];
        best = fmax(best, value[a]);
    }
    for (uint32_t a = 0; a < CONCENTRATIONS; a++)
        sum += exp(value[a] - best);
    double p = nt_log_sum(best + log(sum / CONCENTRATIONS), -log_bell(prior, units));
    return isfinite(alike) ? nt_log_sum(p, alike) - log(3) : p - log(2);
}

double nt_chain_prior(struct nt_chain_prior *prior, const struct nt_chain *chain, uint32_t *room)
{
    double p = log(tiers_prior[chain->tiers]);
    uint32_t all = 0, flat = 0;
    for (uint32_t k = 0; k < chain->tiers; k++) {
        uint32_t *size = room, units = 0;
        double log_gamma = 0;
        memset(size, 0, chain->groups[k] * sizeof *size);
        for (uint32_t i = 0; i < chain->hosts; i++)
            if (k == 0 || nt_chain_number(chain->label[i].tier[k - 1]) == units) {
                uint32_t label = chain->label[i].tier[k]; /* labels appear in order */
                flat += size[nt_chain_number(label)]++ == 0 && label & NT_CHAIN_FLAT;
                units++;
            }
        for (uint32_t a = 0; a < chain->groups[k]; a++)
            log_gamma += prior->log_gamma[size[a]];
        double alike = -(double)INFINITY;
        if (k == 0) {
            memset(room + units, 0, units * sizeof *room);
            alike = alike_sizes(prior, units, chain->groups[k], size, room + units);
        }
        p += partition(prior, units, chain->groups[k], log_gamma, alike);
        all += chain->groups[k];
    }
    return p + nt_log_beta(flat_shape + flat, flat_prior + all - flat) -
           nt_log_beta(flat_shape, flat_prior);
}

int nt_chain_tree_init(struct nt_chain_tree *tree, uint32_t hosts, struct nt_arena *memory,
                       struct nt_err *err)
{
    size_t nodes = 2 * (size_t)hosts + 1;
    tree->hosts = hosts;
    tree->parent = nt_arena_array(memory, nodes, sizeof *tree->parent);
    tree->size = nt_arena_array(memory, nodes, sizeof *tree->size);
    tree->class = nt_arena_array(memory, nodes, sizeof *tree->class);
    tree->alone = nt_arena_array(memory, nodes, sizeof *tree->alone);
    tree->mask = nt_arena_array(memory, nodes, sizeof *tree->mask);
    tree->flat = nt_arena_array(memory, nodes, sizeof *tree->flat);
    return nt_arena_check(memory, err);
}

/* The nodes of tier k: node[label]. A group with one unit of the tier below has the node of this
 * unit. */
static void add_tier(struct nt_chain_tree *t, const struct nt_chain *c, uint32_t k,
                     const uint32_t *below, uint32_t *node, uint32_t *size)
{
    memset(size, 0, c->groups[k] * sizeof *size);
    for (uint32_t i = 0; i < c->hosts; i++)
        size[nt_chain_number(c->label[i].tier[k])]++;
    memset(node, 0xff, c->groups[k] * sizeof *node);
    for (uint32_t i = 0; i < c->hosts; i++) {
        uint32_t group = nt_chain_number(c->label[i].tier[k]);
        uint32_t unit = k > 0 ? below[nt_chain_number(c->label[i].tier[k - 1])] : i;
        uint32_t flat = c->label[i].tier[k] & NT_CHAIN_FLAT ? 1u << k : 0;
        if (node[group] == UINT32_MAX) {
            if (t->size[unit] == size[group]) {
                node[group] = unit;
                t->alone[unit]++;
                t->mask[unit] |= 1u << k;
                t->flat[unit] |= flat;
                continue;
            }
            node[group] = t->nodes;
            t->size[t->nodes] = size[group];
            t->class[t->nodes] = k;
            t->alone[t->nodes] = 1;
            t->mask[t->nodes] = 1u << k;
            t->flat[t->nodes++] = flat;
        }
        if (node[group] != unit)
            t->parent[unit] = node[group];
    }
}

void nt_chain_tree_make(struct nt_chain_tree *tree, const struct nt_chain *chain, uint32_t *room)
{
    uint32_t hosts = chain->hosts;
    uint32_t *below = room, *node = room + hosts, *size = room + 2 * (size_t)hosts;
    for (uint32_t i = 0; i < hosts; i++) {
        tree->size[i] = 1;
        tree->class[i] = tree->alone[i] = tree->mask[i] = tree->flat[i] = 0;
    }
    tree->classes = chain->tiers + 1;
    tree->nodes = hosts;
    for (uint32_t k = 0; k < chain->tiers; k++) {
        add_tier(tree, chain, k, below, node, size);
        uint32_t *swap = below;
        below = node;
        node = swap;
    }
    for (uint32_t i = 0; i < hosts; i++) {
        uint32_t top =
            chain->tiers > 0 ? below[nt_chain_number(chain->label[i].tier[chain->tiers - 1])] : i;
        tree->parent[top] = tree->nodes;
    }
    uint32_t root = tree->nodes++;
    tree->parent[root] = root;
    tree->size[root] = hosts;
    tree->class[root] = chain->tiers;
    tree->alone[root] = 0;
    tree->mask[root] = tree->flat[root] = 0;
}
