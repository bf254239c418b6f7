/* SPDX-License-Identifier: Apache-2.0 */
/* A record of n1, n2, ... that has them the other way round, so that whoever takes a host of the
 * record for one of the map is found out. Include it behind cmocka.h. */
#ifndef NT_REVERSED_RECORD_H
#define NT_REVERSED_RECORD_H

#include <stdio.h>

#include "samples.h"

static inline struct nt_samples *reversed_record(int hosts)
{
    struct nt_samples *s;
    struct nt_err err = {0};
    assert_int_equal(nt_samples_create(&s, &err), 0);
    for (int h = hosts; h > 0; h--) {
        char name[16];
        snprintf(name, sizeof name, "n%d", h);
        assert_int_equal(nt_samples_add_host(s, name, &err), 0);
    }
    return s;
}

#endif
