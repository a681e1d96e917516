#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real clients through softirq run as a router: ping, iperf3, irtt and curl between two kernels.

    test_router.py SOFTIRQ [--service nat-router|forward] [--seconds N]

Three namespaces: a client inside, the plane, and a server outside.  With nat-router the server
has no route to the client's network, so what comes back has been translated.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile

from world import Host, Plane, Skip, need, report, veth, wait_until

CLIENT, SERVER = "192.0.2.2", "198.51.100.2"
ROUTER_OUT = "198.51.100.1"
SERVER6 = "2001:db8:2::2"

PLANE = """\
cpus: [0, 1]
policy: ksoftirqd
net: {{pool_packets: 16384}}
interfaces:
  - {{name: inside, ifname: eth1, driver: packet, cpu: 0, ring_size: 4096,
     addresses: [192.0.2.1/24, "2001:db8:1::1/64"]}}
  - {{name: outside, ifname: eth2, driver: packet, cpu: 1, ring_size: 4096,
     addresses: [198.51.100.1/24, "2001:db8:2::1/64"]}}
services:
  - {service}
"""

SERVICES = {"nat-router": "nat-router: {outside: outside}", "forward": "forward: {}"}


class World:
    """The three hosts, with their servers, and the plane between them."""

    def __init__(self, softirq, service):
        self.inside, self.middle, self.outside = Host(), Host(), Host()
        self.nat = service == "nat-router"
        veth(self.inside, "cl0", self.middle, "eth1")
        veth(self.outside, "cl1", self.middle, "eth2")
        for name in ("eth1", "eth2"):
            self.middle.run("sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1")
        self.inside.run("ip", "addr", "add", CLIENT + "/24", "dev", "cl0")
        self.outside.run("ip", "addr", "add", SERVER + "/24", "dev", "cl1")
        self.inside.run("ip", "route", "add", "default", "via", "192.0.2.1")
        self.inside.run("ip", "addr", "add", "2001:db8:1::2/64", "dev", "cl0", "nodad")
        self.outside.run("ip", "addr", "add", SERVER6 + "/64", "dev", "cl1", "nodad")
        self.inside.run("ip", "-6", "route", "add", "default", "via", "2001:db8:1::1")
        self.outside.run("ip", "-6", "route", "add", "default", "via", "2001:db8:2::1")
        if not self.nat:
            self.outside.run("ip", "route", "add", "default", "via", ROUTER_OUT)
        self.plane = Plane(softirq, self.middle, PLANE.format(service=SERVICES[service]))
        wait_until("the router answers",
                   lambda: self.plane.child.poll() is not None
                   or "1 received" in self.ping("192.0.2.1", 1, 0.2))
        if self.plane.child.poll() is not None:
            raise AssertionError(self.plane.output())

    def ping(self, to, count, interval):
        return self.inside.run("ping", "-n", "-q", "-W", 1, "-c", count, "-i", interval, to,
                               check=False)

    def close(self):
        try:
            return self.plane.close()
        finally:
            for host in (self.inside, self.middle, self.outside):
                host.close()


def iperf(world, seconds, *args, to=SERVER):
    """iperf3's own account, as it prints it in JSON."""
    need(("iperf3", "iperf3"))
    server = world.outside.start("iperf3", "-s", "-1", "-p", 5201, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
    wait_until("iperf3 listens", lambda: ":5201" in world.outside.run("ss", "-ltn"))
    said = json.loads(world.inside.run("iperf3", "-c", to, "-p", 5201, "-J", "-t", seconds, *args,
                                       timeout=seconds + 30))
    server.wait(10)
    assert "error" not in said, said.get("error")
    return said["end"]


def tcp_moves(world, seconds, *args, to=SERVER, flows=1):
    end = iperf(world, seconds, *args, "-P", flows, to=to)
    got = end["sum_received"]["bits_per_second"] / 1e6
    print(f"# {' '.join(map(str, args)) or 'to the server'}, {flows} flows: {got:.0f} Mbit/s, "
          f"{end['sum_sent'].get('retransmits', 0)} sent again")
    assert len(end["streams"]) == flows
    for stream in end["streams"]:
        assert stream["receiver"]["bytes"] > 0, "a flow moved nothing"
    assert got > 10, f"{got:.1f} Mbit/s"


def udp_arrives(world, seconds):
    total = iperf(world, seconds, "-u", "-b", "50M", "-l", 1200)["sum"]
    print(f"# {total['packets']} datagrams, {total['lost_packets']} lost")
    assert total["packets"] > 1000 * seconds
    # Nothing is lost on a quiet machine; where others have the CPUs, a queue may overflow.
    assert total["lost_packets"] <= total["packets"] * 0.2
    assert total.get("out_of_order", 0) == 0


def ping_answers(world, seconds):
    said = world.ping(SERVER, 20 * seconds, 0.05)
    assert f"{20 * seconds} received" in said and "DUP" not in said, said


def irtt_returns(world, seconds):
    need(("irtt", "irtt"))
    world.outside.start("irtt", "server", "-b", f"{SERVER}:2112", stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL)
    wait_until("irtt listens", lambda: ":2112" in world.outside.run("ss", "-lun"))
    said = json.loads(world.inside.run("irtt", "client", "-i", "10ms", "-d", f"{seconds}s", "-l",
                                       "172", "-o", "-", "-q", f"{SERVER}:2112"))
    stats = said["stats"]
    print(f"# {stats['packets_sent']} sent, {stats['packets_received']} came back, median "
          f"{stats['rtt']['median'] / 1e3:.0f} us")
    assert stats["packets_received"] >= 0.8 * stats["packets_sent"] > 0  # as udp_arrives
    assert stats["late_packets"] == 0 and stats["duplicates"] == 0


def file_is_intact(world):
    """100 MB over HTTP: random bytes, and their checksum on both sides."""
    need(("curl", "curl"))
    with tempfile.TemporaryDirectory(prefix="softirq-http-") as folder:
        path, want = os.path.join(folder, "file"), hashlib.sha256()
        with open(path, "wb") as file:
            for _ in range(100):
                block = os.urandom(1000000)
                want.update(block)
                file.write(block)
        world.outside.start(sys.executable, "-m", "http.server", "8080", "--bind", SERVER,
                            "--directory", folder, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
        wait_until("a web server listens", lambda: ":8080" in world.outside.run("ss", "-ltn"))
        out = os.path.join(folder, "got")
        world.inside.run("curl", "-sS", "-o", out, f"http://{SERVER}:8080/file", timeout=120)
        with open(out, "rb") as file:
            got = hashlib.file_digest(file, "sha256")
        assert got.hexdigest() == want.hexdigest(), "the file has changed on its way"


def peer_is_the_router(world):
    """Whom a server sees: the router, or without translation the client."""
    seen = os.path.join(tempfile.mkdtemp(prefix="softirq-peer-"), "peer")
    code = ("import socket\ns = socket.create_server(('%s', 7000))\nprint('up', flush=True)\n"
            "c, a = s.accept()\nopen('%s', 'w').write(a[0])\nc.close()" % (SERVER, seen))
    server = world.outside.start(sys.executable, "-c", code, stdout=subprocess.PIPE)
    assert server.stdout.readline() == b"up\n"
    world.inside.run(sys.executable, "-c",
                     f"import socket; socket.create_connection(('{SERVER}', 7000), 5).recv(1)")
    server.wait(5)
    with open(seen, encoding="utf-8") as file:
        assert file.read() == (ROUTER_OUT if world.nat else CLIENT)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("softirq")
    parser.add_argument("--service", choices=sorted(SERVICES), default="forward")
    parser.add_argument("--seconds", type=int, default=2, help="of each load (2)")
    options = parser.parse_args()
    world, why = None, None
    try:
        need(("ethtool", "ethtool"), ("ping", "iputils-ping"))
        world = World(options.softirq, options.service)
    except Skip as reason:
        why = reason

    def case(function, *args, **kwargs):
        def run():
            if why is not None:
                raise why
            function(world, *args, **kwargs)
        return run

    name, seconds = options.service.replace("-", "_"), options.seconds
    cases = [
        (f"ping_through_{name}_every_echo_answered", case(ping_answers, seconds)),
        (f"server_behind_{name}_sees_the_right_peer", case(peer_is_the_router)),
        (f"iperf3_tcp_through_{name}_upload_moves", case(tcp_moves, seconds)),
        (f"iperf3_tcp_through_{name}_download_moves", case(tcp_moves, seconds, "-R")),
        (f"iperf3_tcp_through_{name}_eight_flows_move", case(tcp_moves, seconds, flows=8)),
        (f"iperf3_udp_through_{name}_arrives_in_order", case(udp_arrives, seconds)),
        (f"irtt_through_{name}_comes_back", case(irtt_returns, seconds)),
        (f"curl_of_100_mb_through_{name}_is_intact", case(file_is_intact)),
    ]
    if options.service == "forward":
        cases += [
            ("iperf3_over_ipv6_forwarding_upload_moves", case(tcp_moves, seconds, to=SERVER6)),
            ("iperf3_over_ipv6_forwarding_download_moves",
             case(tcp_moves, seconds, "-R", to=SERVER6)),
        ]

    def ends_well():
        if why is not None:
            raise why
        print("".join(f"# {line}\n" for line in world.close().splitlines()), end="")

    cases.append((f"{name}_ends_with_its_counters_and_status_0", ends_well))
    return report(cases)


if __name__ == "__main__":
    sys.exit(main())
