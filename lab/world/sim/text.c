/* SPDX-License-Identifier: MIT */
/* Figures as a person reads them: three digits, times in the unit that suits them. */
#include "report.h"

#include <string.h>

#include "score.h"
#include "table.h"

#define WRAP 80u
#define INDENT 6u

static const char *number(char *buf, double value)
{
    double size = value < 0 ? -value : value;

    if (size >= 999.5)
        return sirq_lab_table_si(buf, value);
    snprintf(buf, 16, "%.*f",
             size >= 99.95 || size == (unsigned)size ? 0
             : size >= 9.995                         ? 1
             : size >= 0.9995                        ? 2
                                                     : 3,
             value);
    return buf;
}

const char *sirq_sim_report_text(char *buf, double value, const char *unit)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
    double ns = value * sirq_sim_unit_ns(unit);
    char digits[SIRQ_SIM_TEXT];
    unsigned i = 0;

    if (!(ns > 0))
        return number(buf, value);
    while (i + 1 < sizeof(units) / sizeof(units[0]) && ns < 0.9995 * units[i].ns)
        i++;
    snprintf(buf, SIRQ_SIM_TEXT, "%s%s", number(digits, ns / units[i].ns), units[i].name);
    return buf;
}

const char *sirq_sim_report_error(char *buf, double error)
{
    const char *mark = error > SIRQ_SCORE_NEAR || error < -SIRQ_SCORE_NEAR ? "!" : "";

    if (error >= 999.5)
        snprintf(buf, SIRQ_SIM_TEXT, "x%.0f%s", error / 100 + 1, mark);
    else
        snprintf(buf, SIRQ_SIM_TEXT, "%+.*f%%%s", error >= 99.95 ? 0 : 1, error, mark);
    return buf;
}

void sirq_sim_report_word(FILE *out, uint32_t *at, const char *word, const char *end)
{
    uint32_t len = (uint32_t)(strlen(word) + strlen(end));

    if (*at + 1 + len > WRAP && *at > INDENT) {
        fprintf(out, "\n%*s", (int)INDENT, "");
        *at = INDENT;
    } else {
        fputc(' ', out);
        *at += 1;
    }
    fprintf(out, "%s%s", word, end);
    *at += len;
}
