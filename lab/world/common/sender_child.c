/* SPDX-License-Identifier: MIT */
/*
 * Inside the sender: wait for orders, flood, say what was offered.
 *
 * It was forked from a process with threads, so it holds no lock of theirs for long: it
 * opens its wire, and from then on calls nothing that allocates.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "pace.h"
#include "sender_page.h"

#define IDLE_NS 100000u
#define SLEEP_BELOW 20000.0 /* packets/s: above, sleeping between frames would be too late */
#define WAKE_EARLY_NS 60000u
#define FASTEST 200e6 /* packets/s: more than a CPU can poll off the ring */
#define OWED_S 0.1    /* a rate that was asked for is exact over hold-ups up to this */
#define BURST_S 2e-6  /* look at the ring no more often than this */

static struct sirq_wire wire;

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
    struct timespec ts = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

    nanosleep(&ts, NULL);
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ volatile("yield");
#endif
}

uint32_t sirq_wire_next(struct sirq_wire *w, void *out, uint64_t now)
{
    struct sirq_stamp stamp = {++w->seq[w->next], now};
    const struct sirq_frame *frame = &w->frame[w->next];

    sirq_frame_write(frame, out, &stamp);
    w->next = w->next + 1 == w->flows ? 0 : w->next + 1;
    return frame->len;
}

static int set_up(const struct sirq_wire_config *config, unsigned cpu, struct sirq_error *err)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set))
        return sirq_fail(err, errno, "the sender cannot run on CPU %u: %s", cpu, strerror(errno));
    prctl(PR_SET_TIMERSLACK, 1);
    prctl(PR_SET_NAME, "softirq-sender");
    wire.ops = config->ops;
    wire.flows = config->flows;
    for (unsigned i = 0; i < config->flows; i++)
        sirq_frame_build(&wire.frame[i], i, config->size, config->seed);
    return wire.ops->open(&wire, config, err);
}

static void wait_due(const struct sirq_pace *pace)
{
    uint64_t next = sirq_pace_next_ns(pace);

    if (pace->rate < SLEEP_BELOW && next > 2 * WAKE_EARLY_NS)
        sleep_ns(next - WAKE_EARLY_NS < IDLE_NS * 10 ? next - WAKE_EARLY_NS : IDLE_NS * 10);
    else
        relax();
}

static void flood(struct sirq_sender_page *page, double rate)
{
    bool blocks = rate <= 0 && wire.ops->blocks;
    double forgive_s = rate > 0 ? OWED_S : 2 * BURST_S; /* who cannot be faster owes nothing */
    struct sirq_pace pace;
    double least;
    uint64_t offered = page->offered;

    if (rate <= 0)
        rate = FASTEST;
    least = rate * BURST_S < SIRQ_WIRE_BURST ? rate * BURST_S : SIRQ_WIRE_BURST;
    sirq_pace_start(&pace, rate, forgive_s, now_ns());
    while (__atomic_load_n(&page->command, __ATOMIC_ACQUIRE) == SIRQ_SENDER_FLOODING) {
        uint64_t due = sirq_pace_due(&pace, now_ns()), n;

        if (blocks)
            due = SIRQ_WIRE_BURST;
        if (!due || (double)due < least) {
            wait_due(&pace);
            continue;
        }
        n = wire.ops->burst(&wire, due);
        if (!blocks)
            sirq_pace_sent(&pace, n);
        offered += n;
        __atomic_store_n(&page->offered, offered, __ATOMIC_RELAXED);
    }
}

void sirq_sender_main(struct sirq_sender_page *page, const struct sirq_wire_config *config,
                      unsigned cpu)
{
    if (set_up(config, cpu, &page->error)) {
        __atomic_store_n(&page->state, SIRQ_SENDER_BROKEN, __ATOMIC_RELEASE);
        _exit(1);
    }
    for (;;) { /* until the run ends it, or ends */
        __atomic_store_n(&page->state, SIRQ_SENDER_IDLE, __ATOMIC_RELEASE);
        while (__atomic_load_n(&page->command, __ATOMIC_ACQUIRE) != SIRQ_SENDER_FLOODING)
            sleep_ns(IDLE_NS);
        __atomic_store_n(&page->state, SIRQ_SENDER_FLOODING, __ATOMIC_RELEASE);
        flood(page, page->rate);
    }
}
