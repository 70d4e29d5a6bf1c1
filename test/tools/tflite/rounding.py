# SPDX-License-Identifier: Apache-2.0
"""Integers that are another one by a step: kernels round in several ways, and which one a layer follows is judged by
test/tools/golden/quantised_test.py."""
STEPS = 1


def parted(layers):
    """(the wrong and grey layers of a report whose integers differ by STEPS at most, the others)."""
    bad = [layer for layer in layers if layer["verdict"] in ("wrong", "grey")]
    near = [layer for layer in bad if layer["outputs"] and all(map(is_near, layer["outputs"]))]
    return near, [layer for layer in bad if layer not in near]


def is_near(output):
    if output["verdict"] not in ("wrong", "grey"):
        return True
    return output["dtype"] in ("i8", "u8", "i16") and float(output["introduced"]["max_abs"]) <= STEPS
