/* SPDX-License-Identifier: Apache-2.0 */
#include "launch.h"

#include <stdbool.h>

#include "memory.h"
#include "strbuf.h"

static const char *host_of(const struct nt_seating *s, size_t rank)
{
    return s->host_name[s->rank_host[rank]];
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
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *used = nt_arena_array(&memory, s->hosts, sizeof *used);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    struct nt_strbuf d = {0};
    for (size_t r = 0; r < s->ntasks; r++)
        nt_strbuf_print(&d, "rank %zu=%s slot=%u\n", r, host_of(s, r), used[s->rank_host[r]]++);
    return nt_strbuf_finish(&d, text, bytes, err);
}

int nt_launch_mpich(const struct nt_seating *s, char **text, size_t *bytes, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    size_t *begin = nt_arena_array(&memory, s->hosts + 1, sizeof *begin);
    size_t *at_place = nt_arena_array(&memory, s->ntasks, sizeof *at_place);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t r = 0; r < s->ntasks; r++)
        begin[s->rank_host[r] + 1]++;
    for (size_t h = 0; h < s->hosts; h++)
        begin[h + 1] += begin[h];
    for (size_t r = 0; r < s->ntasks; r++)
        at_place[begin[s->rank_host[r]]++] = r;
    struct nt_strbuf d = {0};
    for (size_t p = 0; p < s->ntasks; p++)
        nt_strbuf_print(&d, "%zu%s", at_place[p], p + 1 < s->ntasks ? "," : "\n");
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
    NT_SCOPED struct nt_arena memory = {0};
    bool *seen = nt_arena_array(&memory, s->hosts, sizeof *seen);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    struct nt_strbuf d = {0};
    size_t node_rank = 0;
    for (size_t r = 0; r < s->ntasks; r++) {
        if (seen[s->rank_host[r]])
            continue;
        seen[s->rank_host[r]] = true;
        nt_strbuf_print(&d, "%s %zu\n", host_of(s, r), node_rank++);
    }
    return nt_strbuf_finish(&d, text, bytes, err);
}
