/* SPDX-License-Identifier: Apache-2.0 */
#include "machine_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "decimal.h"

enum { COUNT_MAX = 1 << 20 };
static const uint64_t cache_max = (uint64_t)1 << 40;

/* ---- out ------------------------------------------------------------------------------------- */

static void clean_text(char *text, bool words)
{
    for (char *c = text; *c != '\0'; c++)
        if (*c < ' ' || *c >= 0x7f || (words && (*c == ' ' || *c == ',')))
            *c = '?';
}

/* Removes commas of unknown values at the end of a device. */
static void trim_commas(char *text)
{
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ','; n--)
        text[n - 1] = '\0';
}

static void write_numa(int32_t numa, char text[16])
{
    text[0] = '\0';
    if (numa >= 0)
        snprintf(text, 16, "%d", numa);
}

/* Replaces commas of a list by '+', because commas separate parts here. */
static void clean_list(char *list)
{
    for (char *c = list; *c != '\0'; c++)
        if (*c == ',')
            *c = '+';
    clean_text(list, true);
}

static void put_nic(const struct nt_nic *nic, char *text, size_t capacity)
{
    struct nt_nic n = *nic;
    char numa[16];
    clean_text(n.name, true);
    clean_text(n.pci, true);
    clean_list(n.transports);
    write_numa(n.numa, numa);
    snprintf(text, capacity, " nic=%s,%s,%s,%s", n.name, n.pci, numa, n.transports);
    trim_commas(text);
}

static void put_gpu(const struct nt_gpu *gpu, char *text, size_t capacity)
{
    struct nt_gpu g = *gpu;
    char numa[16];
    clean_text(g.pci, true);
    clean_list(g.nics);
    write_numa(g.numa, numa);
    snprintf(text, capacity, " gpu=%s,%s,%s", g.pci, numa, g.nics);
    trim_commas(text);
}

/* Appends a word and returns its length; 0: it would use the space for the processor's name. */
static size_t append(char *text, size_t used, size_t reserve, const char *word)
{
    size_t bytes = strlen(word);
    if (used + bytes + reserve >= NT_MACHINE_TEXT_BYTES)
        return 0;
    memcpy(text + used, word, bytes + 1);
    return bytes;
}

void nt_machine_write(const struct nt_machine *m, char text[NT_MACHINE_TEXT_BYTES])
{
    char cpu[NT_MACHINE_CPU_BYTES];
    size_t reserve = strlen(m->cpu) + sizeof " cpu=";
    size_t used = (size_t)snprintf(text, NT_MACHINE_TEXT_BYTES,
                                   "packages=%u numa=%u cores=%u threads=%u allowed=%u",
                                   m->packages, m->numas, m->cores, m->threads, m->allowed);
    if (m->l2_bytes > 0)
        used += (size_t)snprintf(text + used, NT_MACHINE_TEXT_BYTES - used, " l2=%llu",
                                 (unsigned long long)m->l2_bytes);
    if (m->l3_bytes > 0)
        used += (size_t)snprintf(text + used, NT_MACHINE_TEXT_BYTES - used, " l3=%llu",
                                 (unsigned long long)m->l3_bytes);
    for (size_t k = 0; k < m->nics && k < NT_MACHINE_NICS_MAX; k++) {
        char nic[sizeof(struct nt_nic) + 32];
        put_nic(&m->nic[k], nic, sizeof nic);
        if (m->nic[k].name[0] != '\0')
            used += append(text, used, reserve, nic);
    }
    for (size_t k = 0; k < m->gpus && k < NT_MACHINE_GPUS_MAX; k++) {
        char gpu[sizeof(struct nt_gpu) + 32];
        put_gpu(&m->gpu[k], gpu, sizeof gpu);
        if (m->gpu[k].pci[0] != '\0')
            used += append(text, used, reserve, gpu);
    }
    memcpy(cpu, m->cpu, sizeof cpu);
    clean_text(cpu, false);
    const char *begin = cpu + strspn(cpu, " ");
    for (size_t n = strlen(begin); n > 0 && begin[n - 1] == ' '; n--)
        cpu[(size_t)(begin - cpu) + n - 1] = '\0';
    if (begin[0] != '\0')
        snprintf(text + used, NT_MACHINE_TEXT_BYTES - used, " cpu=%s", begin);
}

/* ---- in -------------------------------------------------------------------------------------- */

struct words {
    const char *at;
    struct nt_err *err;
};

static int machine_error(const struct words *w, const char *expected)
{
    return nt_err_set(w->err, NT_ERR_INPUT, "a model of a host: expected %s, found \"%.40s\"",
                      expected, w->at);
}

/* Returns the value and length of the next word if it is key=VALUE; otherwise length 0. */
static const char *value_of(const struct words *w, const char *key, size_t *bytes)
{
    size_t n = strlen(key);
    if (strncmp(w->at, key, n) != 0 || w->at[n] != '=')
        return NULL;
    *bytes = strcspn(w->at + n + 1, " ");
    return w->at + n + 1;
}

static void next_word(struct words *w, const char *end)
{
    w->at = *end == ' ' ? end + 1 : end;
}

static int take_whole(struct words *w, const char *key, uint64_t most, bool must, uint64_t *out)
{
    size_t bytes;
    const char *value = value_of(w, key, &bytes);
    if (value == NULL)
        return must ? machine_error(w, key) : 0;
    if (nt_decimal_whole(value, bytes, most, out) != 0)
        return machine_error(w, "a whole number in range");
    next_word(w, value + bytes);
    return 0;
}

static int take_whole32(struct words *w, const char *key, uint32_t *out)
{
    uint64_t value = 0;
    if (take_whole(w, key, COUNT_MAX, true, &value) != 0)
        return -1;
    *out = (uint32_t)value;
    return 0;
}

static bool copy_word(const char *from, size_t bytes, char *to, size_t capacity)
{
    if (bytes >= capacity)
        return false;
    memcpy(to, from, bytes);
    to[bytes] = '\0';
    return true;
}

/* Splits the comma-separated parts of a device; missing ones are empty. False: too many, or nothing
 * after the last comma. */
static bool split_parts(const char *value, size_t bytes, const char *part[4], size_t length[4])
{
    const char *end = value + bytes;
    size_t parts = 0;
    while (parts < 4) {
        part[parts] = value;
        length[parts] = strcspn(value, ", ");
        value += length[parts++];
        if (value == end)
            break;
        value++;
    }
    if (value != end || length[parts - 1] == 0)
        return false;
    for (; parts < 4; parts++) {
        part[parts] = "";
        length[parts] = 0;
    }
    return true;
}

static bool read_numa(const char *text, size_t bytes, int32_t *numa)
{
    uint64_t number;
    *numa = -1;
    if (bytes == 0)
        return true;
    if (nt_decimal_whole(text, bytes, COUNT_MAX, &number) != 0)
        return false;
    *numa = (int32_t)number;
    return true;
}

static bool copy_list(const char *from, size_t bytes, char *to, size_t capacity)
{
    if (!copy_word(from, bytes, to, capacity))
        return false;
    for (char *c = to; *c != '\0'; c++)
        if (*c == '+')
            *c = ',';
    return true;
}

static int take_nic(struct words *w, struct nt_machine *m)
{
    const char *part[4];
    size_t bytes, length[4];
    const char *value = value_of(w, "nic", &bytes);
    struct nt_nic nic = {.numa = -1};
    if (value == NULL)
        return 0;
    if (m->nics == NT_MACHINE_NICS_MAX || !split_parts(value, bytes, part, length) ||
        length[0] == 0 || !copy_word(part[0], length[0], nic.name, sizeof nic.name))
        return machine_error(w, "a network device");
    if (!copy_word(part[1], length[1], nic.pci, sizeof nic.pci))
        return machine_error(w, "the way to a network device");
    if (!read_numa(part[2], length[2], &nic.numa))
        return machine_error(w, "the number of a memory node");
    if (!copy_list(part[3], length[3], nic.transports, sizeof nic.transports))
        return machine_error(w, "the transports of a network device");
    m->nic[m->nics++] = nic;
    next_word(w, value + bytes);
    return 1;
}

static int take_gpu(struct words *w, struct nt_machine *m)
{
    const char *part[4];
    size_t bytes, length[4];
    const char *value = value_of(w, "gpu", &bytes);
    struct nt_gpu gpu = {.numa = -1};
    if (value == NULL)
        return 0;
    if (m->gpus == NT_MACHINE_GPUS_MAX || !split_parts(value, bytes, part, length) ||
        length[0] == 0 || length[3] != 0 || !copy_word(part[0], length[0], gpu.pci, sizeof gpu.pci))
        return machine_error(w, "a GPU");
    if (!read_numa(part[1], length[1], &gpu.numa))
        return machine_error(w, "the number of a memory node");
    if (!copy_list(part[2], length[2], gpu.nics, sizeof gpu.nics))
        return machine_error(w, "the network devices of a GPU");
    m->gpu[m->gpus++] = gpu;
    next_word(w, value + bytes);
    return 1;
}

static int take_cpu(struct words *w, struct nt_machine *m)
{
    size_t bytes;
    const char *value = value_of(w, "cpu", &bytes);
    if (value == NULL)
        return *w->at == '\0' ? 0 : machine_error(w, "nothing more");
    if (bytes == 0 || !copy_word(value, strlen(value), m->cpu, sizeof m->cpu))
        return machine_error(w, "the name of a processor");
    return 0;
}

int nt_machine_parse(const char *text, struct nt_machine *out, struct nt_err *err)
{
    struct nt_machine m = {0};
    struct words w = {text, err};
    int rc;
    for (const char *c = text; *c != '\0'; c++)
        if (*c < ' ' || *c >= 0x7f || c - text >= NT_MACHINE_TEXT_BYTES - 1)
            return nt_err_set(err, NT_ERR_INPUT, "a model of a host: expected one short line");
    if (take_whole32(&w, "packages", &m.packages) != 0 || take_whole32(&w, "numa", &m.numas) != 0 ||
        take_whole32(&w, "cores", &m.cores) != 0 || take_whole32(&w, "threads", &m.threads) != 0 ||
        take_whole32(&w, "allowed", &m.allowed) != 0 ||
        take_whole(&w, "l2", cache_max, false, &m.l2_bytes) != 0 ||
        take_whole(&w, "l3", cache_max, false, &m.l3_bytes) != 0)
        return -1;
    while ((rc = take_nic(&w, &m)) == 1)
        ;
    while (rc == 0 && (rc = take_gpu(&w, &m)) == 1)
        rc = 0;
    if (rc != 0 || take_cpu(&w, &m) != 0)
        return -1;
    *out = m;
    return 0;
}
