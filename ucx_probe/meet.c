#include "meet.h"

#include <stdlib.h>

void nt_pieces_free(struct nt_piece *pieces, size_t n)
{
    for (size_t i = 0; pieces != NULL && i < n; i++) {
        free(pieces[i].data);
        pieces[i] = (struct nt_piece){0};
    }
}
