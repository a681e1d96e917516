#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the seed corpora of fuzz_rx (one input per verdict and some good frames) and fuzz_nat.

usage: make_corpus.py FOLDER.  The output is the same each time.
"""
import pathlib
import struct
import sys


def csum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def frame(payload=b"payload", dport=5000, options=b"", padding=b"", proto=17, frag=0,
          src=b"\x0a\0\0\1", dst=b"\x0a\0\0\2", version_ihl=None, total=None, udp_len=None,
          with_csum=True, ethertype=0x0800, bad_ip=0, bad_udp=0):
    """A UDP datagram; what is given wrong comes out wrong, checksums right around it."""
    length = 8 + len(payload) if udp_len is None else udp_len
    udp = struct.pack("!4H", 4000, dport, length, 0) + payload
    if with_csum:
        pseudo = src + dst + struct.pack("!2H", 17, length)
        udp = udp[:6] + struct.pack("!H", (csum(pseudo + udp) or 0xFFFF) ^ bad_udp) + udp[8:]
    first = 0x45 + len(options) // 4 if version_ihl is None else version_ihl
    size = 20 + len(options) + len(udp) if total is None else total
    head = struct.pack("!2B3H2BH", first, 0, size, 1, frag, 64, proto, 0) + src + dst + options
    head = head[:10] + struct.pack("!H", csum(head) ^ bad_ip) + head[12:]
    return bytes(12) + struct.pack("!H", ethertype) + head + udp + padding


ONE, TWO, FOUR = b"\0", b"\1", b"\3"  # how many frames the input is split into

SEEDS = {
    "good": ONE + frame(),
    "good_empty": ONE + frame(b""),
    "good_padding": ONE + frame(b"x", padding=bytes(17)),
    "good_no_csum": ONE + frame(with_csum=False),
    "good_options": ONE + frame(options=b"\1" * 40),
    "good_bound": ONE + frame(dport=53),
    "good_odd": ONE + frame(b"abc"),
    "good_largest": ONE + frame(bytes(1984)),
    "two": TWO + frame() + frame(),
    "four_full": FOUR + frame() * 3 + frame(),
    "eth_short": ONE + frame()[:13],
    "eth_type": ONE + frame(ethertype=0x86DD),
    "ip_short": ONE + frame()[:33],
    "ip_version": ONE + frame(version_ihl=0x65),
    "ip_ihl": ONE + frame(version_ihl=0x44),
    "ip_ihl_beyond": ONE + frame(b"", version_ihl=0x4F),
    "ip_len": ONE + frame(total=19),
    "ip_len_beyond": ONE + frame(total=65535),
    "ip_csum": ONE + frame(bad_ip=1),
    "ip_frag": ONE + frame(frag=0x2000),
    "ip_src": ONE + frame(src=b"\xe0\0\0\1"),
    "ip_proto": ONE + frame(proto=6),
    "udp_short": ONE + frame(b"", total=27),
    "udp_len": ONE + frame(udp_len=7),
    "udp_len_beyond": ONE + frame(udp_len=65535),
    "udp_csum": ONE + frame(bad_udp=1),
    "udp_port": ONE + frame(dport=1),
    "udp_port_bound": ONE + frame(dport=53, dst=b"\x0a\0\0\3"),
    "oversize": ONE + frame(bytes(1985)),
}


MAC, US4, US6 = b"\2\0\0\0\0\1", b"\x0a\0\0\2", b"\x20\1\x0d\xb8" + bytes(11) + b"\1"
HER6 = US6[:15] + b"\5"


def icmp(kind, payload=b"abcdefgh"):
    body = struct.pack("!BBH", kind, 0, 0) + payload
    return body[:2] + struct.pack("!H", csum(body)) + body[4:]


def ip4(body, proto, dst=US4, ttl=64):
    head = struct.pack("!2B3H2BH", 0x45, 0, 20 + len(body), 1, 0, ttl, proto, 0)
    head += b"\x0a\0\0\1" + dst
    head = head[:10] + struct.pack("!H", csum(head)) + head[12:]
    return MAC + bytes(6) + b"\x08\0" + head + body


def ip6(body, proto, at, dst=US6, extensions=b"", hops=255):
    body = body[:at] + b"\0\0" + body[at + 2:]
    pseudo = HER6 + dst + struct.pack("!LL", len(body), proto)
    body = body[:at] + struct.pack("!H", csum(pseudo + body)) + body[at + 2:]
    head = struct.pack("!LHBB", 0x60000000, len(extensions + body),
                       60 if extensions else proto, hops)
    return MAC + bytes(6) + b"\x86\xdd" + head + HER6 + dst + extensions + body


def arp(operation):
    return (MAC + bytes(6) + b"\x08\6" + struct.pack("!2H2BH", 1, 0x0800, 6, 4, operation) +
            b"\6\0\0\0\0\1" + b"\x0a\0\0\1" + bytes(6) + US4)


def nd(kind, target):
    return bytes([kind]) + bytes(7) + target + bytes([kind - 134, 1]) + b"\6\0\0\0\0\1"


UDP = struct.pack("!4H", 4000, 5000, 12, 0) + b"data"
PAD = bytes([17, 0, 1, 4, 0, 0, 0, 0])

ROUTER_SEEDS = {
    "arp_request": ONE + arp(1),
    "arp_reply": ONE + arp(2),
    "tagged": ONE + (lambda f: f[:12] + b"\x81\0\x20\0" + f[12:])(arp(1)),
    "ping": ONE + ip4(icmp(8), 1),
    "forward": ONE + ip4(UDP, 17, dst=b"\x0b\0\0\1"),
    "ttl": ONE + ip4(UDP, 17, dst=b"\x0b\0\0\1", ttl=1),
    "port": ONE + ip4(UDP[:2] + b"\0\7" + UDP[4:], 17),
    "ping6": ONE + ip6(b"\x80\0\0\0abcdefgh", 58, 2),
    "solicit": ONE + ip6(nd(135, US6), 58, 2),
    "advert": ONE + ip6(nd(136, HER6), 58, 2),
    "udp6": ONE + ip6(UDP, 17, 6),
    "udp6_options": ONE + ip6(UDP, 17, 6, extensions=PAD),
    "forward6": ONE + ip6(UDP, 17, 6, dst=HER6),
    "ttl6": ONE + ip6(UDP, 17, 6, dst=HER6, hops=1),
}


# Records of fuzz_nat: what is put right, and the device that it comes in by, is in the second byte.
FIX, PARTIAL, OUTSIDE, SHORT = 3, 5, 8, 16


def raw(what, proto, l4, src=b"\x0a\0\0\2", dst=b"\x0b\0\0\1", ttl=64, options=b""):
    head = struct.pack("!2B3H2BH", 0x45 + len(options) // 4, 0, 0, 1, 0, ttl, proto, 0)
    packet = head + src + dst + options + l4
    return bytes([0, what, len(packet)]) + packet


def reply(what, *changes):
    return bytes([1, what, len(changes)]) + b"".join(bytes(change) for change in changes)


def error(what, kind=0):
    return bytes([2, what | kind << 5, 0])


def datagram(sport, dport=53):
    return struct.pack("!4H", sport, dport, 12, 0) + b"data"


def segment(flags, options=b""):
    head = struct.pack("!2H2L2B3H", 4000, 80, 1, 1, 0x50 + len(options) * 4, flags, 512, 0, 0)
    return head + options


SYN, FIN, RST, MSS = 2, 1, 4, b"\1\1\2\4\xff\xff\1\0"
ECHO = b"\x08\0\0\0\x12\x34\0\1abcdefgh"
OUT_UDP, OUT_TCP = raw(FIX, 17, datagram(4000)), raw(FIX, 6, segment(SYN, MSS))
OUT_PING = raw(FIX, 1, ECHO)
BACK = reply(FIX | OUTSIDE)

NAT_SEEDS = {
    "udp": OUT_UDP + BACK + OUT_UDP + BACK,
    "tcp": OUT_TCP + BACK + raw(FIX, 6, segment(16)) + raw(FIX, 6, segment(16 | FIN)) + BACK,
    "tcp_reset": OUT_TCP + reply(FIX | OUTSIDE, (33, RST)) + b"\3\1" + BACK,
    "ping": OUT_PING + BACK,
    "errors_in": b"".join(one + error(FIX | OUTSIDE, kind)
                          for kind, one in enumerate((OUT_UDP, OUT_TCP, OUT_PING, OUT_UDP))),
    "errors_in_short": OUT_TCP + error(FIX | OUTSIDE | SHORT),
    "errors_out": b"".join(one + BACK + error(FIX) for one in (OUT_UDP, OUT_TCP, OUT_PING)),
    "partial": raw(PARTIAL, 17, datagram(4000)) + raw(PARTIAL, 6, segment(SYN, MSS)) + BACK,
    "no_checksum": raw(1, 17, datagram(4000)) + reply(1 | OUTSIDE),
    "options": raw(FIX, 17, datagram(4000), options=b"\1" * 8) + error(FIX | OUTSIDE),
    "ended": OUT_UDP + b"\3\2" + BACK + OUT_UDP,
    "full": b"".join(raw(FIX, 17, datagram(4000 + i, 53 + i)) for i in range(10)) + BACK,
    "ports": b"".join(raw(FIX, 17, datagram(4000 + i)) for i in range(7)) + BACK,
    "unasked": raw(FIX | OUTSIDE, 17, datagram(53, 1024), b"\x0b\0\0\1", b"\x0a\0\1\1") +
               raw(FIX | OUTSIDE, 1, ECHO, b"\x0a\0\1\2", b"\x0a\0\1\1"),
    "ttl": raw(FIX, 17, datagram(4000), ttl=1) + raw(FIX, 1, ECHO, ttl=1),
    "other": raw(1, 47, bytes(8)) + raw(FIX, 6, b"\0\1\0\2"),
}


def for_us(seeds):
    """The same frames to the router's MAC (the first one, where an input has several)."""
    return {name: data[:1] + MAC + data[7:] for name, data in seeds.items()}


def main():
    for name, seeds in (("rx", SEEDS), ("router", for_us(SEEDS) | ROUTER_SEEDS),
                        ("nat", NAT_SEEDS)):
        folder = pathlib.Path(sys.argv[1]) / name
        folder.mkdir(parents=True, exist_ok=True)
        for seed, data in seeds.items():
            (folder / seed).write_bytes(data)


if __name__ == "__main__":
    main()
