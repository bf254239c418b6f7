/* SPDX-License-Identifier: Apache-2.0 */
/* gain ring|AxB[xC]|alltoall|tree|pairs|halves ROUNDS BYTES...: an MPI program that does nothing
 * but exchange BYTES each way a round with the partners that `nettopo hint` takes for the pattern,
 * all at the same time (tree: one after the other, as an allreduce does; pairs: two ranks each;
 * halves: one of those two sends only, the other receives only); rank 0 prints each size, the ms of
 * a round that all ranks begin together, until the last has ended, and the ms of one of ROUNDS in a
 * row, which each rank begins when its own last one has ended. Built by tests/bench_gain.sh with
 * mpicc. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS_MAX = 64 };

struct partners {
    int n, rank[RANKS_MAX];
};

static void add(struct partners *with, int rank)
{
    if (with->n < RANKS_MAX)
        with->rank[with->n++] = rank;
}

/* Row-major: the last dimension runs fastest. */
static int add_grid(const char *pattern, int rank, int size, struct partners *with)
{
    int d[3] = {1, 1, 1}, stride = 1;
    int n = sscanf(pattern, "%dx%dx%d", &d[0], &d[1], &d[2]);
    if (n < 2 || d[0] * d[1] * d[2] != size)
        return -1;
    for (int k = n - 1; k >= 0; k--) {
        int at = rank / stride % d[k];
        if (at > 0)
            add(with, rank - stride);
        if (at + 1 < d[k])
            add(with, rank + stride);
        stride *= d[k];
    }
    return 0;
}

static int find_partners(const char *pattern, int rank, int size, struct partners *with)
{
    if (strcmp(pattern, "ring") == 0) {
        add(with, (rank + 1) % size);
        add(with, (rank + size - 1) % size);
        return 0;
    }
    if (strcmp(pattern, "alltoall") == 0) {
        for (int k = 1; k < size; k++)
            add(with, (rank + k) % size);
        return 0;
    }
    if (strcmp(pattern, "pairs") == 0 || strcmp(pattern, "halves") == 0) {
        if ((rank ^ 1) < size)
            add(with, rank ^ 1);
        return 0;
    }
    if (strcmp(pattern, "tree") != 0)
        return add_grid(pattern, rank, size, with);
    for (int bit = 1; bit < size; bit *= 2)
        if ((rank ^ bit) < size)
            add(with, rank ^ bit);
    return 0;
}

/* Not MPI_Waitall nor MPI_Barrier: they spin, and all ranks and the emulated network share a few
 * cores. */
static void complete(int requests, MPI_Request *request)
{
    for (int done = 0; done == 0;) {
        MPI_Testall(requests, request, &done, MPI_STATUSES_IGNORE);
        if (done == 0)
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
}

static void meet(void)
{
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    complete(1, &request);
}

enum { SEND = 1, RECEIVE = 2 };

/* With n of them at the same time. */
static void exchange(const int *with, int n, int ways, char *out, char *in, int bytes)
{
    MPI_Request request[2 * RANKS_MAX];
    int requests = 0;
    for (int k = 0; k < n && ways & RECEIVE; k++)
        MPI_Irecv(in + (size_t)k * (size_t)bytes, bytes, MPI_BYTE, with[k], 0, MPI_COMM_WORLD,
                  &request[requests++]);
    for (int k = 0; k < n && ways & SEND; k++)
        MPI_Isend(out, bytes, MPI_BYTE, with[k], 0, MPI_COMM_WORLD, &request[requests++]);
    complete(requests, request);
}

static void run_round(const struct partners *with, int steps, int ways, char *out, char *in,
                      int bytes)
{
    int at_once = steps ? 1 : with->n;
    for (int k = 0; k < with->n; k += at_once)
        exchange(&with->rank[k], at_once, ways, out, in, bytes);
}

struct times {
    double together_ms, row_ms;
};

/* All hosts are on one machine and have its clock: its time does not depend on messages. */
static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Until all are awake at the moment that rank 0 has said. */
static double begin_together(void)
{
    MPI_Request request;
    meet();
    double at_s = now_s() + 0.02;
    MPI_Ibcast(&at_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
    complete(1, &request);
    for (double left_s; (left_s = at_s - now_s()) > 0;)
        nanosleep(&(struct timespec){.tv_nsec = (long)(left_s * 1e9)}, NULL);
    return at_s;
}

/* Until the last rank has ended. */
static double time_together(const struct partners *with, int steps, int ways, char *out, char *in,
                            int bytes)
{
    MPI_Request request;
    double last_s, began_s = begin_together();
    run_round(with, steps, ways, out, in, bytes);
    double took_s = now_s() - began_s;
    MPI_Iallreduce(&took_s, &last_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
    complete(1, &request);
    return last_s;
}

static struct times time_rounds(const struct partners *with, int steps, int ways, char *out,
                                char *in, int bytes, int rounds)
{
    struct times t = {0};
    run_round(with, steps, ways, out, in, bytes); /* connections are made, windows open */
    for (int k = 0; k < rounds; k++)
        t.together_ms += time_together(with, steps, ways, out, in, bytes) * 1e3 / rounds;
    meet();
    double began_s = now_s();
    for (int k = 0; k < rounds; k++)
        run_round(with, steps, ways, out, in, bytes);
    meet();
    t.row_ms = (now_s() - began_s) * 1e3 / rounds;
    return t;
}

/* The largest of the sizes; 0: one of them is none. */
static int find_most(char *const *sizes, int count)
{
    int most = 0;
    for (int k = 0; k < count; k++) {
        int bytes = atoi(sizes[k]);
        if (bytes < 1)
            return 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

int main(int argc, char **argv)
{
    int rank, size;
    struct partners with = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argc > 3 ? atoi(argv[2]) : 0, most = argc > 3 ? find_most(argv + 3, argc - 3) : 0;
    char *out = calloc((size_t)most + 1, 1), *in = calloc((size_t)most + 1, RANKS_MAX);
    if (most < 1 || rounds < 1 || out == NULL || in == NULL || size > RANKS_MAX ||
        find_partners(argv[1], rank, size, &with) != 0) {
        fprintf(stderr, "usage: gain ring|AxB[xC]|alltoall|tree|pairs|halves ROUNDS BYTES...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int steps = strcmp(argv[1], "tree") == 0, ways = SEND | RECEIVE;
    if (strcmp(argv[1], "halves") == 0)
        ways = rank % 2 == 0 ? SEND : RECEIVE;
    for (int k = 3; k < argc; k++) {
        struct times t = time_rounds(&with, steps, ways, out, in, atoi(argv[k]), rounds);
        if (rank == 0)
            printf("%s %.3f %.3f\n", argv[k], t.together_ms, t.row_ms);
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
