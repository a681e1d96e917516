/* SPDX-License-Identifier: MIT */
/*
 * Parsing of numbers.  A count goes through decimal digits by hand rather than strtod, so
 * that 2.5M is exactly 2500000 and "nan", "0x10" or "1e9" are no numbers here.
 */
#include "parse.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

static int suffix_scale(const char *s, uint64_t *scale)
{
    static const struct {
        const char *text;
        uint64_t scale;
    } suffixes[] = {{"", 1},        {"k", 1000},       {"K", 1000},      {"M", 1000000},
                    {"m", 1000000}, {"G", 1000000000}, {"g", 1000000000}};

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (strcmp(s, suffixes[i].text) == 0) {
            *scale = suffixes[i].scale;
            return 0;
        }
    }
    return -EINVAL;
}

/* Digits with at most one point: value * 10^decimals.  Stops at the suffix. */
static int digits(const char **s, uint64_t *value, unsigned *decimals)
{
    unsigned n = 0, point = 0;

    *value = 0;
    *decimals = 0;
    for (; isdigit((unsigned char)**s) || (**s == '.' && !point); (*s)++) {
        if (**s == '.') {
            point = 1;
            continue;
        }
        if (++n > 18)
            return -ERANGE;
        *value = *value * 10 + (uint64_t)(**s - '0');
        *decimals += point;
    }
    return n ? 0 : -EINVAL;
}

int sirq_conf_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    uint64_t value, scale;
    unsigned decimals;
    int err = digits(&text, &value, &decimals);

    if (err)
        return err;
    err = suffix_scale(text, &scale);
    if (err)
        return err;
    for (; decimals; decimals--) {
        if (scale > 1)
            scale /= 10;
        else if (value % 10)
            return -EINVAL; /* a fraction of one */
        else
            value /= 10;
    }
    if (value > UINT64_MAX / scale)
        return -ERANGE;
    value *= scale;
    if (value < min || value > max)
        return -ERANGE;
    *out = value;
    return 0;
}

int sirq_conf_parse_decimal(const char *text, double min, double max, double *out)
{
    uint64_t value;
    unsigned decimals;
    int err = digits(&text, &value, &decimals);
    double number;

    if (err)
        return err;
    if (*text)
        return -EINVAL;
    number = (double)value;
    for (; decimals; decimals--)
        number /= 10;
    if (number < min || number > max)
        return -ERANGE;
    *out = number;
    return 0;
}

int sirq_conf_next_item(const char **list, char *buf, size_t size)
{
    size_t len;

    if (!*list)
        return 0;
    len = strcspn(*list, ",");
    if (!len || len >= size)
        return -EINVAL;
    memcpy(buf, *list, len);
    buf[len] = '\0';
    *list = (*list)[len] ? *list + len + 1 : NULL;
    return 1;
}
