/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes, in two pieces: an error, or samples whose text reads back to the same text. */
#include "fuzz.h"
#include "samples.h"

static struct nt_samples *read_text(const char *text, size_t bytes, size_t cut)
{
    struct nt_samples_reader *r;
    struct nt_samples *s = NULL;
    struct nt_err err;
    if (nt_samples_reader_create("fuzz", &r, &err) != 0)
        return NULL;
    if (nt_samples_reader_feed(r, text, cut, &err) == 0 &&
        nt_samples_reader_feed(r, text + cut, bytes - cut, &err) == 0 &&
        nt_samples_reader_finish(r, &s, &err) != 0)
        s = NULL;
    nt_samples_reader_destroy(r);
    return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_samples *s = read_text((const char *)data, size, size / 2), *again;
    struct nt_matrix *latency = NULL;
    struct nt_err err;
    char *text, *text_again;
    size_t bytes, bytes_again;
    if (s == NULL)
        return 0;
    if (s->hosts < 1000 && nt_samples_latency(s, 0, &latency, NULL, &err) != 0)
        abort();
    nt_matrix_destroy(latency);
    for (size_t k = 0; k < s->phases && s->hosts < 1000; k++) {
        struct nt_phase_account account;
        if (nt_samples_account(s, k, &account, &err) != 0 || account.hosts > s->hosts)
            abort();
    }
    if (nt_samples_write(s, &text, &bytes, &err) != 0)
        abort();
    again = read_text(text, bytes, bytes / 3);
    if (again == NULL || nt_samples_write(again, &text_again, &bytes_again, &err) != 0)
        abort();
    if (bytes != bytes_again || memcmp(text, text_again, bytes) != 0)
        abort();
    free(text);
    free(text_again);
    nt_samples_destroy(s);
    nt_samples_destroy(again);
    return 0;
}
