/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes, in two pieces: an error, or a matrix whose text reads back to the same text. */
#include "fuzz.h"
#include "matrix_csv.h"

static struct nt_named_matrix *read_text(const char *text, size_t bytes, size_t cut)
{
    struct nt_csv_reader *r;
    struct nt_named_matrix *t = NULL;
    struct nt_err err;
    if (nt_csv_reader_create("fuzz", NT_MATRIX_LATENCY_US, &r, &err) != 0)
        return NULL;
    if (nt_csv_reader_feed(r, text, cut, &err) == 0 &&
        nt_csv_reader_feed(r, text + cut, bytes - cut, &err) == 0 &&
        nt_csv_reader_finish(r, &t, &err) != 0)
        t = NULL;
    nt_csv_reader_destroy(r);
    return t;
}

static char *write_text(const struct nt_named_matrix *t, size_t *bytes)
{
    struct nt_err err;
    char *text;
    if (nt_matrix_csv_write(t->matrix, t->host.name, &text, bytes, &err) != 0)
        abort();
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t bytes, bytes_again;
    struct nt_named_matrix *t = read_text((const char *)data, size, size / 2), *again;
    if (t == NULL)
        return 0;
    char *text = write_text(t, &bytes);
    again = read_text(text, bytes, bytes / 3);
    if (again == NULL)
        abort();
    char *text_again = write_text(again, &bytes_again);
    if (bytes != bytes_again || memcmp(text, text_again, bytes) != 0)
        abort();
    free(text);
    free(text_again);
    nt_named_matrix_destroy(t);
    nt_named_matrix_destroy(again);
    return 0;
}
