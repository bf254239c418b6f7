/* The low (core/low.h) of the latencies that were told of each pair of hosts, a direction at a
 * time: what a network is inferred from where all pairs were measured.
 *
 * A list of what was told until a table of all pairs takes less memory, then that. A sweep that
 * measures few of the pairs costs memory for those, one that measures all of them never more than
 * two tables and a matrix, less than its record takes. */
#ifndef NT_LOWEST_H
#define NT_LOWEST_H

#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "low.h"
#include "matrix.h"

struct nt_told {
    uint32_t a, b;
    float us;
};

struct nt_lowest {
    size_t hosts, count, room;
    struct nt_told *told;             /* count of them in the order of telling; owned */
    struct nt_low *low;               /* hosts * hosts of them instead of the list, then; owned */
    struct nt_matrix *matrix, *error; /* once they were asked for; owned */
};

void nt_lowest_init(struct nt_lowest *lowest, size_t hosts);
void nt_lowest_fini(struct nt_lowest *lowest);

/* From a to b it took us; a and b below hosts. */
int nt_lowest_note(struct nt_lowest *lowest, uint32_t a, uint32_t b, double us, struct nt_err *err);

/* *out is borrowed; it is as of the last call of this. */
int nt_lowest_matrix(struct nt_lowest *lowest, const struct nt_matrix **out, struct nt_err *err);

/* Their standard errors, as that; NaN: told once. NULL: more hosts than inference wants them of. */
int nt_lowest_errors(struct nt_lowest *lowest, const struct nt_matrix **out, struct nt_err *err);

#endif
