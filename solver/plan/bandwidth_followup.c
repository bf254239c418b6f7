/* SPDX-License-Identifier: Apache-2.0 */
#include "bandwidth_work.h"

#include <math.h>
#include <string.h>

#include "stats.h"

/* Fewer hosts than this are also held against all others. */
enum { LEAF_MIN = 5 };

/* Two rounds with the same flows agree within this in a quiet network, as flow_links.c takes them
 * for one plateau. */
static const double agreement = 0.95;
static const double sd_limit = 4, sd_floor = 0.0125, sd_most = 0.025, group_limit = 0.93;
/* Rates that differ by less are one rate, of which the first partner in turn is taken. */
static const double better_partner = 1.02;
/* However narrow a group is, some flows go to it. */
static const double quality_least = 0.05;

/* The channel out of host h (or into it): its first link's. */
static uint32_t host_channel(const struct nt_rooted_tree *g, uint32_t host, bool into)
{
    uint32_t i = g->graph.start[host];
    if (i == g->graph.start[host + 1])
        return UINT32_MAX;
    uint32_t out = 2 * g->graph.link[i] + (g->ends[g->graph.link[i]][0] == host ? 0 : 1);
    return into ? nt_channel_back(out) : out;
}

static double host_value(const struct nt_bw *b, uint32_t host, bool into)
{
    uint32_t c = host_channel(b->rooted, host, into);
    return c == UINT32_MAX ? (double)NAN : b->most[c];
}

static size_t values_of_leaf(struct nt_bw *b, uint32_t leaf, bool into)
{
    const struct nt_rooted_tree *h = b->rooted;
    size_t n = 0;
    for (uint32_t i = h->graph.start[leaf]; i < h->graph.start[leaf + 1]; i++) {
        const uint32_t *ends = h->ends[h->graph.link[i]];
        uint32_t w = ends[0] == leaf ? ends[1] : ends[0];
        double v = w < h->hosts ? host_value(b, w, into) : (double)NAN;
        if (!isnan(v))
            b->value[n++] = (float)v;
    }
    return n;
}

static size_t values_of_all(struct nt_bw *b, bool into)
{
    size_t n = 0;
    for (uint32_t w = 0; w < b->rooted->hosts; w++)
        if (!isnan(host_value(b, w, into)))
            b->value[n++] = (float)host_value(b, w, into);
    return n;
}

/* A host below this limit, of n hosts with those values, is measured again. */
static double limit_of(struct nt_bw *b, size_t n)
{
    double middle = n == 0 ? NAN : (double)nt_stats_select(b->value, n, n / 2);
    double sd = n == 0 ? 0 : (double)nt_stats_mad(b->value, n);
    return middle - sd_limit * fmax(fmin(sd, sd_most * middle), sd_floor * middle);
}

/* Marks the hosts below their leaf's limit; few hosts do not make a median, and are held against
 * all. */
static void mark_hosts(struct nt_bw *b, bool into)
{
    const struct nt_rooted_tree *h = b->rooted;
    double of_all = limit_of(b, values_of_all(b, into));
    memset(b->marked, 0, h->vertices * sizeof *b->marked);
    for (uint32_t leaf = (uint32_t)h->hosts; leaf < h->vertices; leaf++) {
        size_t n = values_of_leaf(b, leaf, into);
        double limit = limit_of(b, n);
        limit = n < LEAF_MIN ? fmax(of_all, limit) : limit;
        for (uint32_t i = h->graph.start[leaf]; i < h->graph.start[leaf + 1]; i++) {
            const uint32_t *ends = h->ends[h->graph.link[i]];
            uint32_t w = ends[0] == leaf ? ends[1] : ends[0];
            if (w < h->hosts && !(host_value(b, w, into) >= limit))
                b->marked[w] = true;
        }
    }
}

/* The free host with the most in the direction that is not in doubt: first at the same switch,
 * then anywhere. Ties go to who comes `turn` places later, so that a repetition has another. */
static uint32_t best_partner(const struct nt_bw *b, uint32_t host, uint32_t leaf, bool into,
                             size_t turn)
{
    const struct nt_rooted_tree *h = b->rooted;
    uint32_t best = NT_NO_VERTEX;
    double most = 0;
    for (int far = 0; far < 2 && best == NT_NO_VERTEX; far++)
        for (uint32_t k = 0; k < h->hosts; k++) {
            uint32_t w = (uint32_t)((host + 1 + turn + k) % h->hosts);
            uint32_t c = host_channel(h, w, false);
            if (w == host || c == UINT32_MAX || b->schedule.busy[w] || b->schedule.missing[w] ||
                b->marked[w])
                continue;
            bool same = h->ends[c / 2][0] == leaf || h->ends[c / 2][1] == leaf;
            double v = host_value(b, w, !into);
            if (same == (far == 0) && (far == 0 || h->tree) && v > most * better_partner) {
                most = v;
                best = w;
            }
        }
    return best;
}

void nt_bw_repeat_hosts(struct nt_bw *b, size_t turn, bool into)
{
    const struct nt_rooted_tree *h = b->rooted;
    mark_hosts(b, into);
    for (uint32_t leaf = (uint32_t)h->hosts; leaf < h->vertices; leaf++)
        for (uint32_t i = h->graph.start[leaf]; i < h->graph.start[leaf + 1]; i++) {
            const uint32_t *ends = h->ends[h->graph.link[i]];
            uint32_t w = ends[0] == leaf ? ends[1] : ends[0];
            if (w >= h->hosts || !b->marked[w] || b->schedule.missing[w])
                continue;
            uint32_t partner = best_partner(b, w, leaf, into, turn);
            if (partner != NT_NO_VERTEX)
                nt_flow_schedule_join(&b->schedule, into ? partner : w, into ? w : partner);
        }
}

/* What the hosts below v could send (or take) together; infinite when that was not measured. */
static double hosts_demand(const struct nt_bw *b, uint32_t v, bool into)
{
    const struct nt_rooted_tree *h = b->rooted;
    double sum = 0;
    if ((b->options.phases & NT_BANDWIDTH_HOST_LINKS) == 0)
        return INFINITY;
    for (uint32_t k = h->head[v]; k < h->tail[v]; k++) {
        double value = host_value(b, h->host[k], into);
        sum += isnan(value) || b->schedule.missing[h->host[k]] ? 0 : value;
    }
    return sum;
}

static double group_value(const struct nt_bw *b, uint32_t v, bool into)
{
    uint32_t up = b->rooted->up[v];
    return b->most[into ? nt_channel_back(up) : up];
}

/* The most that any of the groups at a parent carried. */
static double best_group(const struct nt_bw *b, uint32_t parent, bool into)
{
    const struct nt_rooted_tree *h = b->rooted;
    double best = NAN;
    for (uint32_t i = h->first[parent]; i < h->first[parent + 1]; i++)
        if (h->child[i] >= h->hosts && !(best >= group_value(b, h->child[i], into)))
            best = group_value(b, h->child[i], into);
    return best;
}

/* Marks groups that carried less than another one and less than their hosts could; in what is to
 * take their flows, those that are known to be narrow get fewer. */
void nt_bw_mark_narrow_groups(struct nt_bw *b, uint32_t height, bool into)
{
    const struct nt_rooted_tree *h = b->rooted;
    memset(b->marked, 0, h->vertices * sizeof *b->marked);
    for (size_t k = 0; k < h->reached; k++) {
        uint32_t p = h->order[k];
        if (b->fan.height[p] != height)
            continue;
        double best = best_group(b, p, into), widest = best_group(b, p, !into);
        for (uint32_t i = h->first[p]; i < h->first[p + 1]; i++) {
            uint32_t c = h->child[i];
            if (c < h->hosts || nt_rooted_tree_count(h, c) == 0)
                continue;
            double value = group_value(b, c, into), takes = group_value(b, c, !into);
            b->marked[c] =
                isnan(value) || value < group_limit * fmin(best, hosts_demand(b, c, into));
            bool narrow = takes < group_limit * fmin(widest, hosts_demand(b, c, !into));
            b->schedule.quality[c] = narrow ? fmax(takes / widest, quality_least) : 1;
        }
    }
}

bool nt_bw_is_unsettled(const struct nt_bw *b, const struct nt_bw_step *step)
{
    const struct nt_rooted_tree *h = b->rooted;
    for (size_t k = 0; k < h->reached; k++) {
        uint32_t p = h->order[k];
        if (b->fan.height[p] != step->height || b->fan.tight[p] != (step->kind == SPILL))
            continue;
        for (uint32_t i = h->first[p]; i < h->first[p + 1]; i++) {
            uint32_t c = h->child[i];
            if (c < h->hosts || b->fan.bin[c] != step->index || nt_rooted_tree_count(h, c) == 0)
                continue;
            uint32_t link = step->back ? nt_channel_back(h->up[c]) : h->up[c];
            if (b->most[link] > 0 && !(b->second[link] >= agreement * b->most[link]))
                return true;
        }
    }
    return false;
}
