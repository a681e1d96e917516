#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Rules of text: licence line, comment form, names of tests, fences that say what they order.
set -u
cd "$(dirname "$0")/.." || exit 1

git ls-files -co --exclude-standard '*.c' '*.h' | while read -r file; do
    if [ -e "$file" ]; then echo "$file"; fi
done | xargs awk '
    function complain(text) { printf "%s:%d: style: %s\n", FILENAME, FNR, text; bad = 1 }
    FNR == 1 {
        if ($0 != "/* SPDX-License-Identifier: MIT */") complain("first line is not the licence")
        comment = -100
    }
    # The comment may stand above a short block that the fence belongs to.
    /\*\// || /\/\*/ { comment = FNR }
    /^[ \t]*\/\// || /[;{})] *\/\/ / { complain("comment is not /* */") }
    /__atomic_thread_fence|atomic_thread_fence\(|__atomic_signal_fence/ && FNR - comment > 6 {
        complain("fence without a comment that says what is ordered before what")
    }
    /NDEBUG/ { complain("assertions stay on") }
    /^static void [a-z0-9_]+\(void \*\*/ {
        test = $3
        sub(/\(.*/, "", test)
        if (gsub(/_/, "_", test) < 2)
            complain("test " test " is not named subject_condition_result")
    }
    END { exit bad }'
