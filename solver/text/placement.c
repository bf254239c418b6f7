#include "placement.h"

#include <stdlib.h>

#include "draft.h"

int nt_placement_hostfile(const char *const *host_name, const uint32_t *rank_host, size_t ntasks,
                          char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_draft d = {0};
    for (size_t r = 0; r < ntasks; r++) {
        nt_draft_puts(&d, host_name[rank_host[r]]);
        nt_draft_puts(&d, "\n");
    }
    return nt_draft_finish(&d, text, bytes, err);
}

int nt_placement_rankfile(const char *const *host_name, size_t hosts, const uint32_t *rank_host,
                          size_t ntasks, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_draft d = {0};
    uint32_t *slot = calloc(hosts + 1, sizeof *slot);
    if (slot == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu hosts", hosts);
    for (size_t r = 0; r < ntasks; r++)
        nt_draft_print(&d, "rank %zu=%s slot=%u\n", r, host_name[rank_host[r]],
                       slot[rank_host[r]]++);
    free(slot);
    return nt_draft_finish(&d, text, bytes, err);
}

int nt_placement_mpich(size_t hosts, const uint32_t *rank_host, size_t ntasks, char **text,
                       size_t *bytes, struct nt_err *err)
{
    struct nt_draft d = {0};
    size_t *begin = calloc(hosts + 2, sizeof *begin);
    size_t *rank = malloc((ntasks + 1) * sizeof *rank);
    if (begin == NULL || rank == NULL) {
        free(begin);
        free(rank);
        return nt_err_set(err, NT_ERR_SYSTEM, "no memory for %zu tasks", ntasks);
    }
    for (size_t r = 0; r < ntasks; r++)
        begin[rank_host[r] + 2]++;
    for (size_t h = 2; h < hosts + 2; h++)
        begin[h] += begin[h - 1];
    for (size_t r = 0; r < ntasks; r++)
        rank[begin[rank_host[r] + 1]++] = r;
    for (size_t h = 0; h < hosts; h++)
        for (size_t k = begin[h]; k < begin[h + 1]; k++)
            nt_draft_print(&d, "%zu%s", rank[k], k + 1 < begin[h + 1] ? "," : "\n");
    free(begin);
    free(rank);
    return nt_draft_finish(&d, text, bytes, err);
}
