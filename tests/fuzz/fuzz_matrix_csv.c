/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes, in two pieces, wherever the cut is: an error, or a matrix whose text reads back to the
 * same text; without and with names of hosts. */
#include "fuzz.h"
#include "matrix_csv.h"

static struct nt_named_matrix *read_text(const char *text, size_t bytes, size_t cut,
                                         const struct nt_csv_given *given)
{
    struct nt_csv_reader *r;
    struct nt_named_matrix *t = NULL;
    struct nt_err err;
    if (nt_csv_reader_create("fuzz", NT_MATRIX_LATENCY_US, &r, &err) != 0)
        return NULL;
    nt_csv_reader_set_given(r, given);
    if (nt_csv_reader_feed(r, text, cut, &err) == 0 &&
        nt_csv_reader_feed(r, text + cut, bytes - cut, &err) == 0 &&
        nt_csv_reader_finish(r, &t, &err) != 0)
        t = NULL;
    nt_csv_reader_destroy(r);
    return t;
}

/* NULL for no matrix; which is destroyed. */
static char *write_text(struct nt_named_matrix *t)
{
    struct nt_err err;
    char *text = NULL;
    if (t != NULL && nt_matrix_csv_write(t->matrix, t->host.name, &text, NULL, &err) != 0)
        abort();
    nt_named_matrix_destroy(t);
    return text;
}

static void try_text(const char *data, size_t size, const struct nt_csv_given *given)
{
    const struct nt_csv_given none = {0};
    char *text = write_text(read_text(data, size, size / 2, given));
    char *early = write_text(read_text(data, size, size > 0, given));
    if ((text == NULL) != (early == NULL) || (text != NULL && strcmp(text, early) != 0))
        abort();
    if (text != NULL) {
        size_t bytes = strlen(text);
        char *again = write_text(read_text(text, bytes, bytes / 3, &none));
        if (again == NULL || strcmp(text, again) != 0)
            abort();
        free(again);
    }
    free(text);
    free(early);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char hosts[] = "a\nb\nc\n";
    struct nt_name_file names;
    struct nt_err err;
    if (nt_name_file_read("fuzz", hosts, strlen(hosts), &names, &err) != 0)
        abort();
    try_text((const char *)data, size, &(struct nt_csv_given){0});
    try_text((const char *)data, size, &(struct nt_csv_given){.names = &names});
    nt_name_file_fini(&names);
    return 0;
}
