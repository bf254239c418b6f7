/* SPDX-License-Identifier: Apache-2.0 */
/* nettopo-samples/1: the record of one sweep, from which the map can be made again.
 *
 * A text of lines; words separated by one space; hosts are numbered by their lines' order.
 *
 *   nettopo-samples/1
 *   generator nettopo 0.1.0
 *   job 42 RESTART            optional: job, cluster, level, created, budget
 *   cluster c
 *   level quick
 *   created 2026-01-01T00:00:00Z
 *   pattern ring
 *   spare K                   hosts that the job does without
 *   host NAME                 one a host
 *   missing INDEX REASON...   a host that did not answer
 *   room INDEX TASKS          how many of the job's tasks a host is for; 1 without this
 *   traffic RANK RANK BYTES   what two of the job's ranks exchange, for pattern matrix:PATH
 *   model TEXT...             what some hosts are inside (machine_text.h), numbered from 0
 *   inside INDEX MODEL        a host is one of those
 *   cores INDEX BETWEEN US    latency between two of its cores, one way (core/machine.h)
 *   prior LEVELS              optional: what was believed before (core/belief.h), after the hosts
 *   believed INDEX CLUSTER... a host's clusters, of the levels below the highest
 *   taken DAY SUPPORT US...   nothing was measured: the network is what was believed, as sure and
 *                             as old as that (YYYY-MM-DD), US: latency of the pairs of each level
 *   loggp RAIL MIN MAX...     LogGP that earlier jobs measured, as in prior.h; before the first
 * phase transport HOSTS USED      how many hosts' connections went over these: tcp/fab0,tcp/fab1
 *   phase NAME [BEGIN]        the lines up to the next belong to this phase; BEGIN: seconds since
 *                             the sweep began (older records have none)
 *   round                     a new round begins: its measurements ran at the same time
 *   latency A B BYTES COUNT LOW_US SE_US MEDIAN_US      one way, half a round trip
 *   bandwidth A B BYTES SECONDS                         a flow from A to B in this round
 *   prtt A B BYTES COUNT DELAY_US US [SE_US HOLD_US [RAIL]]     PRTT(n, d, s), Lichei 2006
 *   kernel NAME BYTES COUNT MEDIAN_US LOW_US HIGH_US [HOSTS [MESSAGES INDEX...]]
 *                             a stress kernel
 *   resent A B SEGMENTS COUNT over TCP: segments that A sent B in this round, and how many of them
 *                             were sent again; only if any were
 *   failed A B REASON...      a pair whose measurement failed in this round
 *   phase-end SECONDS         time the phase took
 *   warning TEXT...
 *   end STATUS SECONDS        ok | partial | failed, and the sweep's time; the last line
 *
 * Without "end" the record is cut off, which is an error. Numbers are finite decimals;
 * measured figures have NT_SAMPLES_DIGITS digits, so that the record in memory and its text are the
 * same. The hosts of a kernel are named by INDEX, HOSTS of them in the order of its algorithm;
 * MESSAGES is the number that was asked for (sr and gups).
 * The text of a kernel is its name, of a failure its reason, of a PRTT the network device that it
 * kept to (none: what the transport chose); HOLD_US is for how long the asking end held still
 * after its last send, from whose end US then counts. Hosts come before the first phase.
 * A fixed bound on hosts (NT_HOSTS_MAX), lines (NT_SAMPLES_LINE_MAX bytes) and names. */
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
    NT_SAMPLES_CORE_DIGITS = 6, /* of latencies between cores */
    NT_SAMPLES_CROWD_MAX = 64,
    NT_SAMPLES_TRAFFIC_MAX = 65536,
    NT_SAMPLES_NO_MODEL = UINT32_MAX,
    NT_SAMPLES_TAKEN_US_MAX = 1000000000,
};

/* What is known of a host's inside. */
struct nt_host_inside {
    uint32_t model;                   /* NT_SAMPLES_NO_MODEL: nothing */
    float latency_us[NT_BETWEEN_END]; /* between two of its cores; 0: not measured */
};

/* Latencies of this phase are for the links of a network that is known already. */
#define NT_SAMPLES_LINK_LATENCY "link-latency"

/* Latencies of this phase verify what was believed; they are no part of other inference. */
#define NT_SAMPLES_PRIOR "prior"

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
    uint32_t a, b;         /* hosts; kernel: a is how many took part, 0: unknown; b the messages
                              asked for, 0: the hosts that took part are unknown */
    uint32_t count;        /* measurements behind the figure; resent: segments sent again */
    uint32_t segments;     /* resent: with data, that a sent to b; else 0 */
    double bytes;          /* message size; for a flow the bytes carried */
    double value_us;       /* latency: robust low; prtt: time; kernel: median; flow: duration */
    union {                /* by kind; some have none. The widest first: it sets all to zero */
        struct {
            double se_us, delay_us, hold_us; /* standard error of value_us; as ordered */
        } prtt;
        struct {
            double se_us, median_us; /* standard error of value_us; of all pings */
        } latency;
        struct {
            double low_us, high_us; /* the interval of value_us */
        } kernel;
    };
    uint32_t text; /* kernel: name (the next text holds who took part, when b is not 0),
                      failed: reason; index in texts; prtt: that of the rail plus 1, 0
                      without one */
};

/* The job of the sweep. */
struct nt_samples_job {
    char *generator, *cluster, *level, *created, *pattern; /* "" when absent; owned */
    uint64_t id;
    uint32_t restart;
    double budget_s;
    uint32_t spare; /* hosts that the job does without */
};

/* The builder's own. */
struct nt_samples_room {
    size_t hosts, texts, traffic, models, samples;
    struct nt_names *model_names;
};

struct nt_samples {
    struct nt_samples_job job;
    size_t hosts;
    char **host_name;
    struct nt_names *names;        /* of the hosts */
    uint32_t *slots;               /* hosts of them: tasks */
    struct nt_triples traffic;     /* each pair once; ntasks 0: none was given */
    char **missing;                /* hosts of them: NULL, or the reason */
    struct nt_host_inside *inside; /* hosts of them */
    size_t models;
    char **model;             /* texts of machine_text.h, each once */
    struct nt_belief *belief; /* that the sweep began from; NULL: none. Owned */
    size_t loggps;
    struct nt_loggp *loggp; /* of earlier jobs; owned */
    size_t transports;
    struct nt_sweep_transport transport[NT_SWEEP_TRANSPORTS_MAX];
    size_t phases;
    struct nt_phase *phase; /* seconds: NaN until the phase ended */
    double *phase_begin_s;  /* phases of them: since the sweep began; NaN: not known */
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

/* Building, as the sweep goes. Each returns 0 or -1 (memory, a bound, an index out of range). */
int nt_samples_add_host(struct nt_samples *s, const char *name, struct nt_err *err);
int nt_samples_set_missing(struct nt_samples *s, size_t host, const char *reason,
                           struct nt_err *err);
int nt_samples_set_slots(struct nt_samples *s, size_t host, uint32_t tasks, struct nt_err *err);
/* Ranks a < b, in ascending order of (a, b); bytes over 0. */
int nt_samples_add_traffic(struct nt_samples *s, uint32_t a, uint32_t b, double bytes,
                           struct nt_err *err);
void nt_samples_clear_traffic(struct nt_samples *s);
/* *index is that of an equal text that was there, or of a new one. */
int nt_samples_add_model(struct nt_samples *s, const char *text, uint32_t *index,
                         struct nt_err *err);
int nt_samples_set_model(struct nt_samples *s, size_t host, uint32_t model, struct nt_err *err);
int nt_samples_set_cores(struct nt_samples *s, size_t host, enum nt_between between,
                         double latency_us, struct nt_err *err);
/* levels of an empty belief of all hosts so far, once; then hosts, each once. */
int nt_samples_begin_belief(struct nt_samples *s, size_t levels, struct nt_err *err);
int nt_samples_believe(struct nt_samples *s, size_t host, const uint32_t *cluster,
                       struct nt_err *err);
/* The network is what is believed of all hosts, nothing was measured. us: levels of them, rising;
 * support 0 to 1. us is kept to NT_SAMPLES_DIGITS digits, support to six. */
int nt_samples_take_belief(struct nt_samples *s, const double *us, double support,
                           int32_t oldest_day, struct nt_err *err);

/* Of earlier jobs: seen and support are given. */
int nt_samples_add_loggp(struct nt_samples *s, const struct nt_loggp *g, struct nt_err *err);

/* Both of another belief. */
int nt_samples_set_belief(struct nt_samples *s, const struct nt_belief *belief, struct nt_err *err);
/* hosts more use these; what is beyond the room is left out. used: a word. */
int nt_samples_add_transport(struct nt_samples *s, const char *used, size_t hosts,
                             struct nt_err *err);
int nt_samples_begin_phase(struct nt_samples *s, const char *name, struct nt_err *err);
/* When the phase that is open began. */
int nt_samples_date_phase(struct nt_samples *s, double begin_s, struct nt_err *err);
int nt_samples_end_phase(struct nt_samples *s, double seconds, struct nt_err *err);
int nt_samples_begin_round(struct nt_samples *s, struct nt_err *err);
int nt_samples_add(struct nt_samples *s, struct nt_sample sample, const char *text,
                   struct nt_err *err); /* phase and round are filled in; text may be NULL */
/* A kernel with those who took part: sample.a hosts, all different; sample.b messages. */
int nt_samples_add_kernel(struct nt_samples *s, struct nt_sample sample, const char *name,
                          const uint32_t *host, struct nt_err *err);
int nt_samples_warn(struct nt_samples *s, struct nt_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void nt_samples_finish(struct nt_samples *s, enum nt_status status, double seconds);

/* cluster, level, created, pattern: set at most once each, one line. */
int nt_samples_set_word(char **word, const char *text, struct nt_err *err);

/* Reading in pieces of any size: feed until the input ends, then finish, which hands over. */
struct nt_samples_reader;
int nt_samples_reader_create(const char *file, struct nt_samples_reader **out, struct nt_err *err);
int nt_samples_reader_feed(struct nt_samples_reader *r, const char *text, size_t bytes,
                           struct nt_err *err);
int nt_samples_reader_finish(struct nt_samples_reader *r, struct nt_samples **out,
                             struct nt_err *err);
void nt_samples_reader_destroy(struct nt_samples_reader *r);

/* The text, owned by the caller (free). Reading it gives an equal value. */
int nt_samples_write(const struct nt_samples *s, char **text, size_t *bytes, struct nt_err *err);

/* What happened in a phase, for people. */
struct nt_phase_account {
    size_t pairs;  /* of hosts with a figure, in either direction */
    size_t failed; /* measurements that failed */
    size_t hosts;  /* with failures and no figure */
    uint32_t host; /* the first of those */
};
int nt_samples_account(const struct nt_samples *s, size_t phase, struct nt_phase_account *out,
                       struct nt_err *err);

/* Who took part in a kernel, in the order of its algorithm; 0: the record does not contain it. */
size_t nt_samples_crowd(const struct nt_samples *s, const struct nt_sample *kernel,
                        uint32_t host[NT_SAMPLES_CROWD_MAX]);

/* The smallest messages that latencies were measured with; INFINITY: there are none. */
double nt_samples_latency_bytes(const struct nt_samples *s);

/* Direction matters here: [a][b] is the minimum (core/min_latency.h) of the latencies of BYTES-byte
 * messages measured from a. message_bytes 0: the smallest size that occurs. The lowest of more
 * measurements of some pairs would be lower than that of the others: so without phase link-latency,
 * and phases of repeats count as core/repeats.h says. *error: standard errors of those, as
 * nt_min_latency_error; may be NULL. */
int nt_samples_latency(const struct nt_samples *s, double message_bytes, struct nt_matrix **out,
                       struct nt_matrix **error, struct nt_err *err);

/* Which pairs that matrix has a figure of, in any direction, without those of missing hosts. Takes
 * memory for the pairs that were measured, not for all. out: nt_measured_pairs_fini by the caller.
 */
int nt_samples_measured_pairs(const struct nt_samples *s, double message_bytes,
                              struct nt_measured_pairs *out, struct nt_err *err);

/* Which pairs have a latency of any kind, those of missing hosts too. */
int nt_samples_measured_pairs_any(const struct nt_samples *s, struct nt_measured_pairs *out,
                                  struct nt_err *err);

#endif
