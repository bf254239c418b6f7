/* SPDX-License-Identifier: Apache-2.0 */
/* The store's own: what its files share.
 * Tests: test_store.c. */
#ifndef NT_STORE_WORK_H
#define NT_STORE_WORK_H

#include <stdbool.h>

#include "database.h"
#include "names.h"
#include "store.h"

struct nt_store {
    struct nt_database *db;
    struct nt_names hosts; /* those that this process knows: number is id - 1 */
    bool open;             /* a transaction */
};

/* Begins a transaction, unless one has begun, and learns the hosts that others have added. */
int nt_store_begin(struct nt_store *store, struct nt_err *err);

/* Takes everything since the last commit back; -1. */
int nt_store_take_back(struct nt_store *store);

/* NT_NO_USER: null, or -1. */
uint32_t nt_store_user(struct nt_query *query, int column);

#endif
