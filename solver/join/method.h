/* By which method a model is made from latencies: ours, or a published one with its settings. */
#ifndef NT_METHOD_H
#define NT_METHOD_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "matrix.h"
#include "model.h"

/* A setting that is NaN is the method's own default. */
struct nt_method {
    const char *name;  /* "auto", "bufe", "parus"; NULL: auto */
    double epsilon;    /* bufe: relative tolerance (seed 000, equation 1.9), above 0 and below 2 */
    double eps_shared; /* parus: spread within a group on shared memory (seed 002), 0 to 100 */
    double eps_duplex; /* parus: how much the directions of a channel may differ, 0 to 100 */
};

/* The method of that name (borrowed) with its own settings; the name is not looked at. */
struct nt_method nt_method_named(const char *name);

/* NT_ERR_USAGE: an unknown name, a setting of another method, a setting out of its range, more
 * sizes than one for a method that cannot merge them. method NULL: auto. */
int nt_method_check(const struct nt_method *method, size_t sizes, struct nt_err *err);

/* latency: sizes (at least 1) matrices of the same hosts, one a message size, ascending; figures
 * are of the first. errors: their standard errors, or NULL; each may be NULL. With several, a
 * link's probability is with parus the share of sizes in which it appears (seed 002), with auto
 * what nt_infer_merge says. bandwidth may be NULL. Errors as of nt_method_check and of the methods.
 */
int nt_method_infer(const struct nt_method *method, const struct nt_matrix *const *latency,
                    const struct nt_matrix *const *errors, size_t sizes,
                    const struct nt_matrix *bandwidth, struct nt_model **out, struct nt_err *err);

/* Whether the method gives links their bandwidths by itself. */
bool nt_method_has_bandwidths(const struct nt_method *method);

#endif
