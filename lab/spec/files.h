/* SPDX-License-Identifier: MIT */
/* The files of lab/experiments and lab/published, made into strings by embed_text.py. */
#ifndef SIRQ_LAB_SPEC_FILES_H
#define SIRQ_LAB_SPEC_FILES_H

struct sirq_spec_file {
    const char *name; /* udp-flood, udp_flood: without what follows the dot */
    const char *text;
};

/* Both end with a null name. */
extern const struct sirq_spec_file sirq_spec_experiments[], sirq_spec_csvs[];

#endif
