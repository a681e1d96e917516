#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An echo example and a kernel client on the other end of its veth pair.

    test_echo.py PROGRAM
"""

import re
import signal
import subprocess
import sys

from world import Host, Skip, need, report, veth, wait_until

ADDRESS, PORT = "192.0.2.1", 7
SIZES = [0, 1, 2, 63, 64, 511, 512, 1400, 1472]
ROUNDS = 50

# In the client's namespace: each size, alone; then bursts, in order; then from the port of echo
# itself, which has to stay without an answer.
CLIENT = f"""
import os, socket
to = ("{ADDRESS}", {PORT})
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
for size in {SIZES}:
    data = os.urandom(size)
    s.sendto(data, to)
    assert s.recvfrom(4096) == (data, to), size
for turn in range({ROUNDS}):
    burst = [turn.to_bytes(4, "big") + bytes([i]) + os.urandom(100) for i in range(40)]
    for data in burst:
        s.sendto(data, to)
    assert [s.recv(4096) for _ in burst] == burst, turn
echo = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
echo.bind(("192.0.2.2", {PORT}))
echo.settimeout(0.5)
echo.sendto(b"loop", to)
try:
    echo.recv(99)
    raise AssertionError("an answer to the port of echo")
except TimeoutError:
    pass
"""
ANSWERED = len(SIZES) + 40 * ROUNDS


class World:
    """A client, and the example on the other end."""

    def __init__(self, program):
        self.client, self.server = Host(), Host()
        veth(self.client, "cl0", self.server, "eth1")
        self.server.run("sysctl", "-qw", "net.ipv6.conf.eth1.disable_ipv6=1")
        self.client.run("ip", "addr", "add", "192.0.2.2/24", "dev", "cl0")
        self.child = self.server.start(program, "--interface", "eth1", "--address",
                                       ADDRESS + "/24", "--port", PORT, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True)
        line = self.child.stdout.readline()
        assert line.startswith("on eth1, "), line + self.child.stdout.read()

    def close(self):
        self.client.close()
        self.server.close()


def every_datagram_comes_back(world):
    world.client.run(sys.executable, "-c", CLIENT)


def ctrl_c_prints_exact_counters(world):
    world.child.send_signal(signal.SIGINT)
    wait_until("it ends", lambda: world.child.poll() is not None)
    said = world.child.stdout.read()
    assert world.child.returncode == 0, said
    want = f"{ANSWERED + 1} received, {ANSWERED} sent, 0 dropped at a full socket"
    assert said.splitlines()[-1] == want, said


def refused(program, word, *args):
    done = subprocess.run([program, *args], capture_output=True, text=True, timeout=10,
                          stdin=subprocess.DEVNULL)
    assert done.returncode in (1, 2) and word in done.stderr, (done.returncode, done.stderr)


def bad_arguments_are_refused(program):
    refused(program, "--address are needed", "-i", "lo")
    refused(program, "--port 70000", "-i", "lo", "-a", "192.0.2.1/24", "-p", "70000")
    refused(program, "--policy none", "-i", "lo", "-a", "192.0.2.1/24", "-P", "none")
    refused(program, "--driver none", "-i", "lo", "-a", "192.0.2.1/24", "-d", "none")
    refused(program, "address 192.0.2.1:", "-i", "lo", "-a", "192.0.2.1")


def help_has_an_example(program):
    said = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=10,
                          check=True).stdout
    assert re.search(r"^Example: \S+ -i eth1 -a ", said, re.M), said


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
        ("echo_to_a_kernel_client_every_datagram_comes_back", case(every_datagram_comes_back)),
        ("echo_at_ctrl_c_prints_exact_counters", case(ctrl_c_prints_exact_counters)),
        ("echo_with_bad_arguments_is_refused", lambda: bad_arguments_are_refused(program)),
        ("echo_help_has_an_example", lambda: help_has_an_example(program)),
    ])
    if world is not None:
        world.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
