/* Whom to measure so that it shows which clusters of hosts are one: rounds for clustering.h.
 *
 * A cell that is open (cells.h) is measured by a pair of hosts, one of each of its clusters. What
 * looks the same comes first, for that is close to an answer; then what no reading has told
 * different, with the largest cluster first, whose answer settles most hosts; then the least
 * certain. */
#ifndef NT_DRAW_CLUSTERS_H
#define NT_DRAW_CLUSTERS_H

#include <stddef.h>
#include <stdint.h>

#include "clustering.h"
#include "draw.h"
#include "err.h"
#include "rng.h"

/* Scratch that rounds share; all zero at first. */
struct nt_open_cells {
    size_t room;
    struct {
        uint32_t a, b;
    } * open, *sorted;
    uint8_t *rank;
};
void nt_open_cells_fini(struct nt_open_cells *scratch);

/* 1: the draw has the next round; 0: all tiers are certified. Nothing is counted before it is read,
 * so a draw may be dropped. */
int nt_draw_clusters(struct nt_clustering *clustering, struct nt_rng *rng,
                     struct nt_open_cells *scratch, struct nt_draw *draw, struct nt_err *err);

/* The readings of the first n pairs of the draw, ln us; NaN: none. */
int nt_draw_clusters_tell(struct nt_clustering *clustering, const struct nt_draw *draw, size_t n,
                          const float *ln, struct nt_err *err);

#endif
