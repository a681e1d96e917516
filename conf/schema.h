/* SPDX-License-Identifier: MIT */
/*
 * Short words for libcyaml's, for files that hold a schema.  No key is needed there: what has to
 * be given, and the range of each number, are rules.
 */
#ifndef SIRQ_CONF_SCHEMA_H
#define SIRQ_CONF_SCHEMA_H

#include "conf.h"

#define MAY CYAML_FLAG_OPTIONAL
#define MAY_PTR (CYAML_FLAG_OPTIONAL | CYAML_FLAG_POINTER)
#define WORD(keyword, type, member) \
    CYAML_FIELD_ENUM(#member, MAY | CYAML_FLAG_STRICT, type, member, keyword, LEN(keyword))
#define UINT(type, member) CYAML_FIELD_UINT(#member, MAY, type, member)
#define DECIMAL_PTR(type, member) CYAML_FIELD_FLOAT_PTR(#member, MAY_PTR, type, member)
#define BOOL(type, member) CYAML_FIELD_BOOL(#member, MAY, type, member)
#define UINT_PTR(type, member) CYAML_FIELD_UINT_PTR(#member, MAY_PTR, type, member)
#define TEXT(type, member) \
    CYAML_FIELD_STRING_PTR(#member, MAY_PTR, type, member, 0, SIRQ_CONF_STRING)
#define MAP(type, member, fields) CYAML_FIELD_MAPPING(#member, MAY, type, member, fields)
#define MAP_PTR(type, member, fields) \
    CYAML_FIELD_MAPPING_PTR(#member, MAY_PTR, type, member, fields)
#define LIST(type, member, entry, most) \
    CYAML_FIELD_SEQUENCE_COUNT(#member, MAY_PTR, type, member, n_##member, entry, 0, most)
#define ENTRY(type, fields)                                   \
    {                                                         \
        CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, type, fields) \
    }

#endif
