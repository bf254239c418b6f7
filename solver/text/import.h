/* SPDX-License-Identifier: Apache-2.0 */
/* Reads texts of other programs: measurements as matrices, and descriptions of fabrics as networks.
 *
 * Each function gets a whole text (bytes long, need not be terminated). file is its name in errors,
 * which are NT_ERR_INPUT with the line. Allocated memory is in proportion to the length of the
 * text. Host names satisfy nt_host_name_check and are in the order of the text. If several
 * processes of mpiGraph ran on one host, their names get "-0", "-1", ... */
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

/* Maximum number of hosts in a list of pairs (a matrix of 256 MiB). */
enum { NT_IMPORT_PAIR_HOSTS_MAX = 8192 };

/* mpiGraph (LLNL): the table "Recv" (what has arrived) if there is one, otherwise "Send"; from
 * sender to receiver, in 10^6 bytes/s (the program prints 2^20). Zero: not measured. */
int nt_import_mpigraph(const char *file, const char *text, size_t bytes,
                       struct nt_named_matrix **out, struct nt_err *err);

/* Benchmarks of pairs (table in import_benchmark.c), one block per pair of hosts. For programs that
 * do not print host names, the user adds a line before each block,
 *     # hosts NAME NAME
 * and the value is from the first to the second host. Latencies: the value of the smallest message,
 * whose size must be the same in all blocks; bandwidths: the largest value. Ignores blocks of the
 * other kind and other tests. If a pair appears again, the better value counts. */
int nt_import_benchmark(const char *file, const char *text, size_t bytes, enum nt_matrix_kind kind,
                        struct nt_named_matrix **out, struct nt_err *err);

/* Returns whether this line, without its end, is one that such a program prints before its
 * values. */
bool nt_import_benchmark_line(const char *text, size_t bytes);

/* Returns whether a text starts as a CSV matrix, a list of pairs or the output of a benchmark. */
bool nt_import_is_matrix(const char *text, size_t bytes);

/* PARUS network_test2: its text (a header with parameters, one host name per process, then for each
 * message size a line "Message length N" and the times in seconds, from row to column), or its
 * NetCDF file. Rejects a matrix of deviations, which contains no latencies. Processes of one host
 * have the same name: the value of two hosts is the mean over their processes. If all processes ran
 * on one host, each counts as a host, NAME-0, NAME-1, ... */
int nt_import_parus(const char *file, const char *text, size_t bytes, struct nt_named_matrix **out,
                    struct nt_err *err);

/* Reads as nt_import_parus does. names: the file that network_test2 writes beside NetCDF, one name
 * per line, for a file without names; NULL: there is none. */
int nt_import_parus_named(const char *file, const char *text, size_t bytes, struct nt_text *names,
                          struct nt_named_matrix **out, struct nt_err *err);
bool nt_import_parus_is_netcdf(const char *text, size_t bytes);

/* A scan of ibnetdiscover (infiniband-diags): complete, grouped (-g), as a report of ports (-p), or
 * a part, such as the records of switches. Gives switches, hosts, and links with their data rates;
 * parallel cables are one link with the sum.
 *
 * Adapters belong to one host if their descriptions start with the same name, as in "n1", "n1
 * HCA-1" or "n1 mlx5_0". An adapter without a host name ("MT4129 ConnectX7   Mellanox
 * Technologies", "localhost HCA-1") belongs to the host with its system-image GUID, otherwise to a
 * host named by its GUID; a warning of the map counts those. names (NULL: none) replaces
 * descriptions by GUID. Aggregation nodes inside switches are not hosts. Latencies are NaN. */
int nt_import_ibnetdiscover(const char *file, const char *text, size_t bytes,
                            const struct nt_name_file *names, struct nt_map **out,
                            struct nt_err *err);

/* Finds the host in the description of an adapter: "n1", "n1 HCA-1", "n1 mlx5_0", "n1 HCA-1
 * (Mellanox HCA)", "n1 MT4119 ConnectX5"; may be in single quotes. Any other description contains a
 * product name or nothing. */
enum { NT_HOST_NAME_BYTES = 256 };
bool nt_host_of_description(const char *description, char name[NT_HOST_NAME_BYTES]);

/* Returns whether a line of the text (terminated) shows that it is a scan. */
bool nt_is_ibnetdiscover(const char *text);

/* Slurm's topology.conf: lines SwitchName= (topology/tree), or lines BlockName= (topology/block),
 * whose blocks are connected to one switch "blocks"; leaf switches and blocks may be empty. Also
 * reads the output of scontrol show topology. Latencies and bandwidths are NaN, because a LinkSpeed
 * has no unit. Rejects Include, because only one text is read. Conditions that Slurm warns about
 * (nodes on several leaf switches) become warnings of the map. */
int nt_import_topology_conf(const char *file, const char *text, size_t bytes, struct nt_map **out,
                            struct nt_err *err);

/* Slurm's topology.yaml, or the output of scontrol show topoconf: the first topology that is
 * cluster_default, otherwise the first; a tree or blocks, as in nt_import_topology_conf. If that
 * topology is neither, the error lists the topologies of the text. */
int nt_import_topology_yaml(const char *file, const char *text, size_t bytes, struct nt_map **out,
                            struct nt_err *err);

/* Reads the topology of that name; NULL: as nt_import_topology_yaml. */
int nt_import_topology_named(const char *file, const char *text, size_t bytes, const char *name,
                             struct nt_map **out, struct nt_err *err);

/* Graphviz DOT as a description of a network, as P. Bannikov and A. Salnikov use it for a
 * reference: the label of an edge is the rate of its link in Gbit/s. Also reads the output of
 * nt_export_dot.
 *
 * Supported: graph and digraph, node and edge statements, ports, chains, comments, quoted names,
 * labels of tags. Default attributes are ignored. Subgraphs are flattened (an edge may lead to
 * several vertices in braces, but not from them). An edge has bandwidth_Gbps and
 * bandwidth_back_Gbps, otherwise a label or a weight that starts with a number (Gbit/s), and
 * latency_us. Edges between the same two ports are one cable; other edges of a pair are parallel
 * cables. In a digraph without ports, a pair that appears twice is the two directions.
 *
 * A vertex is a switch or a host by kind=, type= or function=, by its InfiniBand id
 * ("S-0008f10400410015", "H-...", with a label that names the host), or by a port "swp1"; shape=box
 * and tier= make a switch. If the text has none of these, a vertex is a switch if another vertex is
 * connected to it only. In a network in which every vertex has several links, all are hosts.
 * Comments and quoted names continue over lines, so lines.h is not used. */
int nt_import_dot(const char *file, const char *text, size_t bytes, struct nt_map **out,
                  struct nt_err *err);

/* Trivial Graph Format, as nt_export_tgf writes it: "ID NAME" per vertex, "#", then "ID ID l: US t:
 * MBPS" per link and direction. Switches are found as in nt_import_dot. A link in one direction
 * only is one-way if another link appears in both. */
int nt_import_tgf(const char *file, const char *text, size_t bytes, struct nt_map **out,
                  struct nt_err *err);

/* Sets the latency of links that have none to one of these, so that a description can be
 * simulated. */
void nt_import_assume_latency(struct nt_map *map, double host_link_us, double switch_link_us);

#endif
