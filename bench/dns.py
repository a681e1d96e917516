#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Share of DNS queries that are answered while junk floods the server's CPU.

    dns.py BUILDDIR [--seconds N] [--runs N] [--qps N] [--flood PPS] [--csv FILE]

dnsperf asks over a veth pair, at a fixed rate; then the same while another process floods the
server's port with 3 times the datagrams that its CPU can carry (or as many as the sender can).
The interface has one queue, so junk and queries share its ring.  Server, softirqs and the thread
that polls the veth have CPU 0, the flood has CPU 1.  dnsperf is on CPU 0 under SCHED_FIFO: beside
the flood it would ask in the flood's pauses, and here it is not what is starved.  NSD, on the kernel's own sockets, has
the same interface, CPU and zone.  Each contender in namespaces of its own; needs root.
"""

import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/system/clients"))

# pylint: disable=wrong-import-position
from dns_world import SERVER, SERVER6, DnsWorld, account_of  # noqa: E402
from world import Skip, need, stop  # noqa: E402

CONTENDERS = {
    "inline, packet": {"policy": "inline"},
    "ksoftirqd, packet": {"policy": "ksoftirqd"},
    "threaded NAPI, packet": {"policy": "ksoftirqd", "threaded": True},
    "ksoftirqd, xdp": {"policy": "ksoftirqd", "driver": "xdp"},
    "threaded NAPI, xdp": {"policy": "ksoftirqd", "driver": "xdp", "threaded": True},
    "NSD": None,
}

NSD = """\
server:
    ip-address: {server}
    ip-address: {server6}
    port: 53
    server-count: 1
    username: ""
    chroot: ""
    zonesdir: "{folder}"
    database: ""
    pidfile: "{folder}/nsd.pid"
    xfrdfile: "{folder}/xfrd.state"
    xfrdir: "{folder}"
    zonelistfile: "{folder}/zone.list"
    hide-version: yes
    verbosity: 0
remote-control:
    control-enable: no
zone:
    name: example.test
    zonefile: "{zone}"
"""


class Nsd:
    """NSD in the server's namespace, on CPU 0."""

    def __init__(self, world):
        need(("nsd", "nsd"))
        folder = world.temporary.name
        world.server.run("ip", "addr", "add", SERVER + "/24", "dev", "eth1")
        world.server.run("ip", "addr", "add", SERVER6 + "/64", "dev", "eth1", "nodad")
        path, self.log = os.path.join(folder, "nsd.conf"), os.path.join(folder, "nsd.log")
        with open(path, "w", encoding="utf-8") as file:
            file.write(NSD.format(server=SERVER, server6=SERVER6, folder=folder, zone=world.zone))
        with open(self.log, "w", encoding="utf-8") as log:
            self.child = world.server.start("taskset", "-c", "0", "nsd", "-d", "-c", path,
                                            stdout=log, stderr=log)
        world.wait(self.child, self.output)

    def output(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def received(self):
        return None

    def close(self):
        stop(self.child)


class Ours:
    """softirq run; how many datagrams its service has received comes from its counters."""

    def __init__(self, world, build, setting):
        self.plane = world.plane(os.path.join(build, "softirq"), **setting)

    def close(self):
        said = self.plane.close()
        found = re.search(r"^dns 53\s+(\d+)", said, re.MULTILINE)
        self.received = int(found.group(1)) if found else 0


def pin_softirqs(world):
    """A veth's frames are polled on the CPU that sent them, unless a thread polls them: to CPU 0."""
    world.server.run("ethtool", "-K", "eth1", "gro", "on")  # a veth has no NAPI without
    before = world.server.run("pgrep", "napi/eth1", check=False).split()
    world.server.run("unshare", "-m", "sh", "-c",  # /sys shows the namespace that mounted it
                     "mount -t sysfs none /sys && echo 1 > /sys/class/net/eth1/threaded")
    for pid in world.server.run("pgrep", "napi/eth1", check=False).split():
        if pid not in before:
            world.server.run("taskset", "-p", "1", pid)


def mac_of(world):
    return re.search(r"link/ether (\S+)", world.server.run("ip", "link", "show", "eth1")).group(1)


def start_flood(world, build, gap_ns, seconds):
    return world.client.start(os.path.join(build, "bench/junk"), "cl0",
                              mac_of(world), 53, gap_ns, seconds, 1, stdout=subprocess.PIPE,
                              text=True)


def flood_rate(child):
    sent, seconds = child.communicate(timeout=60)[0].split()
    return int(sent) / float(seconds)


def open_world(build, name):
    world = DnsWorld(("numrxqueues", 1, "numtxqueues", 1))
    pin_softirqs(world)
    world.before = ("taskset", "-c", "0", "chrt", "-f", "10")
    setting = CONTENDERS[name]
    server = Nsd(world) if setting is None else Ours(world, build, setting)
    return world, server


def limits_of(build, seconds):
    """Junk that one CPU carries, what the service receives of a flood at best of some rates; and
    what the sender can."""
    best = rate = 0
    for gap_ns in (8000, 5000, 3000, 2000, 1000, 0):
        world, server = open_world(build, "ksoftirqd, packet")
        try:
            rate = flood_rate(start_flood(world, build, gap_ns, seconds))
            time.sleep(0.2)
            server.close()
        finally:
            world.close()
        got = server.received / seconds
        print(f"  offered {rate:,.0f}/s, received {got:,.0f}/s", file=sys.stderr)
        best = max(best, got)
    return best, rate


def measure(build, name, options, gap_ns):
    """(undisturbed share, share under flood, rate of the flood)"""
    world, server = open_world(build, name)
    load = ("-Q", options.qps, "-t", 1, "-c", 10, "-T", 1)
    try:
        quiet = world.dnsperf(options.seconds, *load)
        flood = start_flood(world, build, gap_ns, options.seconds + 2)
        time.sleep(1)
        client = world.start_dnsperf(options.seconds, *load)
        loud = account_of(client.communicate(timeout=options.seconds + 60)[0])
        rate = flood_rate(flood)
        server.close()
    finally:
        world.close()
    return (100 * quiet["completed"] / quiet["sent"], 100 * loud["completed"] / loud["sent"], rate)


def spread(values):
    middle = statistics.median(values)
    return f"{middle:5.1f} ({min(values):.1f}..{max(values):.1f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", metavar="BUILDDIR")
    parser.add_argument("--seconds", type=int, default=5, help="of each load (5)")
    parser.add_argument("--runs", type=int, default=3, help="of each contender (3)")
    parser.add_argument("--qps", type=int, default=5000, help="queries per second (5000)")
    parser.add_argument("--flood", type=int, help="packets per second (3 times what a CPU carries)")
    parser.add_argument("--csv", help="also write every run there")
    options = parser.parse_args()
    if os.cpu_count() < 2:
        sys.exit("dns.py: needs two CPUs, one for the server and one for its load")
    try:
        need(("nsd", "nsd"), ("taskset", "util-linux"), ("pgrep", "procps"))
        limit, most = limits_of(options.build, 2)
        pps = options.flood or 3 * limit
        gap_ns = max(0, int(1e9 / pps - 1e9 / most))
        print(f"one CPU carries {limit:,.0f} junk datagrams/s, {pps:,.0f}/s are asked of the sender, "
              f"which can {most:,.0f}")
        rows = []
        for run in range(options.runs):
            for name in CONTENDERS:
                rows.append((run, name, *measure(options.build, name, options, gap_ns)))
                print(f"[{len(rows)}/{options.runs * len(CONTENDERS)}] {name}: {rows[-1][2]:.1f} %, "
                      f"flooded with {rows[-1][4]:,.0f}/s {rows[-1][3]:.1f} %", file=sys.stderr)
    except Skip as why:
        sys.exit(f"dns.py: {why}")
    print(f"\n{options.qps} queries/s for {options.seconds} s, answered within 1 s, percent; "
          f"median (least..most) of {options.runs} runs\n")
    print(f"{'server':<24}{'undisturbed':<24}{'under flood':<24}flood, packets/s")
    for name in CONTENDERS:
        mine = [row for row in rows if row[1] == name]
        print(f"{name:<24}{spread([r[2] for r in mine]):<24}{spread([r[3] for r in mine]):<24}"
              f"{statistics.median(r[4] for r in mine):,.0f}")
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            out = csv.writer(file)
            out.writerow(("run", "server", "undisturbed_percent", "flooded_percent", "flood_pps"))
            out.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
