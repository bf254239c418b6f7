/* SPDX-License-Identifier: Apache-2.0 */
/* Any file: rejected with a line number, or all values are within their bounds. */
#include "conf.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nt_conf conf;
    struct nt_err err;
    nt_conf_default(&conf);
    if (nt_conf_parse("f", (const char *)data, size, &conf, &err) != 0) {
        if (strncmp(err.text, "f:", 2) != 0)
            abort();
        return 0;
    }
    if (conf.port_first > conf.port_last || conf.port_first < 1 ||
        !(conf.budget_default_s > 0 && conf.budget_default_s <= conf.budget_max_s) ||
        !(conf.max_load > 0 && conf.max_load <= 1) || conf.inline_limit_bytes > 122880 ||
        conf.run_dir[0] != '/' || conf.probe[0] != '/' || conf.prolog[0] != '/' ||
        memchr(conf.tls, 0, sizeof conf.tls) == NULL)
        abort();
    return 0;
}
