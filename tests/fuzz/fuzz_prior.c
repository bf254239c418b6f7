/* SPDX-License-Identifier: Apache-2.0 */
/* Any prior: rejected with the file's name, or writing it and reading that gives the same text, and
 * what it says of hosts is clusters inside clusters. */
#include "fuzz.h"
#include "prior.h"

static void believe(const struct nt_prior *p)
{
    static const char *const more[] = {"n1", "n2", "a", "b", "x"};
    const char *name[64];
    size_t n = 0;
    struct nt_belief *b;
    struct nt_prior_facts f;
    for (size_t k = 0; k < p->host_name.count && n < 56; k++)
        name[n++] = p->host_name.name[k];
    for (size_t k = 0; k < sizeof more / sizeof *more; k++)
        if (nt_names_find(&p->host_name, more[k], strlen(more[k])) == NT_NAMES_NONE)
            name[n++] = more[k];
    if (nt_prior_to_belief(p, name, n, &b, &f, NULL) != 0)
        return;
    if (f.known > n || b->levels > NT_BELIEF_LEVELS_MAX || nt_belief_check(b, NULL) != 0)
        abort();
    nt_belief_destroy(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_prior *p, *q;
    struct nt_err err = {0};
    char *once, *twice;
    size_t bytes, again;
    if (nt_prior_parse("f", (const char *)data, size, &p, &err) != 0) {
        if (strncmp(err.text, "f:", 2) != 0)
            abort();
        return 0;
    }
    believe(p);
    if (nt_prior_write(p, &once, &bytes, NULL) != 0 ||
        nt_prior_parse("f", once, bytes, &q, &err) != 0 ||
        nt_prior_write(q, &twice, &again, NULL) != 0 || bytes != again ||
        memcmp(once, twice, bytes) != 0)
        abort();
    free(once);
    free(twice);
    nt_prior_destroy(p);
    nt_prior_destroy(q);
    return 0;
}
