/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conf.h"
#include "decimal.h"
#include "files.h"
#include "verbs.h"

static const char CONF[] = NT_SYSCONFDIR "/nettopo/nettopo.conf";

static const struct nt_verb *const verbs[] = {
    &nt_fleet_ingest, &nt_fleet_show,    &nt_fleet_since, &nt_fleet_prior,
    &nt_fleet_sync,   &nt_fleet_metrics, &nt_fleet_check,
};

static int fleet_run(int argc, char **argv, struct nt_err *err)
{
    static const struct nt_verbs all = {
        .program = "nettopo fleet",
        .page = "nettopo-fleet(1)",
        .intro = "Combine the maps of many jobs in one file, the store.\n",
        .outro = "The store is --store FILE, or fleet_store in nettopo.conf.\n",
        .verb = verbs,
        .verbs = sizeof verbs / sizeof *verbs};
    int rc = nt_verbs_run(&all, argc, argv);
    err->kind = (enum nt_err_kind)rc; /* the message is printed */
    return rc == 0 ? 0 : -1;
}

const struct nt_verb nt_verb_fleet = {"fleet", "combine the maps of many jobs", NULL, fleet_run};

/* ---- shared ---- */

int64_t nt_fleet_now(void)
{
    return (int64_t)time(NULL);
}

int nt_fleet_conf(struct nt_conf *conf, struct nt_err *err)
{
    char *text;
    size_t bytes;
    nt_conf_default(conf);
    if (nt_file_read(CONF, NT_CONF_TEXT_MAX, &text, &bytes, err) != 0)
        return err->kind == NT_ERR_INPUT ? 0 : -1; /* without the file: the defaults */
    int rc = nt_conf_parse(CONF, text, bytes, conf, err);
    free(text);
    return rc;
}

int nt_fleet_open(const char *given, bool read_only, struct nt_store **out, struct nt_err *err)
{
    struct nt_conf conf;
    if (given == NULL && nt_fleet_conf(&conf, err) != 0)
        return -1;
    if (given == NULL && conf.fleet_store[0] == '\0')
        return nt_err_set(err, NT_ERR_USAGE,
                          "no store. Pass --store FILE or set fleet_store in %s.", CONF);
    return nt_store_open(given != NULL ? given : conf.fleet_store, read_only, out, err);
}

int nt_fleet_span(const char *option, const char *text, int64_t *seconds, struct nt_err *err)
{
    static const struct {
        char letter;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
    uint64_t value;
    int64_t unit = 1;
    size_t n = strlen(text);
    for (size_t k = 0; n > 1 && k < sizeof units / sizeof *units; k++)
        if (text[n - 1] == units[k].letter) {
            unit = units[k].seconds;
            n--;
            break;
        }
    if (n == 0 || nt_decimal_whole(text, n, 1000000000, &value) != 0)
        return nt_err_set(err, NT_ERR_USAGE,
                          "--%s %.32s: expected a time such as 3600 (seconds), 15m, 12h or 30d",
                          option, text);
    *seconds = (int64_t)value * unit;
    return 0;
}
