/* SPDX-License-Identifier: MIT */
/*
 * What a person should read.
 *
 * The core and drivers report from any context, also from a signal handler, where the
 * program's callback must not be called: a report is noted in one of a few places of its
 * CPU, and the clock thread delivers it, without holding a lock of the engine's.  When all
 * places are taken the report is dropped: the counters have it.
 */
#define SIRQ_LIVE_PRIVATE
#include "live_private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTE_FREE, NOTE_WRITING, NOTE_READY };

void sirq_host_report(struct sirq_cpu *cpu, const char *what, uint64_t value)
{
    struct live_cpu *lc = live_of(cpu);

    for (unsigned i = 0; i < LIVE_NOTES; i++) {
        struct live_note *note = &lc->notes[i];
        uint32_t state = NOTE_FREE;

        if (!__atomic_compare_exchange_n(&note->state, &state, NOTE_WRITING, false,
                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        note->what = what;
        note->value = value;
        __atomic_store_n(&note->state, NOTE_READY, __ATOMIC_RELEASE);
        return;
    }
}

static void deliver(struct live_cpu *lc, struct live_note *note)
{
    const struct sirq_live *live = lc->live;

    if (__atomic_load_n(&note->state, __ATOMIC_ACQUIRE) != NOTE_READY)
        return;
    if (live->report != NULL)
        live->report(live->report_arg, lc->number, note->what, note->value);
    __atomic_store_n(&note->state, NOTE_FREE, __ATOMIC_RELEASE);
}

void sirq_host_report_deliver(struct sirq_live *live)
{
    for (unsigned i = 0; i < live->ncpus; i++)
        for (unsigned n = 0; n < LIVE_NOTES; n++)
            deliver(&live->cpus[i], &live->cpus[i].notes[n]);
}

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        abort();
}

/* In any context: nothing here but what signal-safety(7) lists. */
void sirq_host_bug(const char *expr, const char *file, int line)
{
    char digits[12], *at = digits + sizeof(digits) - 1;
    unsigned left = line > 0 ? (unsigned)line : 0;

    *at = '\0';
    do
        *--at = (char)('0' + left % 10);
    while ((left /= 10) != 0);
    say("softirq: ");
    say(file);
    say(":");
    say(at);
    say(": broken: ");
    say(expr);
    say("\n");
    abort();
}
