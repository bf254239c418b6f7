/* SPDX-License-Identifier: Apache-2.0 */
#include "estimate_json.h"

#include <math.h>

#include "json_write.h"

/* Writes a latency with nine digits and its error with six. */
static void put_latency(struct nt_json_writer *w, const struct nt_figure *figure)
{
    nt_json_put_figure(w, "latency_us", figure->us, 9);
    nt_json_put_figure(w, "latency_se_us", figure->se_us, 6);
}

static void put_ways(struct nt_json_writer *w, const struct nt_figure way[2])
{
    if (isnan(way[0].us))
        return;
    nt_json_put_figure(w, "there_us", way[0].us, 9);
    nt_json_put_figure(w, "there_se_us", way[0].se_us, 6);
    nt_json_put_figure(w, "back_us", way[1].us, 9);
    nt_json_put_figure(w, "back_se_us", way[1].se_us, 6);
}

static void put_links(struct nt_json_writer *w, const struct nt_estimate *e,
                      const char *const *link_name)
{
    nt_json_begin(w, "links", '[', true);
    for (size_t k = 0; k < e->links; k++) {
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, "link", link_name[e->link[k].link]);
        put_latency(w, &e->link[k].latency);
        nt_json_put_flag(w, "suspect", e->link[k].suspect);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
}

static void put_aggregates(struct nt_json_writer *w, const struct nt_estimate *e,
                           const char *const *link_name)
{
    nt_json_begin(w, "aggregates", '[', true);
    for (size_t k = 0; k < e->aggregates; k++) {
        nt_json_begin(w, NULL, '{', false);
        nt_json_begin(w, "links", '[', false);
        for (size_t i = e->run_start[k]; i < e->run_start[k + 1]; i++)
            nt_json_put_text(w, NULL, link_name[e->run_link[i]]);
        nt_json_end(w, ']');
        put_latency(w, &e->run_latency[k]);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
}

static void put_pairs(struct nt_json_writer *w, const struct nt_estimate *e,
                      const char *const *host_name)
{
    nt_json_begin(w, "pairs", '[', true);
    for (size_t k = 0; k < e->pairs; k++) {
        nt_json_begin(w, NULL, '{', false);
        nt_json_put_text(w, "a", host_name[e->pair[k][0]]);
        nt_json_put_text(w, "b", host_name[e->pair[k][1]]);
        put_latency(w, &e->pair_latency[k]);
        put_ways(w, e->way[k]);
        nt_json_end(w, '}');
    }
    nt_json_end(w, ']');
}

static void put_fit(struct nt_json_writer *w, const struct nt_fit *fit)
{
    nt_json_begin(w, "fit", '{', false);
    nt_json_put_whole(w, "measured", fit->measured);
    nt_json_put_whole(w, "rank", fit->rank);
    nt_json_put_whole(w, "degrees_of_freedom", fit->freedom);
    nt_json_put_whole(w, "rejected", fit->rejected);
    nt_json_put_figure(w, "sigma_us", fit->sigma_us, 6);
    nt_json_put_figure(w, "rms_us", fit->rms_us, 6);
    nt_json_put_figure(w, "r2", fit->r2, 9);
    nt_json_put_figure(w, "false_alarm_rate", fit->false_alarm_rate, 6);
    nt_json_put_whole(w, "tested", fit->tested);
    nt_json_end(w, '}');
}

int nt_estimate_write(const struct nt_estimate *e, const char *const *host_name,
                      const char *const *link_name, char **text, size_t *bytes, struct nt_err *err)
{
    struct nt_json_writer w = {0};
    nt_json_begin(&w, NULL, '{', true);
    put_links(&w, e, link_name);
    put_aggregates(&w, e, link_name);
    put_pairs(&w, e, host_name);
    put_fit(&w, &e->fit);
    nt_json_end(&w, '}');
    nt_strbuf_puts(&w.buf, "\n");
    return nt_strbuf_finish(&w.buf, text, bytes, err);
}
