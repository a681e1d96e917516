#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two ends of the tunnel example, a kernel host at each, and a kernel router on the way.

    test_tunnel.py PROGRAM
"""

import re
import signal
import subprocess
import sys

from world import Host, Skip, need, report, veth, wait_until

# What a host says to the other and hears from it: one datagram, during which the neighbours are
# found (few may wait for that), then bursts of all sizes, in order.
HOST = """
import hashlib, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("%s", 5000))
s.settimeout(10)
to = ("%s", 4000)
first = %s
sizes = [0, 1, 8, 64, 512, 1464]
def data(turn, i):
    return hashlib.shake_128(b"%%d %%d" %% (turn, i)).digest(sizes[i %% len(sizes)])
for turn in range(50):
    burst = [data(turn, i) for i in range(30 if turn else 1)]
    if first:
        for part in burst:
            s.sendto(part, to)
    assert [s.recvfrom(4096) for _ in burst] == [(part, to) for part in burst], turn
    if not first:
        for part in burst:
            s.sendto(part, to)
"""
# On the wire: long frames, and none with what the host said.
WIRE = """
import hashlib, socket
plain = hashlib.shake_128(b"1 5").digest(1464)[:32]
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
s.bind(("out0", 0x0800))
s.settimeout(10)
print("up", flush=True)
long = 0
while long < 20:
    frame = s.recv(4096)
    long += len(frame) >= 14 + 28 + 8 + 1464
    assert plain not in frame
"""
COUNT = 2 * (1 + 30 * 49)


class World:
    """left - one end - the wire - other end - right; the wire is a veth pair of its own."""

    def __init__(self, program):
        self.left, self.one, self.other, self.right = Host(), Host(), Host(), Host()
        veth(self.left, "cl0", self.one, "in0")
        veth(self.one, "out0", self.other, "out0")
        veth(self.right, "cl0", self.other, "in0")
        for host in (self.one, self.other):
            for name in ("in0", "out0"):
                host.run("sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1")
        self.left.run("ip", "addr", "add", "192.0.2.2/24", "dev", "cl0")
        self.right.run("ip", "addr", "add", "203.0.113.2/24", "dev", "cl0")
        self.ends = [
            self.end(self.one, program, "192.0.2.1/24", "192.0.2.2:5000", "198.51.100.1/24",
                     "198.51.100.2:4000"),
            self.end(self.other, program, "203.0.113.1/24", "203.0.113.2:5000",
                     "198.51.100.2/24", "198.51.100.1:4000")]

    def end(self, host, program, inside, peer, outside, far):
        child = host.start(program, "-i", "in0", "-a", inside, peer, "out0", outside, far,
                           "0x5eed", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        line = child.stdout.readline()
        assert line.startswith("on in0, "), line + child.stdout.read()
        return child

    def close(self):
        for host in (self.left, self.one, self.other, self.right):
            host.close()


def both_ways_arrive_sealed_and_in_order(world):
    right = world.right.start(sys.executable, "-c", HOST % ("203.0.113.2", "203.0.113.1", False),
                              stderr=subprocess.PIPE, text=True)
    wait_until("the right host listens", lambda: ":5000" in world.right.run("ss", "-lun"))
    wire = world.other.start(sys.executable, "-c", WIRE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    assert wire.stdout.readline() == "up\n"
    world.left.run(sys.executable, "-c", HOST % ("192.0.2.2", "192.0.2.1", True))
    assert right.wait(10) == 0, right.stderr.read()
    assert wire.wait(10) == 0, wire.stderr.read()


def ctrl_c_prints_exact_counters(world):
    for child in world.ends:
        child.send_signal(signal.SIGINT)
        wait_until("it ends", lambda child=child: child.poll() is not None)
        said = child.stdout.read()
        assert child.returncode == 0, said
        want = f"{COUNT} received, {COUNT} sent, 0 dropped at a full socket"
        assert said.splitlines()[-1] == want, said


def help_has_an_example(program):
    said = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=10,
                          check=True).stdout
    assert re.search(r"^Example: \S+ -i eth1 -a .* KEY$", said, re.M), said


def main():
    program = sys.argv[1]
    world, why = None, None
    try:
        need(("ethtool", "ethtool"))
        world = World(program)
    except Skip as reason:
        why = reason

    def case(function):
        def run():
            if why is not None:
                raise why
            function(world)
        return run

    code = report([
        ("tunnel_between_two_kernels_both_ways_arrive_sealed_and_in_order", case(both_ways_arrive_sealed_and_in_order)),
        ("tunnel_at_ctrl_c_prints_exact_counters", case(ctrl_c_prints_exact_counters)),
        ("tunnel_help_has_an_example", lambda: help_has_an_example(program)),
    ])
    if world is not None:
        world.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
