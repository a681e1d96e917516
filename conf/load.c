/* SPDX-License-Identifier: MIT */
/* Through libcyaml, which is told to keep quiet: what it would say has been said before. */
#include "conf.h"

#include <errno.h>
#include <string.h>

static void quiet(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
    (void)level;
    (void)ctx;
    (void)fmt;
    (void)args;
}

static const cyaml_config_t cyaml = {
    .log_level = CYAML_LOG_ERROR,
    .log_fn = quiet,
    .mem_fn = cyaml_mem,
    .flags = CYAML_CFG_NO_ALIAS,
};

const struct sirq_conf_rule *sirq_conf_rule(const struct sirq_conf_kind *kind,
                                            const cyaml_schema_field_t *fields, const char *key)
{
    for (size_t i = 0; i < kind->nrules; i++) {
        const struct sirq_conf_rule *rule = &kind->rules[i];

        if (rule->fields == fields && (rule->key == NULL || strcmp(rule->key, key) == 0))
            return rule;
    }
    return NULL;
}

int sirq_conf_load(const struct sirq_conf_place *place, const char *text, size_t len,
                   const cyaml_schema_value_t *value, cyaml_data_t **out, unsigned *n)
{
    cyaml_err_t rc = cyaml_load_data((const uint8_t *)text, len, &cyaml, value, out,
                                     value->type == CYAML_SEQUENCE ? n : NULL);

    if (rc == CYAML_OK)
        return 0;
    if (rc == CYAML_ERR_OOM)
        return sirq_fail(place->err, ENOMEM, "out of memory");
    return sirq_conf_bad(place, 0, "", "cannot be loaded: %s", cyaml_strerror(rc));
}

void sirq_conf_free(const cyaml_schema_value_t *value, cyaml_data_t *data, unsigned n)
{
    if (data != NULL)
        cyaml_free(&cyaml, value, data, value->type == CYAML_SEQUENCE ? n : 0);
}
