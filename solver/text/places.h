/* Who is plugged in where: what the map's nodes and switches say beside the links. */
#ifndef NT_PLACES_H
#define NT_PLACES_H

#include <stdint.h>

#include "err.h"
#include "model.h"

enum { NT_PLACES_NOWHERE = UINT32_MAX };

struct nt_places {
    uint32_t *links_at;  /* of each vertex: how many */
    uint32_t *switch_of; /* of each host: the switch (an index from 0) of its only link, or
                            NT_PLACES_NOWHERE */
    uint32_t *hosts_on;  /* of each switch: hosts linked with it */
};

int nt_places_init(struct nt_places *places, const struct nt_model *model, struct nt_err *err);
void nt_places_fini(struct nt_places *places);

#endif
