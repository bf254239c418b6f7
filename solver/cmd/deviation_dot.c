/* SPDX-License-Identifier: Apache-2.0 */
#include "deviation_dot.h"

#include <math.h>
#include <stdlib.h>

#include "comparison_report.h"
#include "files.h"

/* What a network with the reference's own figures would have: times of its pairs, laid on its links
 * in the same way, are the ideal that a link can reach. Where that is not known the ideal stays. */
static int expect_healthy(const struct nt_reference_match *a, double message_bytes, double *ideal,
                          struct nt_err *err)
{
    struct nt_reference_match healthy = *a;
    size_t links = a->whole->model->links;
    double *laid = malloc((links + 1) * sizeof *laid), *own = malloc((links + 1) * sizeof *own);
    int rc = -1;
    healthy.found = a->reference;
    if (laid == NULL || own == NULL)
        nt_err_memory(err);
    else
        rc = nt_reference_match_redistribute(&healthy, message_bytes, laid, own, NULL, err);
    for (size_t k = 0; rc == 0 && k < links; k++)
        ideal[k] = isfinite(laid[k]) ? laid[k] : ideal[k];
    free(laid);
    free(own);
    return rc;
}

static const double LONG_BYTES = 1048576, SHORT_BYTES = 8;

int nt_deviation_dot_make(const struct nt_reference_match *a, double message_bytes, char **text,
                          size_t *bytes, struct nt_err *err)
{
    size_t links = a->whole->model->links;
    double *laid = malloc((links + 1) * sizeof *laid), *ideal = malloc((links + 1) * sizeof *ideal);
    double *least = malloc((links + 1) * sizeof *least);
    int rc = -1;
    if (!(message_bytes > 0))
        message_bytes = nt_reference_match_has_rates(a) ? LONG_BYTES : SHORT_BYTES;
    if (laid == NULL || ideal == NULL || least == NULL)
        nt_err_memory(err);
    else
        rc = nt_reference_match_redistribute(a, message_bytes, laid, ideal, least, err);
    if (rc == 0)
        rc = expect_healthy(a, message_bytes, ideal, err);
    if (rc == 0)
        rc = nt_comparison_report_dot(a, laid, ideal, least, text, bytes, err);
    free(laid);
    free(ideal);
    free(least);
    return rc;
}

int nt_deviation_dot_write(const struct nt_reference_match *a, double message_bytes,
                           const char *path, struct nt_err *err)
{
    char *text;
    size_t bytes;
    if (nt_deviation_dot_make(a, message_bytes, &text, &bytes, err) != 0)
        return -1;
    return nt_file_write_text(path, text, bytes, err);
}
