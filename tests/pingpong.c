/* SPDX-License-Identifier: Apache-2.0 */
/* The probe's own measurements between two processes, without a meeting: for tests/bench_perftest.
 *   pingpong ask|answer DIR latency|bandwidth BYTES COUNT
 * DIR is where both leave their addresses for each other. COUNT: pings, or milliseconds of a flow.
 * The asking end prints the median of the half round trips in us, or MB/s. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "clock.h"
#include "pair.h"

enum { SECONDS = 20, ADDRESS_MAX = 65536 };

static void must(int rc, const struct nt_err *err)
{
    if (rc == 0)
        return;
    fprintf(stderr, "pingpong: %s\n", err->text);
    exit(1);
}

static void leave_address(const char *dir, const char *who, const struct nt_pair *pair)
{
    char path[512], beside[520];
    size_t bytes;
    const void *address = nt_pair_address(pair, &bytes);
    snprintf(path, sizeof path, "%s/%s", dir, who);
    snprintf(beside, sizeof beside, "%s.new", path);
    FILE *f = fopen(beside, "w");
    if (f == NULL || fwrite(address, 1, bytes, f) != bytes || fclose(f) != 0 ||
        rename(beside, path) != 0) {
        perror(path);
        exit(1);
    }
}

static size_t find_address(const char *dir, const char *who, unsigned char *address,
                           double deadline_s)
{
    char path[512];
    FILE *f;
    snprintf(path, sizeof path, "%s/%s", dir, who);
    while ((f = fopen(path, "r")) == NULL) {
        if (nt_clock_s() > deadline_s) {
            fprintf(stderr, "pingpong: nobody left %s\n", path);
            exit(1);
        }
        nt_clock_sleep(0.002);
    }
    size_t bytes = fread(address, 1, ADDRESS_MAX, f);
    fclose(f);
    return bytes;
}

int main(int argc, char **argv)
{
    static unsigned char address[ADDRESS_MAX];
    struct nt_pair *pair;
    struct nt_err err = {0};
    struct nt_result result = {0};
    if (argc != 6) {
        fprintf(stderr, "usage: pingpong ask|answer DIR latency|bandwidth BYTES COUNT\n");
        return 2;
    }
    bool first = strcmp(argv[1], "ask") == 0, latency = strcmp(argv[3], "latency") == 0;
    double deadline = nt_clock_s() + SECONDS, trip;
    struct nt_order order = {.kind = latency ? NT_ORDER_LATENCY : NT_ORDER_BANDWIDTH,
                             .message_bytes = strtod(argv[4], NULL),
                             .batches = 1,
                             .count = latency ? (uint32_t)strtoul(argv[5], NULL, 10) : 8,
                             .window_s = strtod(argv[5], NULL) * 1e-3};
    prctl(PR_SET_TIMERSLACK, 1UL); /* as the probe */
    must(nt_pair_create(&pair, &err), &err);
    nt_pair_set_own_core(pair, getenv("SPIN") != NULL && getenv("SPIN")[0] != '\0');
    leave_address(argv[2], argv[1], pair);
    struct nt_pairing meeting = {.round = 1, .self = first, .peer = !first, .first = first};
    meeting.address_bytes = find_address(argv[2], first ? "answer" : "ask", address, deadline);
    meeting.address = address;
    must(nt_pair_connect(pair, &meeting, &order, deadline, &trip, &err), &err);
    must(nt_pair_measure(pair, &order, deadline - 1, deadline, &result, &err), &err);
    if (first)
        printf("%.6g\n", latency ? result.median_us : result.bytes / result.value_us);
    nt_pair_destroy(pair);
    return 0;
}
