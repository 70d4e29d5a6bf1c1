#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each file includes the standard headers of those functions below that it uses, itself or by its own header: which
other header brings them changes from one version of a library to the next (Debian 13's libstdc++ lacks some that Debian
12's has).

    standard_headers.py ROOT [--add]      exit code 1 where one is missing; --add: writes it
"""
import pathlib
import re
import sys

FUNCTIONS = {
    "algorithm": "all_of any_of binary_search clamp copy copy_if copy_n count count_if equal fill fill_n find find_if "
                 "find_if_not for_each generate includes is_sorted lower_bound max max_element merge min min_element "
                 "minmax minmax_element nth_element none_of partial_sort partition remove_if replace reverse "
                 "rotate set_difference sort stable_partition stable_sort swap_ranges transform unique "
                 "upper_bound",
    "cstring": "memchr memcmp memcpy memmove memset strcmp strlen strncmp strrchr strstr",
    "limits": "numeric_limits",
    "numeric": "accumulate inner_product iota partial_sum",
}
WORDS = {word: header for header, words in FUNCTIONS.items() for word in words.split()}
USED = re.compile(r"\bstd::(" + "|".join(WORDS) + r")\s*[(<]")
FOLDERS = ("include", "source", "tools", "test", "python", "examples")
OWN = re.compile(r'^#include "([^"]+)"', re.M)
STANDARD = re.compile(r"^#include <([^>]+)>", re.M)


def headers_of(root, path, text):
    found = set(STANDARD.findall(text))
    own = OWN.search(text)
    if path.suffix == ".cc" and own is not None:
        for base in ("include", "source", "tools", "test", "python"):
            header = root / base / own.group(1)
            if header.exists():
                found |= set(STANDARD.findall(header.read_text(encoding="utf-8")))
    return found


def missing(root, path):
    text = path.read_text(encoding="utf-8")
    code = re.sub(r"//[^\n]*|\"(\\.|[^\"\\\n])*\"", "", text)
    wanted = {WORDS[match.group(1)]: match.group(1) for match in USED.finditer(code)}
    present = headers_of(root, path, text)
    return {header: word for header, word in wanted.items() if header not in present}


def add(path, headers):
    """Beside the standard headers that are there, in order; else behind the first include."""
    lines = path.read_text(encoding="utf-8").split("\n")
    for header in headers:
        line = f"#include <{header}>"
        plain = [i for i, one in enumerate(lines) if re.fullmatch(r"#include <[a-z_]+>", one)]
        if plain:
            behind = [i for i in plain if lines[i] < line]
            lines.insert(behind[-1] + 1 if behind else plain[0], line)
        else:
            quoted = [i for i, one in enumerate(lines) if one.startswith("#include ")]
            lines[quoted[0] + 1:quoted[0] + 1] = ["", line]
    path.write_text("\n".join(lines), encoding="utf-8")


def main():
    root = pathlib.Path(sys.argv[1])
    failed = 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".cc", ".h") or not path.is_file():
                continue
            headers = missing(root, path)
            if headers and "--add" in sys.argv[2:]:
                add(path, headers)
                continue
            for header, word in sorted(headers.items()):
                failed += 1
                print(f"{path.relative_to(root)}: std::{word} needs #include <{header}>")
    print(f"{failed} standard headers missing")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
