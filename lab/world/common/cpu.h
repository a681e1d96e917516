/* SPDX-License-Identifier: MIT */
/* Which CPU is flooded, which one sends, which one is to spare. */
#ifndef SIRQ_LAB_COMMON_CPU_H
#define SIRQ_LAB_COMMON_CPU_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>

#include <sirq/driver.h>

struct sirq_lab_cpus {
    cpu_set_t allowed; /* affinity of the process when it came */
    unsigned flooded, sender;
    int spare; /* a third one, -1: none */
};

/*
 * Choose, from the affinity mask and the machine's topology.  wanted: the CPU to flood, -1:
 * the last allowed one (CPU 0 often serves the machine's own interrupts).  The sender is
 * kept off its SMT siblings where that can be.
 * 0, -EINVAL (wanted is offline or not allowed), -ENODEV (one CPU only), err filled.
 */
int sirq_lab_cpus_choose(struct sirq_lab_cpus *cpus, int wanted, struct sirq_error *err);

/* The same from given sets: testable. */
int sirq_lab_cpus_pick(struct sirq_lab_cpus *cpus, int wanted, const cpu_set_t *allowed,
                       const cpu_set_t *online, const cpu_set_t *siblings, struct sirq_error *err);

/* "0-3,8" to a set; junk ends it. */
void sirq_lab_cpus_parse(const char *text, cpu_set_t *set);

/* A set as "0-3,8" in buf; returns buf. */
const char *sirq_lab_cpus_format(const cpu_set_t *set, char *buf, size_t size);

/* Time that `cpu` was busy with anything at all, stolen by a hypervisor included, ns; in
 * steps of the kernel's accounting, 10 ms.  0 where it cannot be read. */
uint64_t sirq_lab_cpu_busy_ns(unsigned cpu);

/* CPU time of a thread of this process as the scheduler charges it, ns; 0 where it has ended. */
uint64_t sirq_lab_thread_cpu_ns(pthread_t thread);

/* Keep the calling thread off the flooded CPU / back to where it was allowed. */
void sirq_lab_cpus_avoid(const struct sirq_lab_cpus *cpus);
void sirq_lab_cpus_restore(const struct sirq_lab_cpus *cpus);

#endif
