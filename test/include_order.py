#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rooms of source/ stand on each other: a file includes its own room and those before it, never one behind it.

The same holds for the rooms inside some of them. No unit (a .cc with the .h of its name) stands in a circle of
includes, but for the old ones that CIRCLES lists; a circle that has ended leaves that list. Nor does a module of
python/plumbnn, imports for types alone included.

    python3 test/include_order.py ROOT    exit code 0: all of that holds; 1: what does not is printed
"""
import ast
import collections
import pathlib
import re
import sys

ORDER = {
    "source": ("base simd tensor op graph format reference device runtime dump interop api check stage session "
               "names samples remote").split(),
    "source/check": "core numbers judge integer cause walk subject report".split(),
    "source/device": "shared gpu cpu naive arm x86 opencl vulkan".split(),
    "source/format": "tnn onnx tflite".split(),
}
INCLUDE = re.compile(r'^#include "([a-z0-9_]+(?:/[a-z0-9_]+)+)\.(?:h|def)"', re.M)
# Old circles of units, each by its first unit in alphabetical order, with the number of units in it.
CIRCLES = {
    "device/cpu/blocked_layout": 2,
    "device/cpu/depthwise": 4,
    "device/opencl/device": 3,
    "device/vulkan/context": 5,
    "device/vulkan/kernel_list": 4,
    "op/activation": 12,
    "reference/sum/band": 5,
    "reference/sum/float_loops": 3,
    "simd/unary": 4,
}


def units(root):
    """Of every unit below source/ the units that it includes."""
    found = collections.defaultdict(set)
    source = root / "source"
    for path in source.rglob("*"):
        if path.suffix not in (".cc", ".h", ".def"):
            continue
        unit = path.relative_to(source).with_suffix("").as_posix()
        found[unit] |= set(INCLUDE.findall(path.read_text(encoding="utf-8"))) - {unit}
    return {unit: {other for other in others if other in found} for unit, others in found.items()}


def modules(root):
    """Of every module of python/plumbnn those of them that it imports."""
    paths = {path.stem: path for path in (root / "python/plumbnn").glob("*.py")}
    found = {}
    for name, path in paths.items():
        imported = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                imported |= {node.module} if node.module else {alias.name for alias in node.names}
        found[name] = imported & paths.keys() - {name}
    return found


def place(order, prefix, unit):
    """Where the room of a unit stands among those below `prefix`, or None: it stands in none of them."""
    inside = prefix[len("source/"):].split("/") if prefix != "source" else []
    parts = unit.split("/")
    if parts[:len(inside)] != inside or len(parts) < len(inside) + 2:
        return None
    return order.index(parts[len(inside)])


def upward(found):
    for prefix, order in ORDER.items():
        for unit, others in sorted(found.items()):
            mine = place(order, prefix, unit)
            for other in sorted(others):
                its = place(order, prefix, other)
                if mine is not None and its is not None and its > mine:
                    yield f"{prefix}: {unit} includes {other}, whose room stands on its own"


def circles(found):
    """Tarjan, Depth-first search and linear graph algorithms (1972): the strongly connected components of several."""
    number, lowest, stack, groups = {}, {}, [], []

    def visit(unit):
        number[unit] = lowest[unit] = len(number)
        stack.append(unit)
        for other in found[unit]:
            if other not in number:
                visit(other)
            if other in stack:
                lowest[unit] = min(lowest[unit], lowest[other])
        if lowest[unit] == number[unit]:
            group = stack[stack.index(unit):]
            del stack[stack.index(unit):]
            if len(group) > 1:
                groups.append(sorted(group))

    for unit in sorted(found):
        if unit not in number:
            visit(unit)
    return groups


def rooms_without_place(root):
    for prefix, order in ORDER.items():
        for room in sorted(path.name for path in (root / prefix).iterdir() if path.is_dir()):
            if room not in order:
                yield f"{prefix} has '{room}', which {__file__} gives no place"
        for room in order:
            if not (root / prefix / room).is_dir():
                yield f"{prefix} has no '{room}', which {__file__} names"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    faults = list(rooms_without_place(root))
    found = units(root)
    count = sum(len(others) for others in found.values())
    if count < 500:
        faults.append(f"only {count} includes below '{root}/source': the search is broken")
    if not faults:
        faults += upward(found)
    groups = {group[0]: group for group in circles(found)}
    for first, group in groups.items():
        if len(group) > CIRCLES.get(first, 0):
            faults.append("a circle of units: " + ", ".join(group))
    faults += [f"the circle of {first} has changed: correct CIRCLES" for first, size in CIRCLES.items()
               if len(groups.get(first, [])) < size]
    imports = modules(root)
    if sum(len(others) for others in imports.values()) < 20:
        faults.append(f"hardly an import below '{root}/python/plumbnn': the search is broken")
    faults += ["a circle of modules: " + ", ".join(group) for group in circles(imports)]
    for fault in faults:
        print(fault)
    if not faults:
        print(f"{count} includes, none upwards; {len(groups)} old circles of units")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    sys.exit(main())
