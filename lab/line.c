/* SPDX-License-Identifier: MIT */
#include "line.h"

double sirq_line_error(const struct sirq_spec_figure *published, double value)
{
    if (published->value == 0)
        return value == 0 ? 0 : __builtin_inf();
    return 100 * (value / published->value - 1);
}

const char *sirq_line_role(const struct sirq_spec_figure *published)
{
    static const char *const names[] = {[SIRQ_SPEC_BASELINE] = "baseline",
                                        [SIRQ_SPEC_PREDICT] = "predict",
                                        [SIRQ_SPEC_CLAIM] = "claim"};

    return names[published->role];
}
