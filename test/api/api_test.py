#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The public functions of libplumb.so beside test/api/symbols.txt: a change of the API is a decision, not an accident.

    api_test.py ROOT LIBRARY            exit code 0: the same; 1: prints what came and what went
    api_test.py ROOT LIBRARY --renew    writes the list anew (doc/releasing.md says when that may be done)

Public is what the headers in include/ declare: exported functions and data whose name stands in one of them.
"""
import pathlib
import re
import subprocess
import sys


def declared(root):
    """Every identifier of the public headers, without their comments."""
    names = set()
    for header in sorted((root / "include").rglob("*.h")):
        text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", header.read_text(encoding="utf-8"), flags=re.S)
        names |= set(re.findall(r"~?[A-Za-z_]\w*", text))
    return names


def exported(library):
    """The demangled names of the defined functions and data, without inline functions and templates."""
    command = ["nm", "-D", "--defined-only", "-C", str(library)]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    for line in lines:
        found = re.match(r"[0-9a-f]+ [TDBR] (.*)$", line)
        if found:
            name = found.group(1).replace("[abi:cxx11]", "").replace("std::__cxx11::", "std::")
            yield name.replace("std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string")


def public(root, library):
    names = declared(root)
    for symbol in exported(library):
        path = re.split(r"[(<]", symbol)[0].split("::")
        ours = path[0] == "plumb" or symbol.startswith("plumb_")
        if ours and all(part in names for part in path[1:] or path):
            yield symbol


def main():
    root, library = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    listed_at = root / "test/api/symbols.txt"
    now = sorted(set(public(root, library)))
    if len(now) < 100:
        print(f"only {len(now)} public symbols in '{library}': the search is broken")
        return 1
    if "--renew" in sys.argv:
        listed_at.write_text("\n".join(now) + "\n", encoding="utf-8")
        print(f"{len(now)} symbols")
        return 0
    listed = listed_at.read_text(encoding="utf-8").splitlines()
    came, went = sorted(set(now) - set(listed)), sorted(set(listed) - set(now))
    for sign, symbols in (("+", came), ("-", went)):
        for symbol in symbols:
            print(sign, symbol)
    if came or went:
        print(f"The API has changed. Where that is meant: {sys.argv[0]} {root} {library} --renew (doc/releasing.md)")
        return 1
    print(f"{len(now)} public symbols, as listed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
