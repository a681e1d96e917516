#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What has to fit on a screen or into an evening: a file has at most 500 lines, a function
# 60 from brace to brace, a policy 80, and all of src/core 1,200.
set -u
cd "$(dirname "$0")/.." || exit 1

git ls-files -co --exclude-standard '*.c' '*.h' | while read -r file; do
    if [ -e "$file" ]; then echo "$file"; fi
done | xargs awk '
    function complain(file, line, text) { printf "%s:%d: %s\n", file, line, text; bad = 1 }
    function end_of_file() {
        if (lines > 500)
            complain(name, lines, "size: file has " lines " lines, at most 500")
        if (name ~ /^src\/policy\// && name !~ /\/table\.c$/ && lines > 80)
            complain(name, lines, "size: policy has " lines " lines, at most 80")
        if (name ~ /^src\/core\//) {
            core += lines
            last_core = name
        }
    }
    FNR == 1 { if (name != "") end_of_file(); name = FILENAME; start = 0 }
    { lines = FNR }
    /^\{/ { start = FNR }
    /^\}/ && start {
        if (FNR - start + 1 > 60)
            complain(FILENAME, start, "size: function has " FNR - start + 1 " lines, at most 60")
        start = 0
    }
    END {
        if (name != "") end_of_file()
        if (core > 1200) complain(last_core, 1, "size: src/core has " core " lines, at most 1200")
        exit bad
    }'
