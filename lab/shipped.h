/* SPDX-License-Identifier: MIT */
/* The files of lab/experiments, made into strings by embed_text.py at build time. */
#ifndef SIRQ_LAB_SHIPPED_H
#define SIRQ_LAB_SHIPPED_H

struct sirq_shipped {
    const char *name; /* udp-flood.yaml */
    const char *text;
};

/* Ends with a null name. */
extern const struct sirq_shipped sirq_shipped[];

#endif
