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

static void put_nic(const struct nt_nic *nic, char *text, size_t capacity)
{
    struct nt_nic n = *nic;
    clean_text(n.name, true);
    clean_text(n.pci, true);
    if (n.numa >= 0)
        snprintf(text, capacity, " nic=%s,%s,%d", n.name, n.pci, n.numa);
    else
        snprintf(text, capacity, n.pci[0] != '\0' ? " nic=%s,%s" : " nic=%s", n.name, n.pci);
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
        if (m->nic[k].name[0] == '\0' || used + strlen(nic) + reserve >= NT_MACHINE_TEXT_BYTES)
            continue;
        used += (size_t)snprintf(text + used, NT_MACHINE_TEXT_BYTES - used, "%s", nic);
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

/* The value of the next word if it is key=VALUE; its bytes, or 0. */
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

static int take_nic(struct words *w, struct nt_machine *m)
{
    size_t bytes, part;
    const char *value = value_of(w, "nic", &bytes), *end;
    struct nt_nic nic = {.numa = -1};
    uint64_t numa;
    if (value == NULL)
        return 0;
    end = value + bytes;
    part = strcspn(value, ", ");
    if (m->nics == NT_MACHINE_NICS_MAX || part == 0 ||
        !copy_word(value, part, nic.name, sizeof nic.name))
        return machine_error(w, "a network device");
    value += part;
    if (*value == ',') {
        part = strcspn(++value, ", ");
        if (!copy_word(value, part, nic.pci, sizeof nic.pci))
            return machine_error(w, "the way to a network device");
        value += part;
    }
    if (*value == ',') {
        value++;
        if (nt_decimal_whole(value, (size_t)(end - value), COUNT_MAX, &numa) != 0)
            return machine_error(w, "the number of a memory node");
        nic.numa = (int32_t)numa;
        value = end;
    }
    m->nic[m->nics++] = nic;
    next_word(w, value);
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
    if (rc != 0 || take_cpu(&w, &m) != 0)
        return -1;
    *out = m;
    return 0;
}
