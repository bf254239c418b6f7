/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix of latencies or bandwidths over pairs of hosts. Knows indices only; host names exist at
 * the edges.
 * Tests: test_latencies.c, test_parus.c. */
#ifndef NT_MATRIX_H
#define NT_MATRIX_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"

enum nt_matrix_kind {
    NT_MATRIX_LATENCY_US,     /* one way; lower is closer */
    NT_MATRIX_BANDWIDTH_MBPS, /* 10^6 bytes per second; higher is closer */
};

enum { NT_HOSTS_MAX = 131072 };

/* float: seven digits are far more than the noise allows, and 4,096 hosts need less than 70 MB. */
struct nt_matrix {
    enum nt_matrix_kind kind;
    size_t n;  /* hosts */
    float *at; /* n*n, row-major: at[i*n+j] is from i to j; NaN: not measured (diagonal too) */
};

/* All NaN. Fails for n > NT_HOSTS_MAX or without memory. The caller frees *out with
 * nt_matrix_destroy. */
int nt_matrix_create(size_t n, enum nt_matrix_kind kind, struct nt_matrix **out,
                     struct nt_err *err);
void nt_matrix_destroy(struct nt_matrix *matrix);

static inline float nt_matrix_get(const struct nt_matrix *m, size_t i, size_t j)
{
    return m->at[i * m->n + j];
}

static inline void nt_matrix_set(struct nt_matrix *m, size_t i, size_t j, float value)
{
    m->at[i * m->n + j] = value;
}

#endif
