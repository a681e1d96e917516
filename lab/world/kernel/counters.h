/* SPDX-License-Identifier: MIT */
/* What the kernel counts, read from /proc: of the machine, or of the calling thread's namespace. */
#ifndef SIRQ_LAB_KERNEL_COUNTERS_H
#define SIRQ_LAB_KERNEL_COUNTERS_H

#include <stdint.h>
#include <sys/types.h>

struct sirq_kernel_counters {
    uint64_t udp_received;    /* datagrams that receive calls took */
    uint64_t udp_errors;      /* that a socket did not take, for whatever reason */
    uint64_t udp_socket_full; /* of these: its buffer was full */
    uint64_t device_lost; /* frames that the sending end lost on their way; 0 of one elsewhere */
    uint64_t backlog_dropped; /* packets that no CPU's backlog had room for; of the machine */
    uint64_t squeezed;        /* net_rx_action ended by its budget or time; of the machine */
    uint64_t irq_ns;          /* of a CPU in interrupts and softirqs, by the tick */
};

/* proc: "/proc", or what stands in for it.  0 or -errno: what was read is missing or strange. */
int sirq_kernel_counters_read(struct sirq_kernel_counters *out, const char *proc, unsigned cpu);

/* CPU time of a thread by the scheduler, ns; 0 where it cannot be read. */
uint64_t sirq_kernel_thread_ns(pid_t tid);

#endif
