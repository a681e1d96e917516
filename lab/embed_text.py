#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed_text.py OUT FILE...: the shipped experiment files as C strings, by their base name."""
import json
import os
import sys

with open(sys.argv[1], "w", encoding="ascii") as out:
    out.write('#include "shipped.h"\n\nconst struct sirq_shipped sirq_shipped[] = {\n')
    for name in sys.argv[2:]:
        with open(name, encoding="ascii") as file:
            lines = "\n".join("        " + json.dumps(line) for line in file)
        out.write("    { %s,\n%s },\n" % (json.dumps(os.path.basename(name)), lines))
    out.write("    { 0 },\n};\n")
