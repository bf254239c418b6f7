/* SPDX-License-Identifier: Apache-2.0 */
#include "campaign_warnings.h"

#include <stdarg.h>
#include <stdio.h>

const char *nt_warnings_add(struct nt_campaign_warnings *warnings, const char *format, ...)
{
    va_list list;
    if (warnings->n == NT_WARNINGS_MAX)
        return warnings->text[NT_WARNINGS_MAX - 1];
    va_start(list, format);
    vsnprintf(warnings->text[warnings->n], NT_WARNING_BYTES, format, list);
    va_end(list);
    return warnings->text[warnings->n++];
}
