/* SPDX-License-Identifier: Apache-2.0 */
/* What hosts are inside, in a record: most are alike, so that each text stands once. */
#include "samples.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "machine_text.h"
#include "number.h"

enum { DIGITS = 6 };
static const double latency_max_us = 1e6;

static int grow_models(struct nt_samples *s, struct nt_err *err)
{
    size_t capacity = s->models_cap == 0 ? 8 : 2 * s->models_cap;
    if (s->models < s->models_cap)
        return 0;
    char **grown = realloc(s->model, capacity * sizeof *grown);
    if (grown == NULL)
        return nt_err_memory(err);
    s->model = grown;
    s->models_cap = capacity;
    return 0;
}

int nt_samples_add_model(struct nt_samples *s, const char *text, uint32_t *index,
                         struct nt_err *err)
{
    char own[NT_MACHINE_TEXT_BYTES];
    struct nt_machine machine;
    if (nt_machine_parse(text, &machine, err) != 0 || grow_models(s, err) != 0)
        return -1;
    nt_machine_write(&machine, own);
    *index = nt_names_find(s->model_names, own, strlen(own));
    if (*index != NT_NAMES_NONE)
        return 0;
    /* no more texts than hosts: each is of one at least */
    if (s->models >= s->hosts)
        return nt_err_set(err, NT_ERR_INPUT, "a model of hosts: expected at most %zu, one a host",
                          s->hosts);
    char *copy = strdup(own);
    if (copy == NULL || nt_names_add(s->model_names, copy, index, err) != 0) {
        free(copy);
        return nt_err_memory(err);
    }
    s->model[s->models++] = copy;
    return 0;
}

static int check_host(const struct nt_samples *s, size_t host, struct nt_err *err)
{
    if (host < s->hosts)
        return 0;
    return nt_err_set(err, NT_ERR_INPUT, "inside of host %zu: expected a number below %zu", host,
                      s->hosts);
}

int nt_samples_set_model(struct nt_samples *s, size_t host, uint32_t model, struct nt_err *err)
{
    if (check_host(s, host, err) != 0)
        return -1;
    if (model >= s->models)
        return nt_err_set(err, NT_ERR_INPUT, "model %u of host %zu: there are %zu", model, host,
                          s->models);
    s->inside[host].model = model;
    return 0;
}

int nt_samples_set_cores(struct nt_samples *s, size_t host, enum nt_between between,
                         double latency_us, struct nt_err *err)
{
    if (check_host(s, host, err) != 0)
        return -1;
    if (!(latency_us > 0 && latency_us <= latency_max_us))
        return nt_err_set(err, NT_ERR_INPUT,
                          "latency between cores %g us: expected over 0, at most %g", latency_us,
                          latency_max_us);
    s->inside[host].latency_us[between] = (float)nt_number_round(latency_us, DIGITS);
    return 0;
}

static bool is_word(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if (*c <= ' ' || *c >= 0x7f)
            return false;
    return text[0] != '\0';
}

int nt_samples_add_transport(struct nt_samples *s, const char *used, size_t hosts,
                             struct nt_err *err)
{
    size_t k = 0, bytes = strlen(used);
    if (!is_word(used) || bytes >= NT_TRANSPORT_USED_BYTES)
        return nt_err_set(err, NT_ERR_INPUT, "transports: expected a word of at most %d bytes",
                          NT_TRANSPORT_USED_BYTES - 1);
    while (k < s->transports && strcmp(s->transport[k].used, used) != 0)
        k++;
    if (k == NT_SWEEP_TRANSPORTS_MAX)
        return 0;
    size_t before = k < s->transports ? s->transport[k].hosts : 0;
    if (hosts < 1 || hosts > s->hosts - before)
        return nt_err_set(err, NT_ERR_INPUT, "transports: expected 1 to %zu hosts, found %zu",
                          s->hosts - before, hosts);
    memcpy(s->transport[k].used, used, bytes + 1);
    s->transport[k].hosts = (uint32_t)(before + hosts);
    s->transports += k == s->transports;
    return 0;
}
