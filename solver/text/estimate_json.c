#include "estimate_json.h"

#include <math.h>
#include <stdio.h>

#include "strbuf.h"

enum { FIGURE_BYTES = 32 };

static void put_number(struct nt_strbuf *d, const char *key, double value, int digits)
{
    char text[FIGURE_BYTES] = "null";
    if (isfinite(value))
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
    nt_strbuf_puts(d, key);
    nt_strbuf_puts(d, text);
}

/* A latency to nine digits, its error to six. */
static void put_latency(struct nt_strbuf *d, const struct nt_figure *figure)
{
    put_number(d, ", \"latency_us\": ", figure->us, 9);
    put_number(d, ", \"latency_se_us\": ", figure->se_us, 6);
}

/* Link names are printable ASCII: only the quote and the backslash need an escape. */
static void put_name(struct nt_strbuf *d, const char *name)
{
    nt_strbuf_puts(d, "\"");
    for (; *name != '\0'; name++) {
        if (*name == '"' || *name == '\\')
            nt_strbuf_put(d, "\\", 1);
        nt_strbuf_put(d, name, 1);
    }
    nt_strbuf_puts(d, "\"");
}

static void put_links(struct nt_strbuf *d, const struct nt_estimate *e,
                      const char *const *link_name)
{
    for (size_t k = 0; k < e->links; k++) {
        nt_strbuf_puts(d, k == 0 ? "\n    {\"link\": " : ",\n    {\"link\": ");
        put_name(d, link_name[e->link[k].link]);
        put_latency(d, &e->link[k].latency);
        nt_strbuf_puts(d, e->link[k].suspect ? ", \"suspect\": true}" : ", \"suspect\": false}");
    }
}

static void put_aggregates(struct nt_strbuf *d, const struct nt_estimate *e,
                           const char *const *link_name)
{
    for (size_t k = 0; k < e->aggregates; k++) {
        nt_strbuf_puts(d, k == 0 ? "\n    {\"links\": [" : ",\n    {\"links\": [");
        for (size_t i = e->run_start[k]; i < e->run_start[k + 1]; i++) {
            nt_strbuf_puts(d, i == e->run_start[k] ? "" : ", ");
            put_name(d, link_name[e->run_link[i]]);
        }
        nt_strbuf_puts(d, "]");
        put_latency(d, &e->run_latency[k]);
        nt_strbuf_puts(d, "}");
    }
}

static void put_pairs(struct nt_strbuf *d, const struct nt_estimate *e,
                      const char *const *host_name)
{
    for (size_t k = 0; k < e->pairs; k++) {
        nt_strbuf_puts(d, k == 0 ? "\n    {\"a\": \"" : ",\n    {\"a\": \"");
        nt_strbuf_puts(d, host_name[e->pair[k][0]]);
        nt_strbuf_puts(d, "\", \"b\": \"");
        nt_strbuf_puts(d, host_name[e->pair[k][1]]);
        nt_strbuf_puts(d, "\"");
        put_latency(d, &e->pair_latency[k]);
        nt_strbuf_puts(d, "}");
    }
}

static void put_fit(struct nt_strbuf *d, const struct nt_fit *fit)
{
    nt_strbuf_print(d,
                    "\n  \"fit\": {\"measured\": %zu, \"rank\": %zu, \"degrees_of_freedom\": %zu",
                    fit->measured, fit->rank, fit->freedom);
    nt_strbuf_print(d, ", \"rejected\": %zu", fit->rejected);
    put_number(d, ", \"sigma_us\": ", fit->sigma_us, 6);
    put_number(d, ", \"rms_us\": ", fit->rms_us, 6);
    put_number(d, ", \"r2\": ", fit->r2, 9);
    put_number(d, ", \"false_alarm_rate\": ", fit->false_alarm_rate, 6);
    nt_strbuf_print(d, ", \"tested\": %zu}\n}\n", fit->tested);
}

int nt_estimate_write(const struct nt_estimate *e, const char *const *host_name,
                      const char *const *link_name, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_strbuf d = {0};
    nt_strbuf_puts(&d, "{\n  \"links\": [");
    put_links(&d, e, link_name);
    nt_strbuf_puts(&d, "],\n  \"aggregates\": [");
    put_aggregates(&d, e, link_name);
    nt_strbuf_puts(&d, "],\n  \"pairs\": [");
    put_pairs(&d, e, host_name);
    nt_strbuf_puts(&d, "],");
    put_fit(&d, &e->fit);
    return nt_strbuf_finish(&d, text, bytes, err);
}
