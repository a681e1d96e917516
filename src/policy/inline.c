/* SPDX-License-Identifier: MIT */
/*
 * inline: run everything at once, always.  The receive-livelock baseline (Mogul and
 * Ramakrishnan 1997): under a flood the loop never ends and no thread of the CPU runs.
 */
#define SIRQ_POLICY_INTERNAL
#include "policies.h"

static bool restart(const struct sirq_view *view)
{
    (void)view;
    return true;
}

const struct sirq_policy sirq_policy_inline = {
    .name = "inline",
    .origin = "the livelock baseline",
    .restart = restart,
};
