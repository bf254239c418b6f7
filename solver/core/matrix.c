/* SPDX-License-Identifier: Apache-2.0 */
#include "matrix.h"

#include <math.h>
#include <stdlib.h>

int nt_matrix_create(size_t n, enum nt_matrix_kind kind, struct nt_matrix **out, struct nt_err *err)
{
    if (n > NT_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "%zu hosts, at most %d", n, (int)NT_HOSTS_MAX);
    struct nt_matrix *m = malloc(sizeof *m);
    float *at = malloc((n * n + 1) * sizeof *at);
    if (m == NULL || at == NULL) {
        free(m);
        free(at);
        return nt_err_memory(err);
    }
    for (size_t k = 0; k < n * n; k++)
        at[k] = NAN;
    *m = (struct nt_matrix){.kind = kind, .n = n, .at = at};
    *out = m;
    return 0;
}

void nt_matrix_destroy(struct nt_matrix *matrix)
{
    if (matrix == NULL)
        return;
    free(matrix->at);
    free(matrix);
}
