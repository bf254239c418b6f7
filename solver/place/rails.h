/* SPDX-License-Identifier: Apache-2.0 */
/* Several network devices a host: which one for which message, and how to divide a large one.
 * After Lichei (2006), chapter 4, over the LogGP of each rail between two hosts, of which one sends
 * all messages. */
#ifndef NT_RAILS_H
#define NT_RAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "map.h"

enum { NT_RAILS_MAX = 8, NT_RAIL_RANGES_MAX = 16, NT_RAIL_HOSTS_MAX = 16 };

/* A rail between two hosts: regimes of one class, sizes rising; borrowed. */
struct nt_rail {
    const char *name;
    const struct nt_loggp *regime;
    size_t regimes;
};

/* The first three are for each receiver on its own, as in Open MPI (4.2, 4.3.3); a rail's weight is
 * its bandwidth for the largest messages. The last two know what all messages keep busy (4.4.6). */
enum nt_rail_policy {
    NT_RAILS_ROUND_ROBIN,    /* 4.3.4.1: one after the other; Open MPI for short messages */
    NT_RAILS_WEIGHTED_ROBIN, /* 4.3.4.2: as many in a row as the weight, over the least of them */
    NT_RAILS_FAIR,           /* 4.3.4.3: weighted fair queuing; Open MPI for parts of long ones */
    NT_RAILS_VFT,            /* 4.4.8: smallest max(virtual finishing time, now) + o + L + o */
    NT_RAILS_EARLIEST, /* the same with the message's own bytes: 4.4.4 before its simplification */
    NT_RAIL_POLICIES
};

struct nt_rail_message {
    double bytes;
    uint32_t to;   /* number of its receiver, below NT_RAIL_HOSTS_MAX */
    uint32_t over; /* bit k: rail k reaches it, one at least; 0: all do */
};

/* When the last of n messages has arrived, in us, if a sender that does nothing else sends them in
 * order. Each costs the sender's processor its o, keeps its rail for g + (s - 1) gap, and arrives
 * a time t(s) after it began. NaN: a rail that it takes has no trains measured. 0 < rails <=
 * NT_RAILS_MAX. carried (or NULL): bytes over each rail. */
double nt_rails_simulate(const struct nt_rail *rail, size_t rails,
                         const struct nt_rail_message *message, size_t n,
                         enum nt_rail_policy policy, double *carried);

/* The bytes of a message of so many on each rail, so that all parts arrive together (4.3.1.1), and
 * when that is. Rails that do not help get 0. */
double nt_rails_split(const struct nt_rail *rail, size_t rails, double bytes, double *part);

/* When all parts of one message have arrived that is divided by the rails' bandwidths, as Open MPI
 * divides long ones (4.2): the latencies do not count. */
double nt_rails_by_bandwidth(const struct nt_rail *rail, size_t rails, double bytes);

/* From size to size the same choice. */
struct nt_rail_range {
    double min_bytes, max_bytes;
    size_t rail; /* the best alone */
    bool split;  /* dividing gains a tenth or more at max_bytes */
    double share[NT_RAILS_MAX];
    double gain; /* split: time on the best rail over that of the divided message, at max_bytes */
};

struct nt_rail_advice {
    size_t ranges;
    struct nt_rail_range range[NT_RAIL_RANGES_MAX];
    bool together; /* the transport's own division pays: all devices, else only the best one */
    double loses;  /* dividing evenly: its time over the best rail's for the largest message */
    size_t best;   /* for the largest message */
};

/* together: the measured LogGP with all devices (NT_LOGGP_ALL_RAILS), or NULL: then an even
 * division is taken for what the transport does. Sizes from 8 bytes to 4 MiB, as far as all rails
 * were measured. */
int nt_rails_advise(const struct nt_rail *rail, size_t rails, const struct nt_rail *together,
                    struct nt_rail_advice *out, struct nt_err *err);

/* The rails of one class in a map: fills rail (NT_RAILS_MAX) with its single devices, *together
 * (regimes 0: none). class_name is one of the map's entries. Borrows from the map. Returns how
 * many rails. */
size_t nt_rails_of_map(const struct nt_map *map, const char *class_name, struct nt_rail *rail,
                       struct nt_rail *together);

/* The devices to use for all messages, ',' between them: what nt_rails_advise says of every class
 * of the map. Empty if hosts have not several, or classes differ. */
enum { NT_RAILS_DEVICES_BYTES = NT_RAILS_MAX * 64 };
/* Returns how many. */
size_t nt_rails_devices(const struct nt_map *map, char devices[NT_RAILS_DEVICES_BYTES]);

#endif
