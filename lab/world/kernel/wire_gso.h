/* SPDX-License-Identifier: MIT */
/* The wire of a flood that a kernel's CPU has to fear. */
#ifndef SIRQ_LAB_KERNEL_WIRE_GSO_H
#define SIRQ_LAB_KERNEL_WIRE_GSO_H

#include "world/common/wire.h"

#define SIRQ_GSO_DATAGRAMS 8u /* in a frame */

extern const struct sirq_wire_ops sirq_wire_gso;

#endif
