/* SPDX-License-Identifier: Apache-2.0 */
/* The published methods by the names that users give them, with their settings: for comparison,
 * and for nettopo only. */
#ifndef NT_PUBLISHED_H
#define NT_PUBLISHED_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "infer.h"
#include "parus.h"

/* A setting that is NaN is the method's own default. */
struct nt_published {
    const char *name;  /* "bufe", "parus"; "auto" or NULL: none of them */
    double epsilon;    /* bufe: relative tolerance (Bufe 2014, equation 1.9), above 0 and below 2 */
    double eps_shared; /* parus: spread within a group on shared memory (Bannikov and Salnikov
                          2013, formula 1), 0 to 100 */
    double eps_duplex; /* parus: how much the directions of a channel may differ, 0 to 100 */
    enum nt_parus_lengths lengths; /* parus */
    size_t size;                   /* parus: which matrix makes the lengths */
};

/* The method of that name (borrowed) with its own settings; the name is not read. */
struct nt_published nt_published_named(const char *name);

/* NT_ERR_USAGE: an unknown name, a setting of another method, a setting out of its range, more
 * sizes than one for a method that cannot merge them. */
int nt_published_check(const struct nt_published *published, size_t sizes, struct nt_err *err);

/* How to infer by it; published is borrowed for as long as *out is used, and checked then. With
 * several sizes, a link's probability is with parus the share of sizes in which it appears. false:
 * it is none of these methods, and *out is not set. */
bool nt_published_method(const struct nt_published *published, struct nt_method *out);

#endif
