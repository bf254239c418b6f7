/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of other programs: measurements as matrices, and descriptions of fabrics as networks.
 *
 * Each takes a whole text (bytes long, need not be terminated); file names it in errors, which
 * are NT_ERR_INPUT with the line. Nothing is allocated that the text's own length does not
 * warrant. Host names come as nt_host_name_check wants them, in the order of the text; where
 * several processes of mpiGraph ran on one host, their names get "-0", "-1", ... */
#ifndef NT_IMPORT_H
#define NT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"
#include "lines.h"
#include "map.h"
#include "matrix.h"
#include "matrix_csv.h"
#include "name_file.h"

/* Pair lists give no more hosts than this (a matrix of 256 MiB). */
enum { NT_IMPORT_PAIR_HOSTS_MAX = 8192 };

/* mpiGraph (LLNL): the table "Recv" where there is one (what has arrived), else "Send"; from the
 * sender to the receiver, in 10^6 bytes/s (the program prints 2^20). Zero: not measured. */
int nt_import_mpigraph(const char *file, const char *text, size_t bytes,
                       struct nt_named_matrix **out, struct nt_err *err);

/* Benchmarks of pairs (import_benchmark.c has the table), one block a pair of hosts. Programs that
 * do not name their hosts have a line of the user's before,
 *     # hosts NAME NAME
 * and their figure is from the first to the second. Latencies: that of the smallest message, which
 * must be the same in all blocks; bandwidths: the largest figure. Blocks of the other kind and
 * tests of other things are passed over. A pair that comes again: the better figure. */
int nt_import_benchmark(const char *file, const char *text, size_t bytes, enum nt_matrix_kind kind,
                        struct nt_named_matrix **out, struct nt_err *err);

/* Is this line, without its end, one that such a program prints before its figures? */
bool nt_import_benchmark_line(const char *text, size_t bytes);

/* PARUS network_test2: its text (a head of parameters, a host's name a process, then for each
 * message size a line "Message length N" and the times in seconds, row to column), or its NetCDF
 * file. A matrix of deviations is refused: it holds no latencies. Processes of one host have its
 * name in common: two hosts have the mean over their processes; where all ran on one host each is
 * one, NAME-0, NAME-1, ... */
int nt_import_parus(const char *file, const char *text, size_t bytes, struct nt_named_matrix **out,
                    struct nt_err *err);

/* The same; names: what network_test2 writes beside NetCDF, a name a line, for a file without
 * names in it. NULL: there is none. */
int nt_import_parus_named(const char *file, const char *text, size_t bytes, struct nt_text *names,
                          struct nt_named_matrix **out, struct nt_err *err);
bool nt_import_parus_is_netcdf(const char *text, size_t bytes);

/* A scan of ibnetdiscover (infiniband-diags), whole, grouped (-g), as a report of ports (-p), or a
 * part of one, such as the records of switches: switches, hosts, links with their data rates;
 * parallel cables are one link with the sum. Adapters of one host are one: those whose descriptions
 * begin with the same name, as "n1", "n1 HCA-1" or "n1 mlx5_0". An adapter that has no host's name
 * ("MT4129 ConnectX7   Mellanox Technologies", "localhost HCA-1") is of the host with its
 * system-image GUID, else a host by its GUID; a warning of the map counts those. names (NULL: none)
 * replaces descriptions by GUID. Aggregation nodes inside switches are no hosts. Latencies are NaN.
 */
int nt_import_ibnetdiscover(const char *file, const char *text, size_t bytes,
                            const struct nt_name_file *names, struct nt_map **out,
                            struct nt_err *err);

/* The host that an adapter's description names: "n1", "n1 HCA-1", "n1 mlx5_0", "n1 HCA-1 (Mellanox
 * HCA)", "n1  MT4119 ConnectX5". Anything else names a product, or nothing. Maybe in single quotes.
 */
enum { NT_HOST_NAME_BYTES = 256 };
bool nt_host_of_description(const char *description, char name[NT_HOST_NAME_BYTES]);

/* Does a line of the text (terminated) show that it is one? */
bool nt_is_ibnetdiscover(const char *text);

/* Slurm's topology.conf: SwitchName= lines (topology/tree), or BlockName= lines (topology/block),
 * whose blocks are attached to one switch "blocks"; leaves and blocks may be empty. Latencies and
 * bandwidths are NaN: a LinkSpeed has no unit. Include is refused, since one text is read. What
 * scontrol show topology prints is read, too. What Slurm warns of (nodes behind several leaves) are
 * the map's warnings. */
int nt_import_topology_conf(const char *file, const char *text, size_t bytes, struct nt_map **out,
                            struct nt_err *err);

/* Slurm's topology.yaml, or what scontrol show topoconf prints: the first topology that is
 * cluster_default, else the first; a tree or blocks, as in nt_import_topology_conf. An error names
 * the topologies of a text in which this one is neither. */
int nt_import_topology_yaml(const char *file, const char *text, size_t bytes, struct nt_map **out,
                            struct nt_err *err);

/* The same of the topology of that name; NULL: as above. */
int nt_import_topology_named(const char *file, const char *text, size_t bytes, const char *name,
                             struct nt_map **out, struct nt_err *err);

/* Graphviz DOT as a description of a network, as P. Bannikov and A. Salnikov use it for a
 * reference: an edge's label is its link's rate in Gbit/s. Ours (nt_export_dot) are read too.
 *
 * Understood: graph and digraph, node and edge statements, ports, chains, default attributes are
 * passed over, subgraphs are flattened (an edge may lead to several vertices in braces, but not
 * from them), comments, quoted names, labels of tags. An edge has bandwidth_Gbps and
 * bandwidth_back_Gbps, else a label or a weight that begins with a number (Gbit/s), and latency_us.
 * Edges between the same two ports are one cable; other edges of a pair are parallel cables, except
 * that a pair that comes twice in a digraph without ports gives the two directions.
 *
 * A vertex is a switch or a host as kind=, type= or function= says, its InfiniBand id
 * ("S-0008f10400410015", "H-...", with a label that names the host) or a port "swp1"; shape=box and
 * tier= make a switch. Where the text says it of none, a vertex is a switch if a vertex hangs on it
 * alone; in a network where no vertex has one link only, all are hosts. Comments and quoted names
 * go over lines, hence not by lines.h. */
int nt_import_dot(const char *file, const char *text, size_t bytes, struct nt_map **out,
                  struct nt_err *err);

/* Trivial Graph Format, as nt_export_tgf writes it: "ID NAME" a vertex, "#", "ID ID l: US t: MBPS"
 * a link and direction. Switches as in nt_import_dot; a link that comes one way only where another
 * comes both ways is one-way. */
int nt_import_tgf(const char *file, const char *text, size_t bytes, struct nt_map **out,
                  struct nt_err *err);

/* Gives links without a latency one of these, so that a description can be simulated. */
void nt_import_assume_latency(struct nt_map *map, double host_link_us, double switch_link_us);

#endif
