/* SPDX-License-Identifier: Apache-2.0 */
#include "html.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "strbuf.h"
#include "switch_support.h"

/* The page itself, from page.html, with a mark for the data. */
__asm__(".section .rodata\n"
        ".local nt_page, nt_page_bytes\n"
        "nt_page:\n"
        ".incbin \"solver/text/page.html\"\n"
        "1:\n"
        ".balign 8\n"
        "nt_page_bytes:\n"
        ".quad 1b - nt_page\n"
        ".previous\n");
extern const char nt_page[];
extern const uint64_t nt_page_bytes;

static const char MARK[] = "@DATA@";
static const uint64_t LAYOUT_SEED = 1;

/* A JSON string that may stand inside a script element. */
static void put_string(struct nt_strbuf *d, const char *text)
{
    nt_strbuf_puts(d, "\"");
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&')
            nt_strbuf_print(d, "\\u%04x", c);
        else
            nt_strbuf_put(d, text, 1);
    }
    nt_strbuf_puts(d, "\"");
}

static void put_figure(struct nt_strbuf *d, const char *key, double value)
{
    if (isfinite(value))
        nt_strbuf_print(d, ",\"%s\":%.6g", key, value);
}

static void put_place(struct nt_strbuf *d, const char *key, const struct nt_layout *l, size_t v)
{
    nt_strbuf_print(d, ",\"%s\":[", key);
    for (int k = 0; k < l->dimensions; k++)
        nt_strbuf_print(d, "%s%.4f", k == 0 ? "" : ",",
                        l->at[v * (size_t)l->dimensions + (size_t)k]);
    nt_strbuf_puts(d, "]");
}

static void put_node(struct nt_strbuf *d, const struct nt_map *map, size_t v, const double *support,
                     const struct nt_layout *flat, const struct nt_layout *solid)
{
    const struct nt_model *m = map->model;
    nt_strbuf_puts(d, v == 0 ? "{\"name\":" : ",\n{\"name\":");
    if (v < m->hosts) {
        put_string(d, map->host_name[v]);
        if (m->missing[v])
            nt_strbuf_puts(d, ",\"missing\":true");
        if (m->host_suspect[v])
            nt_strbuf_puts(d, ",\"suspect\":true");
        put_figure(d, "over", m->overhead_us[v] > 0 ? m->overhead_us[v] : (double)NAN);
    } else {
        put_string(d, map->switch_name[v - m->hosts]);
        nt_strbuf_print(d, ",\"switch\":true,\"tier\":%u", m->tier[v - m->hosts]);
        put_figure(d, "p", support[v - m->hosts]);
    }
    put_place(d, "flat", flat, v);
    put_place(d, "solid", solid, v);
    nt_strbuf_puts(d, "}");
}

static void put_link(struct nt_strbuf *d, const struct nt_link *l, bool first)
{
    nt_strbuf_print(d, "%s{\"a\":%u,\"b\":%u", first ? "" : ",\n", l->a, l->b);
    put_figure(d, "us", l->latency_us);
    put_figure(d, "se", l->latency_se_us);
    put_figure(d, "MBps", l->bandwidth_MBps);
    put_figure(d, "backMBps", l->bandwidth_back_MBps);
    put_figure(d, "p", l->probability);
    nt_strbuf_puts(d, l->suspect ? ",\"suspect\":true}" : "}");
}

static int put_map(struct nt_strbuf *d, const struct nt_map *map, const char *title,
                   struct nt_err *err)
{
    const struct nt_model *m = map->model;
    struct nt_layout *flat = NULL, *solid = NULL;
    double *support = NULL;
    int rc = nt_support_create(m, &support, err);
    if (rc == 0)
        rc = nt_layout_create(m, 2, LAYOUT_SEED, &flat, err);
    if (rc == 0)
        rc = nt_layout_create(m, 3, LAYOUT_SEED, &solid, err);
    if (rc == 0) {
        nt_strbuf_puts(d, "{\"title\":");
        put_string(d, title);
        nt_strbuf_print(d, ",\"family\":\"%s\",\"what\":\"", nt_family_name(m->family));
        nt_strbuf_print(d, "%s, %zu hosts, %zu switches", nt_family_name(m->family), m->hosts,
                        m->switches);
        if (isfinite(m->confidence))
            nt_strbuf_print(d, ", confidence %.2f", m->confidence);
        nt_strbuf_puts(d, "\",\n\"nodes\":[");
        for (size_t v = 0; v < m->hosts + m->switches; v++)
            put_node(d, map, v, support, flat, solid);
        nt_strbuf_puts(d, "],\n\"links\":[");
        for (size_t k = 0; k < m->links; k++)
            put_link(d, &m->link[k], k == 0);
        nt_strbuf_puts(d, "]}");
    }
    nt_layout_destroy(flat);
    nt_layout_destroy(solid);
    free(support);
    return rc;
}

int nt_html_write(const struct nt_map *map, const struct nt_map *reference,
                  const char *const titles[2], char **text, size_t *bytes, struct nt_err *err)
{
    size_t page = (size_t)nt_page_bytes;
    const char *mark = memmem(nt_page, page, MARK, sizeof MARK - 1);
    if (mark == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "the page has no place for its data");
    struct nt_strbuf d = {0};
    size_t head = (size_t)(mark - nt_page), tail = head + sizeof MARK - 1;
    nt_strbuf_put(&d, nt_page, head);
    nt_strbuf_puts(&d, "{\"maps\":[");
    int rc = put_map(&d, map, titles[0], err);
    if (rc == 0 && reference != NULL) {
        nt_strbuf_puts(&d, ",\n");
        rc = put_map(&d, reference, titles[1], err);
    }
    nt_strbuf_puts(&d, "]}");
    nt_strbuf_put(&d, nt_page + tail, page - tail);
    char *made;
    if (nt_strbuf_finish(&d, &made, bytes, rc == 0 ? err : NULL) != 0)
        return -1;
    if (rc != 0) {
        free(made);
        return -1;
    }
    *text = made;
    return 0;
}
