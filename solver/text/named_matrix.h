/* A matrix with the names of its hosts, as texts bring it. */
#ifndef NT_NAMED_MATRIX_H
#define NT_NAMED_MATRIX_H

#include <stddef.h>

#include "err.h"
#include "matrix.h"

struct nt_named_matrix {
    size_t hosts;
    char **host_name;         /* hosts of them, owned, unique */
    struct nt_matrix *matrix; /* hosts x hosts, owned */
};

/* Copies of the names, and a matrix in which nothing is measured. NT_ERR_INPUT: over
 * NT_HOSTS_MAX. */
int nt_named_matrix_create(size_t hosts, const char *const *names, enum nt_matrix_kind kind,
                           struct nt_named_matrix **out, struct nt_err *err);
void nt_named_matrix_destroy(struct nt_named_matrix *named);

#endif
