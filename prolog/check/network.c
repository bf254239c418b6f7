/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "run.h"
#include "sandbox.h"

enum { OUTPUT_BYTES = 16384, LIST_BYTES = 400, NETWORKS_MAX = 16 };

static const double PROBE_S = 5;

/* ---- facts of the kernel about a device ---- */

/* Reads the first line of a file in /sys; false: there is none. */
static bool read_line(const char *path, char *line, size_t room)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool got = fgets(line, (int)room, file) != NULL;
    fclose(file);
    line[got ? strcspn(line, "\n") : 0] = '\0';
    return got;
}

/* Returns the state of a device such as "fab0" or "mlx5_0:1"; NULL: it is up. */
static const char *device_fault(const char *name, char text[64])
{
    const unsigned long up = 0x1, running = 0x40; /* IFF_UP, IFF_RUNNING */
    char path[512], line[64];
    size_t bytes = strcspn(name, ":");
    if (bytes == 0 || bytes > 63 || memchr(name, '/', bytes) != NULL || name[0] == '.')
        return "is no name of a device";
    snprintf(path, sizeof path, "/sys/class/net/%.*s/flags", (int)bytes, name);
    if (read_line(path, line, sizeof line)) {
        unsigned long flags = strtoul(line, NULL, 16);
        snprintf(path, sizeof path, "/sys/class/net/%.*s/carrier", (int)bytes, name);
        bool carrier = !read_line(path, line, sizeof line) || line[0] != '0';
        return (flags & up) == 0                    ? "is down"
               : (flags & running) == 0 && !carrier ? "has no carrier"
                                                    : NULL;
    }
    snprintf(path, sizeof path, "/sys/class/infiniband/%.*s/ports/%.4s/state", (int)bytes, name,
             name[bytes] == ':' ? name + bytes + 1 : "1");
    if (!read_line(path, line, sizeof line))
        return "does not exist on this host";
    snprintf(text, 64, "is in state %.40s", line);
    return strstr(line, "ACTIVE") != NULL ? NULL : text;
}

static void check_devices(struct nt_check *check)
{
    static const char what[] = "net_devices";
    char list[NT_CONF_WORD_BYTES], text[64], *rest = list, *name;
    unsigned before = check->failed;
    snprintf(list, sizeof list, "%s", check->conf.net_devices);
    if (list[0] == '\0')
        return;
    while ((name = strsep(&rest, ",")) != NULL) {
        const char *fault = device_fault(name, text);
        if (fault != NULL)
            nt_check_fail(check, what,
                          "Bring it up (ip link), or set net_devices in nettopo.conf to the "
                          "devices of the fabric",
                          "%.64s %s", name, fault);
    }
    if (check->failed == before)
        nt_check_ok(what, "%s, up", check->conf.net_devices);
}

/* ---- what UCX makes of them ---- */

struct found {
    char transports[LIST_BYTES], networks[LIST_BYTES], devices[LIST_BYTES];
    size_t transport_count, network_count;
    char network[NETWORKS_MAX][64];
};

static void append(char list[LIST_BYTES], const char *separator, const char *text)
{
    size_t used = strlen(list);
    if (used + strlen(text) + strlen(separator) < LIST_BYTES)
        snprintf(list + used, LIST_BYTES - used, "%s%s", used > 0 ? separator : "", text);
}

static bool is_known(const struct found *found, const char *network)
{
    for (size_t k = 0; k < found->network_count; k++)
        if (strcmp(found->network[k], network) == 0)
            return true;
    return false;
}

/* Parses a line of nettopo-probe --transports: "transport tcp fab0 10.77.0.0/17". */
static void read_transport(struct found *found, char *line)
{
    char pair[192], *word[4], *rest = line;
    size_t words = 0;
    while (words < 4 && (word[words] = strsep(&rest, " ")) != NULL)
        words++;
    if (words != 4 || strcmp(word[0], "transport") != 0)
        return;
    snprintf(pair, sizeof pair, "%.60s/%.60s", word[1], word[2]);
    append(found->transports, " ", pair);
    append(found->devices, ",", word[2]);
    found->transport_count++;
    if (strcmp(word[3], "-") == 0 || is_known(found, word[3]) ||
        found->network_count == NETWORKS_MAX)
        return;
    snprintf(found->network[found->network_count++], sizeof found->network[0], "%.63s", word[3]);
    snprintf(pair, sizeof pair, "%.60s (%.60s)", word[3], word[2]);
    append(found->networks, ", ", pair);
}

static int ask_probe(const struct nt_check *check, char output[OUTPUT_BYTES], struct nt_err *err)
{
    const struct nt_conf *conf = &check->conf;
    struct nt_child_environment env;
    struct nt_sandbox user = {0};
    char *const argv[] = {"nettopo-probe", "--transports", NULL};
    nt_sandbox_find_user(conf->probe_user,
                         &user); /* also for "job", whose user is not known here */
    nt_child_environment(conf, NULL, &env);
    struct nt_check_run run = {.path = conf->probe,
                               .argv = argv,
                               .env = env.text,
                               .uid = user.uid,
                               .gid = user.gid,
                               .seconds = PROBE_S};
    return nt_check_run(&run, output, OUTPUT_BYTES, err);
}

static void check_transports(struct nt_check *check)
{
    static const char what[] = "transports";
    char output[OUTPUT_BYTES], *rest = output, *line;
    struct found found = {0};
    struct nt_err err;
    if (ask_probe(check, output, &err) != 0) {
        output[strcspn(output, "\n")] = '\0';
        nt_check_fail(check, what,
                      "Compare net_devices and tls in nettopo.conf with ucx_info -d, and check "
                      "ldd of that program",
                      "%s: %.300s", err.text, output);
        return;
    }
    while ((line = strsep(&rest, "\n")) != NULL)
        read_transport(&found, line);
    memcpy(check->devices, found.devices, sizeof check->devices);
    if (found.transport_count == 0)
        nt_check_fail(check, what, "Set net_devices and tls in nettopo.conf (ucx_info -d)",
                      "UCX finds no usable network");
    else if (found.network_count > 1 && check->conf.net_devices[0] == '\0')
        nt_check_fail(check, what,
                      "Set net_devices in nettopo.conf to the devices of the fabric. Otherwise "
                      "UCX may select the wrong network, or different networks on different hosts",
                      "devices in %zu networks: %s", found.network_count, found.networks);
    else
        nt_check_ok(what, "%s", found.transports);
}

void nt_check_network(struct nt_check *check)
{
    check_devices(check);
    check_transports(check);
}
