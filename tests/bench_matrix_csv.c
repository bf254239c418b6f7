/* Reading a latency matrix of 4,096 hosts: bytes a second. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "matrix_csv.h"
#include "rng.h"

enum { HOSTS = 4096, PIECE_BYTES = 1 << 18 };

static char *make_text(size_t *bytes)
{
    static char name[HOSTS][8];
    static const char *names[HOSTS];
    struct nt_matrix *m;
    struct nt_rng rng;
    struct nt_err err;
    char *text;
    nt_rng_init(&rng, 1);
    if (nt_matrix_create(HOSTS, NT_MATRIX_LATENCY_US, &m, &err) != 0)
        return NULL;
    for (size_t i = 0; i < HOSTS; i++) {
        snprintf(name[i], sizeof name[i], "n%zu", i);
        names[i] = name[i];
        for (size_t j = 0; j < HOSTS; j++)
            nt_matrix_set(m, i, j, (float)(2 + nt_rng_uniform(&rng)));
    }
    int rc = nt_matrix_csv_write(m, names, &text, bytes, &err);
    nt_matrix_destroy(m);
    return rc == 0 ? text : NULL;
}

int main(void)
{
    size_t bytes;
    char *text = make_text(&bytes);
    struct nt_csv_reader *reader;
    struct nt_table *table;
    struct nt_err err = {0};
    struct timespec from, to;
    if (text == NULL || nt_csv_reader_create("bench", NT_MATRIX_LATENCY_US, &reader, &err) != 0)
        return 4;
    clock_gettime(CLOCK_MONOTONIC, &from);
    int rc = 0;
    for (size_t k = 0; k < bytes && rc == 0; k += PIECE_BYTES)
        rc = nt_csv_reader_feed(reader, text + k, bytes - k < PIECE_BYTES ? bytes - k : PIECE_BYTES,
                                &err);
    if (rc != 0 || nt_csv_reader_finish(reader, &table, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return 4;
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    printf("matrix CSV of %d hosts: %.0f MB in %.2f s, %.0f MB/s\n", HOSTS, (double)bytes / 1e6,
           seconds, (double)bytes / 1e6 / seconds);
    nt_table_destroy(table);
    nt_csv_reader_destroy(reader);
    free(text);
    return 0;
}
