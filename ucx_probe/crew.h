/* Who takes part: ranks and the hosts that they stand for, and who was lost on the way.
 * Pure. */
#ifndef NT_CREW_H
#define NT_CREW_H

#include "meet.h"
#include "names.h"
#include "samples.h"
#include "wire.h"

enum { NT_NOBODY = UINT32_MAX };

/* What a host says of itself. */
struct nt_crew_inside {
    uint32_t model; /* index; NT_NOBODY: nothing */
    float core_us[NT_BETWEEN_END];
};

struct nt_crew {
    size_t ranks, hosts;
    uint32_t *host_of;             /* ranks of them: NT_NOBODY for a second rank on a host */
    uint32_t *rank_of;             /* hosts of them: NT_NOBODY when none came */
    char **name;                   /* hosts of them */
    char **gone;                   /* hosts of them: NULL while it takes part, or the reason */
    struct nt_crew_inside *inside; /* hosts of them */
    struct nt_names models;        /* what hosts are inside, each text once */
    char **model;                  /* those texts; owned */
    unsigned char *strikes;        /* hosts of them: failures in a row that may be its own */
};

/* From the greetings. Names of ranks that did not come are those of known (may be NULL: then
 * they are left out). table: whom everybody may talk to; its addresses point into the pieces.
 * A malformed piece is the fault of its sender alone. */
int nt_crew_create(const struct nt_piece *pieces, size_t ranks, const char *const *known,
                   struct nt_crew **out, struct nt_peer_table *table, struct nt_err *err);
void nt_crew_destroy(struct nt_crew *crew);

/* What the hosts said of themselves, into the record, which has their names. */
int nt_crew_record_inside(const struct nt_crew *crew, struct nt_samples *samples,
                          struct nt_err *err);

size_t nt_crew_present(const struct nt_crew *crew);

int nt_crew_lose(struct nt_crew *crew, uint32_t host, const char *reason, struct nt_err *err);

/* How a pair fared, all pairs of a round before the next. A host that fails with two different
 * partners in a row, of which the second was not in doubt itself, is the one at fault: *lost is
 * it, else NT_NOBODY. The first failure alone says only that one of the two may be gone, and no
 * number of failures with each other says more. */
void nt_crew_judge(struct nt_crew *crew, uint32_t a, uint32_t b, bool ok, uint32_t *lost);

/* Whether a and b have failed so often in a row, and nothing says which of them is at fault. */
bool nt_crew_in_doubt(const struct nt_crew *crew, uint32_t a, uint32_t b, unsigned strikes);

/* Something speaks against this host alone: nobody of several reached it. */
void nt_crew_suspect(struct nt_crew *crew, uint32_t host);

/* A host that nothing speaks against, to try others with; NT_NOBODY. */
uint32_t nt_crew_witness(const struct nt_crew *crew);

#endif
