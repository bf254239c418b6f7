/* SPDX-License-Identifier: Apache-2.0 */
#include "polish.h"

#include <stdbool.h>
#include <stdlib.h>

struct polishing {
    const struct nt_distance *distance;
    const struct nt_traffic *traffic;
    uint32_t *rank_host;
    const uint32_t *rank; /* hosts */
    uint32_t *seat,
        *tasks_by_rank; /* tasks by their host's rank: tasks_by_rank[seat[k]..seat[k+1]) */
    uint32_t *at;       /* where a task is in tasks_by_rank */
    uint64_t work;
};

/* The weighted latency of task r if it were on host h, apart from its partner `not`. */
static double task_pull(struct polishing *b, uint32_t r, uint32_t h, uint32_t not )
{
    const struct nt_traffic *t = b->traffic;
    double sum = 0;
    for (size_t k = t->start[r]; k < t->start[r + 1]; k++)
        if (t->partner[k] != not )
            sum += (double)t->bytes[k] *
                   nt_distance_latency(b->distance, h, b->rank_host[t->partner[k]]);
    size_t looked = t->start[r + 1] - t->start[r] + 1;
    b->work = b->work > looked ? b->work - looked : 0;
    return sum;
}

/* What is gained when r and s change hosts. Their own exchange stays as it is. */
static double swap_gain(struct polishing *b, uint32_t r, uint32_t s)
{
    uint32_t hr = b->rank_host[r], hs = b->rank_host[s];
    return task_pull(b, r, hr, s) - task_pull(b, r, hs, s) + task_pull(b, s, hs, r) -
           task_pull(b, s, hr, r);
}

static void swap_ranks(struct polishing *b, uint32_t r, uint32_t s)
{
    uint32_t h = b->rank_host[r], at = b->at[r];
    b->rank_host[r] = b->rank_host[s];
    b->rank_host[s] = h;
    b->tasks_by_rank[b->at[s]] = r;
    b->tasks_by_rank[at] = s;
    b->at[r] = b->at[s];
    b->at[s] = at;
}

/* Tries to seat r at the host of its partner p, or next to it. */
static bool move_near(struct polishing *b, uint32_t r, uint32_t p)
{
    enum { NEXT_TO = 4 };
    uint32_t h = b->rank_host[p], best = UINT32_MAX;
    double most = 1e-12 * b->traffic->total_bytes;
    uint32_t low = b->seat[b->rank[h]], high = b->seat[b->rank[h] + 1];
    low = low > NEXT_TO ? low - NEXT_TO : 0;
    high = high + NEXT_TO < b->traffic->tasks ? high + NEXT_TO : (uint32_t)b->traffic->tasks;
    if (high - low > 64)
        high = low + 64;
    for (uint32_t k = low; k < high && b->work > 0; k++) {
        uint32_t s = b->tasks_by_rank[k];
        if (s == r || s == p || b->rank_host[s] == b->rank_host[r])
            continue;
        double g = swap_gain(b, r, s);
        if (g > most) {
            most = g;
            best = s;
        }
    }
    if (best == UINT32_MAX)
        return false;
    swap_ranks(b, r, best);
    return true;
}

static void index_tasks(struct polishing *b, size_t hosts)
{
    size_t n = b->traffic->tasks;
    uint32_t *end = b->seat + 1;
    for (size_t r = 0; r < n; r++)
        end[b->rank[b->rank_host[r]]]++;
    for (size_t h = 1; h < hosts; h++)
        end[h] += end[h - 1];
    for (size_t r = n; r-- > 0;) {
        uint32_t k = --end[b->rank[b->rank_host[r]]];
        b->tasks_by_rank[k] = (uint32_t)r;
        b->at[r] = k;
    }
    for (size_t h = 0; h < hosts; h++)
        b->seat[h] = end[h];
    b->seat[hosts] = (uint32_t)n;
}

int nt_polish(const struct nt_distance *distance, const uint32_t *rank, size_t hosts,
              const struct nt_traffic *traffic, uint64_t work, uint32_t *rank_host,
              struct nt_err *err)
{
    size_t n = traffic->tasks;
    struct polishing b = {.distance = distance,
                          .rank = rank,
                          .traffic = traffic,
                          .rank_host = rank_host,
                          .work = work};
    b.seat = calloc(hosts + 2, sizeof *b.seat);
    b.tasks_by_rank = malloc((n + 1) * sizeof *b.tasks_by_rank);
    b.at = malloc((n + 1) * sizeof *b.at);
    int rc = 0;
    if (b.seat == NULL || b.tasks_by_rank == NULL || b.at == NULL) {
        rc = nt_err_memory(err);
    } else {
        index_tasks(&b, hosts);
        for (bool changed = true; changed && b.work > 0;) {
            changed = false;
            for (uint32_t r = 0; r < n && b.work > 0; r++)
                for (size_t k = traffic->start[r]; k < traffic->start[r + 1] && b.work > 0; k++)
                    if (rank_host[traffic->partner[k]] != rank_host[r])
                        changed = move_near(&b, r, traffic->partner[k]) || changed;
        }
    }
    free(b.seat);
    free(b.tasks_by_rank);
    free(b.at);
    return rc;
}
