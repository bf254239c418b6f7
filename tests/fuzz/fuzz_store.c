/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a store: an error, or what is read of it is within bounds and makes a map or none.
 */
#include <stdio.h>
#include <unistd.h>

#include "cluster_map.h"
#include "fuzz.h"
#include "store.h"

static int each_job(void *context, const struct nt_store_job *job, struct nt_err *err)
{
    (void)context, (void)err;
    if (job->time_s < 0)
        abort();
    return 0;
}

static int each_finding(void *context, const struct nt_store_finding *f, struct nt_err *err)
{
    (void)context, (void)err;
    if (f->time_s < 0)
        abort();
    return 0;
}

static void read_store(struct nt_store *store)
{
    struct nt_switch_naming naming = {0};
    struct nt_store_sums sums;
    struct nt_names hosts = {0};
    struct nt_evidence e;
    struct nt_cluster_map *cluster;
    struct nt_err err;
    if (nt_store_count(store, &sums, &err) == 0 && sums.last_s < 0)
        abort();
    nt_store_hosts(store, &hosts, NULL, &err);
    nt_store_visit_jobs(store, 0, each_job, NULL, &err);
    nt_store_visit_findings(store, 0, each_finding, NULL, &err);
    if (nt_store_naming(store, &naming, &err) == 0 &&
        nt_store_evidence(store, 0, 100000, &e, &err) == 0) {
        if (nt_cluster_map_create(&e, &naming, NULL, &cluster, &err) == 0)
            nt_cluster_map_destroy(cluster);
        nt_evidence_fini(&e);
    }
    nt_switch_naming_fini(&naming);
    nt_names_fini(&hosts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char file[64];
    struct nt_store *store;
    struct nt_err err;
    snprintf(file, sizeof file, "%s/nettopo-fuzz-store-%d",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
    FILE *f = fopen(file, "w");
    if (f == NULL || fwrite(data, 1, size, f) != size || fclose(f) != 0)
        abort();
    if (nt_store_open(file, true, &store, &err) == 0) {
        read_store(store);
        nt_store_close(store);
    }
    unlink(file);
    return 0;
}
