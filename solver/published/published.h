/* SPDX-License-Identifier: Apache-2.0 */
/* The published methods by name, with their settings, for comparison. Only nettopo links them. */
#ifndef NT_PUBLISHED_H
#define NT_PUBLISHED_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "infer.h"
#include "parus.h"

/* Settings that are NaN have the default of the method. */
struct nt_published {
    const char *name; /* "bufe", "parus"; "auto" or NULL: none of them */
    double epsilon;   /* bufe: relative tolerance (Bufe 2014, equation 1.9), above 0 and below 2 */
    /* parus: spread within a group on shared memory (Bannikov and Salnikov 2013, formula 1), 0 to
     * 100 */
    double eps_shared;
    double eps_duplex; /* parus: how much the directions of a channel may differ, 0 to 100 */
    enum nt_parus_lengths lengths; /* parus */
    size_t size;                   /* parus: index of the matrix for NT_PARUS_OF_SIZE */
};

/* The method with this name (borrowed, not checked) and its default settings. */
struct nt_published nt_published_named(const char *name);

/* NT_ERR_USAGE: an unknown name, a setting of another method, a setting out of its range, several
 * sizes for a method that cannot merge them. */
int nt_published_check(const struct nt_published *published, size_t sizes, struct nt_err *err);

/* Sets *out to the method; published is borrowed while *out is used, and checked at that time. With
 * parus and several sizes, the probability of a link is the share of sizes that contain it. false:
 * none of these methods; *out is unchanged. */
bool nt_published_method(const struct nt_published *published, struct nt_method *out);

#endif
