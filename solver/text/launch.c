/* SPDX-License-Identifier: Apache-2.0 */
#include "launch.h"

#include <stdbool.h>
#include <stdio.h>

#include "attachment.h"
#include "json_write.h"
#include "memory.h"
#include "strbuf.h"

enum { NAME_BYTES = 256 };

static const char *host_of(const struct nt_launch_placement *s, size_t rank)
{
    return s->host_name[s->rank_host[rank]];
}

int nt_launch_hostfile(const struct nt_launch_placement *s, char **text, size_t *bytes,
                       struct nt_err *err)
{
    struct nt_strbuf d = {0};
    for (size_t r = 0; r < s->ntasks; r++)
        nt_strbuf_print(&d, "%s\n", host_of(s, r));
    return nt_strbuf_finish(&d, text, bytes, err);
}

int nt_launch_rankfile(const struct nt_launch_placement *s, char **text, size_t *bytes,
                       struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    uint32_t *used = nt_arena_array(&memory, s->hosts, sizeof *used);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    struct nt_strbuf d = {0};
    uint32_t cores = s->cores > 0 ? s->cores : 1;
    for (size_t r = 0; r < s->ntasks; r++) {
        uint32_t *at = &used[s->rank_host[r]];
        nt_strbuf_print(&d, "rank %zu=%s slot=%u", r, host_of(s, r), *at);
        if (cores > 1)
            nt_strbuf_print(&d, "-%u", *at + cores - 1);
        nt_strbuf_puts(&d, "\n");
        *at += cores;
    }
    return nt_strbuf_finish(&d, text, bytes, err);
}

int nt_launch_mpich(const struct nt_launch_placement *s, char **text, size_t *bytes,
                    struct nt_err *err)
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

int nt_launch_machinefile(const struct nt_launch_placement *s, char **text, size_t *bytes,
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

int nt_launch_torchrun(const struct nt_launch_placement *s, char **text, size_t *bytes,
                       struct nt_err *err)
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

int nt_launch_ray(const struct nt_launch_placement *s, char **text, size_t *bytes,
                  struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_json_writer w = {0};
    size_t *tasks = nt_arena_array(&memory, s->hosts + 1, sizeof *tasks);
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t r = 0; r < s->ntasks; r++)
        tasks[s->rank_host[r]]++;
    nt_json_begin(&w, NULL, '[', true);
    for (size_t r = 0; r < s->ntasks; r++) {
        char name[NAME_BYTES + sizeof "host:"];
        uint32_t host = s->rank_host[r];
        if (tasks[host] == 0) /* the host is listed already */
            continue;
        snprintf(name, sizeof name, "host:%s", host_of(s, r));
        nt_json_begin(&w, NULL, '{', false);
        nt_json_put_whole(&w, name, 1);
        nt_json_put_whole(&w, "CPU", tasks[host]);
        nt_json_end(&w, '}');
        tasks[host] = 0;
    }
    nt_json_end(&w, ']');
    nt_strbuf_puts(&w.buf, "\n");
    return nt_strbuf_finish(&w.buf, text, bytes, err);
}

/* Sets above[switch] to the linked switch of the next higher tier; SIZE_MAX: none. */
static void find_above(const struct nt_model *m, size_t *above)
{
    for (size_t k = 0; k < m->switches; k++)
        above[k] = SIZE_MAX;
    for (size_t k = 0; k < m->links; k++) {
        uint32_t a = m->link[k].a, b = m->link[k].b;
        if (a < m->hosts || b < m->hosts || nt_model_tier(m, a) == nt_model_tier(m, b))
            continue;
        bool rises = nt_model_tier(m, a) < nt_model_tier(m, b);
        uint32_t low = rises ? a : b, high = rises ? b : a;
        if (above[low - m->hosts] == SIZE_MAX)
            above[low - m->hosts] = high - m->hosts;
    }
}

static bool is_in(const uint32_t *host, size_t hosts, size_t one)
{
    for (size_t k = 0; k < hosts; k++)
        if (host[k] == one)
            return true;
    return false;
}

int nt_launch_dlrover(const struct nt_map *map, const uint32_t *spare, size_t spares, char **text,
                      size_t *bytes, struct nt_err *err)
{
    const struct nt_model *m = map->model;
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_json_writer w = {0};
    struct nt_attachment at;
    size_t *above = nt_arena_array(&memory, m->switches + 1, sizeof *above);
    if (nt_arena_check(&memory, err) != 0 || nt_attachment_init(&at, m, err) != 0)
        return -1;
    find_above(m, above);
    nt_json_begin(&w, NULL, '{', true);
    for (size_t h = 0; h < m->hosts; h++) {
        size_t leaf = at.switch_of[h] == NT_ATTACHMENT_NOWHERE ? SIZE_MAX : at.switch_of[h];
        size_t next = leaf == SIZE_MAX ? SIZE_MAX : above[leaf];
        if (m->missing[h] || is_in(spare, spares, h))
            continue;
        nt_json_begin(&w, map->host_name[h], '{', false);
        nt_json_put_text(&w, "asw", leaf == SIZE_MAX ? "" : map->switch_name[leaf]);
        nt_json_put_text(&w, "psw", next == SIZE_MAX ? "" : map->switch_name[next]);
        nt_json_end(&w, '}');
    }
    nt_json_end(&w, '}');
    nt_strbuf_puts(&w.buf, "\n");
    nt_attachment_fini(&at);
    return nt_strbuf_finish(&w.buf, text, bytes, err);
}
