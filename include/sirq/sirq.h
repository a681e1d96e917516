/* SPDX-License-Identifier: MIT */
/* sirq/sirq.h - everything a program on the live host includes. */
#ifndef SIRQ_SIRQ_H
#define SIRQ_SIRQ_H

#include <sirq/inet.h>
#include <sirq/nat.h>
#include <sirq/live.h>
#include <sirq/shm.h>
#include <sirq/tasklet.h>
#include <sirq/timer.h>

#endif
