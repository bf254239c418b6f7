/* SPDX-License-Identifier: Apache-2.0 */
/* munged of each host, and libmunge in place of the system's. */
#include <math.h>
#include <munge.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auth.h"
#include "cluster.h"
#include "munged.h"

enum { MUNGE_TTL_S = 300 };

struct credential {
    double made_s; /* by the clock of the host that made it */
    int bytes;
    uint32_t decoded_by; /* hosts + 1; 0: none: a credential is good once a host */
    void *payload;
};

static struct {
    struct credential *made;
    size_t n, room;
    double encoded_s, decoded_s; /* of the last one that was decoded */
} munged;

void parts_begin(void);
void parts_begin(void)
{
    for (size_t k = 0; k < munged.n; k++)
        free(munged.made[k].payload);
    munged.n = 0;
}

static bool fails_with(int what)
{
    const struct host *h = this_host();
    return h->munge_error == what && draw_chance(h->munge_fails);
}

munge_ctx_t munge_ctx_create(void)
{
    if (fails_with(MUNGED_NO_CONTEXT))
        return NULL;
    return (munge_ctx_t)&munged;
}

void munge_ctx_destroy(munge_ctx_t ctx)
{
    (void)ctx;
}

munge_err_t munge_ctx_set(munge_ctx_t ctx, int option, ...)
{
    (void)ctx;
    (void)option;
    return fails_with(MUNGED_NO_OPTION) ? EMUNGE_SNAFU : EMUNGE_SUCCESS;
}

munge_err_t munge_ctx_get(munge_ctx_t ctx, int option, ...)
{
    va_list args;
    (void)ctx;
    if (fails_with(MUNGED_NO_TIME) && draw_chance(0.5))
        return EMUNGE_BAD_ARG;
    va_start(args, option);
    *va_arg(args, time_t *) =
        (time_t)(option == MUNGE_OPT_ENCODE_TIME ? munged.encoded_s : munged.decoded_s);
    va_end(args);
    return EMUNGE_SUCCESS;
}

/* Of its own text there is one where something has failed in the context. */
const char *munge_ctx_strerror(munge_ctx_t ctx)
{
    (void)ctx;
    return this_host()->munge_fails > 0.5 ? "munge's own words" : NULL;
}

const char *munge_strerror(munge_err_t code)
{
    switch (code) {
    case EMUNGE_SOCKET:
        return "Munged communication error";
    case EMUNGE_CRED_EXPIRED:
        return "Expired credential";
    case EMUNGE_CRED_REWOUND:
        return "Rewound credential";
    case EMUNGE_CRED_REPLAYED:
        return "Replayed credential";
    case EMUNGE_CRED_INVALID:
        return "Invalid credential";
    default:
        return "munge error";
    }
}

/* Blocks as the library does while munged is busy. */
static munge_err_t munged_answers(void)
{
    struct host *h = this_host();
    double now = h->munge_asked_s = process_time();
    if (isinf(h->munge_until_s)) {
        process_sleep(0.001);
        return EMUNGE_SOCKET;
    }
    process_sleep((h->munge_until_s > now ? h->munge_until_s - now : 0) + h->munge_s);
    if (h->munge_error == MUNGED_NO_TIME && draw_chance(h->munge_fails))
        return EMUNGE_CRED_EXPIRED;
    return h->munge_fails > 0 && h->munge_error < MUNGED_NO_CONTEXT && draw_chance(h->munge_fails)
               ? (munge_err_t)h->munge_error
               : EMUNGE_SUCCESS;
}

munge_err_t munge_encode(char **credential, munge_ctx_t ctx, const void *payload, int bytes)
{
    (void)ctx;
    *credential = NULL;
    munge_err_t answer = munged_answers();
    if (answer != EMUNGE_SUCCESS)
        return answer;
    if (munged.n == munged.room) {
        munged.room = 2 * munged.room + 64;
        munged.made = realloc(munged.made, munged.room * sizeof *munged.made);
    }
    struct credential *c = &munged.made[munged.n];
    *c = (struct credential){process_time() + this_host()->clock_off_s, bytes, 0,
                             malloc((size_t)bytes + 1)};
    memcpy(c->payload, payload, (size_t)bytes);
    if (fails_with(MUNGED_NOTHING))
        return EMUNGE_SUCCESS;
    size_t room = fails_with(MUNGED_LONG) ? NT_CREDENTIAL_MAX + 1 : 64;
    *credential = malloc(room);
    int bytes_made = snprintf(*credential, room, "MUNGE:%zu:", munged.n++);
    memset(*credential + bytes_made, 'a', room - 1 - (size_t)bytes_made);
    (*credential)[room - 1] = '\0';
    return EMUNGE_SUCCESS;
}

munge_err_t munge_decode(const char *credential, munge_ctx_t ctx, void **payload, int *bytes,
                         uid_t *uid, gid_t *gid)
{
    char *end;
    (void)ctx;
    *payload = NULL;
    munge_err_t answer = munged_answers();
    if (answer != EMUNGE_SUCCESS)
        return answer;
    if (strncmp(credential, "MUNGE:", 6) != 0)
        return EMUNGE_CRED_INVALID;
    unsigned long k = strtoul(credential + 6, &end, 10);
    if (*end != ':' || k >= munged.n)
        return EMUNGE_CRED_INVALID;
    struct credential *c = &munged.made[k];
    munged.encoded_s = c->made_s;
    munged.decoded_s = process_time() + this_host()->clock_off_s;
    double age = munged.decoded_s - munged.encoded_s;
    if (age > MUNGE_TTL_S)
        return EMUNGE_CRED_EXPIRED;
    if (age < -MUNGE_TTL_S)
        return EMUNGE_CRED_REWOUND;
    if (c->decoded_by == world.running->host + 1)
        return EMUNGE_CRED_REPLAYED;
    c->decoded_by = world.running->host + 1;
    if (!fails_with(MUNGED_NO_PAYLOAD)) {
        *payload = malloc((size_t)c->bytes + 1);
        memcpy(*payload, c->payload, (size_t)c->bytes);
    }
    *bytes = c->bytes - fails_with(MUNGED_SHORT);
    *uid = fails_with(MUNGED_OTHER_USER) ? 1000 : 0;
    *gid = 0;
    return EMUNGE_SUCCESS;
}

uid_t __wrap_geteuid(void);
uid_t __wrap_geteuid(void)
{
    return 0;
}
