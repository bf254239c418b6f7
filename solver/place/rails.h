/* SPDX-License-Identifier: Apache-2.0 */
/* Advice for hosts with several network devices: which device for which message, and how to divide
 * a large message. After Lichei (2006), chapter 4, with the LogGP of each rail between two hosts,
 * one of which sends all messages. */
#ifndef NT_RAILS_H
#define NT_RAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "map.h"

enum { NT_RAILS_MAX = 8, NT_RAIL_RANGES_MAX = 16, NT_RAIL_HOSTS_MAX = 16 };

/* A rail between two hosts: LogGP of one class per range of sizes, ascending; borrowed. */
struct nt_rail {
    const char *name;
    const struct nt_loggp *regime;
    size_t regimes;
};

/* The first three select a rail separately for each receiver, as Open MPI does (4.2, 4.3.3); the
 * weight of a rail is its bandwidth for the largest messages. The last two consider how long all
 * messages occupy each rail (4.4.6). */
enum nt_rail_policy {
    NT_RAILS_ROUND_ROBIN, /* 4.3.4.1: in turn; Open MPI for short messages */
    /* 4.3.4.2: as many in a row as the rail's weight divided by the lowest weight */
    NT_RAILS_WEIGHTED_ROBIN,
    NT_RAILS_FAIR, /* 4.3.4.3: weighted fair queuing; Open MPI for parts of long ones */
    NT_RAILS_VFT,  /* 4.4.8: smallest max(virtual finishing time, now) + o + L + o */
    /* As VFT but including the message's own bytes: 4.4.4 before its simplification */
    NT_RAILS_EARLIEST,
    NT_RAIL_POLICIES
};

struct nt_rail_message {
    double bytes;
    uint32_t to;   /* index of the receiver, below NT_RAIL_HOSTS_MAX */
    uint32_t over; /* bit k: rail k reaches it, at least one does; 0: all do */
};

/* Returns when the last of n messages arrives, in us, if a sender without other work sends them in
 * order. Each message takes o of the sender's processor, occupies its rail for g + (s - 1) gap, and
 * arrives t(s) after its start. NaN: no trains were measured on a selected rail. 0 < rails <=
 * NT_RAILS_MAX. carried (may be NULL): bytes per rail. */
double nt_rails_simulate(const struct nt_rail *rail, size_t rails,
                         const struct nt_rail_message *message, size_t n,
                         enum nt_rail_policy policy, double *carried);

/* Divides a message of that many bytes into parts per rail so that all parts arrive at the same
 * time (4.3.1.1), and returns this time. Rails that do not help get 0. */
double nt_rails_split(const struct nt_rail *rail, size_t rails, double bytes, double *part);

/* Returns when all parts of a message arrive that is divided in proportion to the rails'
 * bandwidths, as Open MPI divides long messages (4.2), without regard to latencies. */
double nt_rails_by_bandwidth(const struct nt_rail *rail, size_t rails, double bytes);

/* A range of sizes with the same choice. */
struct nt_rail_range {
    double min_bytes, max_bytes;
    size_t rail; /* the best single rail */
    bool split;  /* dividing the message saves a tenth or more at max_bytes */
    double share[NT_RAILS_MAX];
    /* split: time on the best rail divided by that of the divided message, at max_bytes */
    double gain;
};

struct nt_rail_advice {
    size_t ranges;
    struct nt_rail_range range[NT_RAIL_RANGES_MAX];
    /* The division by the transport helps: use all devices; otherwise only the best */
    bool together;
    /* Time of an even division divided by the best rail's time, for the largest message */
    double loses;
    size_t best; /* best rail for the largest message */
};

/* Computes the advice. together: the measured LogGP with all devices (NT_LOGGP_ALL_RAILS); NULL:
 * the transport is assumed to divide evenly. Sizes from 8 bytes to 4 MiB, as far as all rails were
 * measured. */
int nt_rails_advise(const struct nt_rail *rail, size_t rails, const struct nt_rail *together,
                    struct nt_rail_advice *out, struct nt_err *err);

/* Sets rail (NT_RAILS_MAX) to the single devices of one class in a map, and *together (regimes 0:
 * none). class_name is one of the map's entries. Borrows from the map. Returns the number of
 * rails. */
size_t nt_rails_from_map(const struct nt_map *map, const char *class_name, struct nt_rail *rail,
                         struct nt_rail *together);

/* Finds the devices to use for all messages, separated by ',', if nt_rails_advise gives the same
 * advice for every class of the map. Empty if hosts do not have several devices, or if classes
 * differ. */
enum { NT_RAILS_DEVICES_BYTES = NT_RAILS_MAX * 64 };
/* Returns the number of devices. */
size_t nt_rails_devices(const struct nt_map *map, char devices[NT_RAILS_DEVICES_BYTES]);

#endif
