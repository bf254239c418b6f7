/* SPDX-License-Identifier: Apache-2.0 */
/* nettopo-samples/1: the samples of one sweep, from which the map can be made again.
 * nettopo-samples(5) describes the format for users. */
/* clang-format off */
/* A text of lines with words separated by one space. Hosts are numbered in order of their lines.
 *
 *   nettopo-samples/1
 *   generator nettopo 0.1.0
 *   job 42 RESTART            optional: job, cluster, level, created, budget
 *   cluster c
 *   level quick
 *   created 2026-01-01T00:00:00Z
 *   pattern ring
 *   spare K                   number of spare hosts
 *   host NAME                 one per host
 *   missing INDEX REASON...   a host that did not answer
 *   room INDEX TASKS          number of the job's tasks for a host; 1 without this line
 *   traffic RANK RANK BYTES   traffic between two of the job's ranks, for pattern matrix:PATH
 *   model TEXT...             hardware of some hosts (machine_text.h), numbered from 0
 *   inside INDEX MODEL        a host has this hardware
 *   cores INDEX BETWEEN US    one-way latency between two of its cores (core/machine.h)
 *   prior LEVELS              optional: the prior of the hosts (core/belief.h), after the hosts
 *   believed INDEX CLUSTER... a host's clusters in the levels below the highest
 *   taken DAY SUPPORT US...   nothing was measured, the prior is the network; its oldest day
 *                             (YYYY-MM-DD), its support, and the latency of pairs per level
 *   loggp RAIL MIN MAX...     LogGP of earlier jobs, as in prior.h; before the first phase
 *   transport HOSTS USED      number of hosts whose connections used these: tcp/fab0,tcp/fab1
 *   phase NAME [BEGIN]        starts a phase; BEGIN: seconds since the start of the sweep (not in
 *                             older samples)
 *   round                     starts a round, whose measurements ran at the same time
 *   latency A B BYTES COUNT LOW_US SE_US MEDIAN_US      one way, half a round trip
 *   bandwidth A B BYTES SECONDS                         a flow from A to B in this round
 *   prtt A B BYTES COUNT DELAY_US US [SE_US HOLD_US [RAIL]]     PRTT(n, d, s), Lichei 2006
 *   kernel NAME BYTES COUNT MEDIAN_US LOW_US HIGH_US [HOSTS [MESSAGES INDEX...]]
 *                             a stress kernel
 *   resent A B SEGMENTS COUNT over TCP: segments that A sent to B in this round, and how many of
 *                             them were retransmitted; only if any were
 *   failed A B REASON...      a pair whose measurement failed in this round
 *   phase-end SECONDS         duration of the phase
 *   warning TEXT...
 *   end STATUS SECONDS        ok | partial | failed, and the duration of the sweep; the last line
 *
 * Without "end" the text is incomplete, which is an error. Numbers are finite decimals; measured
 * values have NT_SAMPLES_DIGITS digits, so that the samples in memory and their text are the same.
 * A kernel lists its HOSTS participants by INDEX in the order of its algorithm; MESSAGES is the
 * requested number (sr and gups). RAIL is the network device that a PRTT used (none: the transport
 * chose); HOLD_US is how long the first end made no progress after its last send; US then starts at
 * the end of this time. Hosts come before the first phase. The number of hosts (NT_HOSTS_MAX), the
 * length of lines (NT_SAMPLES_LINE_MAX bytes) and of names are limited. */
/* clang-format on */
#ifndef NT_SAMPLES_H
#define NT_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "belief.h"
#include "err.h"
#include "machine.h"
#include "map.h"
#include "matrix.h"
#include "measured_pairs.h"
#include "names.h"
#include "traffic_text.h"

enum {
    NT_SAMPLES_LINE_MAX = 4096,
    NT_SAMPLES_DIGITS = 9,
    NT_SAMPLES_CORE_DIGITS = 6, /* for latencies between cores */
    NT_SAMPLES_PARTICIPANTS_MAX = 64,
    NT_SAMPLES_TRAFFIC_MAX = 65536,
    NT_SAMPLES_NO_MODEL = UINT32_MAX,
    NT_SAMPLES_TAKEN_US_MAX = 1000000000,
};

/* The hardware of a host. */
struct nt_host_hardware {
    uint32_t model;                   /* index of its description; NT_SAMPLES_NO_MODEL: not known */
    float latency_us[NT_BETWEEN_END]; /* between two of its cores; 0: not measured */
};

/* Phase whose latencies are only for the links of a network that is already known. */
#define NT_SAMPLES_LINK_LATENCY "link-latency"

/* Phase whose latencies verify the prior; other inference does not use them. */
#define NT_SAMPLES_PRIOR "prior"

/* Phase of the pairs of a plan (nettopo-probe --plan). */
#define NT_SAMPLES_PLAN "plan"

enum nt_sample_kind {
    NT_SAMPLE_LATENCY,
    NT_SAMPLE_BANDWIDTH,
    NT_SAMPLE_PRTT,
    NT_SAMPLE_KERNEL,
    NT_SAMPLE_FAILED,
    NT_SAMPLE_RESENT,
};

struct nt_sample {
    enum nt_sample_kind kind;
    uint32_t phase, round; /* indices; round counts through the whole sweep, from 0 */
    /* Hosts; kernel: a is the number of participants, 0: not known; b the messages requested, 0:
     * the participants are not known */
    uint32_t a, b;
    uint32_t count;    /* number of measurements of the value; resent: segments retransmitted */
    uint32_t segments; /* resent: segments with data from a to b; otherwise 0 */
    double bytes;      /* message size; for a flow the bytes transferred */
    double value_us;   /* latency: lowest tenth; prtt: time; kernel: median; flow: duration */
    union { /* by kind, some have none; the widest first, because it initializes all to zero */
        struct {
            double se_us, delay_us, hold_us; /* standard error of value_us; values of the order */
        } prtt;
        struct {
            double se_us, median_us; /* standard error of value_us; median of all pings */
        } latency;
        struct {
            double low_us, high_us; /* the confidence interval of value_us */
        } kernel;
    };
    /* Index in texts. kernel: name (the next text contains the participants if b is not 0);
     * failed: reason; prtt: index of the rail plus 1, 0: none. */
    uint32_t text;
};

/* The job of the sweep. */
struct nt_samples_job {
    char *generator, *cluster, *level, *created, *pattern; /* "": absent; owned */
    uint64_t id;
    uint32_t restart;
    double budget_s;
    uint32_t spare; /* number of spare hosts */
};

/* Private to the functions that build samples. */
struct nt_samples_room {
    size_t hosts, texts, traffic, models, samples;
    struct nt_names *model_names;
};

struct nt_samples {
    struct nt_samples_job job;
    size_t hosts;
    char **host_name;
    struct nt_names *names;          /* names of the hosts */
    uint32_t *slots;                 /* by host: number of tasks */
    struct nt_triples traffic;       /* each pair once; ntasks 0: none was given */
    char **missing;                  /* by host: why it is missing; NULL: it is not */
    struct nt_host_hardware *inside; /* by host */
    size_t models;
    char **model;             /* the different descriptions (machine_text.h) */
    struct nt_belief *belief; /* the prior of the sweep; NULL: none; owned */
    size_t loggps;
    struct nt_loggp *loggp; /* LogGP of earlier jobs; owned */
    size_t transports;
    struct nt_sweep_transport transport[NT_SWEEP_TRANSPORTS_MAX];
    size_t phases;
    struct nt_phase *phase; /* seconds is NaN until the phase ends */
    double *phase_begin_s;  /* by phase: seconds since the start of the sweep; NaN: not known */
    size_t rounds, samples;
    struct nt_sample *sample;
    size_t texts;
    char **text;
    size_t warnings;
    char **warning;
    enum nt_status status;
    double seconds;
    bool ended;
    struct nt_samples_room room;
};

int nt_samples_create(struct nt_samples **out, struct nt_err *err);
void nt_samples_destroy(struct nt_samples *samples);

/* Functions to build samples during a sweep. Each returns 0, or -1 (memory, a limit, an index out
 * of range). */
int nt_samples_add_host(struct nt_samples *s, const char *name, struct nt_err *err);
int nt_samples_set_missing(struct nt_samples *s, size_t host, const char *reason,
                           struct nt_err *err);
int nt_samples_set_slots(struct nt_samples *s, size_t host, uint32_t tasks, struct nt_err *err);
/* Adds traffic of ranks a < b, in ascending order of (a, b); bytes > 0. */
int nt_samples_add_traffic(struct nt_samples *s, uint32_t a, uint32_t b, double bytes,
                           struct nt_err *err);
void nt_samples_clear_traffic(struct nt_samples *s);
/* Adds a description of hardware. *index: of an existing equal text, or of a new one. */
int nt_samples_add_model(struct nt_samples *s, const char *text, uint32_t *index,
                         struct nt_err *err);
int nt_samples_set_model(struct nt_samples *s, size_t host, uint32_t model, struct nt_err *err);
int nt_samples_set_cores(struct nt_samples *s, size_t host, enum nt_between between,
                         double latency_us, struct nt_err *err);
/* nt_samples_begin_belief starts a belief with that many levels for all hosts so far, once; then
 * hosts are added, each once. */
int nt_samples_begin_belief(struct nt_samples *s, size_t levels, struct nt_err *err);
int nt_samples_believe(struct nt_samples *s, size_t host, const uint32_t *cluster,
                       struct nt_err *err);
/* Sets that nothing was measured and the prior of all hosts is the network. us: latency per level,
 * ascending; support: 0 to 1. us is stored with NT_SAMPLES_DIGITS digits, support with six. */
int nt_samples_take_belief(struct nt_samples *s, const double *us, double support,
                           int32_t oldest_day, struct nt_err *err);

/* Adds LogGP of an earlier job: seen and support are set. */
int nt_samples_add_loggp(struct nt_samples *s, const struct nt_loggp *g, struct nt_err *err);

/* Copies another belief. */
int nt_samples_set_belief(struct nt_samples *s, const struct nt_belief *belief, struct nt_err *err);
/* Adds hosts that use these transports; transports that do not fit are omitted. used: one word. */
int nt_samples_add_transport(struct nt_samples *s, const char *used, size_t hosts,
                             struct nt_err *err);
int nt_samples_begin_phase(struct nt_samples *s, const char *name, struct nt_err *err);
/* Sets when the open phase began. */
int nt_samples_date_phase(struct nt_samples *s, double begin_s, struct nt_err *err);
int nt_samples_end_phase(struct nt_samples *s, double seconds, struct nt_err *err);
int nt_samples_begin_round(struct nt_samples *s, struct nt_err *err);
int nt_samples_add(struct nt_samples *s, struct nt_sample sample, const char *text,
                   struct nt_err *err); /* phase and round are set; text may be NULL */
/* Adds a kernel with its participants: sample.a different hosts; sample.b messages. */
int nt_samples_add_kernel(struct nt_samples *s, struct nt_sample sample, const char *name,
                          const uint32_t *host, struct nt_err *err);
int nt_samples_warn(struct nt_samples *s, struct nt_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void nt_samples_finish(struct nt_samples *s, enum nt_status status, double seconds);

/* Sets cluster, level, created or pattern to one line, each at most once. */
int nt_samples_set_word(char **word, const char *text, struct nt_err *err);

/* Reads in pieces of any size: call feed until the input ends, then finish, which returns the
 * samples. */
struct nt_samples_reader;
int nt_samples_reader_create(const char *file, struct nt_samples_reader **out, struct nt_err *err);
int nt_samples_reader_feed(struct nt_samples_reader *r, const char *text, size_t bytes,
                           struct nt_err *err);
int nt_samples_reader_finish(struct nt_samples_reader *r, struct nt_samples **out,
                             struct nt_err *err);
void nt_samples_reader_destroy(struct nt_samples_reader *r);

/* Writes samples. The caller frees the text. Reading it gives an equal value. */
int nt_samples_write(const struct nt_samples *s, char **text, size_t *bytes, struct nt_err *err);

/* Summary of a phase, for users. */
struct nt_phase_account {
    size_t pairs;  /* number of pairs of hosts with a value, in either direction */
    size_t failed; /* number of failed measurements */
    size_t hosts;  /* number of hosts with failures and no value */
    uint32_t host; /* the first of these hosts */
};
int nt_samples_account(const struct nt_samples *s, size_t phase, struct nt_phase_account *out,
                       struct nt_err *err);

/* Lists the participants of a kernel in the order of its algorithm. Returns their number; 0: the
 * samples do not contain them. */
size_t nt_samples_participants(const struct nt_samples *s, const struct nt_sample *kernel,
                               uint32_t host[NT_SAMPLES_PARTICIPANTS_MAX]);

/* Returns the smallest message size of latencies; INFINITY: there are none. */
double nt_samples_latency_bytes(const struct nt_samples *s);

/* Direction matters here: [a][b] is the minimum (core/min_latency.h) of the latencies of BYTES-byte
 * messages measured from a. message_bytes 0: the smallest size that occurs. The lowest of more
 * measurements of some pairs would be lower than that of the others: so without phase link-latency,
 * and phases of repeats count as in core/repeats.h. *error: standard errors of those, as
 * nt_min_latency_error; may be NULL. */
int nt_samples_latency(const struct nt_samples *s, double message_bytes, struct nt_matrix **out,
                       struct nt_matrix **error, struct nt_err *err);

/* Finds the pairs with a value in that matrix, in any direction, without pairs of missing hosts.
 * Memory is in proportion to the measured pairs. The caller calls nt_measured_pairs_fini. */
int nt_samples_measured_pairs(const struct nt_samples *s, double message_bytes,
                              struct nt_measured_pairs *out, struct nt_err *err);

/* [a][b] is the median rate of the flows from a to b in phase NT_SAMPLES_PLAN. NT_ERR_INPUT: there
 * are none. */
int nt_samples_planned_bandwidth(const struct nt_samples *s, struct nt_matrix **out,
                                 struct nt_err *err);

/* Finds the pairs with a latency of any kind, including pairs of missing hosts. */
int nt_samples_measured_pairs_any(const struct nt_samples *s, struct nt_measured_pairs *out,
                                  struct nt_err *err);

#endif
