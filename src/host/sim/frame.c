/* SPDX-License-Identifier: MIT */
/* See frame.h. */
#define SIRQ_SIM_HOST_PRIVATE
#include "frame.h"

#define SIRQ_NET_INTERNAL
#include "../../net/hash.h"

#include <errno.h>
#include <string.h>

#define ETH_HLEN 14u
#define IP_HLEN 20u

static void put16(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
}

static uint32_t ip_checksum(const uint8_t *header)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < IP_HLEN; i += 2)
        sum += (uint32_t)header[i] << 8 | header[i + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

void sirq_frame_make(struct sirq_frame *frame, const struct sirq_sim_source_config *config)
{
    uint8_t *eth = frame->data, *ip = eth + ETH_HLEN, *udp = ip + IP_HLEN;

    frame->len = config->size;
    put16(eth + 12, 0x0800);
    ip[0] = 0x45;
    put16(ip + 2, config->size - ETH_HLEN);
    ip[8] = 64;
    ip[9] = 17;
    memcpy(ip + 12, &config->saddr, 4);
    memcpy(ip + 16, &config->daddr, 4);
    put16(ip + 10, ip_checksum(ip));
    put16(udp, config->sport);
    put16(udp + 2, config->dport);
    put16(udp + 4, config->size - ETH_HLEN - IP_HLEN);
}

int sirq_frame_check(const struct sirq_sim_nic *nic, const struct sirq_sim_source_config *config,
                     struct sirq_error *err)
{
    if (config->size < 60 || config->size > SIM_FRAME_MAX)
        return sirq_fail(err, EINVAL, "frame: size %u: give 60 to %u bytes", config->size,
                         SIM_FRAME_MAX);
    if (config->dport == 0)
        return sirq_fail(err, EINVAL, "frame: port 0: give 1 to 65535");
    if (config->ring_fixed && config->ring >= nic->nrings)
        return sirq_fail(err, EINVAL, "frame: ring %u: this NIC has %u, give 0 to %u", config->ring,
                         nic->nrings, nic->nrings - 1);
    return 0;
}

struct sirq_nic_ring *sirq_frame_ring(struct sirq_sim_nic *nic,
                                      const struct sirq_sim_source_config *config)
{
    if (config->ring_fixed)
        return &nic->ring[config->ring];
    return sirq_nic_rss(
        nic, sirq_rss_hash_ipv4(config->saddr, config->daddr, config->sport, config->dport));
}
