/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine_text.h"
#include "number.h"
#include "prior.h"

enum {
    ROOM_MAX = 65536,      /* maximum tasks on a host */
    WORD_BYTES_MAX = 1152, /* maximum of a text or a word of the header, less than a line */
    PHASES_MAX = 10000,
    WARNINGS_MAX = 10000,
    RAIL_BYTES_MAX = 31
};

static const double microseconds_max = 1e15; /* also limits every value to the range of a float */
static const double bytes_max = 1e18, traffic_bytes_max = 1e30;
static const double core_latency_us_max = 1e6;

/* ---- life ------------------------------------------------------------------------------------ */

static void free_all(char **strings, size_t n)
{
    for (size_t k = 0; strings != NULL && k < n; k++)
        free(strings[k]);
    free(strings);
}

void nt_samples_destroy(struct nt_samples *s)
{
    if (s == NULL)
        return;
    free(s->job.generator);
    free(s->job.cluster);
    free(s->job.level);
    free(s->job.created);
    free(s->job.pattern);
    if (s->names != NULL)
        nt_names_fini(s->names);
    free(s->names);
    if (s->room.model_names != NULL)
        nt_names_fini(s->room.model_names);
    free(s->room.model_names);
    free_all(s->model, s->models);
    free(s->inside);
    free_all(s->host_name, s->hosts);
    free_all(s->missing, s->hosts);
    free(s->slots);
    nt_triples_fini(&s->traffic);
    nt_belief_destroy(s->belief);
    free(s->loggp);
    free(s->phase);
    free(s->phase_begin_s);
    free(s->sample);
    free_all(s->text, s->texts);
    free_all(s->warning, s->warnings);
    free(s);
}

int nt_samples_create(struct nt_samples **out, struct nt_err *err)
{
    struct nt_samples *s = calloc(1, sizeof *s);
    if (s == NULL)
        return nt_err_memory(err);
    s->job.generator = strdup("nettopo " NT_VERSION);
    s->job.cluster = strdup("");
    s->job.level = strdup("");
    s->job.created = strdup("");
    s->job.pattern = strdup("");
    s->names = calloc(1, sizeof *s->names);
    s->room.model_names = calloc(1, sizeof *s->room.model_names);
    if (!s->job.generator || !s->job.cluster || !s->job.level || !s->job.created ||
        !s->job.pattern || !s->names || !s->room.model_names) {
        nt_samples_destroy(s);
        return nt_err_memory(err);
    }
    *out = s;
    return 0;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Returns a copy as one line of ASCII without spaces at its ends, so that its text can be read
 * again. */
static char *copy_line(const char *text)
{
    while (*text == ' ')
        text++;
    char *copy = strndup(text, WORD_BYTES_MAX);
    if (copy == NULL)
        return NULL;
    for (char *c = copy; *c != '\0'; c++)
        if (*c < 0x20 || *c >= 0x7f)
            *c = '?';
    for (size_t n = strlen(copy); n > 0 && copy[n - 1] == ' '; n--)
        copy[n - 1] = '\0';
    return copy;
}

static bool is_word(const char *text, size_t bytes_max)
{
    for (const char *c = text; *c != '\0'; c++)
        if (*c <= ' ' || *c >= 0x7f)
            return false;
    return text[0] != '\0' && strlen(text) <= bytes_max;
}

int nt_samples_set_word(char **word, const char *text, struct nt_err *err)
{
    char *copy = copy_line(text);
    if (copy == NULL)
        return nt_err_memory(err);
    free(*word);
    *word = copy;
    return 0;
}

/* Doubles the room of an array when count has reached cap. */
static int grow_array(void **array, size_t count, size_t *cap, size_t item, struct nt_err *err)
{
    if (count < *cap)
        return 0;
    size_t capacity = *cap == 0 ? 64 : *cap * 2;
    void *grown = capacity > SIZE_MAX / 2 / item ? NULL : realloc(*array, capacity * item);
    if (grown == NULL)
        return nt_err_memory(err);
    *array = grown;
    *cap = capacity;
    return 0;
}

static int add_text(struct nt_samples *s, const char *text, uint32_t *index, struct nt_err *err)
{
    void *array = s->text;
    if (s->texts >= UINT32_MAX - 1)
        return nt_err_set(err, NT_ERR_INPUT, "too many texts in samples");
    if (grow_array(&array, s->texts, &s->room.texts, sizeof *s->text, err) != 0)
        return -1;
    s->text = array;
    s->text[s->texts] = copy_line(text);
    if (s->text[s->texts] == NULL)
        return nt_err_memory(err);
    *index = (uint32_t)s->texts++;
    return 0;
}

/* ---- hosts, phases, rounds ------------------------------------------------------------------- */

static int grow_hosts(struct nt_samples *s, struct nt_err *err)
{
    if (s->hosts < s->room.hosts)
        return 0;
    size_t capacity = s->room.hosts == 0 ? 64 : s->room.hosts * 2;
    char **names = realloc(s->host_name, capacity * sizeof *names);
    if (names != NULL)
        s->host_name = names;
    char **missing = realloc(s->missing, capacity * sizeof *missing);
    if (missing != NULL)
        s->missing = missing;
    uint32_t *tasks = realloc(s->slots, capacity * sizeof *tasks);
    if (tasks != NULL)
        s->slots = tasks;
    struct nt_host_hardware *inside = realloc(s->inside, capacity * sizeof *inside);
    if (inside != NULL)
        s->inside = inside;
    if (names == NULL || missing == NULL || tasks == NULL || inside == NULL)
        return nt_err_memory(err);
    s->room.hosts = capacity;
    return 0;
}

int nt_samples_add_host(struct nt_samples *s, const char *name, struct nt_err *err)
{
    if (nt_host_name_check(name, err) != 0)
        return -1;
    if (s->phases > 0 || s->belief != NULL)
        return nt_err_set(err, NT_ERR_INPUT, "host %s: expected before the first phase%s", name,
                          s->belief != NULL ? " and before prior" : "");
    if (s->hosts >= NT_HOSTS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "host %s: expected at most %d hosts", name,
                          (int)NT_HOSTS_MAX);
    if (nt_names_find(s->names, name, strlen(name)) != NT_NAMES_NONE)
        return nt_err_set(err, NT_ERR_INPUT, "host %s: expected each host once", name);
    if (grow_hosts(s, err) != 0)
        return -1;
    char *copy = strdup(name);
    uint32_t index;
    if (copy == NULL)
        return nt_err_memory(err);
    if (nt_names_add(s->names, copy, &index, err) != 0) {
        free(copy);
        return -1;
    }
    s->host_name[s->hosts] = copy;
    s->slots[s->hosts] = 1;
    s->inside[s->hosts] = (struct nt_host_hardware){.model = NT_SAMPLES_NO_MODEL};
    s->missing[s->hosts++] = NULL;
    return 0;
}

int nt_samples_set_slots(struct nt_samples *s, size_t host, uint32_t tasks, struct nt_err *err)
{
    if (host >= s->hosts)
        return nt_err_set(err, NT_ERR_INPUT, "room of host %zu: expected a number below %zu", host,
                          s->hosts);
    if (tasks > ROOM_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "room of %u tasks: expected at most %d", tasks,
                          (int)ROOM_MAX);
    s->slots[host] = tasks;
    return 0;
}

int nt_samples_set_missing(struct nt_samples *s, size_t host, const char *reason,
                           struct nt_err *err)
{
    if (host >= s->hosts)
        return nt_err_set(err, NT_ERR_INPUT, "missing host %zu: expected a number below %zu", host,
                          s->hosts);
    char *copy = copy_line(reason[strspn(reason, " ")] == '\0' ? "no reason given" : reason);
    if (copy == NULL)
        return nt_err_memory(err);
    free(s->missing[host]);
    s->missing[host] = copy;
    return 0;
}

static bool is_behind(const struct nt_triples *t, uint32_t a, uint32_t b)
{
    const uint32_t *last = t->n == 0 ? NULL : t->pair[t->n - 1];
    return last == NULL || a > last[0] || (a == last[0] && b > last[1]);
}

int nt_samples_add_traffic(struct nt_samples *s, uint32_t a, uint32_t b, double bytes,
                           struct nt_err *err)
{
    struct nt_triples *t = &s->traffic;
    if (a >= b || b >= NT_TRIPLES_TASKS_MAX || !is_behind(t, a, b))
        return nt_err_set(
            err, NT_ERR_INPUT,
            "traffic of ranks %u and %u: expected two ranks below %d, ascending, each "
            "pair once",
            a, b, (int)NT_TRIPLES_TASKS_MAX);
    if (!((float)bytes > 0 && bytes <= traffic_bytes_max))
        return nt_err_set(err, NT_ERR_INPUT, "traffic of %g bytes: expected more than 0, up to %g",
                          bytes, traffic_bytes_max);
    if (t->n >= NT_SAMPLES_TRAFFIC_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "expected at most %d pairs of ranks that communicate",
                          (int)NT_SAMPLES_TRAFFIC_MAX);
    size_t cap = s->room.traffic;
    void *pair = t->pair, *amount = t->bytes;
    if (grow_array(&pair, t->n, &cap, sizeof *t->pair, err) != 0)
        return -1;
    t->pair = pair;
    cap = s->room.traffic;
    if (grow_array(&amount, t->n, &cap, sizeof *t->bytes, err) != 0)
        return -1;
    t->bytes = amount;
    s->room.traffic = cap;
    t->pair[t->n][0] = a;
    t->pair[t->n][1] = b;
    t->bytes[t->n++] = (float)bytes;
    if (b >= t->ntasks)
        t->ntasks = (size_t)b + 1;
    return 0;
}

void nt_samples_clear_traffic(struct nt_samples *s)
{
    nt_triples_fini(&s->traffic);
    s->room.traffic = 0;
}

int nt_samples_begin_phase(struct nt_samples *s, const char *name, struct nt_err *err)
{
    size_t bytes = strlen(name);
    if (bytes == 0 || bytes >= sizeof s->phase->name)
        return nt_err_set(err, NT_ERR_INPUT, "phase \"%.40s\": expected a name of 1 to %zu bytes",
                          name, sizeof s->phase->name - 1);
    if (!is_word(name, bytes))
        return nt_err_set(err, NT_ERR_INPUT, "phase \"%s\": expected one word", name);
    if (s->phases >= PHASES_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "phase %s: expected at most %d phases", name,
                          PHASES_MAX);
    struct nt_phase *grown = realloc(s->phase, (s->phases + 1) * sizeof *grown);
    if (grown == NULL)
        return nt_err_memory(err);
    s->phase = grown;
    double *begins = realloc(s->phase_begin_s, (s->phases + 1) * sizeof *begins);
    if (begins == NULL)
        return nt_err_memory(err);
    s->phase_begin_s = begins;
    begins[s->phases] = NAN;
    struct nt_phase *phase = &grown[s->phases++];
    *phase = (struct nt_phase){.seconds = NAN};
    memcpy(phase->name, name, bytes);
    return 0;
}

static struct nt_phase *open_phase(struct nt_samples *s)
{
    if (s->phases == 0 || !isnan(s->phase[s->phases - 1].seconds))
        return NULL;
    return &s->phase[s->phases - 1];
}

static bool in_range(double value, double most)
{
    return value >= 0 && value <= most; /* false for NaN */
}

int nt_samples_date_phase(struct nt_samples *s, double begin_s, struct nt_err *err)
{
    if (open_phase(s) == NULL)
        return nt_err_set(err, NT_ERR_INPUT, "the begin of a phase: expected a phase before it");
    if (!in_range(begin_s, 1e9))
        return nt_err_set(err, NT_ERR_INPUT, "phase from %g s on: expected 0 to 1e9", begin_s);
    s->phase_begin_s[s->phases - 1] = nt_number_round(begin_s, NT_SAMPLES_DIGITS);
    return 0;
}

int nt_samples_end_phase(struct nt_samples *s, double seconds, struct nt_err *err)
{
    struct nt_phase *phase = open_phase(s);
    if (phase == NULL)
        return nt_err_set(err, NT_ERR_INPUT, "the end of a phase: expected a phase before it");
    if (!in_range(seconds, 1e9))
        return nt_err_set(err, NT_ERR_INPUT, "phase of %g s: expected 0 to 1e9", seconds);
    phase->seconds = nt_number_round(seconds, NT_SAMPLES_DIGITS);
    return 0;
}

int nt_samples_begin_round(struct nt_samples *s, struct nt_err *err)
{
    struct nt_phase *phase = open_phase(s);
    if (phase == NULL)
        return nt_err_set(err, NT_ERR_INPUT, "a round: expected a phase before it");
    if (s->rounds >= UINT32_MAX - 1)
        return nt_err_set(err, NT_ERR_INPUT, "too many rounds in samples");
    phase->rounds++;
    s->rounds++;
    return 0;
}

/* ---- hardware of hosts: most are equal, so each text is stored once -------------------------- */

int nt_samples_add_model(struct nt_samples *s, const char *text, uint32_t *index,
                         struct nt_err *err)
{
    char own[NT_MACHINE_TEXT_BYTES];
    struct nt_machine machine;
    if (nt_machine_parse(text, &machine, err) != 0)
        return -1;
    nt_machine_write(&machine, own);
    *index = nt_names_find(s->room.model_names, own, strlen(own));
    if (*index != NT_NAMES_NONE)
        return 0;
    /* at most one text per host */
    if (s->models >= s->hosts)
        return nt_err_set(err, NT_ERR_INPUT, "a model of hosts: expected at most %zu, one per host",
                          s->hosts);
    void *array = s->model;
    if (grow_array(&array, s->models, &s->room.models, sizeof *s->model, err) != 0)
        return -1;
    s->model = array;
    char *copy = strdup(own);
    if (copy == NULL || nt_names_add(s->room.model_names, copy, index, err) != 0) {
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
    if (!(latency_us > 0 && latency_us <= core_latency_us_max))
        return nt_err_set(err, NT_ERR_INPUT,
                          "latency between cores %g us: expected over 0, at most %g", latency_us,
                          core_latency_us_max);
    s->inside[host].latency_us[between] =
        (float)nt_number_round(latency_us, NT_SAMPLES_CORE_DIGITS);
    return 0;
}

int nt_samples_add_transport(struct nt_samples *s, const char *used, size_t hosts,
                             struct nt_err *err)
{
    size_t k = 0, bytes = strlen(used);
    if (!is_word(used, NT_TRANSPORT_USED_BYTES - 1))
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

/* ---- what the sweep began from --------------------------------------------------------------- */

int nt_samples_begin_belief(struct nt_samples *s, size_t levels, struct nt_err *err)
{
    if (s->belief != NULL || s->phases > 0)
        return nt_err_set(err, NT_ERR_INPUT, "prior: expected once, and before the first phase");
    return nt_belief_create(s->hosts, levels, &s->belief, err);
}

int nt_samples_believe(struct nt_samples *s, size_t host, const uint32_t *cluster,
                       struct nt_err *err)
{
    const struct nt_belief *b = s->belief;
    if (b == NULL || b->levels < 2)
        return nt_err_set(err, NT_ERR_INPUT, "believed: expected a prior of two levels before it");
    if (host < b->hosts && b->cluster[host] != NT_BELIEF_LOOSE)
        return nt_err_set(err, NT_ERR_INPUT, "believed: expected host %zu once", host);
    return nt_belief_set(s->belief, host, cluster, err);
}

int nt_samples_take_belief(struct nt_samples *s, const double *us, double support,
                           int32_t oldest_day, struct nt_err *err)
{
    struct nt_belief *b = s->belief;
    if (b == NULL || b->levels == 0 || b->taken || s->phases > 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "taken: expected once, after a prior and before the first phase");
    if (!(support >= 0 && support <= 1))
        return nt_err_set(err, NT_ERR_INPUT, "taken: expected a support from 0 to 1");
    for (size_t l = 0; l < b->levels; l++)
        if (!(us[l] > (l > 0 ? us[l - 1] : 0)) || !(us[l] < NT_SAMPLES_TAKEN_US_MAX))
            return nt_err_set(err, NT_ERR_INPUT, "taken: expected latencies above 0 that rise");
    for (size_t l = 0; l < b->levels; l++)
        b->us[l] = nt_number_round(us[l], NT_SAMPLES_DIGITS);
    b->taken = true;
    b->support = nt_number_round(support, 6);
    b->oldest_day = oldest_day;
    return 0;
}

int nt_samples_set_belief(struct nt_samples *s, const struct nt_belief *belief, struct nt_err *err)
{
    uint32_t path[NT_BELIEF_LEVELS_MAX];
    if (belief->hosts != s->hosts)
        return nt_err_set(err, NT_ERR_INPUT, "prior: of %zu hosts in a record of %zu",
                          belief->hosts, s->hosts);
    if (nt_samples_begin_belief(s, belief->levels, err) != 0)
        return -1;
    for (size_t h = 0; belief->levels > 1 && h < belief->hosts; h++) {
        if (belief->cluster[h] == NT_BELIEF_LOOSE)
            continue;
        for (size_t l = 0; l + 1 < belief->levels; l++)
            path[l] = belief->cluster[l * belief->hosts + h];
        if (nt_samples_believe(s, h, path, err) != 0)
            return -1;
    }
    return 0;
}

int nt_samples_add_loggp(struct nt_samples *s, const struct nt_loggp *g, struct nt_err *err)
{
    if (s->phases > 0 || g->seen[0] == '\0' || isnan(g->support))
        return nt_err_set(err, NT_ERR_INPUT,
                          "loggp: expected a support and a day, before the first phase");
    return nt_loggps_add(&s->loggp, &s->loggps, g, err);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* The values of each kind in us, terminated by an entry without what. */
static const struct figure {
    const char *what; /* for errors */
    size_t at;        /* a double in struct nt_sample */
} figures[][5] = {
    [NT_SAMPLE_LATENCY] = {{"latency", offsetof(struct nt_sample, value_us)},
                           {"standard error", offsetof(struct nt_sample, latency.se_us)},
                           {"median", offsetof(struct nt_sample, latency.median_us)}},
    [NT_SAMPLE_BANDWIDTH] = {{"flow of", offsetof(struct nt_sample, value_us)}},
    [NT_SAMPLE_PRTT] = {{"round trip", offsetof(struct nt_sample, value_us)},
                        {"standard error", offsetof(struct nt_sample, prtt.se_us)},
                        {"hold", offsetof(struct nt_sample, prtt.hold_us)},
                        {"delay", offsetof(struct nt_sample, prtt.delay_us)}},
    [NT_SAMPLE_KERNEL] = {{"kernel", offsetof(struct nt_sample, value_us)},
                          {"low end", offsetof(struct nt_sample, kernel.low_us)},
                          {"high end", offsetof(struct nt_sample, kernel.high_us)}},
    [NT_SAMPLE_FAILED] = {{.what = NULL}},
    [NT_SAMPLE_RESENT] = {{.what = NULL}},
};

static int check_figures(const struct nt_sample *x, struct nt_err *err)
{
    if (!in_range(x->bytes, bytes_max))
        return nt_err_set(err, NT_ERR_INPUT, "%g bytes: expected 0 to %g", x->bytes, bytes_max);
    if ((size_t)x->kind >= sizeof figures / sizeof *figures)
        return nt_err_set(err, NT_ERR_INPUT, "unknown kind of sample %d", (int)x->kind);
    if (x->kind == NT_SAMPLE_BANDWIDTH && !(x->value_us > 0))
        return nt_err_set(err, NT_ERR_INPUT, "flow of %g us: expected more than 0", x->value_us);
    if (x->kind == NT_SAMPLE_RESENT && !(x->count > 0 && x->count <= x->segments))
        return nt_err_set(err, NT_ERR_INPUT, "%u segments sent again: expected 1 to %u", x->count,
                          x->segments);
    for (const struct figure *f = figures[x->kind]; f->what != NULL; f++) {
        double us = *(const double *)(const void *)((const char *)x + f->at);
        if (!in_range(us, microseconds_max))
            return nt_err_set(err, NT_ERR_INPUT, "%s %g us: expected 0 to %g", f->what, us,
                              microseconds_max);
    }
    return 0;
}

/* Stores the name of a rail once, because few rails are on many lines. */
static int add_rail(struct nt_samples *s, const char *rail, uint32_t *index, struct nt_err *err)
{
    for (size_t k = s->samples; k > 0; k--) {
        const struct nt_sample *x = &s->sample[k - 1];
        if (x->kind != NT_SAMPLE_PRTT)
            break;
        if (x->text > 0 && strcmp(s->text[x->text - 1], rail) == 0) {
            *index = x->text;
            return 0;
        }
    }
    if (add_text(s, rail, index, err) != 0)
        return -1;
    ++*index;
    return 0;
}

static int check_sample(struct nt_samples *s, const struct nt_sample *x, const char *text,
                        struct nt_err *err)
{
    struct nt_phase *phase = open_phase(s);
    if (phase == NULL || phase->rounds == 0)
        return nt_err_set(err, NT_ERR_INPUT, "a sample: expected a phase and a round before it");
    if (x->kind == NT_SAMPLE_KERNEL) {
        if (text == NULL || *text == '\0' || strpbrk(text, " \t\n") != NULL)
            return nt_err_set(err, NT_ERR_INPUT, "a kernel: expected a name of one word");
        if (x->a > s->hosts)
            return nt_err_set(err, NT_ERR_INPUT, "a kernel of %u hosts: there are %zu", x->a,
                              s->hosts);
    } else if (x->kind == NT_SAMPLE_PRTT && text != NULL && !is_word(text, RAIL_BYTES_MAX)) {
        return nt_err_set(err, NT_ERR_INPUT, "rail \"%.40s\": expected a word of at most %d bytes",
                          text, RAIL_BYTES_MAX);
    } else if (x->a >= s->hosts || x->b >= s->hosts || x->a == x->b) {
        return nt_err_set(err, NT_ERR_INPUT,
                          "hosts %u and %u: expected two different numbers below %zu", x->a, x->b,
                          s->hosts);
    }
    return check_figures(x, err);
}

/* Returns the sample with zeros in fields that the text of this kind does not contain, so that
 * reading gives an equal value. */
static struct nt_sample keep_what_counts(const struct nt_sample *x)
{
    struct nt_sample kept = {.kind = x->kind, .a = x->a, .b = x->b};
    if (x->kind != NT_SAMPLE_FAILED && x->kind != NT_SAMPLE_BANDWIDTH)
        kept.count = x->count;
    if (x->kind == NT_SAMPLE_RESENT)
        kept.segments = x->segments;
    else if (x->kind != NT_SAMPLE_FAILED)
        kept.bytes = nt_number_round(x->bytes, NT_SAMPLES_DIGITS);
    for (const struct figure *f = figures[x->kind]; f->what != NULL; f++) {
        double us = *(const double *)(const void *)((const char *)x + f->at);
        *(double *)(void *)((char *)&kept + f->at) = nt_number_round(us, NT_SAMPLES_DIGITS);
    }
    if (x->kind == NT_SAMPLE_BANDWIDTH) /* the text contains seconds, so round the written value */
        kept.value_us = nt_number_round(x->value_us / 1e6, NT_SAMPLES_DIGITS) * 1e6;
    return kept;
}

static int add_sample(struct nt_samples *s, struct nt_sample sample, const char *text,
                      struct nt_err *err)
{
    if (check_sample(s, &sample, text, err) != 0)
        return -1;
    void *array = s->sample;
    if (grow_array(&array, s->samples, &s->room.samples, sizeof sample, err) != 0)
        return -1;
    s->sample = array;
    struct nt_sample kept = keep_what_counts(&sample);
    kept.phase = (uint32_t)(s->phases - 1);
    kept.round = (uint32_t)(s->rounds - 1);
    if (sample.kind == NT_SAMPLE_KERNEL || sample.kind == NT_SAMPLE_FAILED) {
        if (text == NULL || text[strspn(text, " ")] == '\0')
            text = "no reason given";
        /* most reasons repeat the last one; a text after that of a kernel may be its
         * participants */
        if (sample.kind == NT_SAMPLE_FAILED && s->samples > 0 &&
            s->sample[s->samples - 1].kind == NT_SAMPLE_FAILED &&
            strcmp(s->text[s->sample[s->samples - 1].text], text) == 0)
            kept.text = s->sample[s->samples - 1].text;
        else if (add_text(s, text, &kept.text, err) != 0)
            return -1;
    }
    if (sample.kind == NT_SAMPLE_PRTT && text != NULL && add_rail(s, text, &kept.text, err) != 0)
        return -1;
    s->sample[s->samples++] = kept;
    return 0;
}

int nt_samples_add(struct nt_samples *s, struct nt_sample sample, const char *text,
                   struct nt_err *err)
{
    if (sample.kind == NT_SAMPLE_KERNEL)
        sample.b = 0;
    return add_sample(s, sample, text, err);
}

/* Writes indices such as "0 4 5", in the form of the text. */
static int write_crowd(const struct nt_samples *s, const struct nt_sample *x, const uint32_t *host,
                       char text[WORD_BYTES_MAX], struct nt_err *err)
{
    size_t used = 0;
    if (x->a < 2 || x->a > NT_SAMPLES_PARTICIPANTS_MAX || x->b == 0)
        return nt_err_set(err, NT_ERR_INPUT,
                          "a kernel of %u hosts and %u messages: expected 2 to %d hosts", x->a,
                          x->b, (int)NT_SAMPLES_PARTICIPANTS_MAX);
    for (uint32_t k = 0; k < x->a; k++) {
        for (uint32_t j = 0; j < k; j++)
            if (host[j] == host[k])
                return nt_err_set(err, NT_ERR_INPUT, "a kernel: expected host %u once", host[k]);
        if (host[k] >= s->hosts)
            return nt_err_set(err, NT_ERR_INPUT, "a kernel with host %u: there are %zu", host[k],
                              s->hosts);
        used +=
            (size_t)snprintf(text + used, WORD_BYTES_MAX - used, k == 0 ? "%u" : " %u", host[k]);
    }
    return 0;
}

int nt_samples_add_kernel(struct nt_samples *s, struct nt_sample sample, const char *name,
                          const uint32_t *host, struct nt_err *err)
{
    char text[WORD_BYTES_MAX];
    uint32_t index;
    sample.kind = NT_SAMPLE_KERNEL;
    if (write_crowd(s, &sample, host, text, err) != 0 || add_sample(s, sample, name, err) != 0)
        return -1;
    if (add_text(s, text, &index, err) == 0)
        return 0;
    s->sample[s->samples - 1].b = 0;
    return -1;
}

size_t nt_samples_participants(const struct nt_samples *s, const struct nt_sample *kernel,
                               uint32_t host[NT_SAMPLES_PARTICIPANTS_MAX])
{
    size_t n = 0;
    if (kernel->kind != NT_SAMPLE_KERNEL || kernel->b == 0)
        return 0;
    for (const char *at = s->text[kernel->text + 1];
         n < kernel->a && n < NT_SAMPLES_PARTICIPANTS_MAX;) {
        char *end;
        host[n++] = (uint32_t)strtoul(at, &end, 10);
        at = end;
    }
    return n;
}

int nt_samples_warn(struct nt_samples *s, struct nt_err *err, const char *format, ...)
{
    char text[WORD_BYTES_MAX / 2];
    va_list args;
    va_start(args, format);
    int used = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (used <= 0 || text[strspn(text, " ")] == '\0')
        return nt_err_set(err, NT_ERR_INPUT, "a warning: expected a text");
    if (s->warnings >= WARNINGS_MAX)
        return nt_err_set(err, NT_ERR_INPUT, "more than %d warnings", WARNINGS_MAX);
    char **grown = realloc(s->warning, (s->warnings + 1) * sizeof *grown);
    if (grown != NULL)
        s->warning = grown;
    char *copy = grown == NULL ? NULL : copy_line(text);
    if (copy == NULL)
        return nt_err_memory(err);
    s->warning[s->warnings++] = copy;
    return 0;
}

void nt_samples_finish(struct nt_samples *s, enum nt_status status, double seconds)
{
    s->status = status;
    s->seconds = in_range(seconds, 1e9) ? nt_number_round(seconds, NT_SAMPLES_DIGITS) : 0;
    s->ended = true;
}
