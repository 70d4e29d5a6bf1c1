# SPDX-License-Identifier: Apache-2.0
"""Faults for any network of zoo.py: for each operator what exporters, converters and kernels really get wrong, and for
every operator what a kernel can do to its output. A mutation is (name, function(model, node) -> whether it applies,
what a right cause says or ""): it edits the model, whose shapes stay as they are; or the function returns another one,
of NumPy (model.py, kernel).
"""
import re

from .model import BY_TYPE, GENERIC
from . import (elements, everything, integers, kernels, moved, norms, products, recurrent,  # noqa: F401  each adds rows
               recurrent_more, reduced, wiring)  # noqa: F401


def candidates(kind):
    return BY_TYPE.get(kind, []) + GENERIC


def says(cause, text):
    return bool(cause) and re.search(cause, text, re.IGNORECASE) is not None
