/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "asserts.h"
#include "map_json.h"
#include "number.h"
#include "rng.h"

/* ---- a random map -----------------------------------------------------------------------------
 */

static double figure(struct nt_rng *rng)
{
    if (nt_rng_below(rng, 4) == 0)
        return NAN;
    return nt_number_round(exp(30 * nt_rng_uniform(rng) - 10), 6);
}

static void random_links(struct nt_rng *rng, struct nt_model *m)
{
    size_t vertices = m->hosts + m->switches;
    for (size_t k = 0; k < m->links; k++) {
        struct nt_link *l = &m->link[k];
        l->a = (uint32_t)nt_rng_below(rng, vertices);
        l->b = (uint32_t)((l->a + 1 + nt_rng_below(rng, vertices - 1)) % vertices);
        l->latency_us = figure(rng);
        l->latency_se_us = figure(rng);
        l->bandwidth_MBps = figure(rng);
        l->bandwidth_back_MBps = figure(rng);
        l->bandwidth_se_MBps = figure(rng);
        l->bandwidth_back_se_MBps = figure(rng);
        l->probability = nt_number_round(nt_rng_uniform(rng), 6);
        l->suspect = nt_rng_below(rng, 2);
        l->simplex = nt_rng_below(rng, 2);
        l->at_least = nt_rng_below(rng, 2);
        l->forth_at_least = nt_rng_below(rng, 2);
        l->back_at_least = nt_rng_below(rng, 2);
        l->effective = nt_rng_below(rng, 2);
    }
}

static struct nt_model *random_model(struct nt_rng *rng)
{
    struct nt_model *m;
    struct nt_err err = {0};
    size_t hosts = 2 + nt_rng_below(rng, 40), switches = nt_rng_below(rng, 10);
    assert_int_equal(nt_model_create(hosts, switches, nt_rng_below(rng, 60), &m, &err), 0);
    random_links(rng, m);
    for (size_t k = 0; k < hosts; k++) {
        m->overhead_us[k] = nt_rng_below(rng, 2) ? 0 : nt_number_round(nt_rng_uniform(rng), 6);
        m->missing[k] = nt_rng_below(rng, 2);
        m->host_suspect[k] = nt_rng_below(rng, 2);
    }
    for (size_t k = 0; k < switches; k++) {
        m->tier[k] = (uint32_t)nt_rng_below(rng, 5);
        m->oversubscription[k] = figure(rng);
    }
    m->family = (enum nt_family)nt_rng_below(rng, NT_FAMILY_IRREGULAR + 1);
    m->tiers = (uint32_t)nt_rng_below(rng, 5);
    m->confidence = nt_number_round(nt_rng_uniform(rng), 6);
    m->dimensions = (uint32_t)nt_rng_below(rng, NT_DIMENSIONS_MAX + 1);
    for (size_t k = 0; k < m->dimensions; k++)
        m->dimension[k] = (uint32_t)nt_rng_below(rng, 100);
    m->twist = (uint32_t)nt_rng_below(rng, 3);
    m->r2 = nt_number_round(-nt_rng_uniform(rng), 6);
    m->rms_us = figure(rng);
    m->resolution_us = figure(rng);
    m->bisection_MBps = figure(rng);
    m->pairs_off = nt_rng_below(rng, 4);
    free(m->pair_off);
    m->pair_off = calloc(m->pairs_off + 1, sizeof *m->pair_off);
    assert_non_null(m->pair_off);
    for (size_t k = 0; k < m->pairs_off; k++) {
        m->pair_off[k][0] = (uint32_t)nt_rng_below(rng, hosts);
        m->pair_off[k][1] = (uint32_t)nt_rng_below(rng, hosts);
    }
    return m;
}

static void random_loggp(struct nt_rng *rng, struct nt_map *map)
{
    map->loggps = nt_rng_below(rng, 3);
    map->loggp = calloc(map->loggps + 1, sizeof *map->loggp);
    assert_non_null(map->loggp);
    for (size_t k = 0; k < map->loggps; k++) {
        struct nt_loggp *g = &map->loggp[k];
        double *const figures[] = {&g->min_bytes,     &g->max_bytes,        &g->L_us,
                                   &g->o_send_us,     &g->o_recv_us,        &g->g_us,
                                   &g->G_us_per_byte, &g->L_se_us,          &g->o_se_us,
                                   &g->g_se_us,       &g->G_se_us_per_byte, &g->gap_us_per_byte,
                                   &g->check_percent};
        snprintf(g->class_name, sizeof g->class_name, "through %zu switches", k);
        snprintf(g->rail, sizeof g->rail, "%s", nt_rng_below(rng, 2) ? "mlx5_0:1" : "");
        for (size_t f = 0; f < sizeof figures / sizeof *figures; f++)
            *figures[f] = figure(rng);
        g->r2 = NAN;
    }
}

static void random_stress(struct nt_rng *rng, struct nt_map *map)
{
    const struct nt_model *m = map->model;
    map->stresses = nt_rng_below(rng, 4);
    map->stress = calloc(map->stresses + 1, sizeof *map->stress);
    assert_non_null(map->stress);
    for (size_t k = 0; k < map->stresses; k++) {
        struct nt_stress *s = &map->stress[k];
        double *const figures[] = {&s->bytes,   &s->time_us,  &s->low_us,
                                   &s->high_us, &s->alone_us, &s->shared_us};
        snprintf(s->kernel, sizeof s->kernel, "sr:%d", (int)k + 1);
        s->hosts = (uint32_t)nt_rng_below(rng, 65);
        s->messages = (uint32_t)nt_rng_below(rng, 2) * 12;
        s->waves = s->messages > 0 ? 3 : 0;
        s->repetitions = (uint32_t)nt_rng_below(rng, 8);
        for (size_t f = 0; f < sizeof figures / sizeof *figures; f++)
            *figures[f] = figure(rng);
        s->busy_us = s->capacity_MBps = NAN;
        s->congested = nt_rng_below(rng, 2);
        if (!s->congested)
            continue;
        s->from = (uint32_t)nt_rng_below(rng, m->hosts + m->switches);
        s->to = (uint32_t)nt_rng_below(rng, m->hosts + m->switches);
        s->tier = (uint32_t)nt_rng_below(rng, 3);
        s->links = (uint32_t)nt_rng_below(rng, 9);
        s->busy_us = figure(rng);
        s->capacity_MBps = figure(rng);
    }
}

static void random_machine(struct nt_rng *rng, struct nt_machine *m)
{
    if (nt_rng_below(rng, 2))
        snprintf(m->cpu, sizeof m->cpu, "a \"cpu\" of \\ 2");
    m->packages = 1;
    m->numas = 2;
    m->cores = (uint32_t)nt_rng_below(rng, 99);
    m->threads = m->cores;
    m->allowed = 3;
    m->l2_bytes = nt_rng_below(rng, 2) << 20;
    m->l3_bytes = nt_rng_below(rng, 2) << 30;
    m->nics = nt_rng_below(rng, NT_MACHINE_NICS_MAX + 1);
    for (size_t k = 0; k < m->nics; k++) {
        snprintf(m->nic[k].name, sizeof m->nic[k].name, "mlx5_%d:1", (int)k);
        snprintf(m->nic[k].pci, sizeof m->nic[k].pci, "%s", nt_rng_below(rng, 2) ? "0:1" : "");
        m->nic[k].numa = (int32_t)nt_rng_below(rng, 4) - 1;
        snprintf(m->nic[k].transports, sizeof m->nic[k].transports, "%s",
                 nt_rng_below(rng, 2) ? "rc_mlx5,ud_mlx5" : "");
    }
    m->gpus = nt_rng_below(rng, NT_MACHINE_GPUS_MAX + 1);
    for (size_t k = 0; k < m->gpus; k++) {
        snprintf(m->gpu[k].pci, sizeof m->gpu[k].pci, "0000:%02zx:00.0", k);
        snprintf(m->gpu[k].nics, sizeof m->gpu[k].nics, "%s", nt_rng_below(rng, 2) ? "a:1,b" : "");
        m->gpu[k].numa = (int32_t)nt_rng_below(rng, 4) - 1;
    }
}

/* m1 of one host at least, with a latency between its cores. */
static void random_machines(struct nt_rng *rng, struct nt_map *map)
{
    size_t hosts = map->model->hosts;
    map->machines = nt_rng_below(rng, 4);
    map->machine = calloc(map->machines + 1, sizeof *map->machine);
    map->machine_of = calloc(hosts + 1, sizeof *map->machine_of);
    assert_true(map->machine != NULL && map->machine_of != NULL);
    for (size_t k = 0; k < map->machines; k++)
        random_machine(rng, &map->machine[k]);
    for (size_t h = 0; h < hosts; h++) {
        size_t k = nt_rng_below(rng, map->machines + 1);
        map->machine_of[h] = k < map->machines ? (uint32_t)k : NT_MAP_NO_MACHINE;
    }
    if (map->machines == 0)
        return;
    map->machine_of[0] = 0;
    map->machine[0].between[nt_rng_below(rng, NT_BETWEEN_END)] =
        (struct nt_core_latency){1, figure(rng), figure(rng), figure(rng)};
}

static void random_rest(struct nt_rng *rng, struct nt_map *map)
{
    struct nt_err err = {0};
    map->status = (enum nt_status)nt_rng_below(rng, 3);
    map->job_id = nt_rng_below(rng, 2) ? nt_rng_next(rng) : 0;
    free(map->cluster);
    map->cluster = strdup("a \"quoted\\name\"");
    assert_int_equal(nt_map_warn(map, &err, "host %s: %s", "n1", "\"a\\b\" \t\xff"), 0);
    map->sweep.pairs_measured = nt_rng_below(rng, 1000);
    map->sweep.pairs_total = 1000;
    map->sweep.rounds = nt_rng_below(rng, 10);
    map->sweep.seconds = nt_rng_below(rng, 2) ? 0 : 1.5;
    map->sweep.phases = nt_rng_below(rng, 3);
    map->sweep.phase = calloc(map->sweep.phases + 1, sizeof *map->sweep.phase);
    assert_non_null(map->sweep.phase);
    for (size_t k = 0; k < map->sweep.phases; k++)
        map->sweep.phase[k] = (struct nt_phase){"latency", k, k == 0 ? (double)NAN : 0.5};
    map->sweep.transports = nt_rng_below(rng, NT_SWEEP_TRANSPORTS_MAX + 1);
    for (size_t k = 0; k < map->sweep.transports; k++) {
        snprintf(map->sweep.transport[k].used, sizeof map->sweep.transport[k].used, "tcp/eth%zu",
                 k);
        map->sweep.transport[k].hosts = 1 + (uint32_t)nt_rng_below(rng, 9);
    }
    random_loggp(rng, map);
    random_stress(rng, map);
    random_machines(rng, map);
    if (nt_rng_below(rng, 2) == 0)
        return;
    struct nt_placement *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->hosts = map->model->hosts;
    p->order = calloc(p->hosts + 1, sizeof *p->order);
    assert_non_null(p->order);
    for (size_t k = 0; k < p->hosts; k++)
        p->order[k] = (uint32_t)(p->hosts - 1 - k);
    snprintf(p->pattern, sizeof p->pattern, "stencil:2x4");
    p->cost = figure(rng);
    p->cost_default = figure(rng);
    p->message_bytes = figure(rng);
    p->gain = figure(rng);
    map->placement = p;
}

static void random_faults(struct nt_rng *rng, struct nt_map *map)
{
    size_t vertices = map->model->hosts + map->model->switches;
    map->judged = nt_rng_below(rng, 2);
    map->faults = map->judged ? nt_rng_below(rng, 4) : 0;
    map->fault = calloc(map->faults + 1, sizeof *map->fault);
    for (size_t k = 0; k < map->faults; k++) {
        struct nt_fault *f = &map->fault[k];
        *f = (struct nt_fault){.part = {(enum nt_fault_kind)nt_rng_below(rng, NT_FAULT_KINDS),
                                        (uint32_t)nt_rng_below(rng, vertices),
                                        (uint32_t)nt_rng_below(rng, vertices)},
                               .others = (uint32_t)nt_rng_below(rng, NT_FAULT_OTHERS_MAX + 1),
                               .found = nt_number_round(nt_rng_uniform(rng), 6),
                               .expected = nt_number_round(nt_rng_uniform(rng), 6),
                               .confidence = nt_number_round(nt_rng_uniform(rng), 6),
                               .way = (enum nt_fault_way)nt_rng_below(rng, NT_FAULT_WAYS)};
        for (uint32_t o = 0; o < f->others; o++)
            f->other[o] = (struct nt_fault_part){NT_FAULT_LINK_SLOW,
                                                 (uint32_t)nt_rng_below(rng, vertices), 0};
    }
}

static struct nt_map *random_map(struct nt_rng *rng)
{
    struct nt_model *m = random_model(rng);
    struct nt_map *map;
    struct nt_err err = {0};
    char name[50][16];
    const char *names[50];
    for (size_t k = 0; k < m->hosts; k++) {
        snprintf(name[k], sizeof name[k], "n%zu", k * 7 % 50);
        names[k] = name[k];
    }
    assert_int_equal(nt_map_create(m, names, &map, &err), 0);
    random_rest(rng, map);
    random_faults(rng, map);
    return map;
}

/* ---- identity ---------------------------------------------------------------------------------
 */

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static void assert_same_model(const struct nt_model *a, const struct nt_model *b)
{
    assert_int_equal(a->hosts, b->hosts);
    assert_int_equal(a->switches, b->switches);
    assert_int_equal(a->links, b->links);
    for (size_t k = 0; k < a->links; k++) {
        const struct nt_link *x = &a->link[k], *y = &b->link[k];
        assert_int_equal(x->a, y->a);
        assert_int_equal(x->b, y->b);
        assert_true(same(x->latency_us, y->latency_us) &&
                    same(x->latency_se_us, y->latency_se_us) &&
                    same(x->bandwidth_MBps, y->bandwidth_MBps) &&
                    same(x->bandwidth_back_MBps, y->bandwidth_back_MBps) &&
                    same(x->bandwidth_se_MBps, y->bandwidth_se_MBps) &&
                    same(x->bandwidth_back_se_MBps, y->bandwidth_back_se_MBps) &&
                    same(x->probability, y->probability));
        assert_true(x->suspect == y->suspect && x->simplex == y->simplex &&
                    x->at_least == y->at_least && x->forth_at_least == y->forth_at_least &&
                    x->back_at_least == y->back_at_least && x->effective == y->effective);
    }
    assert_memory_equal(a->overhead_us, b->overhead_us, a->hosts * sizeof *a->overhead_us);
    assert_memory_equal(a->missing, b->missing, a->hosts);
    assert_memory_equal(a->host_suspect, b->host_suspect, a->hosts);
    assert_memory_equal(a->tier, b->tier, a->switches * sizeof *a->tier);
    assert_true(a->family == b->family && a->tiers == b->tiers && a->twist == b->twist);
    assert_int_equal(a->dimensions, b->dimensions);
    assert_memory_equal(a->dimension, b->dimension, a->dimensions * sizeof *a->dimension);
    assert_true(same(a->confidence, b->confidence) && same(a->r2, b->r2) &&
                same(a->rms_us, b->rms_us) && same(a->resolution_us, b->resolution_us) &&
                same(a->bisection_MBps, b->bisection_MBps));
    assert_int_equal(a->pairs_off, b->pairs_off);
    assert_memory_equal(a->pair_off, b->pair_off, a->pairs_off * sizeof *a->pair_off);
    for (size_t k = 0; k < a->switches; k++)
        assert_true(same(a->oversubscription[k], b->oversubscription[k]));
}

static void assert_same_stress(const struct nt_stress *x, const struct nt_stress *y)
{
    assert_string_equal(x->kernel, y->kernel);
    assert_true(x->hosts == y->hosts && x->messages == y->messages && x->waves == y->waves &&
                x->repetitions == y->repetitions && x->congested == y->congested);
    assert_true(same(x->bytes, y->bytes) && same(x->time_us, y->time_us) &&
                same(x->low_us, y->low_us) && same(x->high_us, y->high_us) &&
                same(x->alone_us, y->alone_us) && same(x->shared_us, y->shared_us));
    assert_true(x->from == y->from && x->to == y->to && x->tier == y->tier &&
                x->links == y->links && same(x->busy_us, y->busy_us) &&
                same(x->capacity_MBps, y->capacity_MBps));
}

static void assert_same_machine(const struct nt_machine *x, const struct nt_machine *y)
{
    assert_string_equal(x->cpu, y->cpu);
    assert_true(x->packages == y->packages && x->numas == y->numas && x->cores == y->cores &&
                x->threads == y->threads && x->allowed == y->allowed);
    assert_true(x->l2_bytes == y->l2_bytes && x->l3_bytes == y->l3_bytes && x->nics == y->nics);
    for (size_t k = 0; k < x->nics; k++) {
        assert_string_equal(x->nic[k].name, y->nic[k].name);
        assert_string_equal(x->nic[k].pci, y->nic[k].pci);
        assert_int_equal(x->nic[k].numa, y->nic[k].numa);
        assert_string_equal(x->nic[k].transports, y->nic[k].transports);
    }
    assert_int_equal(x->gpus, y->gpus);
    assert_memory_equal(x->gpu, y->gpu, sizeof x->gpu);
    for (int b = 0; b < NT_BETWEEN_END; b++)
        assert_true(x->between[b].hosts == y->between[b].hosts &&
                    same(x->between[b].latency_us, y->between[b].latency_us) &&
                    same(x->between[b].low_us, y->between[b].low_us) &&
                    same(x->between[b].high_us, y->between[b].high_us));
}

static void assert_same_fault(const struct nt_fault *x, const struct nt_fault *y)
{
    assert_true(x->part.kind == y->part.kind && x->part.a == y->part.a && x->part.b == y->part.b);
    assert_true(same(x->found, y->found) && same(x->expected, y->expected) &&
                same(x->confidence, y->confidence) && x->way == y->way);
    assert_int_equal(x->others, y->others);
    for (uint32_t k = 0; k < x->others; k++)
        assert_true(x->other[k].kind == y->other[k].kind && x->other[k].a == y->other[k].a &&
                    x->other[k].b == y->other[k].b);
}

static void assert_same_map(const struct nt_map *a, const struct nt_map *b)
{
    assert_int_equal(a->machines, b->machines);
    for (size_t k = 0; k < a->machines; k++)
        assert_same_machine(&a->machine[k], &b->machine[k]);
    assert_memory_equal(a->machine_of, b->machine_of, a->model->hosts * sizeof *a->machine_of);
    assert_int_equal(a->stresses, b->stresses);
    for (size_t k = 0; k < a->stresses; k++)
        assert_same_stress(&a->stress[k], &b->stress[k]);
    assert_same_model(a->model, b->model);
    assert_string_equal(a->generator, b->generator);
    assert_string_equal(a->cluster, b->cluster);
    assert_int_equal(a->status, b->status);
    assert_true(a->job_id == b->job_id && a->warnings == b->warnings);
    assert_string_equal(a->warning[0], b->warning[0]);
    assert_true(a->sweep.rounds == b->sweep.rounds && same(a->sweep.seconds, b->sweep.seconds));
    assert_int_equal(a->sweep.phases, b->sweep.phases);
    for (size_t k = 0; k < a->sweep.phases; k++)
        assert_true(same(a->sweep.phase[k].seconds, b->sweep.phase[k].seconds));
    assert_int_equal(a->sweep.transports, b->sweep.transports);
    for (size_t k = 0; k < a->sweep.transports; k++) {
        assert_string_equal(a->sweep.transport[k].used, b->sweep.transport[k].used);
        assert_int_equal(a->sweep.transport[k].hosts, b->sweep.transport[k].hosts);
    }
    for (size_t k = 0; k < a->model->hosts; k++)
        assert_string_equal(a->host_name[k], b->host_name[k]);
    assert_true(a->judged == b->judged);
    assert_int_equal(a->faults, b->faults);
    for (size_t k = 0; k < a->faults; k++)
        assert_same_fault(&a->fault[k], &b->fault[k]);
    assert_int_equal(a->loggps, b->loggps);
    for (size_t k = 0; k < a->loggps; k++)
        assert_true(same(a->loggp[k].L_us, b->loggp[k].L_us) &&
                    same(a->loggp[k].G_us_per_byte, b->loggp[k].G_us_per_byte) &&
                    same(a->loggp[k].gap_us_per_byte, b->loggp[k].gap_us_per_byte) &&
                    same(a->loggp[k].check_percent, b->loggp[k].check_percent));
    assert_int_equal(a->placement == NULL, b->placement == NULL);
    if (a->placement != NULL) {
        assert_memory_equal(a->placement->order, b->placement->order,
                            a->placement->hosts * sizeof *a->placement->order);
        assert_true(same(a->placement->gain, b->placement->gain));
    }
}

static void what_is_written_reads_back_equal(void **state)
{
    (void)state;
    struct nt_rng rng;
    nt_rng_init(&rng, 5);
    for (int turn = 0; turn < 400; turn++) {
        struct nt_map *map = random_map(&rng), *again;
        struct nt_err err = {0};
        char *text, *text_again;
        size_t bytes;
        bool compact = turn % 2;
        assert_int_equal(nt_map_write(map, compact, &text, &bytes, &err), 0);
        if (compact)
            assert_null(strchr(text, '\n'));
        if (nt_map_read("f", text, bytes, &again, &err) != 0)
            fail_msg("%s\n%s", err.text, text);
        assert_same_map(map, again);
        assert_int_equal(nt_map_write(again, compact, &text_again, NULL, &err), 0);
        assert_string_equal(text, text_again);
        free(text);
        free(text_again);
        nt_map_destroy(map);
        nt_map_destroy(again);
    }
}

static void sorting_keeps_the_network(void **state)
{
    (void)state;
    struct nt_rng rng;
    nt_rng_init(&rng, 6);
    for (int turn = 0; turn < 50; turn++) {
        struct nt_map *map = random_map(&rng);
        struct nt_err err = {0};
        double before = 0, after = 0;
        for (size_t k = 0; k < map->model->hosts; k++)
            before += map->model->overhead_us[k] * (double)atoi(map->host_name[k] + 1);
        assert_int_equal(nt_map_sort(map, &err), 0);
        for (size_t k = 0; k < map->model->hosts; k++) {
            after += map->model->overhead_us[k] * (double)atoi(map->host_name[k] + 1);
            assert_true(k == 0 || nt_name_compare(map->host_name[k - 1], map->host_name[k]) < 0);
        }
        assert_close(before, after, 1e-9);
        nt_map_destroy(map);
    }
}

/* ---- wrong texts ------------------------------------------------------------------------------
 */

#define TOP                                                                                        \
    "\"schema\": \"nettopo-map/1\", \"generator\": \"g\", \"status\": \"ok\", \"warnings\": []"
#define NET                                                                                        \
    ", \"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\"}],"      \
    " \"links\": [{\"a\": \"a\", \"b\": \"s\"}, {\"a\": \"b\", \"b\": \"s\"}]"

#define STAR(support)                                                                              \
    ", \"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [{\"name\": \"s\", "       \
    "\"support\": " support "}], \"links\": [{\"a\": \"a\", \"b\": \"s\"}, {\"a\": \"b\", \"b\": " \
    "\"s\"}]"

static void a_wrong_text_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } table[] = {
        {"", "f:1: expected JSON, found an error: the text ends too early"},
        {"{\n\n\"a\": 1", "f:3: expected JSON, found an error: the text ends too early"},
        {"{\n\"a\": 1,\n}", "f:3: expected JSON, found an error: "
                            "unexpected character"},
        {"{} x", "f:1: expected JSON, found an error: unexpected character"},
        {"[]", "f:1: expected a JSON object, found something else"},
        {"{}", "f: schema: expected a string, found nothing"},
        {"{\"schema\": 1}", "f: schema: expected a string, found a whole number"},
        {"{\"schema\": \"nettopo-map/2\"}",
         "f: schema: expected \"nettopo-map/1\", found \"nettopo-map/2\""},
        {"{" TOP "}", "f: nodes: expected an array, found nothing"},
        {"{" TOP ", \"nodes\": {}}", "f: nodes: expected an array, found an object"},
        {"{" TOP ", \"nodes\": [1], \"switches\": [], \"links\": []}",
         "f: nodes[0]: expected an object, found a whole number"},
        {"{" TOP ", \"nodes\": [{}], \"switches\": [], \"links\": []}",
         "f: nodes[0].name: expected a string, found nothing"},
        {"{" TOP ", \"nodes\": [{\"name\": \"a\\u0000b\"}], \"switches\": [], \"links\": []}",
         "f: nodes[0].name: expected a text, found one with a zero byte"},
        {"{" TOP ", \"nodes\": [{\"name\": \"a b\"}], \"switches\": [], \"links\": []}",
         "f: nodes[0].name: host name \"a b\": expected only letters, digits, '.', '-' and '_'"},
        {"{" TOP ", \"nodes\": [{\"name\": \"a\"}], \"switches\": [{\"name\": \"a\"}],"
         " \"links\": []}",
         "f: switches[0].name: expected each name once, found a again"},
        {"{" TOP ", \"nodes\": [{\"name\": \"a\"}], \"switches\": [],"
         " \"links\": [{\"a\": \"a\", \"b\": \"x\"}]}",
         "f: links[0].b: expected the name of a node or switch, found \"x\""},
        {"{" TOP ", \"nodes\": [{\"name\": \"a\"}], \"switches\": [],"
         " \"links\": [{\"a\": \"a\", \"b\": \"a\"}]}",
         "f: links[0].b: expected two different ends, found a twice"},
        {"{" TOP ", \"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [],"
         " \"links\": [{\"a\": \"a\", \"b\": \"b\", \"latency_us\": -1}]}",
         "f: links[0].latency_us: expected 0 to 1e+15, found -1"},
        {"{" TOP ", \"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [],"
         " \"links\": [{\"a\": \"a\", \"b\": \"b\", \"latency_us\": NaN}]}",
         "f: links[0].latency_us: expected 0 to 1e+15, found nan"},
        {"{" TOP ", \"nodes\": [{\"name\": \"a\"}, {\"name\": \"b\"}], \"switches\": [],"
         " \"links\": [{\"a\": \"a\", \"b\": \"b\", \"suspect\": 1}]}",
         "f: links[0].suspect: expected true or false, found a whole number"},
        {"{" TOP NET ", \"sweep\": {\"hosts\": 3}}",
         "f: sweep.hosts: expected the number of nodes, 2, found 3"},
        {"{" TOP NET ", \"sweep\": {\"rounds\": -1}}",
         "f: sweep.rounds: expected a whole number from 0 to 9223372036854775807, found -1"},
        {"{" TOP NET ", \"sweep\": {\"phases\": [{\"name\": "
         "\"a-name-that-is-longer-than-a-phase-has\"}]}}",
         "f: sweep.phases[0].name: expected at most 31 bytes, found 38"},
        {"{" TOP NET ", \"structure\": {\"family\": \"bush\"}}",
         "f: structure.family: expected star, tree, torus, mesh, ring, hypercube, full-mesh, "
         "irregular, dragonfly or undetermined, found \"bush\""},
        {"{" TOP NET ", \"structure\": {\"family\": \"torus\", \"parameters\": "
         "{\"dimensions\": [1,1,1,1,1,1,1,1,1]}}}",
         "f: structure.parameters.dimensions: expected at most 8, found 9"},
        {"{" TOP STAR("1.5") ", \"structure\": {\"family\": \"star\", \"confidence\": 1}}",
         "f: switches[0].support: expected 0 to 1, found 1.5"},
        {"{" TOP STAR("0.9") ", \"structure\": {\"family\": \"star\", \"confidence\": 1}}",
         "f: switches[0].support: expected the probability of its link upwards, 1, found 0.9"},
        {"{" TOP STAR("1") ", \"structure\": {\"family\": \"star\"}}",
         "f: switches[0].support: expected none without structure.confidence or off a tree, found "
         "1"},
        {"{" TOP NET ", \"fit\": {\"pairs_off\": [[\"a\"]]}}",
         "f: fit.pairs_off[0]: expected 2 items, found 1"},
        {"{" TOP NET ", \"fit\": {\"pairs_off\": [[\"a\", \"s\"]]}}",
         "f: fit.pairs_off[0]: expected the name of a node, found \"s\""},
        {"{" TOP NET ", \"oversubscription\": [{\"switch\": \"a\", \"ratio\": 1}]}",
         "f: oversubscription[0].switch: expected the name of a switch, found \"a\""},
        {"{" TOP NET ", \"placement\": {\"pattern\": \"ring\"}}",
         "f: placement.node_order: expected an array, found nothing"},
        {"{" TOP NET ", \"models\": [{\"name\": \"m2\"}]}",
         "f: models[0].name: expected \"m1\", found \"m2\""},
        {"{" TOP NET ", \"models\": [{\"name\": \"m1\", \"hosts\": 1}]}",
         "f: models[0].hosts: expected the nodes of this model, 0, found 1"},
        {"{" TOP NET ", \"models\": [{\"name\": \"m1\", \"nics\": [{}]}]}",
         "f: nics[0].name: expected a string, found nothing"},
        {"{" TOP NET
         ", \"models\": [{\"name\": \"m1\", \"core_latency\": [{\"between\": \"us\"}]}]}",
         "f: core_latency[0].between: expected core, cache, numa, package or machine, found "
         "\"us\""},
        {"{" TOP NET ", \"stress\": [{\"kernel\": \"a2a\", \"congested\": {\"from\": \"x\"}}]}",
         "f: stress[0].congested.from: expected the name of a node or switch, found \"x\""},
        {"{" TOP NET ", \"stress\": [{\"kernel\": \"a kernel of many letters\"}]}",
         "f: stress[0].kernel: expected at most 15 bytes, found 24"},
        {"{" TOP NET ", \"placement\": {\"pattern\": \"ring\", \"node_order\": [\"x\"]}}",
         "f: placement.node_order[0]: expected the name of a node, found \"x\""},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        struct nt_map *map = NULL;
        struct nt_err err = {0};
        assert_int_equal(nt_map_read("f", table[k].text, strlen(table[k].text), &map, &err), -1);
        assert_int_equal(err.kind, NT_ERR_INPUT);
        assert_string_equal(err.text, table[k].says);
        assert_null(map);
    }
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    char text[100000];
    struct nt_map *map;
    struct nt_err err = {0};
    memset(text, '[', sizeof text);
    memcpy(text, "{\"a\":", 5);
    assert_int_equal(nt_map_read("f", text, sizeof text, &map, &err), -1);
    assert_string_equal(err.text, "f:1: expected JSON, found an error: nesting too deep");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back_equal),
        cmocka_unit_test(sorting_keeps_the_network),
        cmocka_unit_test(a_wrong_text_is_refused_with_its_place),
        cmocka_unit_test(deep_nesting_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
