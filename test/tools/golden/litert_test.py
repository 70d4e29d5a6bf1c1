# SPDX-License-Identifier: Apache-2.0
"""LiteRT as a subject: one function in two forms, as .tflite and as .onnx; LiteRT computes it, plumb-golden dumps it,
model_check judges the dump. An equal form is never wrong; another function is, and its cause is named.

    litert_test.py --bin build/release/bin --work build/release/golden_test
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = HERE.parents[2] / "tools" / "python"
sys.path[:0] = [str(HERE), str(PYTHON)]
import packages  # noqa: E402
from recipes_test import run  # noqa: E402

ROWS, COLUMNS = 64, 96


class Twin:
    """The two forms of one network; `x` is its input."""

    def __init__(self, shape=(ROWS, COLUMNS), nhwc=False):
        import litert_network
        import numpy as np
        self.lite, self.nodes, self.weights, self.np = litert_network.Lite(), [], [], np
        self.shape, self.random = list(shape), np.random.default_rng(7)
        self.lite.tensor("x", [shape[0], shape[2], shape[3], shape[1]] if nhwc else shape)

    def onnx(self, kind, reads, makes, **attributes):
        from onnx import helper
        self.nodes.append(helper.make_node(kind, reads, [makes], **attributes))

    def op(self, kind, reads, makes, shape=None, **options):
        self.lite.op(kind, reads, makes, shape or self.shape, **options)

    def only_lite(self, **values):
        for name, value in values.items():
            is_list = isinstance(value, self.np.ndarray) and value.dtype.kind == "i"  # of axes
            self.lite.constant(name, self.np.asarray(value, self.np.int32 if is_list else self.np.float32))

    def only_onnx(self, **values):
        from onnx import numpy_helper
        for name, value in values.items():
            is_list = isinstance(value, self.np.ndarray) and value.dtype.kind == "i"
            array = value if is_list else self.np.asarray(value, self.np.float32)
            self.weights.append(numpy_helper.from_array(array, name))

    def constants(self, **values):
        self.only_lite(**values)
        self.only_onnx(**values)

    def save(self, path, output, opset):
        from onnx import TensorProto, helper, save
        self.lite.save(path.with_suffix(".tflite"), ["x"], [output])
        graph = helper.make_graph(self.nodes, "twin",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)], self.weights)
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8),
             str(path.with_suffix(".onnx")))


def onnx_hard_swish(t):
    t.only_onnx(three=3, six=6, zero=0)
    t.onnx("Add", ["x", "three"], "sum")
    t.onnx("Clip", ["sum", "zero", "six"], "clip")
    t.onnx("Mul", ["x", "clip"], "product")
    t.onnx("Div", ["product", "six"], "y")


def hard_swish(t):
    """One operator there, four here."""
    t.op("HARD_SWISH", ["x"], "y")
    onnx_hard_swish(t)


def hard_swish_exposed(t):
    """The inner tensors are there, but the last was computed from x alone."""
    t.only_lite(three=3)
    t.op("ADD", ["x", "three"], "sum")
    t.op("RELU6", ["sum"], "clip")
    t.op("MUL", ["x", "clip"], "product")
    t.op("HARD_SWISH", ["x"], "y")
    onnx_hard_swish(t)


def hard_swish_reciprocal(t):
    """x (clip / 6), the division a multiplication."""
    t.only_lite(three=3, sixth=1 / 6)
    t.op("ADD", ["x", "three"], "sum")
    t.op("RELU6", ["sum"], "clip")
    t.op("MUL", ["clip", "sixth"], "scaled")
    t.op("MUL", ["x", "scaled"], "y")
    onnx_hard_swish(t)


def hard_swish_hard_sigmoid(t):
    """x clip(x / 6 + 1/2, 0, 1): OpenVINO's form."""
    t.only_lite(sixth=1 / 6, half=0.5, zero=0, one=1)
    t.op("MUL", ["x", "sixth"], "scaled")
    t.op("ADD", ["scaled", "half"], "moved")
    t.op("MAXIMUM", ["moved", "zero"], "above")
    t.op("MINIMUM", ["above", "one"], "gate")
    t.op("MUL", ["x", "gate"], "y")
    onnx_hard_swish(t)


def hard_swish_apart(t):
    t.only_lite(three=3, sixth=1 / 6)
    t.op("ADD", ["x", "three"], "sum")
    t.op("RELU6", ["sum"], "clip")
    t.op("MUL", ["x", "clip"], "product")
    t.op("MUL", ["product", "sixth"], "y")
    t.onnx("HardSwish", ["x"], "y")


def silu(t):
    t.op("LOGISTIC", ["x"], "gate")
    t.op("MUL", ["x", "gate"], "y")
    t.onnx("Sigmoid", ["x"], "gate")
    t.onnx("Mul", ["x", "gate"], "y")


def silu_quotient(t):
    """x / (1 + exp(-x)); the gate is there, but nobody read it."""
    t.only_lite(one=1)
    t.op("LOGISTIC", ["x"], "gate")
    t.op("NEG", ["x"], "minus")
    t.op("EXP", ["minus"], "power")
    t.op("ADD", ["power", "one"], "below")
    t.op("DIV", ["x", "below"], "y")
    t.onnx("Sigmoid", ["x"], "gate")
    t.onnx("Mul", ["x", "gate"], "y")


def onnx_gelu(t):
    t.only_onnx(root=2 ** 0.5, one=1, half=0.5)
    t.onnx("Div", ["x", "root"], "scaled")
    t.onnx("Erf", ["scaled"], "erf")
    t.onnx("Add", ["erf", "one"], "sum")
    t.onnx("Mul", ["x", "sum"], "product")
    t.onnx("Mul", ["product", "half"], "y")


def gelu(t):
    t.op("GELU", ["x"], "y")
    onnx_gelu(t)


def gelu_tanh(t):
    t.op("GELU", ["x"], "y", approximate=True)
    t.only_onnx(three=3, cubic=0.044715, scale=(2 / 3.14159265358979) ** 0.5, one=1, half=0.5)
    t.onnx("Pow", ["x", "three"], "cube")
    t.onnx("Mul", ["cube", "cubic"], "small")
    t.onnx("Add", ["x", "small"], "inner")
    t.onnx("Mul", ["inner", "scale"], "scaled")
    t.onnx("Tanh", ["scaled"], "tanh")
    t.onnx("Add", ["tanh", "one"], "sum")
    t.onnx("Mul", ["x", "sum"], "product")
    t.onnx("Mul", ["product", "half"], "y")


def gelu_of_another_kind(t):
    """The tanh form for the erf form is another function."""
    t.op("GELU", ["x"], "y", approximate=True)
    onnx_gelu(t)


def norm_constants(t):
    gamma, beta = t.random.uniform(0.5, 2, COLUMNS), t.random.normal(0, 1, COLUMNS)
    t.constants(gamma=gamma, beta=beta)
    t.only_lite(axis=t.np.array([1], t.np.int32), eps=1e-5)


def lite_norm(t):
    """TensorFlow's: x (gamma / s) + (beta - mean (gamma / s))."""
    one = [ROWS, 1]
    t.op("MEAN", ["x", "axis"], "mean", one)
    t.op("SQUARED_DIFFERENCE", ["x", "mean"], "squares")
    t.op("MEAN", ["squares", "axis"], "variance", one)
    t.op("ADD", ["variance", "eps"], "positive", one)
    t.op("RSQRT", ["positive"], "inverse", one)
    t.op("MUL", ["inverse", "gamma"], "scale")
    t.op("MUL", ["x", "scale"], "scaled")
    t.op("MUL", ["mean", "scale"], "moved")
    t.op("SUB", ["beta", "moved"], "shift")
    t.op("ADD", ["scaled", "shift"], "y")


def onnx_norm(t, rooted="root"):
    t.only_onnx(two=2, eps=1e-5, axes=t.np.array([1]))
    t.onnx("ReduceMean", ["x", "axes"], "mean")
    t.onnx("Sub", ["x", "mean"], "centred")
    t.onnx("Pow", ["centred", "two"], "squares")
    t.onnx("ReduceMean", ["squares", "axes"], "variance")
    t.onnx("Add", ["variance", "eps"], "positive")
    t.onnx("Sqrt", ["positive"], rooted)
    t.onnx("Div", ["centred", rooted], "normal")
    t.onnx("Mul", ["normal", "gamma"], "weighted")
    t.onnx("Add", ["weighted", "beta"], "y")


def layer_norm(t):
    """Single operators on both sides, in another order; the mean and the variance are there on both."""
    norm_constants(t)
    lite_norm(t)
    onnx_norm(t)


def layer_norm_whole(t):
    norm_constants(t)
    lite_norm(t)
    t.onnx("LayerNormalization", ["x", "gamma", "beta"], "y", axis=1, epsilon=1e-5)


def batch_norm(t):
    """As scale and shift."""
    gamma, beta = t.random.uniform(0.5, 2, COLUMNS), t.random.normal(0, 1, COLUMNS)
    mean, variance = t.random.normal(0, 2, COLUMNS), t.random.uniform(0.2, 3, COLUMNS)
    scale = (gamma / t.np.sqrt(variance + 1e-5)).astype(t.np.float32)
    t.only_lite(scale=scale, shift=beta - mean * scale)
    t.op("MUL", ["x", "scale"], "scaled")
    t.op("ADD", ["scaled", "shift"], "y")
    t.only_onnx(gamma=gamma, beta=beta, mean=mean, variance=variance)
    t.onnx("BatchNormalization", ["x", "gamma", "beta", "mean", "variance"], "y", epsilon=1e-5)


def division(t):
    """By a constant, as the product with its reciprocal."""
    by = t.random.uniform(0.3, 7, COLUMNS).astype(t.np.float32)
    t.only_lite(reciprocal=1 / by)
    t.op("MUL", ["x", "reciprocal"], "y")
    t.only_onnx(by=by)
    t.onnx("Div", ["x", "by"], "y")


def multiply_add(t):
    """a b + c where the sum cancels."""
    t.constants(a=t.random.uniform(1, 2, COLUMNS))
    t.op("MUL", ["x", "a"], "product")
    t.op("SUB", ["product", "x"], "y")
    t.onnx("Mul", ["x", "a"], "product")
    t.onnx("Sub", ["product", "x"], "y")


def dense(t):
    weights = t.random.normal(0, 0.1, (COLUMNS, 40))
    bias = t.random.normal(0, 1, 40)
    t.only_lite(weights=weights.T, bias=bias)
    t.op("FULLY_CONNECTED", ["x", "weights", "bias"], "sum", [ROWS, 40], fused="RELU")
    t.op("SOFTMAX", ["sum"], "y", [ROWS, 40])
    t.only_onnx(weights=weights, bias=bias)
    t.onnx("MatMul", ["x", "weights"], "product")
    t.onnx("Add", ["product", "bias"], "whole")
    t.onnx("Relu", ["whole"], "sum")
    t.onnx("Softmax", ["sum"], "y", axis=-1)


def convolutions(t):
    """NHWC there, NCHW here; BatchNorm folded and relu6 fused there."""
    np = t.np
    first, second = t.random.normal(0, 0.3, (16, 8, 3, 3)), t.random.normal(0, 0.3, (16, 1, 3, 3))
    bias, gamma, variance = t.random.normal(0, 1, 16), t.random.uniform(0.5, 2, 16), t.random.uniform(0.2, 3, 16)
    scale = gamma / np.sqrt(variance + 1e-5)
    t.only_lite(first=(first * scale[:, None, None, None]).transpose(0, 2, 3, 1), folded=bias * scale,
                second=second.transpose(1, 2, 3, 0), bias=bias)
    t.op("CONV_2D", ["x", "first", "folded"], "clip", [1, 12, 12, 16], fused="RELU6")
    t.op("DEPTHWISE_CONV_2D", ["clip", "second", "bias"], "deep", [1, 12, 12, 16])
    t.op("HARD_SWISH", ["deep"], "y", [1, 12, 12, 16])
    t.only_onnx(first=first, second=second, bias=bias, gamma=gamma, variance=variance, none=np.zeros(16), zero=0, six=6)
    t.onnx("Conv", ["x", "first", "bias"], "conv", pads=[1] * 4)
    t.onnx("BatchNormalization", ["conv", "gamma", "none", "none", "variance"], "norm", epsilon=1e-5)
    t.onnx("Clip", ["norm", "zero", "six"], "clip")
    t.onnx("Conv", ["clip", "second", "bias"], "deep", pads=[1] * 4, group=16)
    t.onnx("HardSwish", ["deep"], "y")


# (network, opset). Forms that are equal, and one that is not, with what its cause must say.
EQUAL = [(hard_swish, 13), (hard_swish_exposed, 13), (hard_swish_reciprocal, 13), (hard_swish_hard_sigmoid, 13),
         (hard_swish_apart, 14),
         (silu, 13), (silu_quotient, 13), (gelu, 13), (gelu_tanh, 13), (layer_norm, 18), (layer_norm_whole, 17),
         (batch_norm, 15),
         (division, 13), (multiply_add, 13), (dense, 13), (convolutions, 14)]
WRONG = {gelu_of_another_kind: "tanh-GELU"}


def judge(case, opset, options, environment):
    """The report's layers, and its text."""
    import numpy as np
    work = options.work / "litert_forms" / case.__name__
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    shape = (1, 8, 12, 12) if case is convolutions else (ROWS, COLUMNS)
    twin = Twin(shape, nhwc=len(shape) == 4)
    case(twin)
    twin.save(work / "net", "y", opset)
    x = (np.random.default_rng(3).standard_normal(shape) * 3).astype(np.float32)
    np.save(work / "x.npy", x.transpose(0, 2, 3, 1) if len(shape) == 4 else x)
    run([sys.executable, "-m", "plumb_golden", "litert", work / "net.tflite", "-i", work / "x.npy", "-o",
         work / "dump"], env=environment)
    done = subprocess.run([f"{options.bin}/model_check", "-m", work / "net.onnx", "--subject", work / "dump", "--all",
                           "--json", work / "report.json"],
                          capture_output=True, text=True)
    assert done.returncode in (0, 1), f"{case.__name__}: {done.stdout}{done.stderr}"
    report = json.loads((work / "report.json").read_text())
    return report["runs"][0]["layers"], done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    options = parser.parse_args()
    packages.ensure(options.work / "litert", ["ai-edge-litert", "flatbuffers", "onnx", "numpy"],
                    ["ai_edge_litert", "flatbuffers", "onnx"])
    environment = {**os.environ, "PYTHONPATH": str(PYTHON)}
    failures = []
    for case, opset in EQUAL + [(case, 13) for case in WRONG]:
        layers, text = judge(case, opset, options, environment)
        verdicts, last = [layer["verdict"] for layer in layers], layers[-1]
        print(f"{case.__name__}: {', '.join(verdicts)}; {last.get('cause', '')}")
        named = all(layer.get("cause") for layer in layers if layer["verdict"] in ("grey", "wrong"))
        equal = not {"wrong", "not tested"} & set(verdicts)
        if not named or (last["verdict"] != "wrong" or WRONG[case] not in last["cause"]
                         if case in WRONG else not equal):
            failures.append(f"{case.__name__}\n{text}")
    assert not failures, "\n".join(failures)


if __name__ == "__main__":
    main()
