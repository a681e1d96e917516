#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed.py OUT CSV...: the published figures as a C array, so that the CLI is one file."""
import csv
import json
import sys

with open(sys.argv[1], "w", encoding="ascii") as out:
    out.write('#include "published.h"\n\nconst struct sirq_figure sirq_figures[] = {\n')
    for name in sys.argv[2:]:
        with open(name, encoding="ascii", newline="") as lines:
            for row in csv.DictReader(lines):
                if row["unit"] == "claim":  # an ordering or a regime, no figure
                    continue
                texts = [json.dumps(row[c]) for c in ("experiment", "setup", "policy", "metric")]
                out.write("    { %s, %r },\n" % (", ".join(texts), float(row["value"])))
    out.write("    { 0 },\n};\n")
