#include "launch.h"

#include <stdbool.h>
#include <stdlib.h>

#include "strbuf.h"

static const char *host_of(const struct nt_seating *s, size_t rank)
{
    return s->host_name[s->rank_host[rank]];
}

static int no_memory(const struct nt_seating *s, struct nt_err *err)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "no memory to place %zu tasks", s->ntasks);
}

int nt_launch_hostfile(const struct nt_seating *s, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    for (size_t r = 0; r < s->ntasks; r++)
        nt_strbuf_print(&d, "%s\n", host_of(s, r));
    return nt_strbuf_finish(&d, text, bytes, err);
}

int nt_launch_rankfile(const struct nt_seating *s, char **text, size_t *bytes, struct nt_err *err)
{
    uint32_t *used = calloc(s->hosts + 1, sizeof *used);
    if (used == NULL)
        return no_memory(s, err);
    struct nt_strbuf d = {0};
    for (size_t r = 0; r < s->ntasks; r++)
        nt_strbuf_print(&d, "rank %zu=%s slot=%u\n", r, host_of(s, r), used[s->rank_host[r]]++);
    free(used);
    return nt_strbuf_finish(&d, text, bytes, err);
}

int nt_launch_mpich(const struct nt_seating *s, char **text, size_t *bytes, struct nt_err *err)
{
    size_t *begin = calloc(s->hosts + 2, sizeof *begin);
    size_t *at_place = malloc((s->ntasks + 1) * sizeof *at_place);
    if (begin == NULL || at_place == NULL) {
        free(begin);
        free(at_place);
        return no_memory(s, err);
    }
    for (size_t r = 0; r < s->ntasks; r++)
        begin[s->rank_host[r] + 1]++;
    for (size_t h = 0; h < s->hosts; h++)
        begin[h + 1] += begin[h];
    for (size_t r = 0; r < s->ntasks; r++)
        at_place[begin[s->rank_host[r]]++] = r;
    struct nt_strbuf d = {0};
    for (size_t p = 0; p < s->ntasks; p++)
        nt_strbuf_print(&d, "%zu%s", at_place[p], p + 1 < s->ntasks ? "," : "\n");
    free(begin);
    free(at_place);
    return nt_strbuf_finish(&d, text, bytes, err);
}

int nt_launch_machinefile(const struct nt_seating *s, char **text, size_t *bytes,
                          struct nt_err *err)
{
    struct nt_strbuf d = {0};
    for (size_t r = 0, n; r < s->ntasks; r += n) {
        for (n = 1; r + n < s->ntasks && s->rank_host[r + n] == s->rank_host[r]; n++)
            ;
        nt_strbuf_print(&d, "%s:%zu\n", host_of(s, r), n);
    }
    return nt_strbuf_finish(&d, text, bytes, err);
}

int nt_launch_torchrun(const struct nt_seating *s, char **text, size_t *bytes, struct nt_err *err)
{
    bool *seen = calloc(s->hosts + 1, sizeof *seen);
    if (seen == NULL)
        return no_memory(s, err);
    struct nt_strbuf d = {0};
    size_t node_rank = 0;
    for (size_t r = 0; r < s->ntasks; r++) {
        if (seen[s->rank_host[r]])
            continue;
        seen[s->rank_host[r]] = true;
        nt_strbuf_print(&d, "%s %zu\n", host_of(s, r), node_rank++);
    }
    free(seen);
    return nt_strbuf_finish(&d, text, bytes, err);
}
