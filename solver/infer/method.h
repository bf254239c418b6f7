/* SPDX-License-Identifier: Apache-2.0 */
/* A method that makes a model from latencies in place of ours (infer.h): whoever knows one hands it
 * in, so that nobody else need carry it.
 * Tests: test_published.c. */
#ifndef NT_METHOD_H
#define NT_METHOD_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "matrix.h"
#include "model.h"

struct nt_method {
    /* latency: sizes (at least 1) matrices of the same hosts, one a message size, ascending;
     * figures are of the first. bandwidth may be NULL. NT_ERR_USAGE: more sizes than sizes_max;
     * others as the method says. */
    int (*infer)(const void *settings, const struct nt_matrix *const *latency, size_t sizes,
                 const struct nt_matrix *bandwidth, struct nt_model **out, struct nt_err *err);
    const void *settings; /* of the method; borrowed */
    size_t sizes_max;     /* message sizes that it can unite */
    bool has_bandwidths;  /* it gives links their bandwidths by itself */
};

#endif
