/* SPDX-License-Identifier: Apache-2.0 */
#include "tree_noise.h"

#include <math.h>

/* The noise of real readings is some percent, and hardly under one; only simulations are exact.
 * Without repeats a few hosts cannot tell noise from a split, so what is usual is taken from the
 * upper end: a split that noise may be is not stated. */
static const struct nt_tree_noise usual[NT_TREE_NOISES] = {
    {0.65, 0.05, 3}, {0.32, 0.01, 3}, {0.03, 1e-6, 2}};
/* What a tree leaves beside the noise that repeats show, which is in each kind: paths differ. The
 * sum is hardly under the repeats' noise, and several times as much now and then. */
static const struct nt_tree_noise beside_repeats[NT_TREE_NOISES] = {
    {0.9, 0.004, 4}, {0.08, 0.02, 2}, {0.02, 5e-5, 2}};

struct nt_tree_noise nt_tree_noise(const struct nt_tree_posterior_input *in, size_t kind)
{
    if (in->noise_df > 0)
        return (struct nt_tree_noise){1, in->noise, in->noise_df};
    if (!(in->repeats > 0))
        return usual[kind];
    struct nt_tree_noise noise = beside_repeats[kind];
    noise.sd = hypot(noise.sd, in->repeats);
    return noise;
}
