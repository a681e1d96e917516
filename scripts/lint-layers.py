#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Includes point down the layers, private headers stay private and are guarded.

    core < policy < sim < net, driver < host < conf, dns < lab, run < cli

A source includes headers of its own layer and of layers below; examples and benchmarks use
only what is public; tests may look inside.  core and policy include no system header but the
four that a freestanding compiler brings.
"""

import os
import re
import subprocess
import sys

RANK = {"src/core": 0, "src/policy": 1, "src/sim": 2, "src/net": 3, "src/driver": 3, "src/host": 4,
        "conf": 5, "dns": 5, "lab": 6, "run": 6, "cli": 7}

# A public header belongs to the lowest layer that has to know it: the core asks the host and
# the policy through their tables.
PUBLIC = {"softirq.h": 0, "host.h": 0, "policy.h": 0, "llist.h": 0, "tasklet.h": 0, "timer.h": 0,
          "sched.h": 0, "net.h": 3, "driver.h": 3, "inet.h": 3, "nat.h": 3, "shm.h": 3, "sim.h": 3, "live.h": 4, "sirq.h": 4}

# A benchmark of one part, which cannot be told from the rest through a public header, and the
# example that shows what a data plane does with DNS in a program of one's own.
INSIDE = {("bench/sim_evq.c", "src/sim/evq.h"), ("examples/dns_server.c", "dns/dns.h")}

FREESTANDING = {"stdbool.h", "stddef.h", "stdint.h", "stdarg.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')

REFUSE = re.compile(r"#ifndef SIRQ_\w+_(PRIVATE|INTERNAL)$")

complaints = 0


def complain(path, line, text):
    global complaints
    complaints += 1
    print("%s:%d: layers: %s" % (path, line, text))


def layer_of(path):
    return max((name for name in RANK if path.startswith(name + "/")), key=len, default=None)


def rank_of(path):
    """Highest layer a file may use; None: any (tests)."""
    if path.startswith("include/sirq/"):
        return PUBLIC.get(os.path.basename(path))
    layer = layer_of(path)
    return RANK[layer] if layer else None


def resolve(path, name):
    """Where a quoted include leads to, as a path from the top."""
    for base in [os.path.dirname(path), "src", ""] + sorted(RANK):
        target = os.path.normpath(os.path.join(base, name))
        if os.path.exists(target):
            return target
    return None


def check_public(path, number, name):
    if name not in PUBLIC:
        complain(path, number, "sirq/%s is missing in the table of %s" % (name, sys.argv[0]))
    elif rank_of(path) is not None and PUBLIC[name] > rank_of(path):
        complain(path, number, "sirq/%s belongs to a layer above this file's" % name)


def check_private(path, number, name):
    target = resolve(path, name)
    if path.startswith("include/"):
        complain(path, number, "a public header includes the private %s" % name)
    elif target is None:
        complain(path, number, "%s is not found by its path from here or from src" % name)
    elif path.startswith(("examples/", "bench/")):
        if os.path.dirname(target) != os.path.dirname(path) and (path, target) not in INSIDE:
            complain(path, number, "%s is private; only public headers here" % name)
    elif rank_of(path) is not None:
        rank = rank_of(target)
        if rank is None or rank > rank_of(path):
            complain(path, number, "%s belongs to a layer above this file's" % name)
        elif rank == rank_of(path) and layer_of(path) != layer_of(target):
            complain(path, number, "%s is private to its layer's peer" % name)


def check_guard(path, lines):
    """Include guard around all of it; a private header of the library refuses outsiders."""
    text = [line for line in lines if line.startswith("#")]
    refusal = next((i for i, line in enumerate(text) if REFUSE.match(line)
                    and text[i + 1].startswith("#error")), None)
    if refusal is not None:
        del text[refusal:refusal + 3]
    elif path.startswith("src/"):
        complain(path, 1, "private header does not refuse outsiders: #ifndef SIRQ_..._INTERNAL, "
                 "#error")
    guard = re.match(r"#ifndef (SIRQ_\w+_H)$", text[0]) if text else None
    if not guard or text[1:2] != ["#define " + guard.group(1)] or text[-1] != "#endif":
        complain(path, 1, "header has no include guard SIRQ_..._H around all of it")


def check(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    if path.endswith(".h"):
        check_guard(path, lines)
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, name = match.groups()
        if quote == '"':
            check_private(path, number, name)
        elif name.startswith("sirq/"):
            check_public(path, number, name[len("sirq/"):])
        elif layer_of(path) in ("src/core", "src/policy") and name not in FREESTANDING:
            complain(path, number, "<%s>: core and policy are freestanding" % name)


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h"],
                           check=True, capture_output=True, text=True).stdout.split()
    for path in files:
        if os.path.exists(path):
            check(path)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
