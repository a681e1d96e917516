/* SPDX-License-Identifier: MIT */
/* What the tests of the live host share. */
#ifndef SIRQ_TEST_LIVE_ENV_H
#define SIRQ_TEST_LIVE_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sirq/live.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define ENV_TSAN 1
#else
#define ENV_TSAN 0
#endif
#ifdef __SANITIZE_ADDRESS__
#define ENV_SANITIZER 1
#else
#define ENV_SANITIZER ENV_TSAN
#endif

extern unsigned env_numbers[2]; /* the machine's numbers of the first CPUs */
extern unsigned env_ncpus;      /* 1 or 2 of them */

void env_init(void);

/* An engine on the first `ncpus` CPUs; fails the test when it does not start. */
struct sirq_live *env_start(enum sirq_delivery delivery, unsigned ncpus);

/* What the process has: threads, descriptors, mappings. */
struct env_counts {
    unsigned tasks, fds, maps;
};
void env_count(struct env_counts *out);

void env_sleep_us(unsigned us);
uint64_t env_now_ns(void);

/* Prints why and skips the test. */
#define ENV_SKIP_UNLESS(cond, why)      \
    do {                                \
        if (!(cond)) {                  \
            print_message("%s\n", why); \
            skip();                     \
        }                               \
    } while (0)

#endif
