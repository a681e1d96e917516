/* SPDX-License-Identifier: MIT */
/* What the run and its sender share. */
#ifndef SIRQ_LAB_COMMON_SENDER_PAGE_H
#define SIRQ_LAB_COMMON_SENDER_PAGE_H

#include <sirq/driver.h>

#include "wire.h"

enum sirq_sender_state {
    SIRQ_SENDER_NEW,
    SIRQ_SENDER_IDLE,
    SIRQ_SENDER_FLOODING,
    SIRQ_SENDER_BROKEN
};

/*
 * Writer of the first line is the run, of the second the sender.  rate is written before
 * command (release) and read after it (acquire); error and offered before state likewise.
 */
struct sirq_sender_page {
    uint32_t command;                            /* IDLE or FLOODING, __atomic */
    double rate;                                 /* 0: as fast as it can */
    uint32_t state __attribute__((aligned(64))); /* __atomic */
    uint64_t offered;                            /* frames, lost ones included; __atomic */
    struct sirq_error error;
};

/* The sender's life.  Never returns. */
void sirq_sender_main(struct sirq_sender_page *page, const struct sirq_wire_config *config,
                      unsigned cpu) __attribute__((noreturn));

#endif
