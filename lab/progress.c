/* SPDX-License-Identifier: MIT */
/*
 * What is left is the number of steps times what a step took so far; before the first is
 * over, what it was expected to take.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "experiment.h"

void sirq_progress_start(struct sirq_progress *progress, unsigned total, uint64_t step_ns)
{
    memset(progress, 0, sizeof(*progress));
    progress->on = isatty(STDERR_FILENO);
    progress->total = total;
    progress->step_ns = step_ns;
    progress->start_ns = sirq_lab_now_ns();
}

void sirq_progress_step(struct sirq_progress *progress, const char *fmt, ...)
{
    va_list args;

    if (progress->text[0]) {
        progress->done++;
        progress->step_ns = (sirq_lab_now_ns() - progress->start_ns) / progress->done;
    }
    va_start(args, fmt);
    vsnprintf(progress->text, sizeof(progress->text), fmt, args);
    va_end(args);
    sirq_progress_tick(progress, 0);
}

void sirq_progress_tick(const struct sirq_progress *progress, uint64_t into_ns)
{
    uint64_t left = (progress->total - progress->done) * progress->step_ns;

    if (!progress->on)
        return;
    left = left > into_ns ? left - into_ns : 0;
    fprintf(stderr, "\r\033[K[%u/%u] %s, about %.0f s left", progress->done + 1, progress->total,
            progress->text, (double)left / 1e9);
    fflush(stderr);
}

void sirq_progress_clear(const struct sirq_progress *progress)
{
    if (progress->on) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
