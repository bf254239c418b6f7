/* SPDX-License-Identifier: Apache-2.0 */
/* How munged fails, besides by munge's own codes. */
#ifndef NT_STORM_MUNGED_H
#define NT_STORM_MUNGED_H

enum munged_failure {
    MUNGED_NO_CONTEXT = 1000,
    MUNGED_NO_OPTION,
    MUNGED_NO_TIME, /* a credential expires, and nobody knows when it was made */
    MUNGED_NOTHING, /* success without a credential */
    MUNGED_LONG,    /* a credential that is longer than a proof may be */
    MUNGED_NO_PAYLOAD,
    MUNGED_SHORT,      /* a payload that is not the one that was encoded */
    MUNGED_OTHER_USER, /* made by another user */
};

#endif
