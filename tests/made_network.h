/* SPDX-License-Identifier: Apache-2.0 */
/* Networks by their SPEC, for tests that simulate: the test fails where there is none. Include it
 * behind cmocka.h. */
#ifndef NT_MADE_NETWORK_H
#define NT_MADE_NETWORK_H

#include "network.h"

static inline struct nt_network *made_with(const char *text, const struct nt_spec *spec,
                                           const struct nt_figures *figures)
{
    struct nt_network *n = NULL;
    struct nt_err err = {0};
    if (nt_network_build(spec, figures, &n, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return n;
}

static inline struct nt_spec made_spec(const char *text)
{
    struct nt_spec spec = {0};
    struct nt_err err = {0};
    if (nt_spec_parse(text, &spec, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    return spec;
}

/* With the figures that a SPEC has by default. */
static inline struct nt_network *made_network(const char *text)
{
    struct nt_spec spec = made_spec(text);
    return made_with(text, &spec, NULL);
}

static inline struct nt_model *true_model(const struct nt_network *network)
{
    struct nt_model *m = NULL;
    struct nt_err err = {0};
    if (nt_network_truth(network, &m, &err) < 0)
        fail_msg("%s", err.text);
    return m;
}

static inline struct nt_model *made_truth(const char *text)
{
    struct nt_network *n = made_network(text);
    struct nt_model *m = true_model(n);
    nt_network_destroy(n);
    return m;
}

/* Where there are switches, host links of 0.56 us and others of 0.11 us: two hosts of a switch
 * at 1.12 us, as on a real machine, and the next class 20 % above. */
static inline struct nt_network *made_machine(const char *text)
{
    struct nt_spec spec = made_spec(text);
    struct nt_figures figures;
    nt_figures_default(&spec, &figures);
    figures.host_latency_us = 0.56;
    for (int t = 0; t < NT_DIMENSIONS_MAX && spec.switches > 0; t++)
        figures.link_latency_us[t] = 0.11;
    return made_with(text, &spec, &figures);
}

#endif
