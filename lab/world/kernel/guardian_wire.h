/* SPDX-License-Identifier: MIT */
/* What a run and its guardian say to each other: a record for a record. */
#ifndef SIRQ_LAB_KERNEL_GUARDIAN_WIRE_H
#define SIRQ_LAB_KERNEL_GUARDIAN_WIRE_H

#include "guardian.h"

enum sirq_guardian_op {
    SIRQ_GUARDIAN_WRITE,
    SIRQ_GUARDIAN_CLASS,
    SIRQ_GUARDIAN_PIN,
    SIRQ_GUARDIAN_RESTORE
};

struct sirq_guardian_request {
    enum sirq_guardian_op op;
    pid_t tid;
    int policy, priority;
    unsigned cpu;
    char path[SIRQ_GUARDIAN_PATH], text[SIRQ_GUARDIAN_TEXT];
};

struct sirq_guardian_answer {
    int rc;
    struct sirq_error err;
};

#endif
