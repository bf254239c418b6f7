#include "named_matrix.h"

#include <stdlib.h>
#include <string.h>

int nt_named_matrix_create(size_t hosts, const char *const *names, enum nt_matrix_kind kind,
                           struct nt_named_matrix **out, struct nt_err *err)
{
    struct nt_named_matrix *m = calloc(1, sizeof *m);
    if (m == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for a matrix");
    if (nt_matrix_create(hosts, kind, &m->matrix, err) != 0) {
        nt_named_matrix_destroy(m);
        return -1;
    }
    m->host_name = calloc(hosts + 1, sizeof *m->host_name);
    for (; m->host_name != NULL && m->hosts < hosts; m->hosts++) {
        m->host_name[m->hosts] = strdup(names[m->hosts]);
        if (m->host_name[m->hosts] == NULL)
            break;
    }
    if (m->host_name == NULL || m->hosts < hosts) {
        nt_named_matrix_destroy(m);
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu names", hosts);
    }
    *out = m;
    return 0;
}

void nt_named_matrix_destroy(struct nt_named_matrix *named)
{
    if (named == NULL)
        return;
    for (size_t k = 0; k < named->hosts; k++)
        free(named->host_name[k]);
    free(named->host_name);
    nt_matrix_destroy(named->matrix);
    free(named);
}
