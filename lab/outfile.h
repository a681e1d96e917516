/* SPDX-License-Identifier: MIT */
/* Files of results, written beside their place and renamed: nobody ever reads half of one. */
#ifndef SIRQ_LAB_OUTFILE_H
#define SIRQ_LAB_OUTFILE_H

#include <sirq/driver.h> /* struct sirq_error */
#include <stdio.h>

/* Before the run, leaves nothing behind: 0 or -EINVAL with err filled.  `option`: "--csv". */
int sirq_outfile_check(const char *option, const char *path, struct sirq_error *err);

/* Make a temporary file beside it, let `put` write it, rename: 0 or -errno with err filled. */
int sirq_outfile_write(const char *option, const char *path,
                       void (*put)(FILE *out, const void *arg), const void *arg,
                       struct sirq_error *err);

#endif
