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
#include "table.h"

void sirq_progress_start(struct sirq_progress *progress, unsigned total, uint64_t step_ns)
{
    memset(progress, 0, sizeof(*progress));
    progress->terminal = isatty(STDERR_FILENO);
    progress->total = total;
    progress->step_ns = step_ns;
    progress->start_ns = sirq_lab_now_ns();
}

static void show(const struct sirq_progress *progress, uint64_t left_ns)
{
    unsigned width = sirq_lab_table_width(stderr); /* each time: windows change */
    char line[160], left[32] = "";
    int most = sizeof(line);

    if (!progress->terminal)
        return;
    if (left_ns != 0)
        snprintf(left, sizeof(left), ", about %.0f s left", (double)left_ns / 1e9);
    snprintf(line, sizeof(line), "[%u/%u] %s%s", progress->done + 1, progress->total,
             progress->text, left);
    if (width && width <= sizeof(line)) /* a line that wraps cannot be taken back */
        most = (int)width - 1;
    fprintf(stderr, "\r\033[K%.*s", most, line);
    fflush(stderr);
}

void sirq_progress_tick(const struct sirq_progress *progress, uint64_t into_ns)
{
    uint64_t left_ns = (progress->total - progress->done) * progress->step_ns;

    show(progress, left_ns > into_ns ? left_ns - into_ns : 0);
}

void sirq_progress_end(struct sirq_progress *progress)
{
    uint64_t took_ns = sirq_lab_now_ns() - progress->start_ns;

    if (!progress->text[0])
        return;
    progress->done++;
    progress->step_ns = took_ns / progress->done;
    if (!progress->terminal)
        fprintf(stderr, "[%u/%u] %s: done, %.0f s in all\n", progress->done, progress->total,
                progress->text, (double)took_ns / 1e9);
    progress->text[0] = '\0';
}

void sirq_progress_step(struct sirq_progress *progress, const char *fmt, ...)
{
    va_list args;

    sirq_progress_end(progress);
    va_start(args, fmt);
    vsnprintf(progress->text, sizeof(progress->text), fmt, args);
    va_end(args);
    sirq_progress_tick(progress, 0);
}

void sirq_progress_at(struct sirq_progress *progress, unsigned done, uint64_t left_ns,
                      const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(progress->text, sizeof(progress->text), fmt, args);
    va_end(args);
    progress->done = done;
    show(progress, left_ns);
}

void sirq_progress_log(const struct sirq_progress *progress, unsigned n, unsigned of,
                       const char *fmt, ...)
{
    uint64_t took_ns = sirq_lab_now_ns() - progress->start_ns;
    char text[sizeof(progress->text)];
    va_list args;

    if (progress->terminal)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    fprintf(stderr, "[%u/%u] %s: done, %.0f s in all\n", n, of, text, (double)took_ns / 1e9);
}

void sirq_progress_clear(const struct sirq_progress *progress)
{
    if (progress->terminal) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
