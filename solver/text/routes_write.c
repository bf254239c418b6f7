/* SPDX-License-Identifier: Apache-2.0 */
#include "routes_text.h"

#include "number.h"
#include "strbuf.h"

static void put_way(struct nt_strbuf *d, const char *from, const char *to, const uint32_t *link,
                    size_t n, const char *const *link_name)
{
    nt_strbuf_puts(d, from);
    nt_strbuf_puts(d, " ");
    nt_strbuf_puts(d, to);
    for (size_t k = 0; k < n; k++) {
        nt_strbuf_puts(d, " ");
        nt_strbuf_puts(d, link_name[link[k]]);
    }
    nt_strbuf_puts(d, "\n");
}

int nt_routes_write(const struct nt_routes *routes, const char *const *host_name,
                    const char *const *link_name, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    for (size_t p = 0; p < routes->pairs; p++) {
        const char *a = host_name[routes->host[p][0]], *b = host_name[routes->host[p][1]];
        const uint32_t *link = nt_route_links(routes, p);
        size_t there = routes->there[p], all = nt_route_length(routes, p);
        put_way(&d, a, b, link, there, link_name);
        if (there < all)
            put_way(&d, b, a, link + there, all - there, link_name);
    }
    return nt_strbuf_finish(&d, text, bytes, err);
}

int nt_measured_write(const struct nt_measured *measured, const struct nt_routes *routes,
                      const char *const *host_name, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    for (size_t k = 0; k < measured->count; k++) {
        char figure[NT_NUMBER_BYTES];
        const uint32_t *host = routes->host[measured->pair[k]];
        nt_number_plain(measured->latency_us[k], 12, figure);
        nt_strbuf_puts(&d, host_name[host[0]]);
        nt_strbuf_puts(&d, " ");
        nt_strbuf_puts(&d, host_name[host[1]]);
        nt_strbuf_puts(&d, " ");
        nt_strbuf_puts(&d, figure);
        nt_strbuf_puts(&d, "\n");
    }
    return nt_strbuf_finish(&d, text, bytes, err);
}
