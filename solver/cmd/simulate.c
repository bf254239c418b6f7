/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "decimal.h"
#include "files.h"
#include "flows.h"
#include "inputs.h"
#include "json_write.h"
#include "kernels.h"
#include "map_json.h"
#include "matrix_csv.h"
#include "measure.h"
#include "memory.h"
#include "names.h"
#include "network.h"
#include "number.h"
#include "prior.h"
#include "rng.h"
#include "routes_text.h"
#include "stats.h"
#include "strbuf.h"
#include "sweep_pmm.h"
#include "sweep_sim.h"
#include "terminal.h"
#include "verbs.h"

enum { HOST_NAME_BYTES = 24, REPEAT_MAX = 1000, CSV_HOSTS_MAX = 8192 };
static const char GENERATOR[] = "nettopo " NT_VERSION " simulate";
static const double WINDOW_S = 0.01;

struct arguments {
    struct nt_network_description topology; /* path: a SPEC, or the file of a network */
    const char *noise, *spread, *outliers, *missing, *asymmetry, *seed;
    const char *host_latency, *link_latency, *overhead, *host_rate, *link_rate;
    const char *format, *sweep, *prior, *workload, *bytes, *messages, *packet, *buffers, *repeat,
        *output;
    bool bandwidth, shuffle, consume_all, adaptive, json;
};

static const struct nt_flag flags[] = {
    {"topology", 't', "SPEC", NT_AT(topology.path), 1, "Network to simulate (required)"},
    NT_FLAG_NAMES(topology.names),
    NT_FLAG_TOPOLOGY("topology-name", topology.topology),
    {"noise", 0, "SD", NT_AT(noise), 1,
     "Relative standard deviation of each measurement (default 0)"},
    {"host-spread", 0, "SD", NT_AT(spread), 1, "Relative standard deviation of the hosts' links"},
    {"asymmetry", 0, "SD", NT_AT(asymmetry), 1,
     "Relative standard deviation of the difference between the directions of a link"},
    {"outliers", 0, "P", NT_AT(outliers), 1,
     "Share of pairs that are wrong by a factor of 1.2 to 4"},
    {"missing", 0, "P", NT_AT(missing), 1, "Share of pairs that are not measured"},
    {"seed", 0, "N", NT_AT(seed), 1, "Random seed (default 1). The same seed gives the same bytes"},
    {"host-latency", 0, "US", NT_AT(host_latency), 1,
     "Latency of a host's link (default 0.5). With a file: of links without a latency"},
    {"link-latency", 0, "US[,US...]", NT_AT(link_latency), 1,
     "Latency of links between switches, per tier from the leaf switches (default 0.25; in direct "
     "networks 0.5, for all links). With a file: one value, of links without a latency"},
    {"overhead", 0, "US", NT_AT(overhead), 1, "Time at each end in direct networks (default 0.4)"},
    {"host-rate", 0, "MBPS", NT_AT(host_rate), 1, "Rate of a host's link (default 12500)"},
    {"link-rate", 0, "MBPS[,MBPS...]", NT_AT(link_rate), 1,
     "Rate of links between switches, per tier"},
    {"format", 'f', "samples|csv|map|routes|measured", NT_AT(format), 1,
     "Output format (default samples): csv, a matrix; map, the result of a perfect solver; routes "
     "and measured, for plan and estimate"},
    {"bandwidth", 0, NULL, NT_AT(bandwidth), 1,
     "samples: also measure flows, of each round at once, on each rail alone, and in the rounds "
     "that load links on cycles; csv: write bandwidths of single pairs instead of latencies"},
    {"sweep", 0, "all|adaptive|sequential|pmm", NT_AT(sweep), 1,
     "Run this sweep on the network, and print its rounds and pairs as JSON"},
    {"prior", 0, "FILE", NT_AT(prior), 1,
     "With --sweep adaptive: start from the results of earlier jobs (nettopo.conf(5))"},
    {"shuffle", 0, NULL, NT_AT(shuffle), 1, "With --sweep: name the hosts in random order"},
    {"workload", 0, "KERNEL", NT_AT(workload), 1,
     "Print the completion times of a stress kernel as JSON, with the half width of the 99 % "
     "interval of their mean. KERNEL[,bytes=N][,messages=N][,tasks=N][,compute=US]; KERNEL is a2a, "
     "o2a, a2o, sr:W, gups, hot:PERCENT, region:PERCENT, transpose, complement, reverse or "
     "shuffle"},
    {"bytes", 0, "N", NT_AT(bytes), 1, "Size of a message (default 10000, random messages 1000)"},
    {"messages", 0, "N", NT_AT(messages), 1,
     "Number of random messages (default 10000; permutations: one per task)"},
    {"packet", 0, "N", NT_AT(packet), 1, "Size of a packet (default: a message is one)"},
    {"buffers", 0, "N", NT_AT(buffers), 1, "Packets that fit at a link's end (default no bound)"},
    {"consume-all", 0, NULL, NT_AT(consume_all), 1,
     "Let a host receive on all its links at once (default: through one port)"},
    {"adaptive", 0, NULL, NT_AT(adaptive), 1,
     "Route workloads on tori and meshes along the minimal path with the shortest queue (default: "
     "the static route). In dragonflies, dragonfly+ and aries: latencies are means over minimal "
     "paths and paths through other groups"},
    {"repeat", 0, "N", NT_AT(repeat), 1, "Repetitions of a workload with other seeds (default 10)"},
    {"json", 0, NULL, NT_AT(json), 1,
     "Print JSON, which is the only format of --sweep and --workload"},
    NT_FLAG_OUTPUT,
    {0}};

static const struct nt_command_help help = {
    "nettopo simulate --topology SPEC [OPTION...]\n"
    "nettopo simulate --topology SPEC --sweep KIND [OPTION...]\n"
    "nettopo simulate --topology SPEC --workload KERNEL [OPTION...]",
    "Generate measurements of a known network, or run a sweep or a stress kernel on it. SPEC is "
    "star:N, tree:AxBxC (C hosts per leaf switch), fattree:P,Q (P-port Q-tree), chain:SxH, "
    "dragonfly:GxRxH, dragonfly+:GxLxSxH, aries:GxAxBxH, torus:AxB[xC], mesh:AxB[xC], "
    "ttorus:AxB:TWIST, ring:N, hypercube:K, fullmesh:N (of hosts; with ,hosts=H of switches with H "
    "hosts each), rails:R:SPEC (a network for each of the R rails of the hosts), or a file: a map, "
    "DOT, a scan of ibnetdiscover, topology.conf or topology.yaml. Links without a latency in the "
    "file get the default latencies.\n",
    flags, "nettopo simulate --topology tree:2x4x8 --noise 0.02 -o samples"};

/* The simulated network. */
struct scene {
    struct nt_network *network;
    struct nt_measure_noise noise;
    struct nt_map *map; /* set if the topology is from a map, which owns the names */
    char (*made_name)[HOST_NAME_BYTES];
    const char **name;      /* of the hosts */
    struct nt_arena memory; /* all arrays */
};

/* ---- numbers -------------------------------------------------------------------------------- */

static int read_whole(const char *what, const char *text, uint64_t most, uint64_t *value,
                      struct nt_err *err)
{
    if (text != NULL && nt_decimal_whole(text, strlen(text), most, value) != 0)
        return nt_err_set(err, NT_ERR_USAGE, "--%s %.64s: expected a whole number up to %llu", what,
                          text, (unsigned long long)most);
    return 0;
}

/* Reads one number per tier; the last one applies to all higher tiers. */
static int read_tiers(const char *what, const char *text, double *value, struct nt_err *err)
{
    size_t n = 0;
    for (const char *at = text; at != NULL; n++) {
        const char *end = nt_number_read(at, at + strlen(at), &value[n]);
        if (end == NULL || (*end != ',' && *end != '\0') || value[n] < 0 ||
            (*end == ',' && n + 1 == NT_DIMENSIONS_MAX))
            return nt_err_set(err, NT_ERR_USAGE,
                              "--%s %.64s: expected up to %d numbers, each 0 or more", what, text,
                              (int)NT_DIMENSIONS_MAX);
        at = *end == ',' ? end + 1 : NULL;
    }
    for (; n > 0 && n < NT_DIMENSIONS_MAX; n++)
        value[n] = value[n - 1];
    return 0;
}

static int read_figures(const struct arguments *a, struct nt_figures *f, struct nt_err *err)
{
    if (nt_command_line_number("host-latency", a->host_latency, 0, INFINITY, &f->host_latency_us,
                               err) < 0 ||
        read_tiers("link-latency", a->link_latency, f->link_latency_us, err) < 0 ||
        nt_command_line_number("overhead", a->overhead, 0, INFINITY, &f->overhead_us, err) < 0 ||
        nt_command_line_number("host-rate", a->host_rate, 0, INFINITY, &f->host_MBps, err) < 0 ||
        read_tiers("link-rate", a->link_rate, f->link_MBps, err) < 0)
        return -1;
    if (f->host_latency_us == 0)
        return nt_err_set(err, NT_ERR_USAGE, "--host-latency 0: expected a latency over 0");
    if (f->host_MBps == 0)
        return nt_err_set(err, NT_ERR_USAGE, "--host-rate 0: expected a rate over 0");
    for (size_t k = 0; k < NT_DIMENSIONS_MAX; k++)
        if (f->link_MBps[k] == 0)
            return nt_err_set(err, NT_ERR_USAGE, "--link-rate %.64s: expected rates over 0",
                              a->link_rate);
    return 0;
}

static int read_noise(const struct arguments *a, struct nt_measure_noise *n, struct nt_err *err)
{
    *n = (struct nt_measure_noise){.seed = 1};
    if (nt_command_line_number("noise", a->noise, 0, NT_NOISE_SD_MAX, &n->sd, err) < 0 ||
        nt_command_line_number("host-spread", a->spread, 0, NT_NOISE_SD_MAX, &n->host_spread, err) <
            0 ||
        nt_command_line_number("asymmetry", a->asymmetry, 0, NT_NOISE_SD_MAX, &n->asymmetry, err) <
            0 ||
        nt_command_line_number("outliers", a->outliers, 0, 1, &n->outliers, err) < 0 ||
        nt_command_line_number("missing", a->missing, 0, 1, &n->missing, err) < 0)
        return -1;
    return read_whole("seed", a->seed, UINT64_MAX, &n->seed, err);
}

/* ---- the scene ------------------------------------------------------------------------------ */

static void scene_fini(struct scene *s)
{
    nt_network_destroy(s->network);
    nt_map_destroy(s->map);
    nt_arena_fini(&s->memory);
}

static int name_hosts(struct scene *s, struct nt_err *err)
{
    size_t n = s->network->hosts;
    s->name = nt_arena_array(&s->memory, n + 1, sizeof *s->name);
    s->made_name = nt_arena_array(&s->memory, n + 1, sizeof *s->made_name);
    if (nt_arena_check(&s->memory, err) != 0)
        return -1;
    for (size_t h = 0; h < n; h++) {
        snprintf(s->made_name[h], sizeof s->made_name[h], "n%zu", h + 1);
        s->name[h] = s->map != NULL ? s->map->host_name[h] : s->made_name[h];
    }
    return 0;
}

/* A description may state no latencies (DOT, dumps, Slurm's files); a map has its own. */
static int build_file(const struct arguments *a, struct scene *s, struct nt_err *err)
{
    struct nt_spec usual = {.topology = NT_TOPOLOGY_STAR, .switches = 1};
    struct nt_figures f;
    nt_figures_default(&usual, &f);
    if (a->overhead || a->host_rate || a->link_rate)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--overhead, --host-rate and --link-rate require a SPEC, found a file");
    if (read_figures(a, &f, err) < 0)
        return -1;
    struct nt_assumed assumed = {f.host_latency_us, f.link_latency_us[0], 0};
    if (nt_reference_read_connected(&a->topology, &assumed, &s->map, err) < 0)
        return -1;
    if (assumed.links == 0 && (a->host_latency || a->link_latency))
        return nt_err_set(err, NT_ERR_USAGE,
                          "--host-latency and --link-latency require a network without latencies, "
                          "but this file has them");
    return nt_network_from_model(s->map->model, &s->network, err);
}

static int build_scene(const struct arguments *a, struct scene *s, struct nt_err *err)
{
    struct nt_spec spec;
    struct nt_figures figures;
    if (nt_spec_names(a->topology.path)) {
        if (a->topology.names != NULL || a->topology.topology != NULL)
            return nt_err_set(err, NT_ERR_USAGE, "--%s requires a file, found a SPEC",
                              a->topology.names != NULL ? "names" : "topology-name");
        if (nt_spec_parse(a->topology.path, &spec, err) < 0)
            return -1;
        nt_figures_default(&spec, &figures);
        return read_figures(a, &figures, err) < 0
                   ? -1
                   : nt_network_build(&spec, &figures, &s->network, err);
    }
    if (strchr(a->topology.path, ':') != NULL) /* probably an unknown topology */
        return nt_spec_parse(a->topology.path, &spec, err);
    return build_file(a, s, err);
}

static int set_adaptive(const struct arguments *a, struct scene *s, struct nt_err *err)
{
    enum nt_routing routing = s->network->routing;
    bool grouped = routing == NT_ROUTING_DRAGONFLY || routing == NT_ROUTING_GROUPS;
    for (struct nt_network *rail = s->network; rail != NULL; rail = rail->next_rail)
        rail->adaptive = a->adaptive && grouped;
    if (a->adaptive && a->workload == NULL && !s->network->adaptive)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--adaptive requires --workload, or a dragonfly, dragonfly+ or aries");
    return 0;
}

/* Routes and kernels support one rail only. */
static int check_rails(const struct arguments *a, const struct scene *s, struct nt_err *err)
{
    bool routes = a->format != NULL &&
                  (strcmp(a->format, "routes") == 0 || strcmp(a->format, "measured") == 0);
    if (s->network->next_rail != NULL && (a->workload != NULL || routes))
        return nt_err_set(err, NT_ERR_USAGE, "--%s requires a network of one rail",
                          routes ? a->format : "workload");
    return 0;
}

static int scene_init(const struct arguments *a, struct scene *s, struct nt_err *err)
{
    *s = (struct scene){0};
    if (read_noise(a, &s->noise, err) < 0 || build_scene(a, s, err) < 0 ||
        check_rails(a, s, err) < 0 || set_adaptive(a, s, err) < 0 ||
        nt_measure_apply_structure(&s->noise, s->network, err) < 0 || name_hosts(s, err) < 0) {
        scene_fini(s);
        return -1;
    }
    return 0;
}

/* ---- measurements ---------------------------------------------------------------------------- */

static int write_samples(const struct scene *s, const struct arguments *a, char **text,
                         size_t *bytes, struct nt_err *err)
{
    const struct nt_noisy_network noisy = {s->network, &s->noise};
    struct nt_samples *samples;
    if (nt_samples_simulate(&noisy, s->name, a->bandwidth ? WINDOW_S : 0, &samples, err) < 0)
        return -1;
    int rc = nt_samples_set_word(&samples->job.generator, GENERATOR, err);
    if (rc == 0)
        rc = nt_samples_write(samples, text, bytes, err);
    nt_samples_destroy(samples);
    return rc;
}

/* Measures the bandwidths of pairs without other flows, with the same noise and missing pairs. */
static int measure_bandwidths(const struct scene *s, struct nt_matrix **out, struct nt_err *err)
{
    struct nt_matrix *m;
    if (nt_flows_alone(s->network, &m, err) < 0)
        return -1;
    for (uint32_t a = 0; a < m->n; a++)
        for (uint32_t b = 0; b < m->n; b++) {
            double value = nt_matrix_get(m, a, b) * nt_measure_factor(&s->noise, a, b, 0);
            bool missing = a != b && isnan(nt_measure_latency(s->network, &s->noise, a, b, 0));
            nt_matrix_set(m, a, b, missing ? NAN : (float)value);
        }
    *out = m;
    return 0;
}

static int write_csv(const struct scene *s, const struct arguments *a, char **text, size_t *bytes,
                     struct nt_err *err)
{
    struct nt_matrix *m;
    if (s->network->hosts > CSV_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--format csv writes up to %d hosts, but the network has %zu",
                          (int)CSV_HOSTS_MAX, s->network->hosts);
    if (a->bandwidth ? measure_bandwidths(s, &m, err) < 0
                     : nt_measure_latencies(s->network, &s->noise, &m, err) < 0)
        return -1;
    int rc = nt_matrix_csv_write(m, s->name, text, bytes, err);
    nt_matrix_destroy(m);
    return rc;
}

/* Sets all parts of the map as certain; hosts that are missing in the description remain
 * missing. */
static void be_certain(const struct nt_network *network, struct nt_map *map)
{
    struct nt_model *m = map->model;
    for (size_t k = 0; k < m->links; k++)
        m->link[k].probability = 1;
    for (size_t h = 0; h < m->hosts; h++) {
        m->missing[h] = network->model->missing[h];
        map->status = m->missing[h] ? NT_STATUS_PARTIAL : map->status;
    }
}

/* The map owns the model from nt_map_create on. */
static int write_truth(const struct scene *s, const struct arguments *a, char **text, size_t *bytes,
                       struct nt_err *err)
{
    (void)a;
    struct nt_model *truth;
    struct nt_map *map;
    if (nt_network_truth(s->network, &truth, err) < 0)
        return -1;
    if (nt_map_create(truth, s->name, &map, err) < 0) {
        nt_model_destroy(truth);
        return -1;
    }
    map->sweep.pairs_total = (uint64_t)truth->hosts * (truth->hosts - 1) / 2;
    be_certain(s->network, map);
    int rc = nt_map_sort(map, err);
    if (rc == 0)
        rc = nt_map_write(map, false, text, bytes, err);
    nt_map_destroy(map);
    return rc;
}

/* ---- routes ---------------------------------------------------------------------------------- */

/* Returns "s3", or the vertex's name; made: buffer for the former. */
static const char *vertex_name(const struct scene *s, uint32_t v, char made[HOST_NAME_BYTES])
{
    size_t hosts = s->network->hosts;
    if (v < hosts)
        return s->name[v];
    if (s->map != NULL)
        return s->map->switch_name[v - hosts];
    snprintf(made, HOST_NAME_BYTES, "s%zu", v - hosts + 1);
    return made;
}

/* Names a link by its ends; parallel links, and links with long names, by their number. */
static int name_link(struct nt_names *names, size_t k, const char *a, const char *b,
                     struct nt_err *err)
{
    char text[NT_LINK_NAME_MAX + 1];
    uint32_t index;
    int need = snprintf(text, sizeof text, "%s--%s", a, b);
    if (need < 0 || (size_t)need >= sizeof text)
        snprintf(text, sizeof text, "link-%zu", k + 1);
    int rc = nt_names_add_copy(names, text, strlen(text), &index, err);
    if (rc == 1) {
        snprintf(text, sizeof text, "link-%zu--%.100s--%.100s", k + 1, a, b);
        rc = nt_names_add_copy(names, text, strlen(text), &index, err);
    }
    if (rc == 1)
        return nt_err_set(err, NT_ERR_INPUT,
                          "link %s: another link has the same name. Rename its switches or hosts.",
                          text);
    return rc;
}

/* Names each link of nt_network_routes once: the network's links, then those for hosts'
 * overheads. */
static int name_links(const struct scene *s, struct nt_names *names, const char **name,
                      struct nt_err *err)
{
    const struct nt_model *m = s->network->model;
    int rc = 0;
    for (size_t k = 0; k < m->links && rc == 0; k++) {
        char made[2][HOST_NAME_BYTES];
        rc = name_link(names, k, vertex_name(s, m->link[k].a, made[0]),
                       vertex_name(s, m->link[k].b, made[1]), err);
        name[k] = rc == 0 ? names->name[k] : NULL;
    }
    for (size_t h = 0; h < s->network->hosts; h++)
        name[m->links + h] = s->name[h];
    return rc;
}

static int write_routes(const struct scene *s, const struct arguments *a, char **text,
                        size_t *bytes, struct nt_err *err)
{
    NT_SCOPED struct nt_arena memory = {0};
    struct nt_names names = {0};
    struct nt_routes *routes;
    size_t links = s->network->model->links + s->network->hosts;
    const char **name = nt_arena_array(&memory, links, sizeof *name);
    (void)a;
    if (nt_arena_check(&memory, err) != 0 || nt_network_routes(s->network, &routes, err) != 0)
        return -1;
    int rc = name_links(s, &names, name, err);
    if (rc == 0)
        rc = nt_routes_write(routes, s->name, name, text, bytes, err);
    nt_names_fini(&names);
    nt_routes_destroy(routes);
    return rc;
}

static int write_measured(const struct scene *s, const struct arguments *a, char **text,
                          size_t *bytes, struct nt_err *err)
{
    struct nt_routes *routes;
    struct nt_measured *measured;
    (void)a;
    if (nt_network_routes(s->network, &routes, err) != 0)
        return -1;
    int rc = nt_network_measured(s->network, &s->noise, routes, &measured, err);
    if (rc == 0) {
        rc = nt_measured_write(measured, routes, s->name, text, bytes, err);
        nt_measured_destroy(measured);
    }
    nt_routes_destroy(routes);
    return rc;
}

/* ---- a sweep ---- */

static double cpu_s(void)
{
    struct timespec t;
    return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0
               ? (double)t.tv_sec + (double)t.tv_nsec * 1e-9
               : 0;
}

/* Creates a random order of the hosts; NULL without shuffle. */
static int shuffle_hosts(const struct scene *s, bool shuffle, uint32_t **order, struct nt_err *err)
{
    struct nt_rng rng;
    *order = NULL;
    if (!shuffle)
        return 0;
    *order = calloc(s->network->hosts + 1, sizeof **order);
    if (*order == NULL)
        return nt_err_memory(err);
    for (uint32_t h = 0; h < s->network->hosts; h++)
        (*order)[h] = h;
    nt_rng_init(&rng, ~s->noise.seed); /* a random stream that no planner uses */
    nt_rng_shuffle(&rng, *order, s->network->hosts);
    return 0;
}

static const struct nt_sweep_kind *find_sweep(const char *name, struct nt_err *err)
{
    static const struct nt_sweep_kind *const kinds[] = {
        &nt_sweep_kind_all, &nt_sweep_kind_adaptive, &nt_sweep_kind_sequential, &nt_sweep_kind_pmm};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(name, kinds[k]->name) == 0)
            return kinds[k];
    nt_err_set(err, NT_ERR_USAGE, "--sweep %.64s: expected all, adaptive, sequential or pmm", name);
    return NULL;
}

/* Reads the prior of the network's hosts; NULL without one. */
static int read_prior(const struct scene *s, const char *path, struct nt_belief **out,
                      struct nt_err *err)
{
    char *text;
    size_t bytes;
    struct nt_prior *prior;
    *out = NULL;
    if (path == NULL)
        return 0;
    if (nt_file_read(path, NT_PRIOR_BYTES_MAX, &text, &bytes, err) != 0)
        return -1;
    int rc = nt_prior_parse(nt_file_name(path), text, bytes, &prior, err);
    free(text);
    if (rc != 0)
        return -1;
    rc = nt_prior_to_belief(prior, s->name, s->network->hosts, out, NULL, err);
    nt_prior_destroy(prior);
    return rc;
}

/* Writes the result of a sweep. memory_bytes: maximum memory of the process, including the
 * simulated network. */
static int write_sweep(const struct scene *s, const struct arguments *a, char **text, size_t *bytes,
                       struct nt_err *err)
{
    const struct nt_sweep_kind *kind = find_sweep(a->sweep, err);
    const struct nt_noisy_network noisy = {s->network, &s->noise};
    struct nt_sweep_run run;
    struct rusage usage = {0};
    struct nt_json_writer w = {0};
    struct nt_belief *belief;
    uint32_t *order;
    if (kind == NULL || shuffle_hosts(s, a->shuffle, &order, err) < 0)
        return -1;
    int rc = read_prior(s, a->prior, &belief, err);
    if (rc == 0)
        rc = nt_sweep_simulate(belief != NULL ? &nt_sweep_kind_prior : kind, &noisy,
                               &(struct nt_sweep_how){order, belief, cpu_s}, &run, err);
    nt_belief_destroy(belief);
    free(order);
    if (rc < 0)
        return -1;
    getrusage(RUSAGE_SELF, &usage);
    nt_json_begin(&w, NULL, '{', false);
    nt_json_put_whole(&w, "hosts", s->network->hosts);
    nt_json_put_whole(&w, "rounds", run.rounds);
    nt_json_put_whole(&w, "pairs", run.pairs);
    nt_json_put_flag(&w, "exact", run.exact);
    nt_json_put_whole(&w, "bound_rounds", run.bound_rounds);
    nt_json_put_number(&w, "cpu_seconds", run.planning_s);
    nt_json_put_whole(&w, "memory_bytes", (uint64_t)usage.ru_maxrss * 1024);
    nt_json_end(&w, '}');
    nt_strbuf_puts(&w.buf, "\n");
    nt_model_destroy(run.model);
    return nt_strbuf_finish(&w.buf, text, bytes, err);
}

/* ---- a workload ---- */

static int read_workload(const struct arguments *a, struct nt_workload *w, uint64_t *repeat,
                         struct nt_err *err)
{
    uint64_t messages = 0, buffers = 0;
    if (nt_workload_parse(a->workload, w, err) < 0)
        return -1;
    if (!(w->bytes > 0))
        w->bytes = nt_workload_is_random(w) ? 1000 : 10000;
    *repeat = 10;
    if (nt_command_line_bytes("bytes", a->bytes, 0, 1e12, &w->bytes, err) < 0 ||
        nt_command_line_bytes("packet", a->packet, 1, 1e12, &w->packet_bytes, err) < 0 ||
        read_whole("messages", a->messages, UINT32_MAX, &messages, err) < 0 ||
        read_whole("buffers", a->buffers, 65536, &buffers, err) < 0 ||
        read_whole("repeat", a->repeat, REPEAT_MAX, repeat, err) < 0)
        return -1;
    if (a->buffers != NULL && buffers == 0)
        return nt_err_set(err, NT_ERR_USAGE, "--buffers 0: expected 1 or more");
    w->messages = a->messages != NULL ? (uint32_t)messages : w->messages;
    w->buffer_packets = (uint32_t)buffers;
    w->consume_all = a->consume_all;
    w->adaptive = a->adaptive;
    return *repeat > 0 ? 0 : nt_err_set(err, NT_ERR_USAGE, "--repeat 0: expected 1 or more");
}

/* Returns the half width of the 99 % confidence interval of the mean (Student's t). */
static double half_width(const double *x, size_t n, double mean)
{
    double square = 0;
    for (size_t k = 0; k < n; k++)
        square += (x[k] - mean) * (x[k] - mean);
    double count = (double)n;
    return nt_student_quantile(0.995, count - 1) * sqrt(square / (count - 1) / count);
}

static void print_times(struct nt_strbuf *d, const double *time, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += time[k];
    double mean = sum / (double)n;
    nt_strbuf_print(d, " \"time_us\": %.6g,", mean);
    if (n > 1)
        nt_strbuf_print(d, " \"time_half_width_us\": %.6g,", half_width(time, n, mean));
    nt_strbuf_puts(d, "\n \"times_us\": [");
    for (size_t k = 0; k < n; k++)
        nt_strbuf_print(d, "%s%.6g", k > 0 ? ", " : "", time[k]);
    nt_strbuf_puts(d, "]}\n");
}

static int write_workload(const struct scene *s, const struct arguments *a, char **text,
                          size_t *bytes, struct nt_err *err)
{
    struct nt_workload w = {0};
    struct nt_strbuf d = {0};
    uint64_t repeat;
    if (read_workload(a, &w, &repeat, err) < 0)
        return -1;
    NT_SCOPED struct nt_arena memory = {0};
    double *time = nt_arena_array(&memory, repeat, sizeof *time), busiest = 0;
    size_t messages = 0;
    if (nt_arena_check(&memory, err) != 0)
        return -1;
    for (uint64_t k = 0; k < repeat; k++) {
        struct nt_kernel_result r;
        nt_terminal_progress("%s, repetition %llu of %llu", a->workload, (unsigned long long)k + 1,
                             (unsigned long long)repeat);
        w.seed = s->noise.seed + k;
        if (nt_kernel_run(s->network, &w, &r, err) < 0)
            return -1;
        time[k] = r.time_us;
        messages = r.messages;
        busiest += r.busiest / (double)repeat;
        nt_kernel_result_fini(&r);
    }
    nt_strbuf_print(&d, "{\"workload\": \"%s\", \"hosts\": %zu,", a->workload, s->network->hosts);
    size_t tasks = nt_workload_tasks(&w, s->network->hosts);
    if (tasks < s->network->hosts)
        nt_strbuf_print(&d, " \"tasks\": %zu,", tasks);
    nt_strbuf_print(&d, " \"messages\": %zu, \"bytes\": %.15g,", messages, w.bytes);
    nt_strbuf_print(&d, " \"repetitions\": %llu, \"busiest_link\": %.3f,",
                    (unsigned long long)repeat, busiest);
    print_times(&d, time, repeat);
    return nt_strbuf_finish(&d, text, bytes, err);
}

/* ---- the verb ---- */

enum { WITH_BANDWIDTH = 2 }; /* number of formats, which are first */

static const struct {
    const char *name;
    int (*write)(const struct scene *s, const struct arguments *a, char **text, size_t *bytes,
                 struct nt_err *err);
} formats[] = {{"samples", write_samples},
               {"csv", write_csv},
               {"map", write_truth},
               {"routes", write_routes},
               {"measured", write_measured}};
enum { FORMATS = sizeof formats / sizeof *formats };

static size_t find_format(const char *name)
{
    size_t k = 0;
    while (k < FORMATS && name != NULL && strcmp(name, formats[k].name) != 0)
        k++;
    return k;
}

static int check_options(const struct arguments *a, struct nt_err *err)
{
    if (a->topology.path == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "--topology SPEC is required");
    if (find_format(a->format) == FORMATS)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--format %.64s: expected samples, csv, map, routes or measured",
                          a->format);
    if (a->bandwidth && find_format(a->format) >= WITH_BANDWIDTH)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--bandwidth requires --format samples or csv, found %s", a->format);
    if ((a->sweep != NULL) + (a->workload != NULL) + (a->format != NULL || a->bandwidth) > 1)
        return nt_err_set(
            err, NT_ERR_USAGE,
            "--sweep, --workload and measurements (--format, --bandwidth) cannot be combined");
    if (a->json && a->sweep == NULL && a->workload == NULL)
        return nt_err_set(err, NT_ERR_USAGE, "--json requires --sweep or --workload");
    if (a->sweep == NULL && a->shuffle)
        return nt_err_set(err, NT_ERR_USAGE, "--shuffle requires --sweep");
    if (a->prior != NULL && (a->shuffle || a->sweep == NULL || strcmp(a->sweep, "adaptive") != 0))
        return nt_err_set(err, NT_ERR_USAGE, "--prior requires --sweep adaptive without --shuffle");
    if (a->workload == NULL &&
        (a->bytes || a->messages || a->packet || a->buffers || a->repeat || a->consume_all))
        return nt_err_set(err, NT_ERR_USAGE,
                          "--bytes, --messages, --packet, --buffers, --consume-all and --repeat "
                          "require --workload");
    return 0;
}

static int write_asked(const struct scene *s, const struct arguments *a, char **text, size_t *bytes,
                       struct nt_err *err)
{
    if (a->sweep != NULL)
        return write_sweep(s, a, text, bytes, err);
    if (a->workload != NULL)
        return write_workload(s, a, text, bytes, err);
    return formats[find_format(a->format)].write(s, a, text, bytes, err);
}

static int simulate_run(int argc, char **argv, struct nt_err *err)
{
    struct arguments a = {.output = "-"};
    struct scene s;
    char *text;
    size_t bytes;
    if (nt_command_line_options(argc, argv, flags, &a, err) != 0 || check_options(&a, err) != 0 ||
        scene_init(&a, &s, err) != 0)
        return -1;
    nt_terminal_progress("simulating %zu hosts", s.network->hosts);
    int rc = write_asked(&s, &a, &text, &bytes, err);
    nt_terminal_progress(NULL);
    scene_fini(&s);
    if (rc != 0)
        return -1;
    return nt_file_write_text(a.output, text, bytes, err);
}

const struct nt_verb nt_verb_simulate = {"simulate", "generate measurements of a known network",
                                         &help, simulate_run};
