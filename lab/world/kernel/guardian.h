/* SPDX-License-Identifier: MIT */
/*
 * Who puts the kernel's settings back.  A process of its own, in a session of its own, makes every
 * change and keeps what was there before; a run only asks.  When the run is over, however it
 * ended, the guardian finds the other end of its socket closed, and restores.
 *
 * One guardian at a time on a machine: a second one would keep the first one's changes as what was
 * there before.
 */
#ifndef SIRQ_LAB_KERNEL_GUARDIAN_H
#define SIRQ_LAB_KERNEL_GUARDIAN_H

#include <sys/types.h>

#include <sirq/driver.h>

#define SIRQ_GUARDIAN_PATH 128u
#define SIRQ_GUARDIAN_TEXT 64u
#define SIRQ_GUARDIAN_SAVED 32u /* settings changed at a time */

struct sirq_guardian {
    pid_t pid;
    int fd;
};

/*
 * Start it.  root: goes before every path, "" on a real machine.  The caller has one thread, and
 * is where the settings are: in the first network namespace.
 * 0, -EBUSY (another run changes settings now) or -errno, err filled and nothing left.
 */
int sirq_guardian_start(struct sirq_guardian *guardian, const char *root, struct sirq_error *err);

/* Each asks for one change: 0, -EPIPE (the guardian has ended) or the -errno of the change. */
int sirq_guardian_write(const struct sirq_guardian *guardian, const char *path, const char *text);
int sirq_guardian_class(const struct sirq_guardian *guardian, pid_t tid, int policy, int priority);
int sirq_guardian_pin(const struct sirq_guardian *guardian, pid_t tid, unsigned cpu);

/* Everything as it was.  0 or -errno with err filled: what could not be restored. */
int sirq_guardian_restore(const struct sirq_guardian *guardian, struct sirq_error *err);

/* It ends; what was changed is restored before this returns. */
void sirq_guardian_end(struct sirq_guardian *guardian);

/* Inside the guardian: serve `fd` until it is closed, restore, exit. */
void sirq_guardian_main(int fd, const char *root) __attribute__((noreturn));

#endif
