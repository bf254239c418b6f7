#include "lowest.h"

#include <stdlib.h>

enum { ROOM_MIN = 64 };

void nt_lowest_init(struct nt_lowest *l, size_t hosts)
{
    *l = (struct nt_lowest){.hosts = hosts};
}

void nt_lowest_fini(struct nt_lowest *l)
{
    free(l->told);
    nt_matrix_destroy(l->matrix);
    *l = (struct nt_lowest){.hosts = l->hosts};
}

static void lower(struct nt_matrix *m, const struct nt_told *t)
{
    if (!(nt_matrix_get(m, t->a, t->b) <= t->us)) /* of a NaN too */
        nt_matrix_set(m, t->a, t->b, t->us);
}

static int become_matrix(struct nt_lowest *l, struct nt_err *err)
{
    if (nt_matrix_create(l->hosts, NT_MATRIX_LATENCY_US, &l->matrix, err) != 0)
        return -1;
    for (size_t k = 0; k < l->count; k++)
        lower(l->matrix, &l->told[k]);
    free(l->told);
    l->told = NULL;
    l->count = l->room = 0;
    return 0;
}

/* hosts is at most NT_HOSTS_MAX where a matrix can be, so its bytes do not wrap. */
static int grow(struct nt_lowest *l, struct nt_err *err)
{
    size_t room = l->room == 0 ? ROOM_MIN : 2 * l->room;
    if (l->hosts <= NT_HOSTS_MAX && room * sizeof *l->told >= l->hosts * l->hosts * sizeof(float))
        return become_matrix(l, err);
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
    if (l->matrix == NULL && l->count == l->room && grow(l, err) != 0)
        return -1;
    if (l->matrix != NULL)
        lower(l->matrix, &t);
    else
        l->told[l->count++] = t;
    return 0;
}

int nt_lowest_matrix(struct nt_lowest *l, const struct nt_matrix **out, struct nt_err *err)
{
    if (l->matrix == NULL && become_matrix(l, err) != 0)
        return -1;
    *out = l->matrix;
    return 0;
}
