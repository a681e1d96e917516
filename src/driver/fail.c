/* SPDX-License-Identifier: MIT */
/*
 * What went wrong, in words.  Task context only: formatting is not async-signal-safe.
 */
#include <stdarg.h>
#include <stdio.h>

#include <sirq/driver.h>

int sirq_fail(struct sirq_error *err, int code, const char *fmt, ...)
{
    va_list args;

    if (err) {
        va_start(args, fmt);
        vsnprintf(err->text, sizeof(err->text), fmt, args);
        va_end(args);
    }
    return -code;
}
