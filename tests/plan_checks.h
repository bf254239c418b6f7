/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan claims, checked without the code that made it. */
#ifndef PLAN_CHECKS_H
#define PLAN_CHECKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan.h"
#include "routes.h"

/* The rank of these pairs by plain elimination over another prime than the library's: dense, slow
 * and independent of it. */
static inline size_t exact_rank(const struct nt_routes *r, const uint32_t *pair, size_t n)
{
    const uint64_t prime = 2147483647; /* 2^31 - 1 */
    uint64_t *a = calloc(n * r->links + 1, sizeof *a);
    assert_non_null(a);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < nt_route_length(r, pair[i]); k++)
            a[i * r->links + nt_route_links(r, pair[i])[k]]++;
    }
    size_t rank = 0;
    for (size_t c = 0; c < r->links && rank < n; c++) {
        size_t p = rank;
        while (p < n && a[p * r->links + c] == 0)
            p++;
        if (p == n)
            continue;
        for (size_t k = 0; k < r->links; k++) {
            uint64_t t = a[p * r->links + k];
            a[p * r->links + k] = a[rank * r->links + k];
            a[rank * r->links + k] = t;
        }
        uint64_t inverse = 1, base = a[rank * r->links + c];
        for (uint64_t e = prime - 2; e != 0; e >>= 1, base = base * base % prime)
            inverse = (e & 1) != 0 ? inverse * base % prime : inverse;
        for (size_t i = rank + 1; i < n; i++) {
            uint64_t factor = a[i * r->links + c] * inverse % prime;
            for (size_t k = c; factor != 0 && k < r->links; k++)
                a[i * r->links + k] =
                    (a[i * r->links + k] + (prime - factor) * a[rank * r->links + k]) % prime;
        }
        rank++;
    }
    free(a);
    return rank;
}

static inline size_t rank_of_all(const struct nt_routes *r)
{
    uint32_t *all = malloc((r->pairs + 1) * sizeof *all);
    assert_non_null(all);
    for (uint32_t p = 0; p < r->pairs; p++)
        all[p] = p;
    size_t rank = exact_rank(r, all, r->pairs);
    free(all);
    return rank;
}

/* Every claim of a plan, from its pairs alone. */
static inline void check_plan(const struct nt_routes *r, const struct nt_plan *plan)
{
    struct nt_pair_index *index;
    uint32_t *pair = malloc((plan->pairs + 1) * sizeof *pair);
    size_t *used = calloc(r->hosts + r->links, sizeof *used); /* last round, + 1 */
    char *chosen = calloc(r->pairs + 1, 1);
    assert_non_null(pair);
    assert_non_null(used);
    assert_non_null(chosen);
    assert_int_equal(nt_pair_index_create(r, &index, NULL), 0);
    for (size_t i = 0; i < plan->pairs; i++) {
        size_t round = plan->round[i];
        assert_below(round, plan->rounds);
        assert_true(i == 0 ? round == 0
                           : round == plan->round[i - 1] || round == plan->round[i - 1] + 1U);
        pair[i] = nt_pair_index_find(index, plan->pair[i][0], plan->pair[i][1]);
        assert_true(pair[i] != NT_PAIR_NONE);
        assert_false(chosen[pair[i]]);
        chosen[pair[i]] = 1;
        for (int h = 0; h < 2; h++) {
            assert_true(used[plan->pair[i][h]] != round + 1);
            used[plan->pair[i][h]] = round + 1;
        }
        for (size_t k = 0; k < nt_route_length(r, pair[i]);
             k++) { /* one path may cross the other */
            size_t thing = r->hosts + nt_route_links(r, pair[i])[k], before = 0;
            while (before < k &&
                   nt_route_links(r, pair[i])[before] != nt_route_links(r, pair[i])[k])
                before++;
            if (before == k)
                assert_true(used[thing] != round + 1);
            used[thing] = round + 1;
        }
    }
    assert_at_least(plan->rounds, plan->lower_bound);
    assert_at_least(plan->lower_bound * (r->hosts / 2), plan->pairs);
    assert_int_equal(exact_rank(r, pair, plan->pairs), plan->rank);
    nt_pair_index_destroy(index);
    free(pair);
    free(used);
    free(chosen);
}

#endif
