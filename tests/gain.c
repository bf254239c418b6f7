/* SPDX-License-Identifier: Apache-2.0 */
/* gain ring|AxB BYTES ROUNDS: an MPI program that does nothing but exchange with its neighbours in
 * a ring or a grid, BYTES each way a round; rank 0 prints the ms of a round. Built by
 * tests/bench_gain.sh with mpicc. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NEIGHBOURS = 4 };

/* Ranks are row-major, as in `nettopo hint`; -1 fills up. */
static void find_neighbours(const char *pattern, int rank, int size, int *with)
{
    int rows = 0, columns = 0;
    for (int k = 0; k < NEIGHBOURS; k++)
        with[k] = -1;
    if (strcmp(pattern, "ring") == 0) {
        with[0] = (rank + 1) % size;
        with[1] = (rank + size - 1) % size;
        return;
    }
    if (sscanf(pattern, "%dx%d", &rows, &columns) != 2 || rows * columns != size) {
        if (rank == 0)
            fprintf(stderr, "gain: %s does not fit %d ranks\n", pattern, size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    with[0] = rank % columns + 1 < columns ? rank + 1 : -1;
    with[1] = rank % columns > 0 ? rank - 1 : -1;
    with[2] = rank + columns < size ? rank + columns : -1;
    with[3] = rank - columns;
    if (with[3] < 0)
        with[3] = -1;
}

static void exchange(const int *with, char *out, char *in, int bytes)
{
    MPI_Request request[2 * NEIGHBOURS];
    int n = 0;
    for (int k = 0; k < NEIGHBOURS; k++)
        if (with[k] >= 0)
            MPI_Irecv(in + (size_t)k * (size_t)bytes, bytes, MPI_BYTE, with[k], 0, MPI_COMM_WORLD,
                      &request[n++]);
    for (int k = 0; k < NEIGHBOURS; k++)
        if (with[k] >= 0)
            MPI_Isend(out, bytes, MPI_BYTE, with[k], 0, MPI_COMM_WORLD, &request[n++]);
    /* not MPI_Waitall: it spins, and all ranks and the emulated network share a few cores */
    for (int done = 0; done == 0;) {
        MPI_Testall(n, request, &done, MPI_STATUSES_IGNORE);
        if (done == 0)
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
}

int main(int argc, char **argv)
{
    int rank, size, with[NEIGHBOURS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int bytes = argc == 4 ? atoi(argv[2]) : 0, rounds = argc == 4 ? atoi(argv[3]) : 0;
    char *out = calloc((size_t)(bytes > 0 ? bytes : 1), 1);
    char *in = calloc((size_t)(bytes > 0 ? bytes : 1), NEIGHBOURS);
    if (bytes < 1 || rounds < 1 || out == NULL || in == NULL) {
        fprintf(stderr, "usage: gain ring|AxB BYTES ROUNDS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    find_neighbours(argv[1], rank, size, with);
    for (int k = 0; k < 3; k++) /* connections are made, windows open */
        exchange(with, out, in, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (int k = 0; k < rounds; k++)
        exchange(with, out, in, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.3f\n", (MPI_Wtime() - began) * 1e3 / rounds);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
