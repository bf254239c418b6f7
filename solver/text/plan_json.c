/* SPDX-License-Identifier: Apache-2.0 */
#include "plan_json.h"

#include "json_write.h"

static void put_pair(struct nt_json_writer *w, const struct nt_plan *plan, size_t i,
                     const char *const *host_name)
{
    nt_json_begin(w, NULL, '[', false);
    nt_json_put_text(w, NULL, host_name[plan->pair[i][0]]);
    nt_json_put_text(w, NULL, host_name[plan->pair[i][1]]);
    nt_json_end(w, ']');
}

static void put_rounds(struct nt_json_writer *w, const struct nt_plan *plan,
                       const char *const *host_name)
{
    nt_json_begin(w, "rounds", '[', true);
    for (size_t i = 0; i < plan->pairs; i++) {
        if (i == 0 || plan->round[i] != plan->round[i - 1])
            nt_json_begin(w, NULL, '[', false);
        put_pair(w, plan, i, host_name);
        if (i + 1 == plan->pairs || plan->round[i] != plan->round[i + 1])
            nt_json_end(w, ']');
    }
    nt_json_end(w, ']');
}

int nt_plan_write(const struct nt_plan *plan, const char *const *host_name, char **text,
                  size_t *bytes, struct nt_err *err)
{
    struct nt_json_writer w = {0};
    nt_json_begin(&w, NULL, '{', true);
    nt_json_put_whole(&w, "rank", plan->rank);
    nt_json_begin(&w, "pairs", '[', true);
    for (size_t i = 0; i < plan->pairs; i++)
        put_pair(&w, plan, i, host_name);
    nt_json_end(&w, ']');
    put_rounds(&w, plan, host_name);
    nt_json_put_whole(&w, "lower_bound", plan->lower_bound);
    nt_json_put_figure(&w, "amplification_rms", plan->amplification_rms, 9);
    nt_json_put_figure(&w, "amplification_max", plan->amplification_max, 9);
    nt_json_end(&w, '}');
    nt_strbuf_puts(&w.buf, "\n");
    return nt_strbuf_finish(&w.buf, text, bytes, err);
}
