#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every rule of style that a machine can check.  Runs all checks, names each, and fails when
# one of them did.  Builds twice, with warnings as errors: build-lint-gcc, build-lint-clang.
set -u
cd "$(dirname "$0")/.." || exit 1

failed=
check() {
    name=$1
    shift
    printf '== %s\n' "$name"
    "$@" || { failed="$failed $name"; printf '== %s: FAILED\n' "$name"; }
}

c_files() {
    git ls-files -co --exclude-standard '*.c' '*.h' | while read -r file; do
        if [ -e "$file" ]; then echo "$file"; fi
    done
}

build() {
    [ -f "build-lint-$1/build.ninja" ] ||
        CC=$1 meson setup -Dwerror=true "build-lint-$1" >/dev/null || return 1
    ninja --quiet -C "build-lint-$1"
}

check_format() {
    c_files | xargs clang-format --dry-run -Werror
}

# Only what was compiled has flags to be analysed with; headers come along (.clang-tidy).  Not
# C++: the one file there is calls ns-3, whose headers are not ours to repair.
check_tidy() {
    python3 -c '
import json, os
seen = {os.path.realpath(os.path.join(c["directory"], c["file"]))
        for c in json.load(open("build-lint-clang/compile_commands.json"))}
print("\n".join(sorted(f for f in seen if f.endswith(".c"))))' |
        xargs -P "$(nproc)" -n 3 clang-tidy -p build-lint-clang --quiet 2>build-lint-clang/tidy.err ||
        { grep -v 'warnings generated' build-lint-clang/tidy.err; return 1; }
}

check format check_format
check warnings-gcc build gcc
check warnings-clang build clang
check size scripts/lint-size.sh
check style scripts/lint-style.sh
check readme scripts/lint-readme.sh
check layers scripts/lint-layers.py
check core scripts/lint-core.sh build-lint-gcc
check clang-tidy check_tidy

[ -z "$failed" ] || { echo "lint failed:$failed"; exit 1; }
echo "lint passed"
