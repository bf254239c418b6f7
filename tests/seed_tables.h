/* SPDX-License-Identifier: Apache-2.0 */
/* The seeds' published tables, tests/data/seeds/NAME.csv (matrix CSV, one triangle). Header only,
 * so that each test stays one file. */
#ifndef SEED_TABLES_H
#define SEED_TABLES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "matrix.h"

/* Aborts the test on any trouble: the files are ours. */
static inline struct nt_matrix *seed_table(const char *name)
{
    char path[256], line[4096];
    snprintf(path, sizeof path, "tests/data/seeds/%s.csv", name);
    FILE *file = fopen(path, "r");
    struct nt_matrix *m = NULL;
    struct nt_err err = {0};
    if (file == NULL || fgets(line, sizeof line, file) == NULL) {
        fprintf(stderr, "%s: cannot be read (run from the top of the repository)\n", path);
        abort();
    }
    size_t n = 0;
    for (const char *p = line; *p != '\0'; p++)
        n += *p == ',' ? 1 : 0;
    if (nt_matrix_create(n, NT_MATRIX_LATENCY_US, &m, &err) != 0)
        abort();
    for (size_t i = 0; i < n && fgets(line, sizeof line, file) != NULL; i++) {
        const char *p = strchr(line, ',');
        for (size_t j = 0; j < n && p != NULL; j++, p = strchr(p, ',')) {
            char *end;
            float v = strtof(++p, &end);
            if (end != p)
                nt_matrix_set(m, i, j, v);
        }
    }
    fclose(file);
    return m;
}

#endif
