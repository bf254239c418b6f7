/* The pairs of a round that is being planned; a host is in at most one of them. */
#ifndef NT_DRAW_H
#define NT_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nt_draw {
    size_t count;
    uint32_t (*seat)[2]; /* room for half of the seats */
    bool *busy;          /* seats: in the draw */
    struct {
        uint32_t block, a, b; /* a > b: clusters of that block */
    } * cell;                 /* set by draw_clusters.h only */
};

static inline void nt_draw_pair(struct nt_draw *draw, uint32_t a, uint32_t b)
{
    draw->busy[a] = draw->busy[b] = true;
    draw->seat[draw->count][0] = a;
    draw->seat[draw->count++][1] = b;
}

#endif
