/* SPDX-License-Identifier: MIT */
/*
 * Captures in memory: read once by libpcap (pcap and pcapng), bounded, so that a poll never
 * waits for a disk; and frames of one flow made into frames of others.
 *
 * A flow is another source port, 1024 upwards, and every 64,512 flows another source address.
 * Checksums are corrected by the difference (RFC 1624), so a wrong one stays wrong.
 */
#define SIRQ_DRIVER_PRIVATE
#include "driver.h"
#include "pcap.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#define PCAP_PORT_MIN 1024u
#define PCAP_PORTS (65536u - PCAP_PORT_MIN)

static uint16_t get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static void put16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* HC' = ~(~HC + ~m + m') */
static uint16_t sum_changed(uint16_t sum, uint16_t old, uint16_t new)
{
    uint32_t s = (uint16_t)~sum + (uint32_t)(uint16_t)~old + new;

    s = (s & 0xffff) + (s >> 16);
    return (uint16_t) ~(s + (s >> 16));
}

static void change16(const struct sirq_pcap_frame *frame, uint8_t *out, uint16_t at, uint16_t new)
{
    uint16_t old = get16(out + at), sum;

    put16(out + at, new);
    if (frame->ip_sum_at != 0 && at == frame->addr_at)
        put16(out + frame->ip_sum_at, sum_changed(get16(out + frame->ip_sum_at), old, new));
    sum = get16(out + frame->sum_at);
    if (frame->sum_optional && sum == 0)
        return;
    sum = sum_changed(sum, old, new);
    put16(out + frame->sum_at, frame->sum_optional && sum == 0 ? 0xffff : sum);
}

void sirq_pcap_vary(const struct sirq_pcap_frame *frame, uint8_t *out, uint32_t flow)
{
    uint32_t port;

    if (flow == 0 || frame->port_at == 0)
        return;
    /* From the recorded port on, round the range; one below it counts as its lowest. */
    port = get16(out + frame->port_at);
    port = (port < PCAP_PORT_MIN ? 0 : port - PCAP_PORT_MIN) + flow % PCAP_PORTS;
    change16(frame, out, frame->port_at, (uint16_t)(PCAP_PORT_MIN + port % PCAP_PORTS));
    if (flow >= PCAP_PORTS)
        change16(frame, out, frame->addr_at,
                 (uint16_t)(get16(out + frame->addr_at) + flow / PCAP_PORTS));
}

/* Where ports and checksums are, in whole UDP and TCP packets over IPv4 and IPv6. */
static void frame_parse(struct sirq_pcap_frame *frame, const uint8_t *data)
{
    unsigned type = frame->len < 14 ? 0 : get16(data + 12), l4 = 0, proto = 0;

    if (type == 0x0800 && frame->len >= 34 && (get16(data + 20) & 0x3fff) == 0) {
        l4 = 14 + (data[14] & 15u) * 4;
        proto = data[23];
        frame->addr_at = 28; /* the low half of the source address */
        frame->ip_sum_at = 24;
    } else if (type == 0x86dd && frame->len >= 54) {
        l4 = 54;
        proto = data[20];
        frame->addr_at = 36;
    }
    if (proto == 17 && l4 >= 34 && frame->len >= l4 + 8)
        frame->sum_at = (uint16_t)(l4 + 6);
    else if (proto == 6 && l4 >= 34 && frame->len >= l4 + 20)
        frame->sum_at = (uint16_t)(l4 + 16);
    else
        return;
    frame->port_at = (uint16_t)l4;
    frame->sum_optional = proto == 17;
}

/* Twice as much, up to the bound. */
static int grow(void **array, size_t *room, size_t need)
{
    size_t more = *room ? *room : 65536;
    void *new;

    while (more < need)
        more *= 2;
    if (more > 2 * SIRQ_PCAP_BYTES_MAX)
        return -E2BIG;
    new = more == *room ? *array : realloc(*array, more);
    if (!new)
        return -ENOMEM;
    *array = new;
    *room = more;
    return 0;
}

static int file_add(struct sirq_pcap_file *file, const struct pcap_pkthdr *header,
                    const uint8_t *data, uint64_t *first_ns)
{
    /* libpcap was asked for nanoseconds. */
    uint64_t ns = (uint64_t)header->ts.tv_sec * 1000000000u + (uint64_t)header->ts.tv_usec;
    size_t room = file->most * sizeof(*file->frames);
    struct sirq_pcap_frame *frame;
    int rc = 0;

    if (file->size + header->caplen + (file->n + 1) * sizeof(*frame) > SIRQ_PCAP_BYTES_MAX)
        return -E2BIG;
    rc = grow((void **)&file->bytes, &file->room, file->size + header->caplen);
    if (rc == 0)
        rc = grow((void **)&file->frames, &room, (file->n + 1) * sizeof(*frame));
    if (rc < 0)
        return rc;
    file->most = (uint32_t)(room / sizeof(*frame));
    if (file->n == 0)
        *first_ns = ns;
    frame = &file->frames[file->n];
    *frame = (struct sirq_pcap_frame){.at = file->size, .len = header->caplen};
    frame->ns = ns > *first_ns ? ns - *first_ns : 0;
    if (file->n > 0 && frame->ns < frame[-1].ns)
        frame->ns = frame[-1].ns;
    memcpy(file->bytes + file->size, data, header->caplen);
    frame_parse(frame, file->bytes + file->size);
    file->size += header->caplen;
    file->n++;
    return 0;
}

static int read_all(struct sirq_pcap_file *file, pcap_t *pcap, const char *path,
                    unsigned frame_size, struct sirq_error *err)
{
    struct pcap_pkthdr *header;
    const uint8_t *data;
    uint64_t first_ns = 0;
    int rc = 0, got;

    if (pcap_datalink(pcap) != DLT_EN10MB)
        return sirq_fail(err, EPROTONOSUPPORT,
                         "pcap: %s has link type %d: give a capture of Ethernet frames (type 1)",
                         path, pcap_datalink(pcap));
    while (rc == 0 && (got = pcap_next_ex(pcap, &header, &data)) == 1) {
        if (header->caplen > frame_size)
            return sirq_fail(err, EMSGSIZE,
                             "pcap: %s: frame %u before byte %ld has %u bytes: give a frame_size "
                             "of more than %u",
                             path, file->n + 1, ftell(pcap_file(pcap)), header->caplen, frame_size);
        rc = file_add(file, header, data, &first_ns);
    }
    if (rc == -E2BIG)
        return sirq_fail(err, E2BIG,
                         "pcap: %s is over %zu MiB at frame %u: cut it (editcap -r, tcpdump -c)",
                         path, SIRQ_PCAP_BYTES_MAX >> 20, file->n + 1);
    if (rc < 0)
        return sirq_fail(err, -rc, "pcap: out of memory");
    if (got != PCAP_ERROR_BREAK)
        return sirq_fail(err, EPROTO, "pcap: %s: after frame %u, at byte %ld: %s", path, file->n,
                         ftell(pcap_file(pcap)), pcap_geterr(pcap));
    if (file->n == 0)
        return sirq_fail(err, EINVAL, "pcap: %s has no frame in it", path);
    return 0;
}

int sirq_pcap_load(struct sirq_pcap_file *file, const char *path, unsigned frame_size,
                   struct sirq_error *err)
{
    char why[PCAP_ERRBUF_SIZE] = "";
    pcap_t *pcap;
    FILE *in;
    int rc;

    *file = (struct sirq_pcap_file){0};
    if (!path || !*path)
        return sirq_fail(err, EINVAL, "pcap: file: give the name of a capture (tcpdump -w)");
    in = fopen(path, "re");
    if (!in)
        return sirq_fail(err, errno, "pcap: %s: %s", path, strerror(errno));
    pcap = pcap_fopen_offline_with_tstamp_precision(in, PCAP_TSTAMP_PRECISION_NANO, why);
    if (!pcap) {
        rc = sirq_fail(err, EPROTO, "pcap: %s: at byte %ld: %s", path, ftell(in), why);
        fclose(in);
        return rc;
    }
    rc = read_all(file, pcap, path, frame_size, err);
    pcap_close(pcap); /* and in */
    if (rc < 0)
        sirq_pcap_free(file);
    return rc;
}

void sirq_pcap_free(struct sirq_pcap_file *file)
{
    free(file->bytes);
    free(file->frames);
    *file = (struct sirq_pcap_file){0};
}
