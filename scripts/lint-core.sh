#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Symbols: the core needs nothing from outside but what any freestanding compiler may call,
# and the library defines no global name without the prefix sirq_.
#
#   scripts/lint-core.sh BUILDDIR
set -eu
cd "$(dirname "$0")/.."
build=${1:?usage: $0 BUILDDIR}
core=$build/src/libsirq-core.a
bad=0

# Where a name is used or defined, as file:line, for the reader of a complaint.
where() {
    git grep -n -m1 -w -e "$1" -- src | head -n1 | cut -d: -f1,2
}

defined=$(nm --defined-only -g "$core" | awk 'NF == 3 { print $3 }' | sort -u)
for symbol in $(nm -u "$core" | awk '$1 == "U" { print $2 }' | sort -u); do
    case $symbol in
        memcpy | memset | memmove | memcmp | _GLOBAL_OFFSET_TABLE_) continue ;;
    esac
    if ! printf '%s\n' "$defined" | grep -qxF "$symbol"; then
        echo "$(where "$symbol"): core: $symbol is not of the core; it must link with nothing"
        bad=1
    fi
done

for symbol in $(nm --defined-only -g "$build/src/libsoftirq.a" | awk 'NF == 3 { print $3 }') \
              $(nm -D --defined-only "$build/src/libsoftirq.so" | awk '$2 != "A" { print $3 }' |
                sed 's/@.*//'); do
    case $symbol in
        sirq_*) ;;
        *) echo "$(where "$symbol"): symbols: $symbol lacks the prefix sirq_"; bad=1 ;;
    esac
done
exit $bad
