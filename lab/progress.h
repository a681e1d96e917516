/* SPDX-License-Identifier: MIT */
/*
 * On stderr: on a terminal one line that says what runs and how long the rest takes; else,
 * in a log or a pipe, a line for each step that is done.
 */
#ifndef SIRQ_LAB_PROGRESS_H
#define SIRQ_LAB_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct sirq_progress {
    bool terminal;
    unsigned done, total; /* steps */
    uint64_t step_ns;     /* what one step is expected to take */
    uint64_t start_ns;    /* when the first step began */
    char text[96];        /* what runs now */
};

void sirq_progress_start(struct sirq_progress *progress, unsigned total, uint64_t step_ns);

/* A new step begins. */
void sirq_progress_step(struct sirq_progress *progress, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Show how time goes by, `into_ns` after the step began. */
void sirq_progress_tick(const struct sirq_progress *progress, uint64_t into_ns);

/* The last step is done. */
void sirq_progress_end(struct sirq_progress *progress);

/*
 * Steps that go on side by side: `done` of them are over, the rest takes about left_ns (0: nobody
 * knows), the text says what runs; and in a log that part `n` of `of` is complete.
 */
void sirq_progress_at(struct sirq_progress *progress, unsigned done, uint64_t left_ns,
                      const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void sirq_progress_log(const struct sirq_progress *progress, unsigned n, unsigned of,
                       const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* No step goes on: take the line away, before anything else is printed. */
void sirq_progress_clear(const struct sirq_progress *progress);

#endif
