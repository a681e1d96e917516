#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run every test executable of a meson build directory and count single test cases.

    scripts/run-tests.py BUILDDIR [--slow-by FACTOR] [--without SUITE]... [NAME...]

Only executables whose name has one of NAME in it; a|b gives two.

Meson counts executables; this counts what is inside them.  cmocka is asked for TAP output,
so each of its cases is one; an executable that prints no TAP plan (a script) is one case,
by its exit code (77: skipped).  A crash, a timeout, a failed group fixture or a case that
was planned and never reported is a failure, never a silence.

Executables run one after the other, since the live host's tests pin threads to CPUs.  Each
is the leader of a process group, and what it left behind is ended with it.  Whole output is
kept in BUILDDIR/test-logs/.  The last line is "N passed, N failed, N skipped".
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time

PLAN = re.compile(r"^1\.\.(\d+)\s*$")
CASE = re.compile(r"^(not )?ok \d+\s*(?:#\s*(SKIP)\b)?\s*(?:- )?(.*)$")
EXIT_SKIP = 77
NEVER_REPORTED = "(a planned case, never reported)"
KEPT_OUTPUT = 1 << 20  # bytes of one executable's output that are looked at


def parse_tap(text):
    """Return (passed, failures, skips, plans); what was printed goes with the verdict."""
    passed, failures, skips, plans = 0, [], [], 0
    missing, said, last = 0, [], None

    def end_group():
        for left in range(missing, 0, -1):
            failures.append((NEVER_REPORTED, said if left == 1 else []))

    for line in text.splitlines():
        plan, case = PLAN.match(line), CASE.match(line)
        if plan:
            end_group()
            missing, said, last = int(plan.group(1)), [], None
            plans += 1
        elif case and plans:
            bad, skip, name = case.groups()
            missing -= 1
            last = None
            if skip:
                skips.append((name, said))
            elif bad:
                last = list(said)
                failures.append((name, last))
            else:
                passed += 1
            said = []
        elif last is not None and line.startswith("#"):
            last.append(line)  # cmocka says why after the verdict
        else:
            said.append(line)
    end_group()
    return passed, failures, skips, plans


def run(test, log_path, timeout, prefix):
    """Run one executable; return (exit code or None after a timeout, its output)."""
    env = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP")
    env.update(test["env"])
    with open(log_path, "wb") as log:
        child = subprocess.Popen(prefix + test["cmd"], env=env, cwd=test["workdir"], stdout=log,
                                 stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                 start_new_session=True)
        try:
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
    with open(log_path, "rb") as log:
        return code, log.read(KEPT_OUTPUT).decode("utf-8", "replace")


def ending(code, timeout):
    if code is None:
        return "did not end within %g s" % timeout
    if code < 0:
        return "ended by %s" % signal.Signals(-code).name
    return "exit code %d" % code


def judge(test, code, text, timeout):
    """Return (passed, failures, skips) of one executable."""
    passed, failures, skips, plans = parse_tap(text)
    lines = text.splitlines()
    if not plans:
        if code == 0:
            return 1, [], []
        if code == EXIT_SKIP:
            return 0, [], [(test["name"], lines)]
        return 0, [(test["name"], lines + [ending(code, timeout)])], []
    if failures and failures[-1][0] == NEVER_REPORTED:
        failures[-1][1].append(ending(code, timeout))  # the cause: not one failure more
    elif code != 0 and (not failures or code is None or code < 0):
        # Failed cases explain an exit code, but no crash and no timeout.
        failures.append(("(executable)", lines[-40:] + [ending(code, timeout)]))
    return passed, failures, skips


def show(title, said):
    print("  %s" % title)
    if len(said) > 100:
        said = said[:60] + ["... (all of it is in test-logs)"] + said[-40:]
    for line in said:
        print("      | %s" % line)


def report(test, seconds, passed, failures, skips):
    print("%-40s %3d passed, %d failed, %d skipped  (%.1f s)" %
          (test["name"], passed, len(failures), len(skips), seconds))
    for name, said in failures:
        show("FAILED  %s" % name, said)
    for name, said in skips:
        reason = " ".join(line.lstrip("# ").strip() for line in said if line.strip())
        print("  skipped %s: %s" % (name, reason[-300:] or "no reason printed"))
    sys.stdout.flush()


def no_aslr(wanted):
    """Old TSan runtimes cannot cope with much address space randomisation."""
    prefix = ["setarch", "-R"]
    if not wanted:
        return []
    works = subprocess.run(prefix + ["true"], stderr=subprocess.DEVNULL, check=False)
    return prefix if works.returncode == 0 else []


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    args.add_argument("builddir")
    args.add_argument("names", nargs="*", help="only executables whose name contains one of these (or a|b)")
    args.add_argument("--slow-by", type=float, default=1, metavar="FACTOR",
                      help="stretch every timeout (sanitizers)")
    args.add_argument("--without", action="append", default=[], metavar="SUITE")
    args.add_argument("--no-aslr", action="store_true")
    args = args.parse_intermixed_args()
    names = [part for name in args.names for part in name.split("|") if part]

    with open(os.path.join(args.builddir, "meson-info", "intro-tests.json")) as file:
        tests = json.load(file)
    logs = os.path.join(args.builddir, "test-logs")
    os.makedirs(logs, exist_ok=True)
    prefix = no_aslr(args.no_aslr)

    total_passed = total_failed = total_skipped = 0
    for test in tests:
        suites = {suite.split(":")[-1] for suite in test["suite"]}
        if suites & set(args.without):
            continue
        if names and not any(name in test["name"] for name in names):
            continue
        timeout = (test["timeout"] or 30) * args.slow_by
        log = os.path.join(logs, re.sub(r"[^\w.-]+", "_", test["name"]) + ".log")
        start = time.monotonic()
        code, text = run(test, log, timeout, prefix)
        passed, failures, skips = judge(test, code, text, timeout)
        report(test, time.monotonic() - start, passed, failures, skips)
        total_passed += passed
        total_failed += len(failures)
        total_skipped += len(skips)

    if not total_passed + total_failed + total_skipped:
        print("no test was run")
        total_failed = 1
    summary = "%d passed, %d failed, %d skipped" % (total_passed, total_failed, total_skipped)
    with open(os.path.join(logs, "summary"), "w") as file:
        file.write(summary + "\n")
    print(summary)
    return 1 if total_failed else 0


if __name__ == "__main__":
    sys.exit(main())
