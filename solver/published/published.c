/* SPDX-License-Identifier: Apache-2.0 */
#include "published.h"

#include <math.h>
#include <string.h>

#include "bufe.h"
#include "infer.h"
#include "parus.h"

static double or_default(double setting, double own)
{
    return isnan(setting) ? own : setting;
}

static int infer_bufe(const void *settings, const struct nt_matrix *const *latency, size_t sizes,
                      const struct nt_matrix *bandwidth, struct nt_model **out, struct nt_err *err)
{
    const struct nt_published *p = settings;
    struct nt_bufe_result *result;
    struct nt_bufe_options options;
    if (nt_published_check(p, sizes, err) != 0)
        return -1;
    nt_bufe_default(&options);
    options.epsilon = or_default(p->epsilon, options.epsilon);
    if (nt_bufe_infer(latency[0], bandwidth, &options, &result, err) != 0)
        return -1;
    *out = result->model;
    result->model = NULL;
    nt_bufe_destroy(result);
    return 0;
}

static int infer_parus(const void *settings, const struct nt_matrix *const *latency, size_t sizes,
                       const struct nt_matrix *bandwidth, struct nt_model **out, struct nt_err *err)
{
    const struct nt_published *p = settings;
    struct nt_parus_result *result;
    (void)bandwidth;
    struct nt_parus_options options;
    if (nt_published_check(p, sizes, err) != 0)
        return -1;
    nt_parus_default(&options);
    options.eps_shared = or_default(p->eps_shared, options.eps_shared);
    options.eps_duplex = or_default(p->eps_duplex, options.eps_duplex);
    options.lengths = p->lengths;
    options.size = p->size;
    if (nt_parus_infer(latency, sizes, &options, &result, err) != 0)
        return -1;
    *out = result->model;
    result->model = NULL;
    nt_parus_destroy(result);
    return 0;
}

static const struct kind {
    const char *name;
    struct nt_method method; /* without its settings */
} kinds[] = {
    {"auto", {.sizes_max = NT_INFER_SIZES_MAX}},
    {"bufe", {.infer = infer_bufe, .sizes_max = 1, .has_bandwidths = true}},
    {"parus", {.infer = infer_parus, .sizes_max = NT_PARUS_MATRICES_MAX}},
};

static const struct kind *find_kind(const struct nt_published *published)
{
    const char *name = published->name == NULL ? "auto" : published->name;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(name, kinds[k].name) == 0)
            return &kinds[k];
    return NULL;
}

struct nt_published nt_published_named(const char *name)
{
    return (struct nt_published){
        .name = name, .epsilon = NAN, .eps_shared = NAN, .eps_duplex = NAN};
}

static int check_settings(const struct nt_published *p, const char *name, struct nt_err *err)
{
    const struct {
        const char *setting, *of;
        double value;
        bool fits;
    } table[] = {
        {"epsilon", "bufe", p->epsilon, p->epsilon > 0 && p->epsilon < 2},
        {"eps-shared", "parus", p->eps_shared, p->eps_shared >= 0 && p->eps_shared <= 100},
        {"eps-duplex", "parus", p->eps_duplex, p->eps_duplex >= 0 && p->eps_duplex <= 100},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        if (isnan(table[k].value))
            continue;
        if (strcmp(table[k].of, name) != 0)
            return nt_err_set(err, NT_ERR_USAGE, "--%s requires --method %s, found %s",
                              table[k].setting, table[k].of, name);
        if (!table[k].fits)
            return nt_err_set(err, NT_ERR_USAGE, "--%s %g: expected a number %s", table[k].setting,
                              table[k].value, k == 0 ? "above 0 and below 2" : "from 0 to 100");
    }
    return 0;
}

int nt_published_check(const struct nt_published *published, size_t sizes, struct nt_err *err)
{
    const struct kind *kind = find_kind(published);
    if (kind == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "--method %.64s: expected auto, bufe or parus",
                          published->name);
    if (sizes > kind->method.sizes_max)
        return nt_err_set(err, NT_ERR_USAGE,
                          "%zu matrices of latencies: expected at most %zu with --method %s", sizes,
                          kind->method.sizes_max, kind->name);
    return check_settings(published, kind->name, err);
}

bool nt_published_method(const struct nt_published *published, struct nt_method *out)
{
    const struct kind *kind = find_kind(published);
    if (kind == NULL || kind->method.infer == NULL)
        return false;
    *out = kind->method;
    out->settings = published;
    return true;
}
