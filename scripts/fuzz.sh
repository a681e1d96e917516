#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run every fuzz target for a bounded time, from its kept inputs.
#
#   scripts/fuzz.sh BUILDDIR SECONDS
#
# A target is an executable BUILDDIR/tests/fuzz/fuzz-NAME; its kept inputs are
# tests/fuzz/corpus/NAME.  What is new is collected in BUILDDIR/corpus/NAME; an input that
# fails is written to BUILDDIR/ and named, with the command that replays it.
set -eu
cd "$(dirname "$0")/.."
build=${1:?usage: $0 BUILDDIR SECONDS}
seconds=${2:?usage: $0 BUILDDIR SECONDS}

found=no
status=0
for target in "$build"/tests/fuzz/fuzz-*; do
    { [ -f "$target" ] && [ -x "$target" ]; } || continue
    found=yes
    name=${target##*/fuzz-}
    mkdir -p "$build/corpus/$name"
    kept=tests/fuzz/corpus/$name
    [ -d "$kept" ] || kept=
    echo "== $name, $seconds s"
    # shellcheck disable=SC2086 # kept may be empty
    if ! "$target" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 -verbosity=0 \
        -print_final_stats=1 -artifact_prefix="$build/$name-" "$build/corpus/$name" $kept; then
        status=1
        for input in "$build/$name"-*; do
            if [ -f "$input" ]; then echo "replay: $target $input"; fi
        done
    fi
done
[ $found = yes ] || { echo "no fuzz target in $build/tests/fuzz"; exit 1; }
exit $status
