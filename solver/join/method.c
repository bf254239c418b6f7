#include "method.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "bufe.h"
#include "infer.h"
#include "memory.h"
#include "parus.h"

/* Any fixed number: the same measurements must give the same map. */
static const uint64_t seed = 1;

/* What an inference is given. */
struct input {
    const struct nt_method *method;
    const struct nt_matrix *const *latency;
    size_t sizes;
    const struct nt_matrix *bandwidth;
};

static double or_default(double setting, double own)
{
    return isnan(setting) ? own : setting;
}

/* Figures are of the first size; the other sizes say how sure each link is, and add what only they
 * show. */
static int infer_auto(const struct input *in, struct nt_model **out, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_model **model = nt_arena_array(&memory, in->sizes, sizeof *model);
    int rc = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (size_t k = 0; k < in->sizes && rc == 0; k++)
        rc = nt_infer_latency(in->latency[k], NULL, seed, &model[k], err);
    if (rc == 0 && in->sizes > 1)
        rc = nt_infer_merge(&model[0], (const struct nt_model *const *)model + 1, in->sizes - 1,
                            in->latency[0], seed, err);
    for (size_t k = rc == 0; k < in->sizes; k++)
        nt_model_destroy(model[k]);
    if (rc == 0)
        *out = model[0];
    return rc;
}

static int infer_bufe(const struct input *in, struct nt_model **out, struct nt_err *err)
{
    struct nt_bufe_result *result;
    struct nt_bufe_options options;
    nt_bufe_default(&options);
    options.epsilon = or_default(in->method->epsilon, options.epsilon);
    if (nt_bufe_infer(in->latency[0], in->bandwidth, &options, &result, err) != 0)
        return -1;
    *out = result->model;
    result->model = NULL;
    nt_bufe_destroy(result);
    return 0;
}

static int infer_parus(const struct input *in, struct nt_model **out, struct nt_err *err)
{
    struct nt_parus_result *result;
    struct nt_parus_options options;
    nt_parus_default(&options);
    options.eps_shared = or_default(in->method->eps_shared, options.eps_shared);
    options.eps_duplex = or_default(in->method->eps_duplex, options.eps_duplex);
    if (nt_parus_infer(in->latency, in->sizes, &options, &result, err) != 0)
        return -1;
    *out = result->model;
    result->model = NULL;
    nt_parus_destroy(result);
    return 0;
}

static const struct kind {
    const char *name;
    int (*infer)(const struct input *in, struct nt_model **out, struct nt_err *err);
    size_t sizes_max;
    bool own_bandwidths;
} kinds[] = {
    {"auto", infer_auto, NT_PARUS_MATRICES_MAX, false},
    {"bufe", infer_bufe, 1, true},
    {"parus", infer_parus, NT_PARUS_MATRICES_MAX, false},
};

static const struct kind *find(const struct nt_method *method)
{
    const char *name = method == NULL || method->name == NULL ? "auto" : method->name;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(name, kinds[k].name) == 0)
            return &kinds[k];
    return NULL;
}

struct nt_method nt_method_named(const char *name)
{
    return (struct nt_method){name, NAN, NAN, NAN};
}

bool nt_method_has_bandwidths(const struct nt_method *method)
{
    const struct kind *kind = find(method);
    return kind != NULL && kind->own_bandwidths;
}

static int check_settings(const struct nt_method *method, const char *name, struct nt_err *err)
{
    const struct {
        const char *setting, *of;
        double value;
        bool fits;
    } table[] = {
        {"epsilon", "bufe", method->epsilon, method->epsilon > 0 && method->epsilon < 2},
        {"eps-shared", "parus", method->eps_shared,
         method->eps_shared >= 0 && method->eps_shared <= 100},
        {"eps-duplex", "parus", method->eps_duplex,
         method->eps_duplex >= 0 && method->eps_duplex <= 100},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        if (isnan(table[k].value))
            continue;
        if (strcmp(table[k].of, name) != 0)
            return nt_err_set(err, NT_ERR_USAGE, "%s: expected with method %s only, found %s",
                              table[k].setting, table[k].of, name);
        if (!table[k].fits)
            return nt_err_set(err, NT_ERR_USAGE, "%s %g: expected %s", table[k].setting,
                              table[k].value, k == 0 ? "above 0 and below 2" : "0 to 100");
    }
    return 0;
}

int nt_method_check(const struct nt_method *method, size_t sizes, struct nt_err *err)
{
    const struct kind *kind = find(method);
    if (kind == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "method %.64s: expected auto, bufe or parus",
                          method->name);
    if (sizes > kind->sizes_max)
        return nt_err_set(err, NT_ERR_USAGE,
                          "%zu matrices of latencies: expected at most %zu with method %s", sizes,
                          kind->sizes_max, kind->name);
    return method == NULL ? 0 : check_settings(method, kind->name, err);
}

int nt_method_infer(const struct nt_method *method, const struct nt_matrix *const *latency,
                    size_t sizes, const struct nt_matrix *bandwidth, struct nt_model **out,
                    struct nt_err *err)
{
    struct nt_method own = nt_method_named(NULL);
    struct input in = {method == NULL ? &own : method, latency, sizes, bandwidth};
    if (nt_method_check(method, sizes, err) != 0)
        return -1;
    return find(method)->infer(&in, out, err);
}
