# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts: two blocks whose routers choose an expert per token, by ArgMax and by TopK, and a classifier
whose two best classes differ by rounding alone."""
import numpy as np

TOKENS, WIDTH, EXPERTS, CLASSES = 64, 16, 8, 10


def router(n, x, apart):
    """Scores of the experts; the second wants what the first wants but for `apart`."""
    weight = n.rng.standard_normal((WIDTH, EXPERTS)) * 0.25
    weight[:, 1] = weight[:, 0]
    weight[0, 1] += apart
    return n.op("MatMul", x, n.const(weight))


def block(n, x, k, apart):
    experts = n.const(n.rng.standard_normal((EXPERTS, WIDTH, WIDTH)) * 0.25)
    scores = router(n, x, apart)
    if k == 1:
        chosen, gate = n.op("ArgMax", scores, axis=1, keepdims=1), None
    else:
        best, chosen = n.op("TopK", scores, n.ints(k), outputs=2, axis=1)
        gate = n.op("Reshape", n.op("Softmax", best, axis=1), n.ints(TOKENS, k, 1, 1))
    rows = n.op("Reshape", x, n.ints(TOKENS, 1, 1, WIDTH))
    y = n.op("MatMul", rows, n.op("Gather", experts, chosen, axis=0))  # [tokens, k, 1, width]
    if gate is not None:
        y = n.op("Mul", y, gate)
    y = n.op("ReduceSum", y, n.ints(1, 2), keepdims=0)
    return n.op("Add", x, n.op("Tanh", y))


def experts(n, apart=3e-8):
    n.batch = TOKENS  # the tokens are the batch
    x = n.input("x", WIDTH)
    x = block(n, x, 1, apart)
    x = block(n, x, 2, apart)
    mean = n.op("ReduceMean", x, axes=[0], keepdims=1)
    weight = n.rng.standard_normal((WIDTH, CLASSES)) * 0.25
    weight[:, 1] = weight[:, 0]
    weight[0, 1] += np.float32(apart)
    return [n.op("MatMul", mean, n.const(weight))]
