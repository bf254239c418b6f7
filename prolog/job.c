/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

#include "decimal.h"

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
typedef hostlist_t *hostlist_handle;
#else
typedef hostlist_t hostlist_handle;
#endif

static bool is_host_name(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n >= NT_HOST_BYTES)
        return false;
    for (size_t k = 0; k < n; k++) {
        char c = name[k];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '.' || c == '-' || c == '_'))
            return false;
    }
    return true;
}

void nt_job_this_host(char name[NT_HOST_BYTES])
{
    const char *slurm_name = getenv("SLURMD_NODENAME");
    if (slurm_name != NULL && is_host_name(slurm_name))
        snprintf(name, NT_HOST_BYTES, "%s", slurm_name);
    else if (gethostname(name, NT_HOST_BYTES) != 0)
        name[0] = '\0';
    name[NT_HOST_BYTES - 1] = '\0';
}

static int expand_host_list(struct nt_job *job, const char *list, struct nt_err *err)
{
    hostlist_handle hosts = slurm_hostlist_create(list);
    if (hosts == NULL)
        return nt_err_set(err, NT_ERR_INPUT, "the job's host list cannot be read");
    int rc = -1, count = slurm_hostlist_count(hosts);
    if (count < 1 || count > NT_JOB_HOSTS_MAX) {
        nt_err_set(err, NT_ERR_INPUT, "expected 1 to %d hosts, found %d", (int)NT_JOB_HOSTS_MAX,
                   count);
        goto free_list;
    }
    job->host = calloc((size_t)count, sizeof *job->host);
    if (job->host == NULL) {
        nt_err_memory(err);
        goto free_list;
    }
    for (job->hosts = 0; job->hosts < (size_t)count; job->hosts++) {
        char *name = slurm_hostlist_shift(hosts); /* allocated with malloc by libslurm */
        job->host[job->hosts] = name;
        if (name == NULL || !is_host_name(name)) {
            nt_err_set(err, NT_ERR_INPUT, "host %zu of the job has an invalid name", job->hosts);
            free(name);
            goto free_list;
        }
    }
    rc = 0;
free_list:
    slurm_hostlist_destroy(hosts);
    return rc;
}

static int find_own_index(struct nt_job *job, const char *name, struct nt_err *err)
{
    for (size_t k = 0; k < job->hosts; k++)
        if (strcmp(job->host[k], name) == 0) {
            job->self = k;
            return 0;
        }
    return nt_err_set(err, NT_ERR_INPUT, "SLURMD_NODENAME %s is not a host of the job", name);
}

static uint32_t restart_count(void)
{
    const char *text = getenv("SLURM_JOB_RESTART_COUNT");
    uint64_t value;
    if (text == NULL)
        text = getenv("SLURM_RESTART_COUNT");
    if (text == NULL || nt_decimal_whole(text, strlen(text), UINT32_MAX, &value) != 0)
        return 0; /* not set at the first start */
    return (uint32_t)value;
}

/* Accepts only Slurm's format: digits, parentheses, x and commas. */
static void read_cpus(struct nt_job *job)
{
    const char *text = getenv("SLURM_JOB_CPUS_PER_NODE");
    if (text == NULL || strlen(text) >= sizeof job->cpus ||
        strspn(text, "0123456789(x),") != strlen(text))
        return;
    memcpy(job->cpus, text, strlen(text) + 1);
}

int nt_job_read(struct nt_job *job, uint32_t id, uid_t uid, gid_t gid, struct nt_err *err)
{
    struct nt_job read = {.id = id, .uid = uid, .gid = gid, .restart = restart_count()};
    const char *list = getenv("SLURM_JOB_NODELIST"), *me = getenv("SLURMD_NODENAME"),
               *cluster = getenv("SLURM_CLUSTER_NAME");
    if (list == NULL)
        list = getenv("SLURM_NODELIST"); /* Slurm 22.05 sets only this one in a prolog */
    if (list == NULL || me == NULL)
        return nt_err_set(err, NT_ERR_INPUT, "%s is not set",
                          list == NULL ? "SLURM_JOB_NODELIST" : "SLURMD_NODENAME");
    if (cluster != NULL && is_host_name(cluster) && strlen(cluster) < sizeof read.cluster)
        memcpy(read.cluster, cluster, strlen(cluster) + 1);
    read.list = list;
    read_cpus(&read);
    if (expand_host_list(&read, list, err) != 0 || find_own_index(&read, me, err) != 0) {
        nt_job_fini(&read);
        return -1;
    }
    *job = read;
    return 0;
}

void nt_job_fini(struct nt_job *job)
{
    for (size_t k = 0; k < job->hosts; k++)
        free(job->host[k]);
    free(job->host);
    job->host = NULL;
    job->hosts = 0;
}

static int resolve_name(const char *name, struct nt_addresses *addresses)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    if (getaddrinfo(name, NULL, &hints, &list) != 0)
        return -1;
    struct nt_addresses found = {0};
    for (struct addrinfo *a = list; a != NULL && found.count < NT_ADDRESSES_MAX; a = a->ai_next)
        if (a->ai_addrlen <= sizeof found.at[0])
            memcpy(&found.at[found.count++], a->ai_addr, a->ai_addrlen);
    freeaddrinfo(list);
    if (found.count == 0)
        return -1;
    *addresses = found;
    return 0;
}

/* Some releases of libslurm crash without this call. */
static void init_slurm(void)
{
    slurm_init(NULL);
}

int nt_job_addresses(const char *host, struct nt_addresses *addresses, struct nt_err *err)
{
    if (resolve_name(host, addresses) == 0)
        return 0;
    char name[NT_HOST_BYTES];
    node_info_msg_t *nodes = NULL;
    snprintf(name, sizeof name, "%s", host);
    init_slurm();
    int rc = -1;
    if (slurm_load_node_single(&nodes, name, 0) == SLURM_SUCCESS && nodes != NULL &&
        nodes->record_count > 0 && nodes->node_array[0].node_addr != NULL)
        rc = resolve_name(nodes->node_array[0].node_addr, addresses);
    if (nodes != NULL)
        slurm_free_node_info_msg(nodes);
    if (rc != 0)
        return nt_err_set(err, NT_ERR_INPUT, "no address found for %s", host);
    return 0;
}

/* Sets *cpus to the CPUs of a node that are allocated to any job; false: not known. */
static bool allocated_cpus(const node_info_t *node, uint32_t *cpus)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 5, 0)
    *cpus = node->alloc_cpus;
    return true;
#else
    uint16_t used = 0;
    if (slurm_get_select_nodeinfo(node->select_nodeinfo, SELECT_NODEDATA_SUBCNT,
                                  NODE_STATE_ALLOCATED, &used) != SLURM_SUCCESS)
        return false;
    *cpus = used;
    return true;
#endif
}

/* Finds a node by name. Starts at *at, after the last node found, because the table is in the job's
 * order. */
static const node_info_t *find_node(const node_info_msg_t *nodes, const char *name, uint32_t *at)
{
    for (uint32_t k = 0; k < nodes->record_count; k++) {
        uint32_t here = (*at + k) % nodes->record_count;
        const node_info_t *node = &nodes->node_array[here];
        if (node->name != NULL && strcmp(node->name, name) == 0) {
            *at = here + 1;
            return node;
        }
    }
    return NULL;
}

/* Reads the job's CPUs host by host from Slurm's format, "4(x2),3". */
struct own_cpus {
    const char *at;
    unsigned long cpus, left; /* left: number of further hosts with this value */
};

static bool next_own_cpus(struct own_cpus *own, uint32_t *cpus)
{
    char *end;
    if (own->left == 0) {
        if (*own->at < '0' || *own->at > '9')
            return false;
        own->cpus = strtoul(own->at, &end, 10);
        own->left = strncmp(end, "(x", 2) == 0 ? strtoul(end + 2, &end, 10) : 1;
        own->at = end + strspn(end, "),");
    }
    if (own->left == 0 || own->cpus > UINT32_MAX)
        return false;
    own->left--;
    *cpus = (uint32_t)own->cpus;
    return true;
}

/* Returns whether all allocated CPUs of the job's hosts belong to the job. Loads the table of all
 * nodes: slurmctld updates the allocated CPUs only then, and may return old values for a single
 * node. */
static bool all_cpus_are_own(const struct nt_job *job)
{
    node_info_msg_t *nodes = NULL;
    struct own_cpus own = {.at = job->cpus};
    uint32_t at = 0;
    if (slurm_load_node(0, &nodes, SHOW_ALL) != SLURM_SUCCESS || nodes == NULL)
        return false;
    bool exclusive = true;
    for (size_t k = 0; k < job->hosts && exclusive; k++) {
        const node_info_t *node = find_node(nodes, job->host[k], &at);
        uint32_t used, mine;
        exclusive = next_own_cpus(&own, &mine) && node != NULL && allocated_cpus(node, &used) &&
                    used <= mine;
    }
    slurm_free_node_info_msg(nodes);
    return exclusive;
}

static int load_job(uint32_t job, uint16_t detail, job_info_msg_t **jobs)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0)
    slurm_step_id_t id = {.job_id = job, .step_het_comp = NO_VAL, .step_id = NO_VAL};
    return slurm_load_job(jobs, id, detail);
#else
    return slurm_load_job(jobs, job, detail);
#endif
}

void nt_job_load_use(const struct nt_job *job, struct nt_job_use *use)
{
    job_info_msg_t *jobs = NULL;
    *use = (struct nt_job_use){0};
    init_slurm();
    if (load_job(job->id, SHOW_DETAIL, &jobs) == SLURM_SUCCESS && jobs != NULL &&
        jobs->record_count > 0) {
        const slurm_job_info_t *info = &jobs->job_array[0];
        use->exclusive = info->shared == JOB_SHARED_NONE || all_cpus_are_own(job);
        if (info->num_tasks != NO_VAL && info->num_tasks != INFINITE)
            use->tasks = info->num_tasks;
        if (info->cpus_per_task != NO_VAL16 && info->cpus_per_task != INFINITE16)
            use->task_cpus = info->cpus_per_task;
        if (info->time_limit != NO_VAL && info->time_limit <= UINT32_MAX / 60)
            use->limit_s = info->time_limit * 60;
    }
    if (jobs != NULL)
        slurm_free_job_info_msg(jobs);
}

/* A job that was requeued is pending already, and completing until its prolog has ended. */
static bool has_ended(uint32_t state)
{
    uint32_t base = state & JOB_STATE_BASE;
    return base > JOB_SUSPENDED || (base == JOB_PENDING && (state & JOB_COMPLETING) != 0);
}

bool nt_job_is_over(uint32_t id)
{
    job_info_msg_t *jobs = NULL;
    init_slurm();
    if (load_job(id, 0, &jobs) != SLURM_SUCCESS || jobs == NULL)
        return errno == ESLURM_INVALID_JOB_ID;
    bool over = false; /* for the last task of an array slurmctld returns all tasks */
    for (uint32_t k = 0; k < jobs->record_count; k++)
        over |= jobs->job_array[k].job_id == id && has_ended(jobs->job_array[k].job_state);
    slurm_free_job_info_msg(jobs);
    return over;
}
