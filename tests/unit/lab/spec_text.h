/* SPDX-License-Identifier: MIT */
/* A small experiment that is good, to be spoiled in one place. */
#ifndef SIRQ_TESTS_SPEC_TEXT_H
#define SIRQ_TESTS_SPEC_TEXT_H

#include "spec/spec.h"

extern const char sirq_spec_good[];

/* The good text with the first `what` replaced by `by`; to be freed with its text. */
struct sirq_spec_text sirq_spec_changed(const char *what, const char *by);

/* The text, in setup `setup` with `set`, is refused with exactly this line. */
void sirq_spec_refused(const struct sirq_spec_text *text, uint32_t setup, const char *set,
                       const char *line);

#endif
