/* SPDX-License-Identifier: Apache-2.0 */
/* The map: the model with names, and what was done to find it. This is what users read:
 * etc/nettopo-map.schema.json, man nettopo-map(5). JSON is made and read in text/map_json.c only.
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

enum nt_status { NT_STATUS_OK, NT_STATUS_PARTIAL, NT_STATUS_FAILED };

struct nt_phase {
    char name[32]; /* "latency", "host-links", ... */
    uint64_t rounds;
    double seconds;
};

/* What came of what was believed of the network before the sweep. */
struct nt_prior_use {
    bool given; /* there was something */
    bool used;  /* the network is that, verified, or mended where hosts had moved */
    uint64_t pairs_taken, pairs_verified,
        pairs_contradicted; /* not read; read as believed; not so */
    uint64_t hosts_moved;
    char reason[96]; /* why it was not used; "" */
    bool all_taken;  /* nothing was measured; then, of the least certain and of the oldest part: */
    double support;
    char oldest[16]; /* day when it was last seen, YYYY-MM-DD */
};

enum { NT_TRANSPORT_USED_BYTES = 128, NT_SWEEP_TRANSPORTS_MAX = 8 };

/* The connections of so many hosts went over these: "rc_mlx5/mlx5_0:1,rc_mlx5/mlx5_1:1". */
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
    size_t transports; /* most hosts first; those beyond the room are left out */
    struct nt_sweep_transport transport[NT_SWEEP_TRANSPORTS_MAX];
};

struct nt_loggp {
    char class_name[64];         /* "same switch", "through 3 switches" */
    char rail[64];               /* network device, "" when there is one */
    double min_bytes, max_bytes; /* the protocol regime */
    double L_us, o_send_us, o_recv_us, g_us, G_us_per_byte; /* NaN: not measured */
    double gap_us_per_byte; /* of a message in a train; what G is to a message alone */
    double L_se_us, o_se_us, g_se_us, G_se_us_per_byte, r2;
    double check_percent; /* largest error of the predicted time of sizes held out; NaN: none */
    char seen[16];        /* not measured: earlier jobs did, last on that day (YYYY-MM-DD); "" */
    double support;       /* then: 0 to 1, of those jobs' that agree */
};

/* A stress kernel (Navaridas, Miguel-Alonso, "Realistic Evaluation of Interconnection Networks
 * Using Synthetic Traffic", section 3), as it ran and as the map has it. */
struct nt_stress {
    char kernel[32];                 /* KERNEL[,compute=US] (workload.h) */
    uint32_t hosts, messages;        /* that took part; sent in a repetition, 0: unknown */
    uint32_t waves;                  /* a message of the next is sent after the own of this one */
    uint32_t repetitions;            /* measured */
    double bytes;                    /* of a message */
    double time_us, low_us, high_us; /* until all had ended: median, its 95 % interval */
    double alone_us;      /* by the map, if no message met another in the network; NaN: not known */
    double shared_us;     /* by the map, links shared; NaN */
    bool congested;       /* it took longer than alone, and sharing links explains it: */
    uint32_t from, to;    /* vertices: over the link that needs longest for what it carries */
    uint32_t tier;        /* of that link: 0 of a host, t above a switch of tier t */
    uint32_t links;       /* directions of links of that tier as busy within a tenth */
    double busy_us;       /* that this link needs for what the kernel sends over it */
    double capacity_MBps; /* of that link, in that direction */
};

struct nt_placement {
    char pattern[NT_PATTERN_TEXT_BYTES];
    uint32_t *order; /* hosts in hint order, model indices; owned */
    size_t hosts;
    double cost, cost_default, gain; /* us, us; see place/hint.h */
    double message_bytes;            /* that they are for; NaN: not stated */
    double
        first_percent; /* that rank 0 on the first host costs more than the best order; 0: <= 1 */
    uint32_t *spare;   /* spares of them: hosts that were left out, the worst first; owned */
    size_t spares;
    size_t ntasks;       /* 0: not known, as after reading a map */
    uint32_t *rank_host; /* ntasks of them: the host of each rank; owned */
};

enum { NT_MAP_NO_MACHINE = UINT32_MAX };

struct nt_map {
    char *generator; /* "nettopo 0.1.0" */
    enum nt_status status;
    size_t warnings;
    char **warning;
    uint64_t job_id;                 /* 0: not in a job */
    char *cluster, *level, *created; /* "" when unknown */
    struct nt_sweep sweep;
    struct nt_model *model;
    char **host_name;   /* model->hosts of them */
    char **switch_name; /* model->switches of them */
    size_t machines;
    struct nt_machine *machine; /* what hosts are inside, each kind once */
    uint32_t *machine_of; /* model->hosts of them, NT_MAP_NO_MACHINE: not known; NULL: of no host */
    size_t populations;   /* of hosts' links, most hosts first; 0: they do not differ */
    struct nt_population population[NT_POPULATIONS_MAX];
    uint32_t *population_of; /* model->hosts of them; populations or more: none; NULL: of no host */
    bool judged;             /* its links were held against their like; else faults is 0 */
    size_t faults;           /* findings, at most NT_FAULTS_MAX */
    struct nt_fault *fault;
    size_t loggps;
    struct nt_loggp *loggp;
    size_t stresses;
    struct nt_stress *stress;       /* in the order in which they ran */
    struct nt_placement *placement; /* NULL: none */
};

/* An empty map around model (which it then owns) and copies of names; switches get s1, s2, ... */
int nt_map_create(struct nt_model *model, const char *const *host_names, struct nt_map **out,
                  struct nt_err *err);
void nt_map_destroy(struct nt_map *map);

/* How many hosts are of that kind inside. */
uint32_t nt_map_machine_hosts(const struct nt_map *map, size_t machine);

/* Of a host or a switch of the model. */
const char *nt_map_vertex_name(const struct nt_map *map, uint32_t vertex);

/* Puts a copy of text into a name or another text of the map, in place of what it was. */
int nt_map_set_text(char **of, const char *text, struct nt_err *err);

int nt_map_warn(struct nt_map *map, struct nt_err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A warning or a host's name must fit this: letters, digits, '.', '-', '_', at most 255. */
int nt_host_name_check(const char *name, struct nt_err *err);

/* Natural order: runs of digits compare as numbers, so n2 < n10. */
int nt_name_compare(const char *a, const char *b);

/* Hosts and switches sorted by name, links and indices renamed with them; same map otherwise. */
int nt_map_sort(struct nt_map *map, struct nt_err *err);

extern const char *const nt_status_names[NT_STATUS_FAILED + 1];
const char *nt_status_name(enum nt_status status);

#endif
