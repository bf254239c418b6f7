/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries against the code that stands in their place: time as ours over theirs, and how right
 * both are. Dense algebra against LAPACK over the BLAS that is linked and over OpenBLAS on one
 * thread (libopenblas0-serial, or its folder in NETTOPO_OPENBLAS; the program starts itself again
 * with it); the sparse normal equations against CHOLMOD (libsuitesparse-dev at compile time). What
 * is not installed is said and left out. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lapacke.h>

#include "dense.h"
#include "library_layout.h"
#include "library_place.h"
#include "library_sparse.h"
#include "rng.h"

#define OPENBLAS "/usr/lib/x86_64-linux-gnu/openblas-serial"

/* Lower triangle and mirror image of a random matrix that is positive definite. */
static double *positive_matrix(size_t n, struct nt_rng *rng)
{
    double *a = malloc(n * n * sizeof *a);
    if (a == NULL)
        exit(4);
    for (size_t j = 0; j < n; j++) {
        for (size_t i = j; i < n; i++)
            a[j * n + i] = a[i * n + j] = nt_rng_normal(rng);
        a[j * n + j] = 2 * sqrt((double)n) + fabs(a[j * n + j]);
    }
    return a;
}

static void invert_ours(double *a, size_t n)
{
    if (nt_dense_factor(a, n, NULL) != 0 || nt_dense_invert(a, n, NULL) != 0)
        exit(4);
}

static void invert_lapack(double *a, size_t n)
{
    lapack_int m = (lapack_int)n;
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', m, a, m) != 0 ||
        LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'L', m, a, m) != 0)
        exit(4);
    for (size_t j = 0; j < n; j++)
        for (size_t i = j + 1; i < n; i++)
            a[i * n + j] = a[j * n + i];
}

/* CPU seconds of one call, the least of as many as fit into a fifth of a second, at least three. */
static double time_of(void (*invert)(double *, size_t), const double *a, double *z, size_t n)
{
    double least = INFINITY, spent = 0;
    for (size_t k = 0; k < 3 || (spent < 0.2 && k < 1000); k++) {
        memcpy(z, a, n * n * sizeof *z);
        double began = cpu_s();
        invert(z, n);
        double took = cpu_s() - began;
        least = fmin(least, took);
        spent += took;
    }
    return least;
}

/* The largest element of A Z v - v for a v of ones and minus ones. */
static double error_of(const double *a, const double *z, size_t n)
{
    double *zv = calloc(n, sizeof *zv), most = 0;
    if (zv == NULL)
        exit(4);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            zv[i] += z[j * n + i] * (j % 2 ? -1 : 1);
    for (size_t i = 0; i < n; i++) {
        double sum = i % 2 ? 1 : -1;
        for (size_t j = 0; j < n; j++)
            sum += a[i * n + j] * zv[j];
        most = fmax(most, fabs(sum));
    }
    free(zv);
    return most;
}

static void compare_dense(void)
{
    static const size_t size[] = {8, 24, 64, 150, 300, 600, 1200, 2000};
    struct nt_rng rng;
    nt_rng_init(&rng, 1);
    printf("dense: factor and inverse; CPU ms, and the largest error of A inverse(A)\n"
           "%-8s %10s %10s %11s %10s %10s\n",
           "n", "ours ms", "LAPACK ms", "ours/LAPACK", "ours", "LAPACK");
    for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
        size_t n = size[k];
        double *a = positive_matrix(n, &rng), *z = malloc(n * n * sizeof *z);
        if (z == NULL)
            exit(4);
        double ours = time_of(invert_ours, a, z, n), ours_off = error_of(a, z, n);
        double lapack = time_of(invert_lapack, a, z, n), lapack_off = error_of(a, z, n);
        printf("%-8zu %10.4f %10.4f %11.2f %10.1e %10.1e\n", n, 1e3 * ours, 1e3 * lapack,
               ours / lapack, ours_off, lapack_off);
        fflush(stdout);
        free(a);
        free(z);
    }
}

static void say_blas(void)
{
    Dl_info at;
    void *dgemm = dlsym(RTLD_DEFAULT, "dgemm_");
    printf("\nBLAS: %s\n", dgemm != NULL && dladdr(dgemm, &at) != 0 ? at.dli_fname : "unknown");
}

static const char *openblas(void)
{
    const char *folder = getenv("NETTOPO_OPENBLAS");
    return folder != NULL ? folder : OPENBLAS;
}

int main(int argc, char **argv)
{
    bool again = argc > 1 && strcmp(argv[1], "again") == 0;
    if (!again) {
        compare_places();
        compare_layouts();
        fflush(stdout);
    }
    say_blas();
    compare_dense();
    compare_sparse();
    if (again)
        return 0;
    if (access(openblas(), R_OK) != 0) {
        printf("\nOpenBLAS is not in %s (libopenblas0-serial): left out\n", openblas());
        return 0;
    }
    const char *before = getenv("LD_LIBRARY_PATH");
    char path[4096];
    snprintf(path, sizeof path, "%s:%s", openblas(), before != NULL ? before : "");
    setenv("LD_LIBRARY_PATH", path, 1);
    fflush(stdout);
    execl("/proc/self/exe", argv[0], "again", NULL);
    perror("bench_libraries");
    return 4;
}
