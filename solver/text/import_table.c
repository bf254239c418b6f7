/* SPDX-License-Identifier: Apache-2.0 */
#include "import_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "memory.h"

static int count_labels(char *const *label, size_t labels, struct nt_names *distinct,
                        uint32_t *times, uint32_t *which, struct nt_err *err)
{
    for (size_t k = 0; k < labels; k++) {
        if (nt_names_add_copy(distinct, label[k], strlen(label[k]), &which[k], err) < 0)
            return -1;
        times[which[k]]++;
    }
    return 0;
}

static int name_each(char *const *label, size_t labels, const uint32_t *times,
                     const uint32_t *which, uint32_t *next, const struct nt_text_line *line,
                     struct nt_names *names, struct nt_err *err)
{
    for (size_t k = 0; k < labels; k++) {
        char name[320];
        uint32_t index;
        int used = times[which[k]] == 1
                       ? snprintf(name, sizeof name, "%.300s", label[k])
                       : snprintf(name, sizeof name, "%.300s-%u", label[k], next[which[k]]++);
        struct nt_err why = {0};
        if (used < 0 || nt_host_name_check(name, &why) != 0)
            return nt_line_fail(line, err, "%s", why.text);
        int rc = nt_names_add_copy(names, name, strlen(name), &index, err);
        if (rc != 0)
            return rc < 0 ? rc : nt_line_fail(line, err, "host %s is named twice", name);
    }
    return 0;
}

int import_names_unique(char *const *label, size_t labels, const struct nt_text_line *line,
                        struct nt_names *names, struct nt_err *err)
{
    struct nt_names distinct = {0};
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *times = nt_arena_array(&memory, labels, sizeof *times);
    uint32_t *which = nt_arena_array(&memory, labels, sizeof *which);
    uint32_t *next = nt_arena_array(&memory, labels, sizeof *next);
    int rc = -1;
    if (nt_arena_check(&memory, err) == 0 &&
        count_labels(label, labels, &distinct, times, which, err) == 0)
        rc = name_each(label, labels, times, which, next, line, names, err);
    nt_names_fini(&distinct);
    return rc;
}

int import_table_create(const struct nt_names *names, enum nt_matrix_kind kind,
                        struct nt_named_matrix **out, struct nt_err *err)
{
    struct nt_named_matrix *t = calloc(1, sizeof *t);
    if (t == NULL)
        return nt_err_memory(err);
    if (nt_matrix_create(names->count, kind, &t->matrix, err) != 0) {
        nt_named_matrix_destroy(t);
        return -1;
    }
    t->host_name = calloc(names->count + 1, sizeof *t->host_name);
    bool ok = t->host_name != NULL;
    for (size_t k = 0; ok && k < names->count; k++) {
        t->host_name[k] = strdup(names->name[k]);
        ok = t->host_name[k] != NULL;
    }
    if (!ok) {
        nt_named_matrix_destroy(t);
        return nt_err_memory(err);
    }
    t->message_bytes = NAN;
    *out = t;
    return 0;
}
