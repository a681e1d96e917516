/* SPDX-License-Identifier: MIT */
/* Numbers and lists as a person types them: 1k, 2.5M, 100,1k,max. */
#ifndef SIRQ_CONF_PARSE_H
#define SIRQ_CONF_PARSE_H

#include <stddef.h>
#include <stdint.h>

/* A whole number in [min, max], with an optional decimal point and suffix k, M or G (powers
 * of 1000).  0, -EINVAL (not a number), -ERANGE. */
int sirq_conf_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* A plain decimal number in [min, max].  0, -EINVAL, -ERANGE. */
int sirq_conf_parse_decimal(const char *text, double min, double max, double *out);

/* The next item of a comma-separated list, copied to buf.  1 and *list advanced, 0 at the
 * end, -EINVAL for an empty item or one that does not fit. */
int sirq_conf_next_item(const char **list, char *buf, size_t size);

#endif
