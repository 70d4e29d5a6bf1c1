# SPDX-License-Identifier: Apache-2.0
"""LSTM, GRU, RNN."""
import numpy as np

from .model import attribute, change, of, set_attribute


def permute_gates(order):
    def edit(model, node):
        gates = len(order)

        def permute(w):
            parts = np.split(w, gates * (w.shape[1] // attribute(node, "hidden_size") // gates), axis=1)
            groups = [parts[i:i + gates] for i in range(0, len(parts), gates)]
            return np.concatenate([g[o] for g in groups for o in order], axis=1)
        return all([change(model, node, i, permute) for i in (1, 2, 3)])
    return edit


of("LSTM", "gates i f o c", r"gate|order")(permute_gates([0, 2, 1, 3]))
of("LSTM", "gates f i o c", r"gate|order")(permute_gates([2, 1, 0, 3]))
of("GRU", "gates r z h", r"gate|order")(permute_gates([1, 0, 2]))


@of("GRU", "linear_before_reset", r"linear_before_reset|reset")
def _(model, node):
    return set_attribute(node, "linear_before_reset", 1 - attribute(node, "linear_before_reset", 0))


@of("LSTM GRU RNN", "bias lost", r"bias")
def _(model, node):
    return change(model, node, 3, np.zeros_like)


@of("LSTM GRU RNN", "recurrent weights transposed", r"transpos|recurrent|weight")
def _(model, node):
    def turn(w):
        size = w.shape[2]
        return np.stack([np.concatenate([p.T for p in np.split(d, d.shape[0] // size)]) for d in w])
    return change(model, node, 2, turn)


@of("LSTM GRU RNN", "backwards", r"direction|revers|backward|from the end")
def _(model, node):
    return attribute(node, "direction", b"forward") == b"forward" and set_attribute(node, "direction", "reverse")
