#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed_text.py OUT HEADER TYPE SYMBOL FILE...: text files as C strings, by their base name.

Of HEADER's `const struct TYPE SYMBOL[]`, whose entries are a name and a text.  TYPE sirq_shipped
keeps the file's extension in the name.
"""
import json
import os
import sys

out_name, header, struct, symbol = sys.argv[1:5]
with open(out_name, "w", encoding="ascii") as out:
    out.write('#include "%s"\n\nconst struct %s %s[] = {\n' % (header, struct, symbol))
    for name in sys.argv[5:]:
        base = os.path.basename(name)
        if struct != "sirq_shipped":
            base = os.path.splitext(base)[0]
        with open(name, encoding="utf-8") as file:
            lines = "\n".join("        " + json.dumps(line) for line in file)
        out.write("    { %s,\n%s },\n" % (json.dumps(base), lines))
    out.write("    { 0 },\n};\n")
