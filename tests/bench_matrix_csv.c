/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a latency matrix of 4,096 hosts: bytes per second of one core, whoever else is at the
 * machine. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "matrix_csv.h"
#include "rng.h"

enum { HOSTS = 4096, ROWS = 64, CELL_BYTES = 10, NAME_BYTES = 8, PIECE_BYTES = 1 << 18 };

/* Rows of random figures as our own matrices have them; making so many differ would take longer
 * than reading them. */
static char *make_text(size_t *bytes)
{
    static char row[ROWS][HOSTS * CELL_BYTES + 1];
    size_t most = (size_t)(HOSTS + 1) * (HOSTS * CELL_BYTES + NAME_BYTES), used = 0;
    char *text = malloc(most);
    struct nt_rng rng;
    nt_rng_init(&rng, 1);
    for (size_t k = 0; k < ROWS; k++)
        for (size_t j = 0; j < HOSTS; j++)
            snprintf(row[k] + j * CELL_BYTES, CELL_BYTES + 1, ",%.7f",
                     2 + 0.99999 * nt_rng_uniform(&rng));
    for (size_t j = 0; j < HOSTS && text != NULL; j++)
        used += (size_t)snprintf(text + used, most - used, ",n%zu", j);
    for (size_t i = 0; i < HOSTS && text != NULL; i++)
        used += (size_t)snprintf(text + used, most - used, "\nn%zu%s", i, row[i % ROWS]);
    if (text != NULL)
        text[used++] = '\n';
    *bytes = used;
    return text;
}

int main(void)
{
    size_t bytes;
    char *text = make_text(&bytes);
    struct nt_csv_reader *reader;
    struct nt_named_matrix *table;
    struct nt_err err = {0};
    struct timespec from, to;
    if (text == NULL || nt_csv_reader_create("bench", NT_MATRIX_LATENCY_US, &reader, &err) != 0)
        return 4;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    int rc = 0;
    for (size_t k = 0; k < bytes && rc == 0; k += PIECE_BYTES)
        rc = nt_csv_reader_feed(reader, text + k, bytes - k < PIECE_BYTES ? bytes - k : PIECE_BYTES,
                                &err);
    if (rc != 0 || nt_csv_reader_finish(reader, &table, &err) != 0) {
        fprintf(stderr, "%s\n", err.text);
        return 4;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    printf("matrix CSV of %d hosts: %.0f MB in %.2f s, %.0f MB/s\n", HOSTS, (double)bytes / 1e6,
           seconds, (double)bytes / 1e6 / seconds);
    nt_named_matrix_destroy(table);
    nt_csv_reader_destroy(reader);
    free(text);
    return 0;
}
