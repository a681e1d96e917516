/* SPDX-License-Identifier: MIT */
/* Names that are looked up. */
#include "zone.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"

uint32_t dns_name_len(const uint8_t *name)
{
    uint32_t len = 0;

    while (name[len] != 0)
        len += 1u + name[len];
    return len + 1;
}

/* Lengths of labels are below 'A'. */
void dns_name_lower(uint8_t *to, const uint8_t *name, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        to[i] = name[i] >= 'A' && name[i] <= 'Z' ? (uint8_t)(name[i] + 'a' - 'A') : name[i];
}

const struct dns_node *dns_zone_node(const struct sirq_dns_zone *zone, const uint8_t *name,
                                     uint32_t len)
{
    for (uint32_t at = dns_hash(name, len) & zone->mask; zone->table[at] != 0;
         at = (at + 1) & zone->mask) {
        const struct dns_node *node = &zone->nodes[zone->table[at] - 1];
        const uint8_t *other = zone->bytes + node->name;

        if (dns_name_len(other) == len && memcmp(other, name, len) == 0)
            return node;
    }
    return NULL;
}

const struct dns_rrset *dns_zone_rrset(const struct sirq_dns_zone *zone,
                                       const struct dns_node *node, uint16_t type)
{
    for (uint32_t i = 0; i < node->n_rrsets; i++) {
        if (zone->rrsets[node->first + i].type == type)
            return &zone->rrsets[node->first + i];
    }
    return NULL;
}

uint32_t sirq_dns_zone_records(const struct sirq_dns_zone *zone)
{
    return zone->n_records;
}

uint32_t sirq_dns_zone_names(const struct sirq_dns_zone *zone)
{
    return zone->n_nodes;
}

void sirq_dns_zone_free(struct sirq_dns_zone *zone)
{
    if (zone == NULL)
        return;
    free(zone->bytes);
    free(zone->rrsets);
    free(zone->nodes);
    free(zone->table);
    free(zone);
}
