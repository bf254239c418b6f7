/* SPDX-License-Identifier: Apache-2.0 */
/* The map: the model with names, and how it was measured. Users read it as JSON: nettopo-map(5),
 * etc/nettopo-map.schema.json. Only text/map_json.c reads and writes JSON.
 * Tests: test_map_json.c, test_import.c. */
#ifndef NT_MAP_H
#define NT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "fault.h"
#include "machine.h"
#include "model.h"
#include "option.h"
#include "workload.h"

enum nt_status { NT_STATUS_OK, NT_STATUS_PARTIAL, NT_STATUS_FAILED };

struct nt_phase {
    char name[32]; /* "latency", "host-links", ... */
    uint64_t rounds;
    double seconds;
};

/* How the sweep used the prior (belief.h). */
struct nt_prior_use {
    bool given; /* there was a prior */
    bool used;  /* the network is the prior's, verified, or corrected for hosts that had moved */
    /* pairs taken from the prior; measured as expected; measured otherwise */
    uint64_t pairs_taken, pairs_verified, pairs_contradicted;
    uint64_t hosts_moved;
    char reason[96]; /* why the prior was not used; "": it was */
    /* Nothing was measured; then support is the lowest of all parts, oldest the least recent day */
    bool all_taken;
    double support;
    char oldest[16]; /* YYYY-MM-DD */
};

enum { NT_TRANSPORT_USED_BYTES = 128, NT_SWEEP_TRANSPORTS_MAX = 8 };

/* The connections of this number of hosts used these devices:
 * "rc_mlx5/mlx5_0:1,rc_mlx5/mlx5_1:1". */
struct nt_sweep_transport {
    char used[NT_TRANSPORT_USED_BYTES];
    uint32_t hosts;
};

struct nt_sweep {
    uint64_t pairs_measured, pairs_total, rounds;
    double seconds;
    size_t phases;
    struct nt_phase *phase; /* owned */
    struct nt_prior_use prior;
    size_t transports; /* most hosts first; at most NT_SWEEP_TRANSPORTS_MAX are kept */
    struct nt_sweep_transport transport[NT_SWEEP_TRANSPORTS_MAX];
};

struct nt_loggp {
    char class_name[64];         /* "same switch", "through 3 switches" */
    char rail[64];               /* network device; "": there is only one */
    double min_bytes, max_bytes; /* message sizes of this protocol regime */
    double L_us, o_send_us, o_recv_us, g_us, G_us_per_byte; /* NaN: not measured */
    double gap_us_per_byte;                                 /* as G, for messages in a train */
    double L_se_us, o_se_us, g_se_us, G_se_us_per_byte, r2;
    /* Largest error of predicted times of sizes that the fit did not use; NaN: none */
    double check_percent;
    /* Day of the last measurement (YYYY-MM-DD) if only earlier jobs measured it; "" */
    char seen[16];
    double support; /* then: 0 to 1, share of these jobs that agree */
};

/* A stress kernel (Navaridas, Miguel-Alonso, "Realistic Evaluation of Interconnection Networks
 * Using Synthetic Traffic", section 3), measured and as the map predicts it. */
struct nt_stress {
    char kernel[NT_WORKLOAD_NAME_BYTES];
    uint32_t hosts, messages; /* hosts that took part; messages per repetition, 0: unknown */
    uint32_t waves; /* a task sends its message of a wave after its message of the wave before */
    uint32_t repetitions;            /* measured */
    double bytes;                    /* per message */
    double time_us, low_us, high_us; /* until all tasks ended: median and its 95 % interval */
    double alone_us;                 /* predicted if no two messages shared a link; NaN: unknown */
    double shared_us;                /* predicted with shared links; NaN: unknown */
    bool congested;       /* it took longer than alone_us, and shared links explain it; then: */
    uint32_t from, to;    /* vertices of the channel that needs the most time for its messages */
    uint32_t tier;        /* tier of this link: 0 for a host's link, t above a switch of tier t */
    uint32_t links;       /* channels of this tier that are as busy, within a tenth */
    double busy_us;       /* time that this link needs for the messages of the kernel */
    double capacity_MBps; /* of this channel */
};

struct nt_placement {
    char pattern[NT_PATTERN_TEXT_BYTES];
    uint32_t *order; /* hosts in hint order, indices of the model; owned */
    size_t hosts;
    double cost, cost_default, gain; /* us, us, share; see place/hint.h */
    double message_bytes;            /* the message size of cost; NaN: unknown */
    /* How much more it costs to keep rank 0 on the first host, %; 0: at most 1 */
    double first_percent;
    uint32_t *spare; /* spares hosts that are left out, the worst first; owned */
    size_t spares;
    size_t ntasks;       /* 0: unknown, as after reading a map */
    uint32_t *rank_host; /* ntasks values: the host of each rank; owned */
};

enum { NT_MAP_NO_MACHINE = UINT32_MAX };

struct nt_map {
    char *generator; /* "nettopo 0.1.0" */
    enum nt_status status;
    size_t warnings;
    char **warning;
    uint64_t job_id;                 /* 0: no job */
    char *cluster, *level, *created; /* "": unknown */
    struct nt_sweep sweep;
    struct nt_model *model;
    char **host_name;   /* model->hosts names */
    char **switch_name; /* model->switches names */
    size_t machines;
    struct nt_machine *machine; /* hardware models of the hosts, without duplicates */
    uint32_t *machine_of; /* per host; NT_MAP_NO_MACHINE: unknown; NULL: unknown for all hosts */
    size_t populations; /* of hosts by their links, most hosts first; 0: the links do not differ */
    struct nt_population population[NT_POPULATIONS_MAX];
    uint32_t *population_of; /* per host; populations or more: none; NULL: none for all hosts */
    bool judged;             /* links were compared with similar links; else faults is 0 */
    size_t faults;           /* findings, at most NT_FAULTS_MAX */
    struct nt_fault *fault;
    size_t loggps;
    struct nt_loggp *loggp;
    size_t stresses;
    struct nt_stress *stress;       /* in the order in which they ran */
    struct nt_placement *placement; /* NULL: none */
};

/* An empty map that owns model, with copies of the names. Switches are named s1, s2, ... */
int nt_map_create(struct nt_model *model, const char *const *host_names, struct nt_map **out,
                  struct nt_err *err);
void nt_map_destroy(struct nt_map *map);

/* Number of hosts with this hardware model. */
uint32_t nt_map_machine_hosts(const struct nt_map *map, size_t machine);

/* Name of a host or switch of the model. */
const char *nt_map_vertex_name(const struct nt_map *map, uint32_t vertex);

/* Replaces a name or another text of the map with a copy of text. */
int nt_map_set_text(char **of, const char *text, struct nt_err *err);

int nt_map_warn(struct nt_map *map, struct nt_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Checks the name of a host: letters, digits, '.', '-', '_', at most 255 characters.
 * NT_ERR_INPUT. */
int nt_host_name_check(const char *name, struct nt_err *err);

/* Natural order: runs of digits compare as numbers, n2 < n10. */
int nt_name_compare(const char *a, const char *b);

/* Sorts hosts and switches by name and renumbers all that refers to them. */
int nt_map_sort(struct nt_map *map, struct nt_err *err);

extern const char *const nt_status_names[NT_STATUS_FAILED + 1];
const char *nt_status_name(enum nt_status status);

#endif
