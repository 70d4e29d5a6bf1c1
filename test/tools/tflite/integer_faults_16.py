# SPDX-License-Identifier: Apache-2.0
"""What kernels of 16-bit integers do wrong that those of 8 bits cannot: bytes that are lost, tables between whose
entries lies a straight line."""
import functools

import integer_faults as faults
import integer_kernels as k
import integer_kernels_16 as k16
import numpy as np

fault = functools.partial(faults.fault, types=("int16",))


def upper_byte(v):
    return v >> 8 << 8


def lower_byte(v):
    return v.astype(np.int8).astype(np.int64)


def bytes_exchanged(v):
    return v.astype(np.int16).byteswap().astype(np.int64)


def add_bytes():
    fault("the input's lower byte lost", faults.PRODUCTS, faults.product(x=upper_byte), "input|byte")
    fault("the input's upper byte lost", faults.PRODUCTS, faults.product(x=lower_byte), "input|byte")
    fault("the input's bytes exchanged", faults.PRODUCTS, faults.product(x=bytes_exchanged), "input|byte")
    fault("limited to 8 bits", faults.PRODUCTS, faults.product(limits=lambda c: (-128, 127)), "limit.* 8 bits")
    every = ["conv", "add", "mul", "average", "softmax", "logistic", "dense", "leaky", "requantised", "mean"]
    for what, change, cause in (("the lower byte lost", upper_byte, "byte"),
                                ("the upper byte lost", lower_byte, "byte"),
                                ("the bytes exchanged", bytes_exchanged, "byte"),
                                ("limited to 8 bits", lambda v: np.clip(v, -128, 127), "limit.* 8 bits"),
                                ("never below zero", lambda v: np.maximum(v, 0), "ReLU|limit|below zero"),
                                ("the sign lost", np.abs, "sign|size")):
        fault(f"written with {what}", every, faults.of_written(lambda v, c, change=change: change(v)), cause)


def add_tables():
    for node, name in (("logistic", "logistic"), ("tanh", "tanh")):
        def element(**given):
            return lambda c, kind: k16.element(c, kind, **given)
        fault(f"{name} by entries without lines between", node, element(lines=False), "line")
        fault(f"{name} by the next entry", node, element(entry=1), "entry")
        fault(f"{name} by the entry before", node, element(entry=-1), "entry")
        fault(f"{name} of half the input's scale", node, element(scale=lambda s: s / 2), "half the scale")
        fault(f"{name} of twice the input's scale", node, element(scale=lambda s: s * 2), "twice the scale")
        fault(f"{name} in steps of powers of two", node, element(scale=lambda s: 2.0**np.floor(np.log2(s))),
              "scale|power")
        fault(f"{name} rounded down", node, element(half=False), faults.ROUNDING)
        fault(f"{name} not reflected below zero", node, element(mirrored=False), "below zero|reflect|sign|absolute")
    fault("tanh as 2 sigmoid(x) - 1", "tanh", lambda c, kind: k16.element(c, kind, twice=False), "half the scale")
    fault("logistic by tanh's table", "logistic", lambda c, kind: np.maximum(k16.element(c, "TANH"), 0),
          "tanh|Tanh|instead")

    def softmax(**given):
        return lambda c, kind: k16.softmax(c, **given)
    fault("softmax by entries without lines between", "softmax", softmax(lines=False), "line")
    fault("softmax by the next entry of exp", "softmax", softmax(entry=-1), "entry")
    fault("softmax with a factor of half", "softmax", softmax(beta=0.5), "beta|half")
    fault("softmax with a factor of two", "softmax", softmax(beta=2.0), "beta|twice")
    fault("softmax with a factor of 1.1", "softmax", softmax(beta=1.1), "beta|1.1")
    fault("softmax rounded down", "softmax", softmax(half=False), faults.ROUNDING)
    fault("softmax along another axis", "softmax", softmax(axis=2), "axis")
    fault("softmax below the largest of all rows", "softmax", softmax(largest_of=lambda v: v.max()), "largest")


def add_sums():
    fault("sum with the first operand's lower byte lost", "add",
          lambda c, kind: k.pair(c, a=upper_byte), "byte|operand")
    fault("sum with the second operand's lower byte lost", "add",
          lambda c, kind: k.pair(c, b=upper_byte), "byte|operand")
    fault("sum of operands that were not brought to one scale", "add",
          lambda c, kind: c.stored(np.rint((c.reads[0].whole + c.reads[1].whole) * float(c.reads[0].scale / c.scale))),
          "scale")
    fault("product that wraps at 16 bits", "mul",
          lambda c, kind: k.times(c, products=lambda v: v.astype(np.int16).astype(np.int64)), "16 bits|wrap")


for make in (add_bytes, add_tables, add_sums):
    make()
