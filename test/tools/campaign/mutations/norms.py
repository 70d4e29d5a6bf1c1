# SPDX-License-Identifier: Apache-2.0
"""Normalisation: epsilon, gains, offsets."""
import numpy as np

from .model import attribute, change, of, set_attribute


@of("BatchNormalization", "variance for its root", r"varian|root|sqrt|scale|own factor")
def _(model, node):
    return change(model, node, 4, np.sqrt)


@of("BatchNormalization", "mean lost", r"mean|bias|b = |own offset")
def _(model, node):
    return change(model, node, 3, np.zeros_like)


@of("BatchNormalization InstanceNormalization LayerNormalization", "gain lost", r"gain|gamma|scale|weight|own factor")
def _(model, node):
    return change(model, node, 1, np.ones_like)


@of("BatchNormalization InstanceNormalization LayerNormalization", "offset lost", r"beta|bias|offset|shift")
def _(model, node):
    return change(model, node, 2, np.zeros_like)


@of("BatchNormalization InstanceNormalization LayerNormalization", "epsilon 1e-2", r"epsilon")
def _(model, node):
    return set_attribute(node, "epsilon", 1e-2)


@of("BatchNormalization InstanceNormalization LayerNormalization", "epsilon 1e-3", r"epsilon")
def _(model, node):
    return set_attribute(node, "epsilon", 1e-3)


@of("Add", "epsilon 1e-3", r"epsilon|1e-0?3|0\.001|other")
def _(model, node):
    return change(model, node, 1, lambda e: np.full_like(e, 1e-3) if e.size == 1 and 0 < e.reshape(-1)[0] < 1e-4 else e)


@of("LRN", "size 3", r"size|3|window")
def _(model, node):
    return set_attribute(node, "size", 3)


@of("LRN", "alpha not divided", r"alpha")
def _(model, node):
    return set_attribute(node, "alpha", attribute(node, "alpha") * attribute(node, "size"))


@of("LRN", "beta 0.5", r"beta")
def _(model, node):
    return set_attribute(node, "beta", 0.5)
