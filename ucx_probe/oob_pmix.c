/* SPDX-License-Identifier: Apache-2.0 */
/* The out-of-band exchange under a launcher with PMIx: srun --mpi=pmix, mpirun, prterun. The only
 * file that uses PMIx.
 *
 * A gather and a bcast are the same operation: the ranks with data store it under the key of this
 * call, and all ranks fence with the data. A fence needs every rank and never ends without one
 * (PMIX_TIMEOUT is not enforced across hosts), so this module waits with its own deadline. After a
 * missed deadline the exchange is broken: no more can be measured, but the results so far can be
 * written. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <pmix.h>

#include "clock.h"
#include "oob.h"

enum { GET_WAIT_S = 2, FINALIZE_WAIT_S = 3, STARTUP_DELAY_US = 500000 };

struct oob_pmix {
    struct nt_oob base;
    pmix_proc_t me, all;
    uint32_t seq;
    bool broken;
};

/* Used by the library's thread until its callback, which may never come after a broken fence. */
struct fence_wait {
    pthread_mutex_t lock;
    pthread_cond_t signalled;
    bool done;
    pmix_status_t status;
};

static int pmix_error(struct nt_err *err, const char *what, pmix_status_t status)
{
    return nt_err_set(err, NT_ERR_SYSTEM, "PMIx: %s: %s", what, PMIx_Error_string(status));
}

static void fence_done(pmix_status_t status, void *data)
{
    struct fence_wait *w = data;
    pthread_mutex_lock(&w->lock);
    w->done = true;
    w->status = status;
    pthread_cond_signal(&w->signalled);
    pthread_mutex_unlock(&w->lock);
}

static struct fence_wait *create_fence_wait(void)
{
    struct fence_wait *w = calloc(1, sizeof *w);
    pthread_condattr_t attributes;
    if (w == NULL)
        return NULL;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->signalled, &attributes);
    pthread_condattr_destroy(&attributes);
    return w;
}

static bool fence_wait_until(struct fence_wait *w, double deadline_s)
{
    struct timespec until = {.tv_sec = (time_t)deadline_s};
    until.tv_nsec = (long)((deadline_s - (double)until.tv_sec) * 1e9);
    pthread_mutex_lock(&w->lock);
    while (!w->done && pthread_cond_timedwait(&w->signalled, &w->lock, &until) != ETIMEDOUT)
        ;
    bool done = w->done;
    pthread_mutex_unlock(&w->lock);
    return done;
}

static int fence(struct oob_pmix *m, double deadline_s, struct nt_err *err)
{
    pmix_info_t info;
    bool yes = true;
    struct fence_wait *w = create_fence_wait();
    if (w == NULL)
        return nt_err_memory(err);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    pmix_status_t status = PMIx_Fence_nb(&m->all, 1, &info, 1, fence_done, w);
    if (status == PMIX_SUCCESS && !fence_wait_until(w, deadline_s)) {
        m->broken = true;
        return nt_err_set(err, NT_ERR_SYSTEM, "PMIx: a rank did not reach a fence in time");
    }
    if (status == PMIX_SUCCESS)
        status = w->status;
    free(w);
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) {
        m->broken = true;
        return pmix_error(err, "fence", status);
    }
    return 0;
}

/* ---- values ---- */
static void make_key(const struct oob_pmix *m, char key[64])
{
    snprintf(key, 64, "nettopo.%u", m->seq);
}

static int put_value(struct oob_pmix *m, const void *data, size_t bytes, struct nt_err *err)
{
    char key[64];
    pmix_value_t value;
    make_key(m, key);
    PMIX_VALUE_CONSTRUCT(&value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = (char *)data; /* PMIx_Put copies it */
    value.data.bo.size = bytes;
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key, &value);
    if (status == PMIX_SUCCESS)
        status = PMIx_Commit();
    return status == PMIX_SUCCESS ? 0 : pmix_error(err, "put", status);
}

static int get_value(struct oob_pmix *m, uint32_t rank, unsigned char **data, size_t *bytes,
                     struct nt_err *err)
{
    char key[64];
    pmix_proc_t from;
    pmix_info_t info[1];
    pmix_value_t *value = NULL;
    int wait = GET_WAIT_S;
    make_key(m, key);
    PMIX_LOAD_PROCID(&from, m->me.nspace, rank);
    PMIX_INFO_LOAD(&info[0], PMIX_TIMEOUT, &wait, PMIX_INT);
    pmix_status_t status = PMIx_Get(&from, key, info, 1, &value);
    if (status != PMIX_SUCCESS)
        return pmix_error(err, "get", status);
    int rc = -1;
    if (value->type != PMIX_BYTE_OBJECT) {
        nt_err_set(err, NT_ERR_INPUT, "PMIx: rank %u sent a value of type %u", rank,
                   (unsigned)value->type);
    } else {
        size_t n = value->data.bo.size;
        unsigned char *copy = malloc(n + 1);
        if (copy == NULL) {
            nt_err_memory(err);
        } else {
            if (n > 0)
                memcpy(copy, value->data.bo.bytes, n);
            *data = copy;
            *bytes = n;
            rc = 0;
        }
    }
    PMIX_VALUE_RELEASE(value);
    return rc;
}

/* A fence cannot continue without late ranks, as a gather of the agents can. It gets most of the
 * remaining time, because a missed deadline ends all measurements. */
static double fence_deadline_s(const struct oob_pmix *m)
{
    double now = nt_clock_s(), left = m->base.deadline_s - now;
    double share = m->base.rank == 0 ? 0.7 : 1;
    return now + (left > 0.1 ? share * left : 0.1);
}

/* Stores text (NULL: nothing) and fences. */
static int exchange(struct oob_pmix *m, const void *text, size_t bytes, struct nt_err *err)
{
    m->seq++;
    if (m->broken)
        return nt_err_set(err, NT_ERR_SYSTEM, "PMIx: the exchange is broken");
    if (text != NULL && put_value(m, text, bytes, err) != 0)
        return -1;
    return fence(m, fence_deadline_s(m), err);
}

static int gather(struct nt_oob *oob, const void *mine, size_t bytes, double wait_s,
                  struct nt_contribution *contributions, struct nt_err *err)
{
    struct oob_pmix *m = (struct oob_pmix *)oob;
    (void)wait_s;
    if (exchange(m, mine, bytes, err) != 0)
        return -1;
    for (uint32_t r = 0; oob->rank == 0 && r < oob->size; r++) {
        contributions[r] = (struct nt_contribution){0};
        contributions[r].present =
            get_value(m, r, &contributions[r].data, &contributions[r].bytes, NULL) == 0;
    }
    return 0;
}

static int bcast(struct nt_oob *oob, const void *text, size_t bytes, struct nt_err *err)
{
    return exchange((struct oob_pmix *)oob, text, bytes, err);
}

static int receive(struct nt_oob *oob, unsigned char **data, size_t *bytes, double wait_s,
                   struct nt_err *err)
{
    struct oob_pmix *m = (struct oob_pmix *)oob;
    (void)wait_s;
    return exchange(m, NULL, 0, err) == 0 ? get_value(m, 0, data, bytes, err) : -1;
}

/* ---- life ---- */
static void exit_on_alarm(int signal_number)
{
    (void)signal_number;
    _exit(0);
}

static void destroy(struct nt_oob *oob)
{
    struct oob_pmix *m = (struct oob_pmix *)oob;
    if (m == NULL)
        return;
    /* after a broken fence the library may wait forever; all results are written by now */
    signal(SIGALRM, exit_on_alarm);
    alarm(FINALIZE_WAIT_S);
    PMIx_Finalize(NULL, 0);
    alarm(0);
    if (!m->broken)
        free(m);
}

static const struct nt_oob_ops OPS = {gather, bcast, receive, NULL, NULL, NULL, destroy};

static int get_size(struct oob_pmix *m, struct nt_err *err)
{
    pmix_value_t *value = NULL;
    pmix_status_t status = PMIx_Get(&m->all, PMIX_JOB_SIZE, NULL, 0, &value);
    if (status != PMIX_SUCCESS)
        return pmix_error(err, "number of ranks", status);
    m->base.size = value->type == PMIX_UINT32 ? value->data.uint32 : 0;
    PMIX_VALUE_RELEASE(value);
    if (m->base.size == 0 || m->base.rank >= m->base.size)
        return nt_err_set(err, NT_ERR_INPUT, "PMIx: rank %u of %u", m->base.rank, m->base.size);
    return 0;
}

static void read_environment(struct nt_probe_job *job)
{
    const char *id_text = getenv("SLURM_JOB_ID"), *node = getenv("SLURMD_NODENAME");
    *job = (struct nt_probe_job){.cluster = getenv("SLURM_CLUSTER_NAME"),
                                 .inline_limit_bytes = NT_INLINE_LIMIT_BYTES};
    char *end = NULL;
    unsigned long long id = id_text == NULL ? 0 : strtoull(id_text, &end, 10);
    job->job_id = end != NULL && *end == '\0' ? id : 0;
    if (node != NULL)
        snprintf(job->host, sizeof job->host, "%s", node);
    else if (gethostname(job->host, sizeof job->host - 1) != 0)
        snprintf(job->host, sizeof job->host, "unknown");
}

int nt_oob_pmix_create(struct nt_oob **out, struct nt_probe_job *job, struct nt_err *err)
{
    struct oob_pmix *m = calloc(1, sizeof *m);
    if (m == NULL)
        return nt_err_memory(err);
    pmix_status_t status = PMIx_Init(&m->me, NULL, 0);
    if (status != PMIX_SUCCESS) {
        free(m);
        return nt_err_set(
            err, NT_ERR_USAGE,
            "no PMIx server (%s). Start nettopo-probe with srun --mpi=pmix or mpirun.",
            PMIx_Error_string(status));
    }
    m->base.ops = &OPS;
    m->base.rank = m->me.rank;
    PMIX_LOAD_PROCID(&m->all, m->me.nspace, PMIX_RANK_WILDCARD);
    if (get_size(m, err) != 0) {
        destroy(&m->base);
        return -1;
    }
    read_environment(job);
    /* Slurm's PMIx plugin rejects the credentials of a fence that starts before all of its daemons
     * know the step, and then hangs */
    if (getenv("SLURM_STEP_ID") != NULL && getenv("OMPI_COMM_WORLD_SIZE") == NULL)
        usleep(STARTUP_DELAY_US);
    *out = &m->base;
    return 0;
}
