/* SPDX-License-Identifier: Apache-2.0 */
#include "measured_pairs.h"

#include <stdbool.h>
#include <stdlib.h>

enum { CAPACITY_MIN = 64 };

int nt_measured_pairs_init(struct nt_measured_pairs *measured, size_t hosts, struct nt_err *err)
{
    *measured =
        (struct nt_measured_pairs){.hosts = hosts,
                                   .partners = calloc(hosts + 1, sizeof *measured->partners),
                                   .slot = calloc(CAPACITY_MIN, sizeof *measured->slot),
                                   .capacity = CAPACITY_MIN};
    if (measured->partners != NULL && measured->slot != NULL)
        return 0;
    nt_measured_pairs_fini(measured);
    return nt_err_memory(err);
}

void nt_measured_pairs_fini(struct nt_measured_pairs *measured)
{
    free(measured->partners);
    free(measured->slot);
    free(measured->bit);
    *measured = (struct nt_measured_pairs){0};
}

/* The slot of the pair, or the free slot for it. */
static uint64_t *find_slot(const struct nt_measured_pairs *measured, uint64_t pair)
{
    uint64_t h = pair * 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(h ^ h >> 29) & (measured->capacity - 1);
    while (measured->slot[i] != 0 && measured->slot[i] != pair)
        i = (i + 1) & (measured->capacity - 1);
    return &measured->slot[i];
}

static size_t words_of(size_t hosts)
{
    return hosts * (hosts + 1) / 2 / 64 + 1;
}

/* Whether it was not set before. */
static bool set_bit(const struct nt_measured_pairs *measured, uint64_t low, uint64_t high)
{
    uint64_t at = high * (high - 1) / 2 + low, one = (uint64_t)1 << at % 64;
    bool is_new = (measured->bit[at / 64] & one) == 0;
    measured->bit[at / 64] |= one;
    return is_new;
}

static int switch_to_bits(struct nt_measured_pairs *measured, struct nt_err *err)
{
    measured->bit = calloc(words_of(measured->hosts), sizeof *measured->bit);
    if (measured->bit == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < measured->capacity; k++)
        if (measured->slot[k] != 0)
            set_bit(measured, measured->slot[k] >> 32, measured->slot[k] & UINT32_MAX);
    free(measured->slot);
    measured->slot = NULL;
    measured->capacity = 0;
    return 0;
}

static int grow_slots(struct nt_measured_pairs *measured, struct nt_err *err)
{
    struct nt_measured_pairs wider = *measured;
    wider.capacity = measured->capacity * 2;
    if (wider.capacity >= words_of(measured->hosts))
        return switch_to_bits(measured, err);
    wider.slot = calloc(wider.capacity, sizeof *wider.slot);
    if (wider.slot == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < measured->capacity; k++)
        if (measured->slot[k] != 0)
            *find_slot(&wider, measured->slot[k]) = measured->slot[k];
    free(measured->slot);
    *measured = wider;
    return 0;
}

/* 1: the pair is new; 0: it is not */
static int enter_pair(struct nt_measured_pairs *measured, uint64_t low, uint64_t high,
                      struct nt_err *err)
{
    uint64_t pair = low << 32 | high,
             *slot = measured->bit == NULL ? find_slot(measured, pair) : NULL;
    if (slot != NULL && *slot != 0)
        return 0;
    if (slot != NULL && 2 * (measured->pairs + 1) >= measured->capacity &&
        grow_slots(measured, err) != 0)
        return -1;
    if (measured->bit != NULL)
        return set_bit(measured, low, high);
    *find_slot(measured, pair) = pair;
    return 1;
}

int nt_measured_pairs_note(struct nt_measured_pairs *measured, uint32_t a, uint32_t b,
                           struct nt_err *err)
{
    if (a == b)
        return 0; /* 0 is not a pair */
    int is_new = enter_pair(measured, a < b ? a : b, a < b ? b : a, err);
    if (is_new <= 0)
        return is_new;
    measured->pairs++;
    measured->partners[a]++;
    measured->partners[b]++;
    return 0;
}
