/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <math.h>
#include <stdlib.h>

#include "rng.h"

/* The purpose is part of the hash, so that streams of one seed differ. */
enum purpose { PURPOSE_NOISE = 1, PURPOSE_OUTLIER, PURPOSE_MISSING, PURPOSE_HOST, PURPOSE_ARC };

static struct nt_rng random_stream(uint64_t seed, enum purpose purpose, uint64_t a, uint64_t b,
                                   uint64_t repeat)
{
    struct nt_rng rng;
    nt_rng_init(&rng, seed ^ (uint64_t)purpose << 56);
    nt_rng_init(&rng, nt_rng_next(&rng) ^ (a << 32 | b));
    nt_rng_init(&rng, nt_rng_next(&rng) ^ repeat);
    nt_rng_next(&rng);
    return rng;
}

/* Returns 1 + sd z, above zero, because a latency is positive whatever the noise. */
static double noise_factor(struct nt_rng *rng, double sd)
{
    double f = 1 + sd * nt_rng_normal(rng);
    return f < 0.05 ? 0.05 : f;
}

static int check_noise(const struct nt_measure_noise *n, struct nt_err *err)
{
    const struct {
        const char *name;
        double value, most;
    } part[] = {{"noise", n->sd, NT_NOISE_SD_MAX},
                {"host spread", n->host_spread, NT_NOISE_SD_MAX},
                {"asymmetry", n->asymmetry, NT_NOISE_SD_MAX},
                {"outliers", n->outliers, 1},
                {"missing", n->missing, 1}};
    for (size_t k = 0; k < sizeof part / sizeof *part; k++)
        if (!(part[k].value >= 0 && part[k].value <= part[k].most))
            return nt_err_set(err, NT_ERR_USAGE, "%s %g: expected 0 to %g", part[k].name,
                              part[k].value, part[k].most);
    return 0;
}

/* Applies the spread of hosts to their link or, in direct networks, to their overhead. */
static void spread_hosts(const struct nt_measure_noise *noise, uint32_t rail, struct nt_network *n)
{
    for (uint32_t h = 0; h < n->hosts; h++) {
        struct nt_rng rng = random_stream(noise->seed, PURPOSE_HOST, h, rail, 0);
        double f = noise_factor(&rng, noise->host_spread);
        bool leaf = n->first[h + 1] - n->first[h] == 1 && n->switches > 0;
        if (leaf) {
            uint32_t arc = n->out[n->first[h]];
            n->arc[arc].latency_us *= f;
            n->arc[arc ^ 1].latency_us *= f;
        } else {
            n->overhead_us[h] *= f;
        }
    }
}

static void settle_rail(const struct nt_measure_noise *noise, uint32_t rail,
                        struct nt_network *network)
{
    if (noise->host_spread > 0)
        spread_hosts(noise, rail, network);
    for (uint32_t k = 0; noise->asymmetry > 0 && k < network->arcs; k += 2) {
        struct nt_rng rng = random_stream(noise->seed, PURPOSE_ARC, k, rail, 0);
        double forth = noise_factor(&rng, noise->asymmetry);
        double back = 2 - forth < 0.05 ? 0.05 : 2 - forth;
        network->arc[k].latency_us *= forth;
        network->arc[k + 1].latency_us *= back;
    }
}

int nt_measure_apply_structure(const struct nt_measure_noise *noise, struct nt_network *network,
                               struct nt_err *err)
{
    if (check_noise(noise, err) < 0)
        return -1;
    for (uint32_t rail = 0; network != NULL; network = network->next_rail)
        settle_rail(noise, rail++, network);
    return 0;
}

/* Returns the factor of the unordered pair in one repeat: 1, or the factor of an outlier. */
static double wrong_by(const struct nt_measure_noise *noise, uint32_t a, uint32_t b,
                       uint32_t repeat)
{
    struct nt_rng rng =
        random_stream(noise->seed, PURPOSE_OUTLIER, a < b ? a : b, a < b ? b : a, repeat);
    if (noise->outliers <= 0 || nt_rng_uniform(&rng) >= noise->outliers)
        return 1;
    double by = 1.2 * pow(4 / 1.2, nt_rng_uniform(&rng));
    return nt_rng_uniform(&rng) < 0.75 ? by : 1 / by;
}

static bool is_missing(const struct nt_measure_noise *noise, uint32_t a, uint32_t b)
{
    if (noise->missing <= 0)
        return false;
    struct nt_rng rng =
        random_stream(noise->seed, PURPOSE_MISSING, a < b ? a : b, a < b ? b : a, 0);
    return nt_rng_uniform(&rng) < noise->missing;
}

struct nt_reading nt_measure_batches(const struct nt_network *network,
                                     const struct nt_measure_noise *noise, uint32_t a, uint32_t b,
                                     uint32_t repeat, uint32_t batches)
{
    double value = NAN, mean = 0, square = 0;
    struct nt_rng rng = random_stream(noise->seed, PURPOSE_NOISE, a, b, repeat);
    if (!is_missing(noise, a, b))
        value = nt_network_latency(network, a, b) * wrong_by(noise, a, b, repeat);
    for (uint32_t k = 0; k < batches && noise->sd > 0; k++) {
        double f = noise_factor(&rng, noise->sd), step = f - mean;
        mean += step / (k + 1);
        square += step * (f - mean);
    }
    double n = batches;
    return (struct nt_reading){noise->sd > 0 ? value * mean : value,
                               batches > 1 ? value * sqrt(square / (n - 1) / n) : NAN};
}

double nt_measure_factor(const struct nt_measure_noise *noise, uint32_t a, uint32_t b,
                         uint32_t repeat)
{
    struct nt_rng rng = random_stream(noise->seed, PURPOSE_NOISE, a, b, repeat);
    return noise->sd > 0 ? noise_factor(&rng, noise->sd) : 1;
}

double nt_measure_latency(const struct nt_network *network, const struct nt_measure_noise *noise,
                          uint32_t a, uint32_t b, uint32_t repeat)
{
    return nt_measure_batches(network, noise, a, b, repeat, 1).value_us;
}

int nt_measure_latencies(const struct nt_network *network, const struct nt_measure_noise *noise,
                         struct nt_matrix **out, struct nt_err *err)
{
    struct nt_matrix *m;
    if (nt_matrix_create(network->hosts, NT_MATRIX_LATENCY_US, &m, err) < 0)
        return -1;
    for (uint32_t a = 0; a < network->hosts; a++)
        for (uint32_t b = 0; b < network->hosts; b++)
            if (a != b)
                nt_matrix_set(m, a, b, (float)nt_measure_latency(network, noise, a, b, 0));
    *out = m;
    return 0;
}

/* ---- routes, and measurements over them ---- */

/* One direction of a pair. */
struct way {
    size_t n;
    uint32_t link[NT_ROUTE_LINKS_MAX];
};

/* Returns 1, or 0: no path, -1: too long. */
static int walk_route(const struct nt_network *net, uint32_t from, uint32_t to, struct way *way)
{
    struct nt_walk w;
    uint32_t arc;
    way->n = 0;
    if (net->overhead_us[from] > 0)
        way->link[way->n++] = (uint32_t)net->model->links + from;
    for (nt_walk_begin(net, from, to, &w); nt_walk_next(&w, &arc);) {
        if (way->n + 1 >= NT_ROUTE_LINKS_MAX)
            return -1;
        way->link[way->n++] = arc / 2;
    }
    if (!nt_walk_arrived(&w))
        return 0;
    if (net->overhead_us[to] > 0)
        way->link[way->n++] = (uint32_t)net->model->links + to;
    return 1;
}

static bool same_links(const struct way *there, const struct way *back)
{
    if (there->n != back->n)
        return false;
    for (size_t k = 0; k < there->n; k++)
        if (there->link[k] != back->link[back->n - 1 - k])
            return false;
    return true;
}

static int add_pair(struct nt_routes_builder *b, const struct nt_network *net, uint32_t from,
                    uint32_t to, struct way way[2], struct nt_err *err)
{
    int there = walk_route(net, from, to, &way[0]), back = walk_route(net, to, from, &way[1]);
    if (there < 0 || back < 0)
        return nt_err_set(err, NT_ERR_INPUT, "over %d links between two hosts",
                          (int)NT_ROUTE_LINKS_MAX);
    if (there == 0 || back == 0 || way[0].n == 0)
        return 0;
    if (nt_routes_builder_add(b, from, to, way[0].link, way[0].n, err) != 0)
        return -1;
    if (same_links(&way[0], &way[1]))
        return 0;
    return nt_routes_builder_add(b, to, from, way[1].link, way[1].n, err);
}

int nt_network_routes(const struct nt_network *net, struct nt_routes **out, struct nt_err *err)
{
    struct nt_routes_builder *b;
    struct nt_routes *routes = NULL;
    if (net->hosts > NT_NETWORK_ROUTES_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "routes of %zu hosts: at most %d", net->hosts,
                          (int)NT_NETWORK_ROUTES_HOSTS_MAX);
    NT_SCOPED struct nt_arena memory = {0};
    struct way *way = nt_arena_array(&memory, 2, sizeof *way);
    if (nt_arena_check(&memory, err) != 0 || nt_routes_builder_create(&b, err) != 0)
        return -1;
    int rc = 0;
    for (uint32_t from = 0; from < net->hosts && rc == 0; from++)
        for (uint32_t to = from + 1; to < net->hosts && rc == 0; to++)
            rc = add_pair(b, net, from, to, way, err);
    if (rc == 0)
        rc = nt_routes_builder_finish(b, net->hosts, net->model->links + net->hosts, &routes, err);
    nt_routes_builder_destroy(b);
    if (rc == 0 && routes->pairs == 0) {
        nt_routes_destroy(routes);
        return nt_err_set(err, NT_ERR_INPUT,
                          "no two hosts are connected, so that there are no routes");
    }
    if (rc == 0)
        *out = routes;
    return rc;
}

int nt_network_measured(const struct nt_network *network, const struct nt_measure_noise *noise,
                        const struct nt_routes *routes, struct nt_measured **out,
                        struct nt_err *err)
{
    struct nt_measured *m = calloc(1, sizeof *m);
    if (m != NULL) {
        m->pair = malloc((routes->pairs + 1) * sizeof *m->pair);
        m->latency_us = malloc((routes->pairs + 1) * sizeof *m->latency_us);
    }
    if (m == NULL || m->pair == NULL || m->latency_us == NULL) {
        nt_measured_destroy(m);
        return nt_err_memory(err);
    }
    for (size_t p = 0; p < routes->pairs; p++) {
        uint32_t a = routes->host[p][0], b = routes->host[p][1];
        double us = (nt_measure_latency(network, noise, a, b, 0) +
                     nt_measure_latency(network, noise, b, a, 0)) /
                    2;
        if (isnan(us))
            continue;
        m->pair[m->count] = (uint32_t)p;
        m->latency_us[m->count++] = us;
    }
    *out = m;
    return 0;
}
