/* SPDX-License-Identifier: MIT */
/* What TCP-like flows have in common, wherever their ends are. */
#ifndef SIRQ_SIM_HOST_PRIVATE
#error "tcp.h is private to src/host/sim"
#endif
#ifndef SIRQ_HOST_SIM_TCP_H
#define SIRQ_HOST_SIM_TCP_H

#include "../../sim/tcp.h"

/* A flow with the parameters of `config`, not connected yet.  0, -EINVAL or -ENOMEM. */
int sirq_tcp_make(struct sirq_sim *sim, const struct sirq_sim_tcp_config *config,
                  struct sirq_sim_tcp **out, struct sirq_error *err);

#endif
