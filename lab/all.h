/* SPDX-License-Identifier: MIT */
/* Every shipped experiment under every policy, at once: softirq lab all. */
#ifndef SIRQ_LAB_ALL_H
#define SIRQ_LAB_ALL_H

#include "experiment.h"

/* Run, print a summary and write the files.  0, -EINTR (partial, what is finished is kept) or -errno
 * with err filled. */
int sirq_lab_all(const struct sirq_lab_options *options, struct sirq_error *err);

#endif
