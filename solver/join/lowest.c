#include "lowest.h"

#include <stdlib.h>

#include "infer.h"

enum { ROOM_MIN = 64 };

void nt_lowest_init(struct nt_lowest *l, size_t hosts)
{
    *l = (struct nt_lowest){.hosts = hosts};
}

void nt_lowest_fini(struct nt_lowest *l)
{
    free(l->told);
    free(l->low);
    nt_matrix_destroy(l->matrix);
    nt_matrix_destroy(l->error);
    *l = (struct nt_lowest){.hosts = l->hosts};
}

static void note(struct nt_lowest *l, const struct nt_told *t)
{
    nt_low_note(&l->low[t->a * l->hosts + t->b], t->us);
}

static int become_table(struct nt_lowest *l, struct nt_err *err)
{
    if (l->hosts > NT_HOSTS_MAX ||
        (l->low = calloc(l->hosts * l->hosts + 1, sizeof *l->low)) == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for the latencies of %zu hosts", l->hosts);
    for (size_t k = 0; k < l->count; k++)
        note(l, &l->told[k]);
    free(l->told);
    l->told = NULL;
    l->count = l->room = 0;
    return 0;
}

/* hosts is at most NT_HOSTS_MAX where a table can be, so its bytes do not wrap. */
static int grow(struct nt_lowest *l, struct nt_err *err)
{
    size_t room = l->room == 0 ? ROOM_MIN : 2 * l->room;
    if (l->hosts <= NT_HOSTS_MAX && room * sizeof *l->told >= l->hosts * l->hosts * sizeof *l->low)
        return become_table(l, err);
    struct nt_told *told = realloc(l->told, room * sizeof *told);
    if (told == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu latencies", room);
    l->told = told;
    l->room = room;
    return 0;
}

int nt_lowest_note(struct nt_lowest *l, uint32_t a, uint32_t b, double us, struct nt_err *err)
{
    struct nt_told t = {a, b, (float)us};
    if (l->low == NULL && l->count == l->room && grow(l, err) != 0)
        return -1;
    if (l->low != NULL)
        note(l, &t);
    else
        l->told[l->count++] = t;
    return 0;
}

/* *matrix is made, if it is not yet, and filled. */
static int fill(struct nt_lowest *l, float (*of)(const struct nt_low *), struct nt_matrix **matrix,
                struct nt_err *err)
{
    if ((l->low == NULL && become_table(l, err) != 0) ||
        (*matrix == NULL && nt_matrix_create(l->hosts, NT_MATRIX_LATENCY_US, matrix, err) != 0))
        return -1;
    for (size_t k = 0; k < l->hosts * l->hosts; k++)
        if (l->low[k].count > 0)
            (*matrix)->at[k] = of(&l->low[k]);
    return 0;
}

int nt_lowest_matrix(struct nt_lowest *l, const struct nt_matrix **out, struct nt_err *err)
{
    if (fill(l, nt_low_of, &l->matrix, err) != 0)
        return -1;
    *out = l->matrix;
    return 0;
}

int nt_lowest_errors(struct nt_lowest *l, const struct nt_matrix **out, struct nt_err *err)
{
    if (l->hosts <= NT_INFER_ERRORS_HOSTS && fill(l, nt_low_error, &l->error, err) != 0)
        return -1;
    *out = l->error;
    return 0;
}
