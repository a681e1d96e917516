# SPDX-License-Identifier: MIT
"""Hosts in network namespaces, a data plane between them, and cases that report in TAP.

A namespace lives as long as the process that holds it, and that ends with us (PDEATHSIG), so
nothing is left behind whatever becomes of a test.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)


class Skip(Exception):
    """The machine cannot do this; says why."""


def end_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def need(*programs):
    """Each is (program, Debian package)."""
    for program, package in programs:
        if not shutil.which(program):
            raise Skip(f"no {program}: apt-get install {package}")


class Host:
    """A network namespace."""

    def __init__(self):
        self.holder = subprocess.Popen(
            ["unshare", "-n", "sh", "-c", "ip link set lo up && echo up && exec sleep 900"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=end_with_parent)
        if self.holder.stdout.readline() != b"up\n":
            self.holder.kill()
            why = self.holder.communicate()[1].decode().strip()
            raise Skip(f"no network namespace may be made here ({why})")
        self.started = []

    def argv(self, argv):
        return ["nsenter", "-t", str(self.holder.pid), "-n", *map(str, argv)]

    def run(self, *argv, timeout=60, check=True):
        """A command, to its end; its output."""
        done = subprocess.run(self.argv(argv), capture_output=True, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, argv))}: exit {done.returncode}\n"
                                 f"{done.stdout}{done.stderr}")
        return done.stdout

    def start(self, *argv, **kwargs):
        """A command that is ended with the host."""
        child = subprocess.Popen(self.argv(argv), stdin=subprocess.DEVNULL,
                                 preexec_fn=end_with_parent, **kwargs)
        self.started.append(child)
        return child

    def close(self):
        for child in reversed(self.started):
            stop(child)
        self.holder.kill()
        self.holder.wait()


def stop(child, seconds=5):
    """End a process; its exit code, or None when it had to be killed."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            return None
    return child.returncode


def quiet(host, *argv):
    host.run(*argv, check=False)


def veth(left, name_left, right, name_right, queues=()):
    """A pair between two hosts, up; frames of at most an MTU, as a wire has them.  queues: arguments
    of ip link that say how many each end has."""
    left.run("ip", "link", "add", name_left, *queues, "type", "veth", "peer", "name", name_right,
             *queues, "netns", right.holder.pid)
    for host, name in ((left, name_left), (right, name_right)):
        host.run("ethtool", "-K", name, "tso", "off", "gso", "off")
        host.run("sysctl", "-qw", f"net.ipv6.conf.{name}.accept_dad=0")
        host.run("ip", "link", "set", name, "up")


class Plane:
    """softirq run with a file of `text` in a host's namespace."""

    def __init__(self, softirq, host, text):
        self.folder = tempfile.TemporaryDirectory(prefix="softirq-plane-")
        path = os.path.join(self.folder.name, "plane.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        self.log = open(os.path.join(self.folder.name, "log"), "w+", encoding="utf-8")
        self.child = host.start(softirq, "run", path, stdout=self.log, stderr=self.log)

    def output(self):
        self.log.flush()
        with open(self.log.name, encoding="utf-8") as file:
            return file.read()

    def close(self):
        """End it, as a user would; its counters."""
        code = stop(self.child)
        said = self.output()
        self.folder.cleanup()
        if code != 0:
            raise AssertionError(f"softirq run ended with {code}:\n{said}")
        return said


def wait_until(what, true, seconds=10):
    """Look every 50 ms until it is true."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.05)


def report(cases):
    """Run the cases, (name, function), and print TAP.  The exit code."""
    failed = 0
    print(f"1..{len(cases)}", flush=True)
    for number, (name, case) in enumerate(cases, 1):
        try:
            case()
            print(f"ok {number} - {name}", flush=True)
        except Skip as why:
            print(f"# {why}")
            print(f"ok {number} # SKIP {name}", flush=True)
        except Exception as why:  # the next cases still run  pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {name}")
            for line in f"{type(why).__name__}: {why}".splitlines():
                print(f"# {line}")
            sys.stdout.flush()
    return 1 if failed else 0
