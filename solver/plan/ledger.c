#include "ledger.h"

#include <stdlib.h>

int nt_ledger_add(struct nt_ledger *l, uint32_t a, uint32_t b, double ln, struct nt_err *err)
{
    if (l->count == l->room) {
        size_t room = l->room > 0 ? 2 * l->room : 1024;
        struct nt_evidence *at =
            room > SIZE_MAX / sizeof *at ? NULL : realloc(l->at, room * sizeof *at);
        if (at == NULL)
            return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu readings", room);
        l->at = at;
        l->room = room;
    }
    l->at[l->count++] = (struct nt_evidence){a, b, (float)ln};
    return 0;
}

void nt_ledger_fini(struct nt_ledger *l)
{
    free(l->at);
    *l = (struct nt_ledger){0};
}
