#include "papers.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map_json.h"

enum { VALUE_MAX = 122880 /* the environment takes no value of 128 KiB */ };

/* A text that grows; remembers that memory ran out. */
struct page {
    char *text;
    size_t bytes, room;
    bool failed;
};

static void put(struct page *page, const char *text, size_t bytes)
{
    if (bytes + 1 > page->room - page->bytes) {
        size_t room = 2 * (page->bytes + bytes + 1);
        char *grown = page->failed ? NULL : realloc(page->text, room);
        if (grown == NULL) {
            page->failed = true;
            return;
        }
        page->text = grown;
        page->room = room;
    }
    memcpy(page->text + page->bytes, text, bytes);
    page->bytes += bytes;
    page->text[page->bytes] = '\0';
}

__attribute__((format(printf, 2, 3))) static void print(struct page *page, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0)
        put(page, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static void keep(struct nt_papers *papers, enum nt_paper number, struct page *page)
{
    if (page->failed) {
        free(page->text);
        return;
    }
    papers->text[number] = page->text;
    papers->bytes[number] = page->bytes;
}

/* ---- hosts in hint order ---- */
static uint32_t host_at(const struct nt_map *map, size_t k)
{
    return map->placement == NULL ? (uint32_t)k : map->placement->order[k];
}

static size_t hosts_of(const struct nt_map *map)
{
    return map->placement == NULL ? map->model->hosts : map->placement->hosts;
}

static void write_hostfile(const struct nt_map *map, struct nt_papers *papers)
{
    struct page page = {0};
    for (size_t k = 0; k < hosts_of(map); k++)
        print(&page, "%s\n", map->host_name[host_at(map, k)]);
    keep(papers, NT_PAPER_HOSTFILE, &page);
}

static void write_rankfile(const struct nt_map *map, struct nt_papers *papers)
{
    struct page page = {0};
    for (size_t k = 0; k < hosts_of(map); k++)
        print(&page, "rank %zu=%s slot=0\n", k, map->host_name[host_at(map, k)]);
    keep(papers, NT_PAPER_RANKFILE, &page);
}

/* MPICH_RANK_ORDER lists, for the launcher's places in turn, the rank that goes there. The
 * launcher's places are the hosts in the order of the map. */
static int write_rank_order(const struct nt_map *map, struct nt_papers *papers, struct nt_err *err)
{
    struct page page = {0};
    size_t hosts = map->model->hosts;
    size_t *rank = calloc(hosts + 1, sizeof *rank);
    if (rank == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "placement of %zu hosts: out of memory", hosts);
    for (size_t k = 0; k < hosts_of(map); k++)
        rank[host_at(map, k)] = k;
    for (size_t h = 0; h < hosts; h++)
        print(&page, "%zu%s", rank[h], h + 1 < hosts ? "," : "\n");
    free(rank);
    keep(papers, NT_PAPER_RANK_ORDER, &page);
    return 0;
}

/* ---- hint.env ---- */
/* One line whatever the text holds. */
static void put_line_value(struct page *page, const char *name, const char *value)
{
    put(page, name, strlen(name));
    put(page, "=", 1);
    for (const char *c = value; *c != '\0'; c++) {
        bool control = (unsigned char)*c < ' ' || *c == 127;
        put(page, control ? "?" : c, 1);
    }
    put(page, "\n", 1);
}

static void put_node_order(struct page *page, const struct nt_map *map)
{
    struct page value = {0};
    for (size_t k = 0; k < hosts_of(map); k++)
        print(&value, "%s%s", k > 0 ? "," : "", map->host_name[host_at(map, k)]);
    if (value.failed)
        page->failed = true;
    else if (value.bytes > 0 && value.bytes <= VALUE_MAX)
        put_line_value(page, "NETTOPO_NODE_ORDER", value.text);
    free(value.text);
}

static int put_inline_map(struct page *page, const struct nt_map *map, size_t limit,
                          struct nt_err *err)
{
    char *text = NULL;
    size_t bytes = 0;
    if (nt_map_write(map, true, &text, &bytes, err) != 0)
        return -1;
    if (bytes < limit && bytes <= VALUE_MAX)
        put_line_value(page, "NETTOPO_JSON", text);
    free(text);
    return 0;
}

static int write_env(const struct nt_map *map, const struct nt_papers_plan *plan,
                     struct nt_papers *papers, struct nt_err *err)
{
    static const struct {
        const char *name;
        enum nt_paper paper;
    } files[] = {{"NETTOPO_MAP", NT_PAPER_MAP},
                 {"NETTOPO_HOSTFILE", NT_PAPER_HOSTFILE},
                 {"NETTOPO_RANKFILE", NT_PAPER_RANKFILE},
                 {"NETTOPO_RANK_ORDER", NT_PAPER_RANK_ORDER}};
    struct page page = {0};
    int rc = 0;
    put_line_value(&page, "NETTOPO_STATUS", nt_status_name(plan->status));
    if (plan->status != NT_STATUS_OK)
        put_line_value(&page, "NETTOPO_REASON", plan->reason);
    if (map != NULL) {
        for (size_t k = 0; k < sizeof files / sizeof *files; k++)
            put_line_value(&page, files[k].name, nt_paper_name((uint32_t)files[k].paper));
        put_node_order(&page, map);
        if (map->placement != NULL)
            print(&page, "NETTOPO_GAIN=%.3g\n", map->placement->gain);
        if (plan->apply)
            print(&page, "SLURM_HOSTFILE=%s\nSLURM_DISTRIBUTION=arbitrary\n",
                  nt_paper_name(NT_PAPER_HOSTFILE));
        rc = put_inline_map(&page, map, plan->inline_limit_bytes, err);
    }
    keep(papers, NT_PAPER_ENV, &page);
    return rc;
}

static bool complete(const struct nt_papers *papers, bool all)
{
    static const enum nt_paper with_map[] = {NT_PAPER_MAP, NT_PAPER_HOSTFILE, NT_PAPER_RANKFILE,
                                             NT_PAPER_RANK_ORDER};
    for (size_t k = 0; all && k < sizeof with_map / sizeof *with_map; k++)
        if (papers->text[with_map[k]] == NULL)
            return false;
    return papers->text[NT_PAPER_ENV] != NULL;
}

int nt_papers_create(const struct nt_map *map, const struct nt_papers_plan *plan,
                     struct nt_papers *out, struct nt_err *err)
{
    struct nt_papers papers = {0};
    int rc = 0;
    bool with_map = map != NULL && map->model->hosts > 0;
    if (with_map) {
        rc = nt_map_write(map, false, &papers.text[NT_PAPER_MAP], &papers.bytes[NT_PAPER_MAP], err);
        write_hostfile(map, &papers);
        write_rankfile(map, &papers);
        if (rc == 0)
            rc = write_rank_order(map, &papers, err);
    }
    if (rc == 0)
        rc = write_env(with_map ? map : NULL, plan, &papers, err);
    if (rc == 0 && !complete(&papers, with_map))
        rc = nt_err_set(err, NT_ERR_SYSTEM, "the job's papers: out of memory");
    if (rc != 0) {
        nt_papers_fini(&papers);
        return -1;
    }
    *out = papers;
    return 0;
}

void nt_papers_fini(struct nt_papers *papers)
{
    for (size_t k = 0; k < NT_PAPER_END; k++)
        free(papers->text[k]);
    *papers = (struct nt_papers){0};
}
