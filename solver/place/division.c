/* SPDX-License-Identifier: Apache-2.0 */
#include "division.h"

#include "graph.h"
#include "memory.h"
#include "rng.h"

#define NONE UINT32_MAX

static uint64_t host_word(uint32_t host)
{
    struct nt_rng rng;
    nt_rng_init(&rng, UINT64_C(0x6e747465) + host);
    return nt_rng_next(&rng) | 1;
}

void nt_division_fini(struct nt_division *v)
{
    nt_distance_destroy(v->distance);
    nt_arena_fini(&v->memory);
}

int nt_division_init(struct nt_division *v, const struct nt_model *m, struct nt_err *err)
{
    size_t n = m->links + 1;
    *v = (struct nt_division){.m = m};
    v->low = nt_arena_array(&v->memory, n, sizeof *v->low);
    v->key = nt_arena_array(&v->memory, n, sizeof *v->key);
    v->side = nt_arena_array(&v->memory, n, sizeof *v->side);
    v->size = nt_arena_array(&v->memory, n, sizeof *v->size);
    if (nt_arena_check(&v->memory, err) != 0)
        return -1;
    if (nt_distance_create(m, &v->distance, err) != 0)
        return -1;
    v->tree = nt_distance_is_tree(v->distance);
    return 0;
}

/* A division is the XOR of its hosts' words; of the two sides the smaller word stands for it. */
static void key_sets(struct nt_division *v, const bool *missing, uint64_t *below, size_t *count)
{
    uint64_t all = 0;
    size_t present = 0;
    for (uint32_t h = 0; h < v->m->hosts; h++) {
        if (missing[h])
            continue;
        uint64_t word = host_word(h);
        all ^= word;
        present++;
        for (uint32_t at = h; at != NONE; at = nt_distance_parent(v->distance, at)) {
            below[at] ^= word;
            count[at]++;
        }
    }
    for (size_t k = 0; k < v->m->links; k++) {
        uint32_t a = v->m->link[k].a, b = v->m->link[k].b;
        uint32_t low = nt_distance_parent(v->distance, a) == b ? a : b;
        uint64_t other = all ^ below[low];
        v->low[k] = low;
        v->side[k] = low == a ? below[low] : other;
        v->size[k] = count[low] <= present - count[low] ? count[low] : present - count[low];
        v->key[k] = v->size[k] == 0 ? 0 : below[low] < other ? below[low] : other;
    }
}

int nt_division_key(struct nt_division *v, const bool *missing, struct nt_err *err)
{
    size_t n = v->m->hosts + v->m->switches + 1;
    NT_SCOPED struct nt_arena memory = {0};
    uint64_t *words = nt_arena_array(&memory, n, sizeof *words);
    size_t *count = nt_arena_array(&memory, n, sizeof *count);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    key_sets(v, missing, words, count);
    return 0;
}

uint64_t nt_division_key_of(const struct nt_division *v, const bool *missing, const bool *side)
{
    uint64_t on = 0, off = 0;
    for (uint32_t h = 0; h < v->m->hosts; h++)
        if (!missing[h])
            *(side[h] ? &on : &off) ^= host_word(h);
    return on < off ? on : off;
}

void nt_division_mark(const struct nt_division *v, uint32_t link, const bool *missing, bool *side)
{
    size_t on = 0, off = 0;
    for (uint32_t h = 0; h < v->m->hosts; h++) {
        uint32_t at = h;
        while (at != NONE && at != v->low[link])
            at = nt_distance_parent(v->distance, at);
        side[h] = at != NONE && !missing[h];
        on += side[h];
        off += !side[h] && !missing[h];
    }
    for (uint32_t h = 0; h < v->m->hosts && on > off; h++)
        side[h] = !side[h] && !missing[h];
}

/* ---- who is next to whom ----------------------------------------------------------------------
 */

/* Stamps the hosts next to h; each that has not been stamped is counted, and also in *both when it
 * carries the stamp before. */
static size_t stamp_around(const struct nt_graph *b, size_t hosts, uint32_t h, const bool *missing,
                           uint64_t *seen, uint64_t stamp, size_t *both)
{
    size_t n = 0;
    for (size_t k = b->start[h]; k < b->start[h + 1]; k++) {
        uint32_t up = b->to[k];
        size_t from = up < hosts ? k : b->start[up], to = up < hosts ? k + 1 : b->start[up + 1];
        for (size_t e = from; e < to; e++) {
            uint32_t x = b->to[e];
            if (x >= hosts || x == h || missing[x] || seen[x] == stamp)
                continue;
            *both += seen[x] == stamp - 1;
            seen[x] = stamp;
            n++;
        }
    }
    return n;
}

int nt_division_neighbours(const struct nt_division *v, const struct nt_division *other,
                           const bool *missing, size_t *was, size_t *kept, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t hosts = v->m->hosts, none = 0;
    struct nt_graph here, there;
    uint64_t *seen = nt_arena_array(&memory, hosts, sizeof *seen);
    if (nt_graph_init(&here, v->m, &memory, err) != 0 ||
        nt_graph_init(&there, other->m, &memory, err) != 0)
        return -1;
    for (uint32_t h = 0; h < hosts; h++) {
        uint64_t stamp = 3 * (uint64_t)h + 2;
        kept[h] = 0;
        stamp_around(&there, hosts, h, missing, seen, stamp, &none);
        was[h] = stamp_around(&here, hosts, h, missing, seen, stamp + 1, &kept[h]);
    }
    return 0;
}
