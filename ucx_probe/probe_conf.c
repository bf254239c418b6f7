/* SPDX-License-Identifier: Apache-2.0 */
#include "probe_conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char DEFAULT_CONF[] = NT_SYSCONFDIR "/nettopo/nettopo.conf";

int nt_probe_conf_read(const char *path, struct nt_conf *conf, struct nt_err *err)
{
    const char *name = path != NULL ? path : DEFAULT_CONF;
    int rc = -1;
    nt_conf_default(conf);
    FILE *file = fopen(name, "re");
    if (file == NULL)
        return path == NULL ? 0 : nt_err_set(err, NT_ERR_INPUT, "%s: %s", name, strerror(errno));
    char *text = malloc(NT_CONF_TEXT_MAX + 1);
    if (text == NULL)
        nt_err_memory(err);
    else
        rc = nt_conf_parse(name, text, fread(text, 1, NT_CONF_TEXT_MAX + 1, file), conf, err);
    free(text);
    fclose(file);
    return rc;
}
