/* SPDX-License-Identifier: Apache-2.0 */
#include "simulate_routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"
#include "network_routes.h"
#include "routes_text.h"

/* Names of all links of nt_network_routes, each once. */
struct link_names {
    struct nt_names index; /* borrows text */
    char (*text)[NT_LINK_NAME_MAX + 1];
    const char **name;
};

static void names_fini(struct link_names *names)
{
    nt_names_fini(&names->index);
    free(names->text);
    free(names->name);
}

/* "s3", or the vertex's own name; made is room for the former. */
static const char *vertex_name(const struct nt_network *net, uint32_t v,
                               const char *const *host_name, const char *const *switch_name,
                               char made[24])
{
    if (v < net->hosts)
        return host_name[v];
    if (switch_name != NULL)
        return switch_name[v - net->hosts];
    snprintf(made, 24, "s%zu", v - net->hosts + 1);
    return made;
}

/* Parallel links, and ends with names too long for two in one word, go by their number. */
static int add_link(struct link_names *names, size_t k, const char *a, const char *b,
                    struct nt_err *err)
{
    char *text = names->text[k];
    uint32_t index;
    size_t capacity = sizeof names->text[k];
    int need = snprintf(text, capacity, "%s--%s", a, b);
    if (need < 0 || (size_t)need >= capacity)
        snprintf(text, capacity, "link-%zu", k + 1);
    int rc = nt_names_add(&names->index, text, &index, err);
    if (rc == 1) {
        snprintf(text, capacity, "link-%zu--%.100s--%.100s", k + 1, a, b);
        rc = nt_names_add(&names->index, text, &index, err);
    }
    if (rc == 1)
        return nt_err_set(err, NT_ERR_INPUT, "link %s: expected names that tell links apart", text);
    names->name[k] = text;
    return rc;
}

static int names_init(struct link_names *names, const struct nt_network *net,
                      const char *const *host_name, const char *const *switch_name,
                      struct nt_err *err)
{
    size_t links = net->model->links;
    *names = (struct link_names){.text = calloc(links + 1, sizeof *names->text),
                                 .name = calloc(links + net->hosts + 1, sizeof *names->name)};
    int rc = 0;
    if (names->text == NULL || names->name == NULL)
        rc = nt_err_memory(err);
    for (size_t k = 0; k < links && rc == 0; k++) {
        char made[2][24];
        const struct nt_link *link = &net->model->link[k];
        rc = add_link(names, k, vertex_name(net, link->a, host_name, switch_name, made[0]),
                      vertex_name(net, link->b, host_name, switch_name, made[1]), err);
    }
    for (size_t h = 0; h < net->hosts && rc == 0; h++)
        names->name[links + h] = host_name[h];
    if (rc != 0)
        names_fini(names);
    return rc;
}

int nt_simulate_routes(const struct nt_network *network, const char *const *host_name,
                       const char *const *switch_name, char **text, size_t *bytes,
                       struct nt_err *err)
{
    struct link_names names;
    struct nt_routes *routes;
    if (nt_network_routes(network, &routes, err) != 0)
        return -1;
    int rc = names_init(&names, network, host_name, switch_name, err);
    if (rc == 0) {
        rc = nt_routes_write(routes, host_name, names.name, text, bytes, err);
        names_fini(&names);
    }
    nt_routes_destroy(routes);
    return rc;
}

int nt_simulate_measured(const struct nt_network *network, const struct nt_measure_noise *noise,
                         const char *const *host_name, char **text, size_t *bytes,
                         struct nt_err *err)
{
    struct nt_routes *routes;
    struct nt_measured *measured;
    if (nt_network_routes(network, &routes, err) != 0)
        return -1;
    int rc = nt_network_measured(network, noise, routes, &measured, err);
    if (rc == 0) {
        rc = nt_measured_write(measured, routes, host_name, text, bytes, err);
        nt_measured_destroy(measured);
    }
    nt_routes_destroy(routes);
    return rc;
}
