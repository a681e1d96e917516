#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dnsperf against the dns service of softirq run, and against the example.

    test_dns.py SOFTIRQ DNS_SERVER [--seconds N]
"""

import argparse
import os
import signal
import subprocess
import sys

from dns_world import NAMES, SERVER, SERVER6, DnsWorld, account_of, address_of, zone_text
from world import Skip, report, stop, wait_until


def every_query_is_answered(world, seconds, server=SERVER):
    said = world.dnsperf(seconds, server=server)
    print(f"# {said['sent']} sent, {said['completed']} answered, {said['lost']} lost")
    assert said["sent"] > 100 * seconds
    assert said["completed"] == said["sent"] and said["lost"] == 0, said["text"]
    assert said["codes"] == {"NOERROR": str(said["sent"])}, said["text"]


def answers_are_right(world, _seconds):
    for i in range(1, NAMES, NAMES // 20):
        assert world.ask(f"host{i}") == address_of(i), i


def zone_changes_without_a_loss(world, seconds):
    """Read again 20 times under load; every other time with a zone that is broken."""
    client = world.start_dnsperf(seconds)
    for i in range(20):
        world.write_zone(zone_text(serial=2 + i, last=100 + i) if i % 2 else "broken\n")
        before = world.plane.output().count("softirq run: ")
        os.kill(world.plane.child.pid, signal.SIGHUP)
        wait_until("the zone is read again",
                   lambda: world.plane.output().count("softirq run: ") > before)
        want = "198.51.0.%d" % (100 + i if i % 2 else 99 + i if i else 1)
        assert world.ask("host0") == want, i
    said = account_of(client.communicate(timeout=seconds + 30)[0])
    print(f"# {said['sent']} sent, {said['completed']} answered, {said['lost']} lost")
    assert said["completed"] == said["sent"] and said["lost"] == 0, said["text"]
    assert "not taken up: " in world.plane.output()
    assert "taken up\n" in world.plane.output()


def example_answers(world, seconds):
    log = os.path.join(world.temporary.name, "log")
    with open(log, "w", encoding="utf-8") as file:
        child = world.server.start(world.example, "-i", "eth1", "-a", SERVER + "/24", world.zone,
                                   stdout=file, stderr=subprocess.STDOUT)

    def output():
        with open(log, encoding="utf-8") as file:
            return file.read()

    world.wait(child, output)
    every_query_is_answered(world, seconds)
    assert world.ask("host7") == address_of(7)
    assert stop(child) == 0, output()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("softirq")
    parser.add_argument("example")
    parser.add_argument("--seconds", type=int, default=3, help="of each load (3)")
    options = parser.parse_args()
    world, why = None, None
    try:
        world = DnsWorld()
        world.plane = world.plane(options.softirq)
        world.example = options.example
    except Skip as reason:
        why = reason

    def case(function, *args, **kwargs):
        def run():
            if why is not None:
                raise why
            function(world, options.seconds, *args, **kwargs)
        return run

    def ends_well(*_):
        print("".join(f"# {line}\n" for line in world.plane.close().splitlines()), end="")

    code = report([
        ("dnsperf_over_ipv4_every_query_answered", case(every_query_is_answered)),
        ("dnsperf_over_ipv6_every_query_answered", case(every_query_is_answered, server=SERVER6)),
        ("sampled_answers_are_those_of_the_zone", case(answers_are_right)),
        ("zone_read_again_under_load_loses_no_query", case(zone_changes_without_a_loss)),
        ("plane_ends_with_its_counters_and_status_0", case(ends_well)),
        ("dns_server_example_answers_every_query", case(example_answers)),
    ])
    if world is not None:
        world.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
