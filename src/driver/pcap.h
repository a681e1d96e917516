/* SPDX-License-Identifier: MIT */
/* The `pcap` driver between the file that reads captures and the one that replays them. */
#ifndef SIRQ_SRC_PCAP_H
#define SIRQ_SRC_PCAP_H

#ifndef SIRQ_DRIVER_PRIVATE
#error "private to src/driver"
#endif

#include <sirq/driver.h>

#define SIRQ_PCAP_BYTES_MAX ((size_t)256 << 20) /* of frames and what is kept of each */
#define SIRQ_PCAP_FLOWS_MAX (1u << 20)
#define SIRQ_PCAP_PPS_MAX 1000000000u

struct sirq_pcap_frame {
    size_t at; /* in bytes[] */
    uint32_t len;
    uint64_t ns; /* after the first; never less than the one before */
    /* Where in the frame; 0: not there.  port_at 0: its flow cannot be told, nothing changes. */
    uint16_t addr_at, port_at, ip_sum_at, sum_at;
    bool sum_optional; /* UDP: 0 means none, and a sum of 0 is written as ffff */
};

struct sirq_pcap_file {
    uint8_t *bytes;
    struct sirq_pcap_frame *frames;
    size_t size, room; /* of bytes[] */
    uint32_t n, most;  /* of frames[] */
};

/* Read the whole file.  0, or -errno with err filled and nothing left. */
int sirq_pcap_load(struct sirq_pcap_file *file, const char *path, unsigned frame_size,
                   struct sirq_error *err);
void sirq_pcap_free(struct sirq_pcap_file *file);

/*
 * Make `out`, a copy of the frame, one of flow number `flow`: another source port, and source
 * address where these do not suffice; checksums are right if they were before.
 */
void sirq_pcap_vary(const struct sirq_pcap_frame *frame, uint8_t *out, uint32_t flow);

#endif
