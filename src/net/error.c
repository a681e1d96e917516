/* SPDX-License-Identifier: MIT */
/* error.c - errors for a person to read. */
#include <stdarg.h>
#include <stdio.h>

#include <sirq/driver.h>

int sirq_fail(struct sirq_error *err, int code, const char *fmt, ...)
{
    va_list args;

    if (err != NULL) {
        va_start(args, fmt);
        vsnprintf(err->text, sizeof(err->text), fmt, args);
        va_end(args);
    }
    return -code;
}
