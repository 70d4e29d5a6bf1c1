"""Faults for any network of zoo.py: for each operator what exporters, converters and kernels really get wrong, and for
every operator what a kernel can do to its output. A mutation is (name, function(model, node) -> whether it applies,
what a right cause says or ""): it edits the model, whose shapes stay as they are.
"""
import re

from .model import BY_TYPE, GENERIC
from . import elements, everything, moved, norms, products, recurrent, reduced  # noqa: F401  each adds its rows


def candidates(kind):
    return BY_TYPE.get(kind, []) + GENERIC


def says(cause, text):
    return bool(cause) and re.search(cause, text, re.IGNORECASE) is not None
