#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Does a fresh clone work on a bare Debian 12?  debootstrap into a folder, clone what is
# committed into it, and run make there, which has to install what it needs by itself.
#
#   scripts/check-debian.sh [DIR [TARGET...]]       as root; TARGET: run check
#
# DIR keeps the bare system (DIR/base, about 250 MB) for the next time; without it, or with
# "", everything is in a temporary folder.  What the run makes (DIR/root) is removed in any
# case.  Mirror and apt's settings are those of this machine.  Mounts are made in a mount
# namespace of the run and processes in a PID namespace, so that both end with it, even if it
# is killed.
set -euo pipefail

suite=bookworm

# ---- second half: inside the namespaces, $1 is the new root ----------------------------
if [ "${CHECK_DEBIAN_INSIDE:-}" = yes ]; then
    root=$1
    shift
    mount -t proc proc "$root/proc"
    for dir in sys dev; do
        mount --rbind "/$dir" "$root/$dir"
        mount --make-rslave "$root/$dir"
    done
    proxies=()
    for name in http_proxy https_proxy no_proxy; do
        if [ -n "${!name:-}" ]; then proxies+=("$name=${!name}"); fi
    done
    inside() {
        env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive "${proxies[@]}" chroot "$root" "$@" </dev/null
    }
    # All that a reader is told to install by hand, besides git.
    inside apt-get -q update
    inside apt-get -q install -y --no-install-recommends make
    status=0
    for target; do
        start=$SECONDS
        echo "== make $target"
        if inside sh -c 'cd /root/softirq && exec make "$1"' sh "$target"; then
            echo "== make $target: passed in $((SECONDS - start)) s"
        else
            echo "== make $target: FAILED after $((SECONDS - start)) s"
            status=1
        fi
    done
    exit $status
fi

# ---- first half ------------------------------------------------------------------------
self=$(realpath "$0")
[ "$(id -u)" = 0 ] || { echo "$0: needs root (chroot, mounts)" >&2; exit 1; }
for tool in debootstrap git unshare; do
    command -v $tool >/dev/null || { echo "$0: install $tool first" >&2; exit 1; }
done

dir=${1:-}
if [ $# -gt 0 ]; then shift; fi
if [ $# -eq 0 ]; then set -- run check; fi
temporary=
if [ -z "$dir" ]; then
    dir=$(mktemp -d)
    temporary=$dir
fi
mkdir -p "$dir"
dir=$(realpath "$dir")
root=$dir/root
cd "$(dirname "$self")/.."

# Run a command in namespaces of its own, such that a signal to this script ends it: with its
# first process everything in a PID namespace is killed.
child=
apart() {
    unshare --mount --propagation private --pid --fork --kill-child "$@" &
    child=$!
    local status=0
    wait $child || status=$?
    child=
    return $status
}

clean_up() {
    if [ -n "$child" ]; then kill -KILL $child 2>/dev/null || true; wait $child 2>/dev/null || true; fi
    # Nothing is mounted below in this namespace; should it be, it is left alone.
    rm -rf --one-file-system "$root"
    if [ -n "$temporary" ]; then rm -rf --one-file-system "$temporary"; fi
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The Debian archives of this machine, one "URI SUITE COMPONENT" a line.
archives=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 'Origin: Debian' | grep -E " $suite(-updates|-security)? " | sort -u)
mirror=$(awk -v suite=$suite '$2 == suite && $3 == "main" { print $1; exit }' <<<"$archives")
[ -n "$mirror" ] || { echo "$0: no archive of $suite among apt's sources" >&2; exit 1; }

if [ ! -e "$dir/base.complete" ]; then
    echo "== debootstrap $suite"
    rm -rf --one-file-system "$dir/base"
    include=()
    case $mirror in https:*) include=(--include=ca-certificates) ;; esac
    apart debootstrap --variant=minbase "${include[@]}" $suite "$dir/base" "$mirror"
    touch "$dir/base.complete"
fi

rm -rf --one-file-system "$root"
cp -a "$dir/base" "$root"
sed 's/^/deb /' <<<"$archives" >"$root/etc/apt/sources.list"
apt-config dump Acquire | grep -iE '^Acquire::(https?::|Check-)' \
    >"$root/etc/apt/apt.conf.d/90host" || true
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
case $mirror in https:*) cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" ;; esac

echo "== fresh clone of $(git describe --always)"
git clone -q --no-local . "$root/root/softirq"

status=0
apart env CHECK_DEBIAN_INSIDE=yes "$BASH" "$self" "$root" "$@" || status=1
if [ $status = 0 ]; then
    echo "check-debian: passed: make $*"
else
    echo "check-debian: FAILED: make $*"
fi
exit $status
