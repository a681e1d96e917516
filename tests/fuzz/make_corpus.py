#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write the seed corpus of fuzz_rx: one input per verdict and some good frames.

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


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in SEEDS.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
