/* Section 2.7: the models of the insides of the hosts, and that of the network, become one. */
#include "bufe.h"

#include <math.h>
#include <stdlib.h>

struct join {
    const struct nt_model *network;
    const struct nt_bufe_inside *inside;
    struct nt_model *out;
    uint32_t *core_first;   /* hosts of them: the result's index of a host's first core */
    uint32_t *switch_first; /* hosts of them: of the first switch inside */
    double *away;           /* hosts of them: from the measuring core to the host's vertex */
    size_t links;
};

static double least_at_external(const struct nt_bufe_inside *in)
{
    double least = INFINITY;
    for (size_t k = 0; k < in->model->links; k++) {
        const struct nt_link *link = &in->model->link[k];
        if ((link->a == in->external || link->b == in->external) && link->latency_us < least)
            least = link->latency_us;
    }
    return isfinite(least) ? least : 0;
}

/* A link's latency inside, without what all links to the outside share. */
static double inner_latency(const struct nt_bufe_inside *in, const struct nt_link *link,
                            double least)
{
    if (link->a == in->external || link->b == in->external)
        return link->latency_us - least;
    return link->latency_us;
}

/* Bellman and Ford: insides are small. INFINITY: not connected. */
static int distance_to_external(const struct nt_bufe_inside *in, double *out, struct nt_err *err)
{
    size_t vertices = in->model->hosts + in->model->switches;
    double *d = malloc((vertices + 1) * sizeof *d), least = least_at_external(in);
    if (d == NULL)
        return nt_err_set(err, NT_ERR_SYSTEM, "join: no memory for %zu vertices", vertices);
    for (size_t v = 0; v < vertices; v++)
        d[v] = v == in->external ? 0 : INFINITY;
    bool changed = true;
    for (size_t round = 0; changed && round < vertices; round++) {
        changed = false;
        for (size_t k = 0; k < in->model->links; k++) {
            const struct nt_link *link = &in->model->link[k];
            double w = inner_latency(in, link, least);
            for (int turn = 0; turn < 2; turn++) {
                uint32_t from = turn ? link->b : link->a, to = turn ? link->a : link->b;
                if (d[from] + w < d[to]) {
                    d[to] = d[from] + w;
                    changed = true;
                }
            }
        }
    }
    *out = d[in->measured];
    free(d);
    return 0;
}

static int check_inside(const struct nt_bufe_inside *in, size_t host, struct nt_err *err)
{
    const struct nt_model *m = in->model;
    if (m == NULL || m->hosts < 2 || in->external >= m->hosts || in->measured >= m->hosts ||
        in->external == in->measured)
        return nt_err_set(err, NT_ERR_INPUT,
                          "join: the inside of host %zu takes a core, and an external vertex "
                          "other than the measuring core",
                          host);
    for (size_t k = 0; k < m->links; k++)
        if (!(m->link[k].latency_us >= 0))
            return nt_err_set(err, NT_ERR_INPUT, "join: a link inside host %zu has no latency",
                              host);
    return 0;
}

/* Sizes of the result, and where each host's cores and switches begin in it. */
static int lay_out(struct join *j, struct nt_err *err)
{
    size_t hosts = j->network->hosts, cores = 0, links = j->network->links;
    size_t switches = j->network->switches + hosts;
    for (size_t h = 0; h < hosts; h++) {
        const struct nt_model *m = j->inside[h].model;
        if (check_inside(&j->inside[h], h, err) != 0 ||
            distance_to_external(&j->inside[h], &j->away[h], err) != 0)
            return -1;
        if (!isfinite(j->away[h]))
            return nt_err_set(err, NT_ERR_INPUT,
                              "join: inside host %zu no path leads from the measuring core to "
                              "the outside",
                              h);
        j->core_first[h] = (uint32_t)cores;
        j->switch_first[h] = (uint32_t)switches;
        cores += m->hosts - 1;
        switches += m->switches;
        links += m->links;
        if (cores > NT_HOSTS_MAX || switches > NT_HOSTS_MAX)
            return nt_err_set(err, NT_ERR_INPUT, "join: more than %d cores or switches in all",
                              (int)NT_HOSTS_MAX);
    }
    for (size_t h = 0; h < hosts; h++)
        j->switch_first[h] += (uint32_t)cores;
    return nt_model_create(cores, switches, links, &j->out, err);
}

/* The vertex that stands for host h, after the network's own switches. */
static uint32_t host_vertex(const struct join *j, size_t h)
{
    return (uint32_t)(j->out->hosts + j->network->switches + h);
}

static uint32_t network_vertex(const struct join *j, uint32_t v)
{
    return v < j->network->hosts ? host_vertex(j, v)
                                 : (uint32_t)(j->out->hosts + (v - j->network->hosts));
}

static uint32_t inner_vertex(const struct join *j, size_t h, uint32_t v)
{
    const struct nt_bufe_inside *in = &j->inside[h];
    if (v == in->external)
        return host_vertex(j, h);
    if (v >= in->model->hosts)
        return j->switch_first[h] + (v - (uint32_t)in->model->hosts);
    return j->core_first[h] + v - (v > in->external ? 1 : 0);
}

/* The network was measured from cores: what lies between a core and its host's vertex is in the
 * links at the hosts, and comes off them. A latency that is not known stays so. */
static void add_network(struct join *j)
{
    for (size_t k = 0; k < j->network->links; k++) {
        struct nt_link link = j->network->link[k];
        double off = (link.a < j->network->hosts ? j->away[link.a] : 0) +
                     (link.b < j->network->hosts ? j->away[link.b] : 0);
        link.latency_us = link.latency_us < off ? 0 : link.latency_us - off;
        link.a = network_vertex(j, link.a);
        link.b = network_vertex(j, link.b);
        j->out->link[j->links++] = link;
    }
    for (size_t s = 0; s < j->network->switches; s++)
        j->out->oversubscription[s] = j->network->oversubscription[s];
}

static void add_inside(struct join *j, size_t h)
{
    const struct nt_bufe_inside *in = &j->inside[h];
    double least = least_at_external(in);
    for (size_t k = 0; k < in->model->links; k++) {
        struct nt_link link = in->model->link[k];
        link.latency_us = inner_latency(in, &in->model->link[k], least);
        link.a = inner_vertex(j, h, link.a);
        link.b = inner_vertex(j, h, link.b);
        j->out->link[j->links++] = link;
    }
    for (uint32_t v = 0; v < in->model->hosts; v++) {
        if (v == in->external)
            continue;
        uint32_t core = inner_vertex(j, h, v);
        j->out->overhead_us[core] = in->model->overhead_us[v];
        j->out->missing[core] = j->network->missing[h] || in->model->missing[v];
        j->out->host_suspect[core] = j->network->host_suspect[h] || in->model->host_suspect[v];
    }
}

int nt_bufe_join(const struct nt_model *network, const struct nt_bufe_inside *inside,
                 struct nt_model **out, struct nt_err *err)
{
    struct join j = {.network = network, .inside = inside};
    size_t hosts = network->hosts;
    j.core_first = calloc(hosts + 1, sizeof *j.core_first);
    j.switch_first = calloc(hosts + 1, sizeof *j.switch_first);
    j.away = calloc(hosts + 1, sizeof *j.away);
    int rc = j.core_first && j.switch_first && j.away
                 ? lay_out(&j, err)
                 : nt_err_set(err, NT_ERR_SYSTEM, "join: no memory for %zu hosts", hosts);
    if (rc == 0) {
        add_network(&j);
        for (size_t h = 0; h < hosts; h++)
            add_inside(&j, h);
        j.out->family = network->family == NT_FAMILY_STAR || network->family == NT_FAMILY_TREE
                            ? NT_FAMILY_TREE
                            : NT_FAMILY_IRREGULAR;
        j.out->confidence = NAN;
        *out = j.out;
    }
    free(j.core_first);
    free(j.switch_first);
    free(j.away);
    return rc;
}
