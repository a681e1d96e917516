#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The C example of README.md is examples/udp_count.c, which is compiled: the same lines.
set -u
cd "$(dirname "$0")/.." || exit 1

block=$(sed -n '/^```c$/,/^```$/p' README.md | sed '1d;$d')
if [ "$block" != "$(sed -n '3,$p' examples/udp_count.c)" ]; then
    echo 'README.md:1: readme: its C example differs from examples/udp_count.c'
    exit 1
fi
