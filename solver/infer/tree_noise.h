/* SPDX-License-Identifier: Apache-2.0 */
/* The noise of few readings before they are known, by kind of network. Private to tree_posterior.c.
 * Tests: test_few_hosts.c. */
#ifndef NT_INFER_TREE_NOISE_H
#define NT_INFER_TREE_NOISE_H

#include "tree_posterior.h"

enum { NT_TREE_NOISES = 3 };

/* A scaled inverse chi-squared distribution of the variance. */
struct nt_tree_noise {
    double share, sd, df; /* of all networks; relative */
};

/* kind: below NT_TREE_NOISES, or 0 where the input knows the noise. */
struct nt_tree_noise nt_tree_noise(const struct nt_tree_posterior_input *in, size_t kind);

#endif
