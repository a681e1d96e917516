# SPDX-License-Identifier: MIT
"""A DNS server and its client in namespaces: what the tests and the benchmark of DNS share."""

import os
import re
import socket
import struct
import subprocess
import sys
import tempfile

from world import Host, Plane, need, veth, wait_until

SERVER, CLIENT = "192.0.2.1", "192.0.2.2"
SERVER6, CLIENT6 = "2001:db8::1", "2001:db8::2"
NAMES = 1000

PLANE = """\
cpus: [0]
policy: {policy}
net: {{pool_packets: 16384}}
interfaces:
  - {{name: eth1, driver: {driver}, cpu: 0, ring_size: 4096,{threaded}
     addresses: [{server}/24, "{server6}/64"]}}
services:
  - dns: {{zone: {zone}}}
"""


def zone_text(serial=1, last=1):
    """NAMES hosts; the last byte of host0's address is `last`."""
    lines = ["$ORIGIN example.test.", "$TTL 60",
             f"@ IN SOA ns1 admin {serial} 7200 3600 1209600 300", "@ NS ns1", f"ns1 A {SERVER}"]
    lines += [f"host{i} A 198.51.{i // 250}.{i % 250 + 1 if i else last}" for i in range(NAMES)]
    lines += [f"host{i} AAAA 2001:db8:1::{i:x}" for i in range(NAMES)]
    return "\n".join(lines) + "\n"


def address_of(i):
    return f"198.51.{i // 250}.{i % 250 + 1}"


class DnsWorld:
    """Two hosts and a veth pair; `folder` has the zone and dnsperf's queries."""

    def __init__(self, queues=()):
        need(("ethtool", "ethtool"), ("dnsperf", "dnsperf"))
        self.server, self.client = Host(), Host()
        self.before = ()  # what dnsperf is started with
        veth(self.client, "cl0", self.server, "eth1", queues)
        self.client.run("ip", "addr", "add", CLIENT + "/24", "dev", "cl0")
        self.client.run("ip", "addr", "add", CLIENT6 + "/64", "dev", "cl0", "nodad")
        self.temporary = tempfile.TemporaryDirectory(prefix="softirq-dns-")
        self.zone = os.path.join(self.temporary.name, "zone")
        self.write_zone(zone_text())
        self.queries = os.path.join(self.temporary.name, "queries")
        with open(self.queries, "w", encoding="utf-8") as file:
            for i in range(NAMES):
                file.write(f"host{i}.example.test {'AAAA' if i % 4 == 3 else 'A'}\n")

    def write_zone(self, text):
        """As an editor does: never half a zone under its name."""
        with open(self.zone + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.zone + ".new", self.zone)

    def plane(self, softirq, policy="ksoftirqd", driver="packet", threaded=False):
        """softirq run on eth1, whose addresses are its own then."""
        self.server.run("sysctl", "-qw", "net.ipv6.conf.eth1.disable_ipv6=1")
        if driver == "xdp":
            self.client.run("ethtool", "-K", "cl0", "tx", "off")
        plane = Plane(softirq, self.server, PLANE.format(
            policy=policy, driver=driver, threaded=" threaded: {}," if threaded else "",
            server=SERVER, server6=SERVER6, zone=self.zone))
        self.wait(plane.child, plane.output)
        return plane

    def wait(self, child, said):
        """Until the server answers, or is not there."""
        wait_until("the server answers", lambda: child.poll() is not None or self.ask("host1"), 20)
        if child.poll() is not None:
            raise AssertionError(said())

    def ask(self, host, server=SERVER, timeout=1):
        """The first address of a host, as the client sees it; None: no answer."""
        code = ("import sys\nsys.path.insert(0, %r)\nimport dns_world\n"
                "print(dns_world.ask_here(%r, %r, %r))" %
                (os.path.dirname(os.path.abspath(__file__)), host, server, timeout))
        said = self.client.run(sys.executable, "-c", code).strip()
        return None if said == "None" else said

    def dnsperf(self, seconds, *args, server=SERVER):
        """Its own account: sent, completed, and of each rcode."""
        return account_of(self.client.run(*self.before, "dnsperf", "-s", server, "-d", self.queries, "-l",
                                          seconds, *args, timeout=seconds + 30))

    def start_dnsperf(self, seconds, *args):
        return self.client.start(*self.before, "dnsperf", "-s", SERVER, "-d", self.queries, "-l", seconds, *args,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def close(self):
        for host in (self.client, self.server):
            host.close()
        self.temporary.cleanup()


def account_of(text):
    def figure(name):
        found = re.search(name + r":\s+(\d+)", text)
        assert found, text
        return int(found.group(1))

    codes = re.search(r"Response codes:\s+(.*)", text)
    return {"sent": figure("Queries sent"), "completed": figure("Queries completed"),
            "lost": figure("Queries lost"),
            "codes": dict(re.findall(r"(\w+) (\d+) \(", codes.group(1))) if codes else {},
            "text": text}


def ask_here(host, server, timeout):
    """A query of our own, without a library: the first address in the answer."""
    name = b"".join(bytes([len(part)]) + part
                    for part in f"{host}.example.test".encode().split(b".")) + b"\0"
    query = struct.pack(">6H", 0x4242, 0x0100, 1, 0, 0, 0) + name + struct.pack(">2H", 1, 1)
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.settimeout(timeout)
        sock.connect((server, 53))
        try:
            sock.send(query)
            answer = sock.recv(4096)
        except OSError:
            return None
    flags, _, answers = struct.unpack_from(">3H", answer, 2)
    at = len(query)
    if answer[:2] != query[:2] or flags & 0x800f != 0x8000 or answers < 1:
        return None
    kind, _, _, length = struct.unpack_from(">2HIH", answer, at + 2)
    return socket.inet_ntoa(answer[at + 12:at + 16]) if kind == 1 and length == 4 else None
