/* SPDX-License-Identifier: MIT */
/* See far.h. */
#define SIRQ_SIM_PRIVATE
#include "far.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ETH_HLEN 14u
#define IP_HLEN 20u
#define IP ETH_HLEN
#define L4 (IP + IP_HLEN)
#define PAYLOAD (L4 + 8) /* UDP and ICMP echo alike */
#define MARK_LEN 12u     /* source, number, its complement */
#define TTL 64u
#define UDP 17u
#define ICMP 1u
#define ICMP_REQUEST 8u

static void put16(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)(value >> 8);
    p[1] = (uint8_t)value;
}

static void put32(uint8_t *p, uint32_t value)
{
    put16(p, value >> 16);
    put16(p + 2, value);
}

static uint32_t get16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
    return get16(p) << 16 | get16(p + 2);
}

static uint32_t sum16(const uint8_t *p, uint32_t len)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i + 1 < len; i += 2)
        sum += get16(p + i);
    sum += len % 2 != 0 ? (uint32_t)p[len - 1] << 8 : 0;
    sum = (sum & 0xffff) + (sum >> 16);
    return (sum & 0xffff) + (sum >> 16);
}

/* ---- frames that cross ------------------------------------------------------------------ */

void sirq_far_number(struct sirq_source *source, uint32_t number)
{
    put32(source->frame.data + PAYLOAD + 4, number);
    put32(source->frame.data + PAYLOAD + 8, ~number);
}

static void ip_header(uint8_t *ip, uint32_t len, uint8_t proto)
{
    memset(ip, 0, IP_HLEN);
    ip[0] = 0x45;
    put16(ip + 2, len);
    put16(ip + 6, 0x4000);
    ip[8] = TTL;
    ip[9] = proto;
}

static void ip_checksum(uint8_t *ip)
{
    put16(ip + 10, 0);
    put16(ip + 10, ~sum16(ip, IP_HLEN));
}

/* The transport checksum stays: of UDP there is none, ICMP's knows no addresses. */
static void make_frame(struct sirq_source *source, const struct sirq_far_way *way, uint32_t len)
{
    uint8_t *eth = source->frame.data, *ip = eth + IP, *l4 = eth + L4;

    source->frame.len = len;
    memcpy(eth, way->from->router, 6);
    memcpy(eth + 6, way->from->mac, 6);
    put16(eth + 12, 0x0800);
    ip_header(ip, len - ETH_HLEN, way->icmp ? ICMP : UDP);
    memcpy(ip + 12, &way->from->addr, 4);
    memcpy(ip + 16, &way->to->addr, 4);
    ip_checksum(ip);
    put32(eth + PAYLOAD, source->crossing);
    sirq_far_number(source, 0);
    if (way->icmp) {
        l4[0] = way->dport == 0 ? ICMP_REQUEST : 0;
        put16(l4 + 4, way->dport == 0 ? way->sport : way->dport);
        put16(l4 + 2, ~sum16(l4, len - L4));
        return;
    }
    put16(l4, way->sport);
    put16(l4 + 2, way->dport);
    put16(l4 + 4, len - L4);
}

int sirq_far_connect(struct sirq_source *source, const struct sirq_far_way *way, uint32_t len)
{
    struct sirq_sim *sim = way->ring->nic->sim;
    struct sirq_source **more;

    if (sim->ncrossing == SIM_CROSSING)
        return -ENOSPC;
    more = realloc(sim->crossing, (sim->ncrossing + 1) * sizeof(struct sirq_source *));
    if (more == NULL)
        return -ENOMEM;
    sim->crossing = more;
    source->crossing = sim->ncrossing;
    source->port = (uint8_t)way->from->port;
    source->out_port = (uint8_t)way->to->port;
    source->out_nic = way->to->nic;
    make_frame(source, way, len);
    if (sirq_nic_connect(way->ring, source) != 0)
        return -ENOMEM;
    sim->crossing[sim->ncrossing++] = source;
    return 0;
}

void sirq_far_answers(struct sirq_source *source, const uint8_t *frame)
{
    uint8_t *ip = source->frame.data + IP, *l4 = source->frame.data + L4;

    if (memcmp(ip + 16, frame + IP + 12, 4) != 0) {
        memcpy(ip + 16, frame + IP + 12, 4);
        ip_checksum(ip);
    }
    if (ip[9] == UDP) {
        memcpy(l4 + 2, frame + L4, 2);
    } else if (get16(l4 + 4) != get16(frame + L4 + 4)) {
        memcpy(l4 + 4, frame + L4 + 4, 2);
        put16(l4 + 2, 0);
        put16(l4 + 2, ~sum16(l4, source->frame.len - L4));
    }
}

/* ---- hosts -------------------------------------------------------------------------------- */

static void arp_sent(struct sirq_source *source, bool lost)
{
    struct sirq_sim_host *host = SIRQ_CONTAINER(source, struct sirq_sim_host, arp);

    host->answering = !lost;
    source->next = UINT64_MAX;
}

static void arp_taken(struct sirq_source *source, bool delivered)
{
    (void)delivered;
    SIRQ_CONTAINER(source, struct sirq_sim_host, arp)->answering = false;
}

struct sirq_sim_host *sirq_far_host(struct sirq_sim_nic *nic, const struct sirq_sim_host *like)
{
    static const uint8_t head[8] = {0, 1, 8, 0, 6, 4, 0, 2};
    struct sirq_sim_host *host = malloc(sizeof(*host));
    uint8_t *arp;

    if (host == NULL)
        return NULL;
    *host = *like;
    host->nic = nic;
    host->arp = (struct sirq_source){.next = UINT64_MAX,
                                     .bytes = sizeof(*host),
                                     .port = (uint8_t)host->port,
                                     .sent = arp_sent,
                                     .taken = arp_taken,
                                     .frame.len = SIM_FRAME_MIN};
    memcpy(host->arp.frame.data + 6, host->mac, 6);
    put16(host->arp.frame.data + 12, 0x0806);
    arp = host->arp.frame.data + ETH_HLEN;
    memcpy(arp, head, sizeof(head));
    memcpy(arp + 8, host->mac, 6);
    memcpy(arp + 14, &host->addr, 4);
    if (sirq_nic_connect(&nic->ring[0], &host->arp) != 0) {
        free(host);
        return NULL;
    }
    host->next = nic->hosts;
    nic->hosts = host;
    return host;
}

/* A request for the host's address: answered to whoever asks.  One is on its way: asked again. */
static void arp_request(struct sirq_sim_host *host, const uint8_t *frame, uint64_t time)
{
    uint8_t *eth = host->arp.frame.data;

    if (host->answering)
        return;
    host->answering = true;
    memcpy(eth, frame + 6, 6);
    memcpy(eth + ETH_HLEN + 18, frame + ETH_HLEN + 8, 10);
    sirq_nic_source_at(&host->arp, time);
}

static bool is_request(const uint8_t *frame, uint32_t len)
{
    return len >= ETH_HLEN + 28 && get16(frame + 12) == 0x0806 && get16(frame + ETH_HLEN + 6) == 1;
}

/* ---- what comes out ----------------------------------------------------------------------- */

static struct sirq_source *source_of(const struct sirq_sim *sim, const uint8_t *frame, uint32_t len)
{
    uint32_t id;

    if (len < PAYLOAD + MARK_LEN || get16(frame + 12) != 0x0800 || frame[IP] != 0x45 ||
        (frame[IP + 9] != UDP && frame[IP + 9] != ICMP) || (get16(frame + IP + 6) & 0x3fff) != 0 ||
        get32(frame + PAYLOAD + 4) != ~get32(frame + PAYLOAD + 8))
        return NULL;
    id = get32(frame + PAYLOAD);
    return id < sim->ncrossing ? sim->crossing[id] : NULL;
}

/* What comes behind a later one is counted, and to its flow it is lost. */
static void comes_out(struct sirq_source *source, const uint8_t *frame, uint64_t time)
{
    uint32_t number = get32(frame + PAYLOAD + 4);

    source->out_nic->tx_arrived++;
    if ((int32_t)(number - source->out_next) < 0) {
        source->out_nic->sim->disordered++;
        return;
    }
    source->out_next = number + 1;
    source->out(source, frame, number, time);
}

void sirq_far_arrives(struct sirq_sim_nic *nic, unsigned port, const uint8_t *frame, uint32_t len,
                      uint64_t time)
{
    struct sirq_source *source = source_of(nic->sim, frame, len);

    if (source != NULL && source->out_nic == nic && source->out_port == port &&
        source->frame.len == len) {
        comes_out(source, frame, time);
        return;
    }
    nic->tx_strange++;
    if (!is_request(frame, len))
        return;
    for (struct sirq_sim_host *host = nic->hosts; host != NULL; host = host->next)
        if (host->port == port && memcmp(&host->addr, frame + ETH_HLEN + 24, 4) == 0)
            arp_request(host, frame, time);
}
