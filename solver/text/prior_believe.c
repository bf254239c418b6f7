/* SPDX-License-Identifier: Apache-2.0 */
/* Converts a prior to the belief about the hosts of one job: their clusters, by the latencies of
 * pairs. */
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "prior.h"
#include "stats.h"
#include "switch_support.h"

enum { NONE = UINT32_MAX };

/* Latencies within this factor belong to one level: two readings of one cable differ by less. */
static const float APART = 1.06F;

struct job {
    const struct nt_prior *prior;
    size_t hosts;
    uint32_t *under;  /* by host: its switch, or NONE */
    uint32_t *branch; /* by switch: number of its parts with hosts of the job */
    uint32_t *level;  /* by switch with several such parts: its level; NONE */
    float *us; /* the latencies of switches between hosts, then the first latency of each level */
    double mean_us[NT_BELIEF_LEVELS_MAX]; /* mean latency of the switches of a level */
    size_t levels;
    bool one; /* all hosts are below one switch */
};

/* Counts branches. The loops visit every switch at most once: they stop at a counted one. */
static void count_branches(struct job *j)
{
    const struct nt_prior *p = j->prior;
    for (size_t h = 0; h < j->hosts; h++) {
        uint32_t s = j->under[h];
        while (s != NONE && j->branch[s]++ == 0)
            s = p->of_switch[s].up;
    }
}

/* Groups latencies into levels; false: there are too many. */
static bool find_levels(struct job *j)
{
    const struct nt_prior *p = j->prior;
    size_t n = 0, levels = 0;
    for (size_t s = 0; s < p->switch_name.count; s++)
        if (j->branch[s] > 1)
            j->us[n++] = p->of_switch[s].us;
    qsort(j->us, n, sizeof *j->us, nt_compare_floats);
    for (size_t k = 0; k < n; k++)
        if (k == 0 || j->us[k] > APART * j->us[k - 1]) {
            if (levels + 1 >= NT_BELIEF_LEVELS_MAX)
                return false;
            j->us[levels++] = j->us[k];
        }
    j->levels = levels;
    double switches[NT_BELIEF_LEVELS_MAX] = {0};
    for (size_t s = 0; s < p->switch_name.count; s++) {
        j->level[s] = NONE;
        for (uint32_t l = 0; l < levels && j->branch[s] > 1; l++)
            if (p->of_switch[s].us >= j->us[l])
                j->level[s] = l;
        if (j->level[s] == NONE)
            continue;
        uint32_t l = j->level[s];
        switches[l]++;
        j->mean_us[l] += ((double)p->of_switch[s].us - j->mean_us[l]) / switches[l];
    }
    return true;
}

/* Returns the highest switch between hosts of this level or below that is reached only through such
 * switches. NONE: the host is alone. */
static uint32_t highest(const struct job *j, uint32_t under, uint32_t level)
{
    uint32_t best = NONE;
    for (uint32_t s = under; s != NONE; s = j->prior->of_switch[s].up) {
        if (j->level[s] == NONE)
            continue;
        if (j->level[s] > level)
            break;
        best = s;
    }
    return best;
}

/* Returns whether all hosts have one switch at the highest level; otherwise another level above
 * contains all. */
static bool meet_at_top(const struct job *j)
{
    uint32_t top = NONE;
    for (size_t h = 0; h < j->hosts; h++) {
        if (j->under[h] == NONE)
            continue;
        uint32_t s = j->levels > 0 ? highest(j, j->under[h], (uint32_t)j->levels - 1) : NONE;
        if (s == NONE || (top != NONE && top != s))
            return false;
        top = s;
    }
    return true;
}

/* Sets the clusters. first[]: by switch, its first host. */
static int set_clusters(const struct job *j, struct nt_belief *b, uint32_t *first,
                        struct nt_err *err)
{
    uint32_t path[NT_BELIEF_LEVELS_MAX];
    size_t rows = b->levels > 0 ? b->levels - 1 : 0;
    memset(first, 0xff, (j->prior->switch_name.count + 1) * sizeof *first);
    for (uint32_t h = 0; h < j->hosts; h++) {
        if (j->under[h] == NONE)
            continue;
        for (uint32_t l = 0; l < rows; l++) {
            uint32_t s = highest(j, j->under[h], l);
            if (s != NONE && first[s] == NONE)
                first[s] = h;
            path[l] = s == NONE ? h : first[s];
        }
        if (nt_belief_set(b, h, path, err) != 0)
            return -1;
    }
    return 0;
}

static void note(const struct nt_prior_part *part, struct nt_prior_facts *f)
{
    f->oldest_day = part->day < f->oldest_day ? part->day : f->oldest_day;
    f->least_support = part->support < f->least_support ? part->support : f->least_support;
}

static bool is_stated(const struct nt_prior_part *part)
{
    return (double)part->support >= NT_SUPPORT_REPORTED;
}

static struct nt_prior_facts find_hosts(struct job *j, const char *const *name)
{
    const struct nt_prior *p = j->prior;
    struct nt_prior_facts f = {.oldest_day = INT32_MAX, .least_support = 1};
    for (size_t h = 0; h < j->hosts; h++) {
        uint32_t k = nt_names_find(&p->host_name, name[h], strlen(name[h]));
        j->under[h] = k != NT_NAMES_NONE && is_stated(&p->of_host[k]) ? p->of_host[k].up : NONE;
        if (j->under[h] == NONE)
            continue;
        f.known++;
        note(&p->of_host[k], &f);
    }
    return f;
}

int nt_prior_to_belief(const struct nt_prior *p, const char *const *host_name, size_t hosts,
                       struct nt_belief **out, struct nt_prior_facts *facts, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t switches = p->switch_name.count;
    struct job j = {.prior = p,
                    .hosts = hosts,
                    .under = nt_arena_array(&memory, hosts + 1, sizeof *j.under),
                    .branch = nt_arena_array(&memory, switches + 1, sizeof *j.branch),
                    .level = nt_arena_array(&memory, switches + 1, sizeof *j.level),
                    .us = nt_arena_array(&memory, switches + 1, sizeof *j.us)};
    uint32_t *first = nt_arena_array(&memory, switches + 1, sizeof *first);
    struct nt_belief *b;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    struct nt_prior_facts f = find_hosts(&j, host_name);
    count_branches(&j);
    bool few = 2 * f.known < hosts || f.known < 2 || !find_levels(&j);
    size_t levels = few ? 0 : j.levels + !meet_at_top(&j);
    if (nt_belief_create(hosts, levels, &b, err) != 0)
        return -1;
    for (size_t l = 0; l < levels && l < j.levels; l++)
        b->us[l] = j.mean_us[l];
    if (levels > 0 && set_clusters(&j, b, first, err) != 0) {
        nt_belief_destroy(b);
        return -1;
    }
    for (size_t s = 0; s < switches; s++)
        if (j.branch[s] > 1)
            note(&p->of_switch[s], &f);
    nt_belief_reduce(b);
    if (facts != NULL)
        *facts = f;
    *out = b;
    return 0;
}
