/* SPDX-License-Identifier: Apache-2.0 */
#include "latencies.h"

#include <math.h>
#include <stdlib.h>

enum { CAPACITY_MIN = 64 };

void nt_latencies_init(struct nt_latencies *l, size_t hosts)
{
    *l = (struct nt_latencies){.hosts = hosts};
}

void nt_latencies_fini(struct nt_latencies *l)
{
    free(l->entry);
    free(l->low);
    *l = (struct nt_latencies){.hosts = l->hosts};
}

static void note_minimum(struct nt_min_latency *low, size_t hosts, const struct nt_latency_entry *t)
{
    nt_min_latency_note(&low[t->a * hosts + t->b], t->us, t->se_us);
}

static int make_table(const struct nt_latencies *l, struct nt_min_latency **out, struct nt_err *err)
{
    struct nt_min_latency *low = NULL;
    if (l->hosts <= NT_HOSTS_MAX)
        low = calloc(l->hosts * l->hosts + 1, sizeof *low);
    if (low == NULL)
        return nt_err_memory(err);
    for (size_t k = 0; k < l->count; k++)
        note_minimum(low, l->hosts, &l->entry[k]);
    *out = low;
    return 0;
}

static int switch_to_table(struct nt_latencies *l, struct nt_err *err)
{
    if (make_table(l, &l->low, err) != 0)
        return -1;
    free(l->entry);
    l->entry = NULL;
    l->count = l->capacity = 0;
    return 0;
}

/* hosts is at most NT_HOSTS_MAX where a table can be, so its bytes do not wrap. */
static int grow_list(struct nt_latencies *l, struct nt_err *err)
{
    size_t capacity = l->capacity == 0 ? CAPACITY_MIN : 2 * l->capacity;
    if (l->hosts > NT_LATENCIES_LISTED_HOSTS && l->hosts <= NT_HOSTS_MAX &&
        capacity * sizeof *l->entry >= l->hosts * l->hosts * sizeof *l->low)
        return switch_to_table(l, err);
    struct nt_latency_entry *entry =
        capacity > SIZE_MAX / sizeof *entry ? NULL : realloc(l->entry, capacity * sizeof *entry);
    if (entry == NULL)
        return nt_err_memory(err);
    l->entry = entry;
    l->capacity = capacity;
    return 0;
}

int nt_latencies_note(struct nt_latencies *l, uint32_t a, uint32_t b, double us, double se_us,
                      struct nt_err *err)
{
    struct nt_latency_entry t = {a, b, (float)us, (float)se_us};
    if (a == b || a >= l->hosts || b >= l->hosts || !(us > 0) || !isfinite(us))
        return 0;
    if (l->low == NULL && l->count == l->capacity && grow_list(l, err) != 0)
        return -1;
    if (l->low != NULL)
        note_minimum(l->low, l->hosts, &t);
    else
        l->entry[l->count++] = t;
    return 0;
}

int nt_latencies_matrix(const struct nt_latencies *l, struct nt_matrix **out,
                        struct nt_matrix **error, struct nt_err *err)
{
    struct nt_min_latency *made = NULL;
    struct nt_matrix *m = NULL, *e = NULL;
    if ((l->low == NULL && make_table(l, &made, err) != 0) ||
        nt_matrix_create(l->hosts, NT_MATRIX_LATENCY_US, &m, err) != 0 ||
        (error != NULL && nt_matrix_create(l->hosts, NT_MATRIX_LATENCY_US, &e, err) != 0)) {
        nt_matrix_destroy(m);
        free(made);
        return -1;
    }
    const struct nt_min_latency *low = l->low != NULL ? l->low : made;
    int rc = nt_min_latency_matrix(low, m, e, err);
    free(made);
    if (rc != 0) {
        nt_matrix_destroy(m);
        nt_matrix_destroy(e);
        return -1;
    }
    *out = m;
    if (error != NULL)
        *error = e;
    return 0;
}
