#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Install the Debian packages that the named jobs need, and only those that are missing.
#
#   scripts/install-deps.sh [--check] JOB...      JOB: build lint bench fuzz system
#
# --check installs nothing and fails when something is missing.  When everything is there
# this takes a few hundredths of a second, so that every make target can begin with it.
# As root it installs; otherwise through sudo; otherwise it says what an administrator has
# to run.  On a system without dpkg it only reminds.
set -eu

# The one list of packages.  build is enough for `make run` and `make check`.
build="gcc libc6-dev libboost-context-dev libcyaml-dev libldns-dev libyaml-dev meson ninja-build pkg-config python3 libcmocka-dev iproute2 libxdp-dev libbpf-dev libpcap-dev"
lint="clang clang-format clang-tidy binutils"
bench="libuv1-dev liburcu-dev liburing-dev libns3-dev g++ nftables"
fuzz="clang libclang-rt-14-dev llvm"
system="curl dnsperf ethtool iperf3 iputils-ping irtt nsd procps"

check_only=no
[ "${1:-}" = --check ] && { check_only=yes; shift; }
[ $# -gt 0 ] || { echo "usage: $0 [--check] build|lint|bench|fuzz|system..." >&2; exit 2; }

wanted=
for job; do
    case $job in
        build) wanted="$wanted $build" ;;
        lint) wanted="$wanted $lint" ;;
        bench) wanted="$wanted $bench" ;;
        fuzz) wanted="$wanted $fuzz" ;;
        system) wanted="$wanted $system" ;;
        *) echo "$0: no such job: $job (build, lint, bench, fuzz, system)" >&2; exit 2 ;;
    esac
done

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "note: not a Debian system; needed here are the equivalents of:$wanted" >&2
    exit 0
fi

# A package that another one provides (pkgconf for pkg-config) counts as installed.
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package} ${Provides}\n' |
    sed -n 's/^installed //p' | sed 's/([^)]*)//g; s/,/ /g' | tr -s ' ' '\n')
missing=
for package in $wanted; do
    printf '%s\n' "$installed" | grep -qxF "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ $check_only = yes ]; then
    echo "missing packages:$missing" >&2
    exit 1
fi

sudo=
if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
        echo "missing packages:$missing" >&2
        echo "neither root nor sudo is available; let an administrator run:" >&2
        echo "    apt-get install --no-install-recommends$missing" >&2
        exit 1
    fi
    sudo=sudo
fi

apt() {
    # shellcheck disable=SC2086 # sudo may be empty
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 "$@"
}

# Package lists may be absent (a new system) or too old to be served any more.
install_missing() {
    # shellcheck disable=SC2086 # a list of words
    apt install -y --no-install-recommends $missing
}

echo "installing:$missing"
# shellcheck disable=SC2086
if ! apt -s install --no-install-recommends $missing >/dev/null 2>&1; then
    apt update
    install_missing
else
    install_missing || { apt update && install_missing; }
fi
