/* SPDX-License-Identifier: MIT */
/* The one-CPU limit of udp-flood. */
#ifndef SIRQ_LAB_LIVE_LIMIT_H
#define SIRQ_LAB_LIVE_LIMIT_H

#include "rig.h"

int sirq_limit_measure(struct sirq_session *session, struct sirq_flood_limit *out,
                       struct sirq_error *err);

#endif
